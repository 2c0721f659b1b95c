"""Providers of models at the command line: listed, tried, and their keys kept for one address."""

from __future__ import annotations

import io
import json
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from counterpoint.core.coordinator import Core
from fakes.scripted_models import MODEL, Failing, ModelServer
from fakes.scripted_searches import SearchServer

SECRET = "test-key-0123456789abcdef"  # noqa: S105 -- nobody has it anywhere


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Answer where this person's keys are kept."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "counterpoint" / "providers"


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Have a text stand on the input."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def test_a_key_is_kept_for_one_address_in_a_file_of_the_persons_alone(
    call: Callable[..., Any], ledger: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes from the input, is shown nowhere, and is in no ledger."""
    assert call("provider", "status", "openai").code == 1
    typed(monkeypatch, f"{SECRET}\n")
    said = call("provider", "login", "openai")
    assert said.code == 0, said.err
    assert "https://api.openai.com/v1 alone" in said.out
    file = home / "openai"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert json.loads(file.read_text()) == {"address": "https://api.openai.com/v1", "key": SECRET}
    shown = call("provider", "status", "openai")
    assert shown.code == 0
    assert str(file) in shown.out
    everything = "".join(
        one.out + one.err for one in (said, shown, call("provider", "list"), call("log"))
    )
    assert SECRET not in everything
    assert not any(
        SECRET.encode() in path.read_bytes()
        for path in (ledger / ".counterpoint").rglob("*")
        if path.is_file()
    )
    listed = {one["provider"]: one for one in call("provider", "list", "--json").json}
    assert (listed["openai"]["available"], listed["google"]["available"]) == (True, False)
    file.chmod(0o644)
    refused = call("provider", "status", "openai")
    assert (refused.code, "not this account's alone" in refused.out) == (1, True)
    assert f"run `chmod 600 {file}`" in refused.out
    assert f"run `chmod 600 {file}`" in call("provider", "test", "openai").err
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    gone = call("provider", "logout", "openai")
    assert gone.out == "The key of openai is gone. The variable OPENAI_API_KEY has one still.\n"
    assert call("provider", "logout", "openai").code == 1
    assert not file.exists()


def test_a_key_goes_into_the_keyring_if_that_is_asked_for(
    call: Callable[..., Any], ledger: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file beside it says only for which address."""
    import keyring

    ring: dict[tuple[str, str], str] = {}
    monkeypatch.setattr(keyring, "set_password", lambda *words: ring.update({words[:2]: words[2]}))
    monkeypatch.setattr(keyring, "get_password", lambda *words: ring.get(words))
    monkeypatch.setattr(keyring, "delete_password", lambda *words: ring.pop(words))
    typed(monkeypatch, SECRET)
    assert call("provider", "login", "google", "--keyring").code == 0
    assert SECRET not in (home / "google").read_text()
    assert call("provider", "status", "google").code == 0
    ring_before = dict(ring)
    ring.clear()
    assert "has not the key" in call("provider", "status", "google").out
    ring.update(ring_before)
    assert call("provider", "logout", "google").code == 0
    assert ring == {}

    def locked(*_: str) -> None:
        raise keyring.errors.KeyringLocked

    monkeypatch.setattr(keyring, "set_password", locked)
    typed(monkeypatch, SECRET)
    assert "KeyringLocked" in call("provider", "login", "google", "--keyring").err
    monkeypatch.setitem(sys.modules, "keyring", None)
    typed(monkeypatch, SECRET)
    assert "package keyring" in call("provider", "login", "google", "--keyring").err
    assert ledger.exists()


def test_a_provider_is_tried_at_the_command_line(
    call: Callable[..., Any], ledger: Path, home: Path
) -> None:
    """Once a person trusts its address; before that no key is taken for it either."""
    with ModelServer("yes", Failing(401)) as models:
        models.configure(ledger)
        assert call("provider", "test", "local").code == 1
        assert call("provider", "login", "local").code == 1
        assert call("trust", "--yes").code == 0
        assert (
            call("provider", "test", "local").out
            == f"local answers: yes ({MODEL}, 15 tokens, $0.0000)\n"
        )
        failed = call("provider", "test", "local")
        assert (failed.code, "local answered 401" in failed.err) == (3, True)
        unknown = call("provider", "login", "nobody")
        assert (unknown.code, "local, " in unknown.err, "tavily" in unknown.err) == (1, True, True)
        (ledger / "counterpoint.toml").write_text("[models.providers.bare]\nmodel = 'm'\n")
        assert "no address" in call("provider", "login", "bare").err
    assert not home.exists()


@pytest.mark.parametrize("words", [("login", "openai"), ("logout", "openai")])
def test_an_agent_puts_no_key_there_and_takes_none_away(
    words: tuple[str, ...],
    call: Callable[..., Any],
    ledger: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "counterpoint.core.operations.access.why_no_person",
        lambda *_: "an agent is above this command",
    )
    typed(monkeypatch, SECRET)
    said = call("provider", *words)
    assert (said.code, "keys of providers are for people" in said.err) == (1, True)
    assert ledger.exists()
    assert not home.exists()


def test_what_is_asked_by_a_person_counts_as_his_use(
    call: Callable[..., Any], agent: Core, ledger: Path
) -> None:
    """A try is written down as what it was for."""
    with ModelServer("yes") as models:
        models.configure(ledger)
        call("trust", "--yes")
        call("provider", "test", "local", "--model", "other")
        assert models.questions[0]["model"] == "other"
    assert "model.asked" in call("log", "--json").out
    assert agent.project


def test_a_provider_of_searches_is_one_of_them(
    call: Callable[..., Any], ledger: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Listed after those of models, with keys of the same kind, and tried by a search."""
    typed(monkeypatch, f"{SECRET}\n")
    assert "for https://api.tavily.com alone" in call("provider", "login", "tavily").out
    listed = {one["provider"]: one for one in call("provider", "list", "--json").json}
    assert (listed["tavily"]["available"], listed["tavily"]["searches"]) == (True, True)
    assert listed["perplexity"]["reason"] == "it has no key"
    assert "(search)" in call("provider", "status", "tavily").out
    with SearchServer({"url": "https://example.com/", "title": "A", "content": "b"}) as searches:
        (ledger / "counterpoint.toml").write_text(searches.configuration)
        typed(monkeypatch, SECRET)
        assert call("provider", "login", "mine").code == 1
        assert "New: Asks mine for searches at" in call("trust").out
        assert call("trust", "--yes").code == 0
        tried = call("provider", "test", "mine")
        assert tried.out == "mine answers: 1 result ($0.0000)\n", tried.err
        assert searches.asked == ["Model Context Protocol"]
        assert call("provider", "test", "mine", "--json").json["results"] == [
            "https://example.com/"
        ]
    assert call("provider", "logout", "tavily").code == 0
    assert not (home / "tavily").exists()


def test_what_the_web_takes_trust_for_is_told(call: Callable[..., Any], ledger: Path) -> None:
    """Pages, addresses that are not public, prices and limits."""
    (ledger / "counterpoint.toml").write_text(
        "[web]\nfetch = true\nhosts = ['127.0.0.1:80']\nresearch_usd = 5\n"
        "[web.search.tavily]\nusd_per_thousand = 9\n"
    )
    shown = call("trust")
    assert [line for line in shown.out.splitlines() if line.startswith("  New: ")] == [
        "  New: A thousand searches of tavily cost $9.0000",
        "  New: Fetches public pages of the web",
        "  New: Fetches pages from 127.0.0.1:80, which need not be public",
        "  New: One deep research may cost $5.0000",
    ]


def test_a_key_in_the_file_of_the_project_is_refused_with_where_it_belongs(
    call: Callable[..., Any], ledger: Path
) -> None:
    """And its value is not repeated."""
    said = f'[models.providers.local]\nmodel = "m"\napi_key = "{SECRET}"\n'
    (ledger / "counterpoint.toml").write_text(said)
    refused = call("provider", "list")
    assert refused.code != 0
    assert refused.err.startswith("counterpoint: counterpoint.toml: `api_key` is not known")
    assert "run `counterpoint provider login local`" in refused.err
    assert SECRET not in refused.out + refused.err
