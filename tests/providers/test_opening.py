"""Providers as a project names them, with keys, over a server on this machine that speaks their format."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from counterpoint.core.model.models import Modelling, Question, SaidProvider, make_question
from counterpoint.kernel.errors import (
    InvalidInput,
    ProviderAway,
    ProviderBusy,
    ProviderFailed,
    ProviderRefused,
    Unavailable,
)
from counterpoint.providers.chat.opening import ConfiguredProviders, open_models
from counterpoint.providers.keys import Keys
from fakes.raw_answers import RawServer, answered, head
from fakes.scripted_models import MODEL, Cut, Failing, ModelServer

SECRET = "test-key-0123456789"  # noqa: S105 -- nobody has it anywhere


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    """Answer the keys of a person who has none."""
    return Keys(environ={"XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path)})


def desk(keys: Keys, **said: Any) -> ConfiguredProviders:
    """Answer who is asked in a project that names one provider."""
    provider = SaidProvider(**({"name": "local", "kind": "chat", "model": MODEL} | said))
    return ConfiguredProviders(
        said=lambda: Modelling(providers=(provider,)), keys=keys, sleep=lambda _: None
    )


def ask(found: ConfiguredProviders, question: Question) -> Any:
    """Ask the first provider."""
    there = found.providers()[0]
    assert there.is_available, there.reason
    return found.ask(there, question, lambda _: None)


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[ModelServer]:
    """Answer a server that says what the test's parameter has."""
    with ModelServer(*getattr(request, "param", ())) as models:
        yield models


def test_a_question_is_answered_over_the_wire(keys: Keys, server: ModelServer) -> None:
    """With system words, temperature and schema as the format has them; a model of this machine costs nothing."""
    found = desk(keys, address=server.address)
    question = Question(
        messages=make_question("what?").messages,
        system="Be brief.",
        model=MODEL,
        temperature=0.5,
        max_tokens=99,
        schema={"type": "object"},
    )
    answer = ask(found, question)
    assert (answer.text, answer.stop, answer.tokens.input, answer.tokens.output) == (
        "fine",
        "end",
        10,
        5,
    )
    assert server.questions[0] == {
        "model": MODEL,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "what?"},
        ],
        "max_tokens": 99,
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.5,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": {"type": "object"}, "strict": True},
        },
    }
    assert "authorization" not in server.heads[0]
    assert found.providers()[0].is_free


def test_a_key_goes_to_the_address_that_it_was_given_for_and_nowhere_else(
    keys: Keys, server: ModelServer
) -> None:
    """Whoever names another address for a provider gets no key sent there."""
    keys.put("local", SECRET, server.address)
    ask(desk(keys, address=server.address), make_question("?", model=MODEL))
    assert server.heads[0]["authorization"] == f"Bearer {SECRET}"
    keys.put("local", SECRET, "https://elsewhere.example/v1")
    found = desk(keys, address=server.address)
    assert "is not sent to" in found.providers()[0].reason
    with pytest.raises(ProviderAway):
        found.ask(found.providers()[0], make_question("?", model=MODEL), print)
    assert len(server.heads) == 1


@pytest.mark.parametrize(
    "server", [(Failing(429, wait=3),), (Failing(529),), (Failing(500),)], indirect=True
)
def test_a_provider_that_is_busy_says_so_and_for_how_long(keys: Keys, server: ModelServer) -> None:
    """Too many requests, overloaded, a fault of its own: it is worth another try."""
    with pytest.raises(ProviderBusy) as caught:
        ask(desk(keys, address=server.address), make_question("?", model=MODEL))
    line = server.script[0]
    assert isinstance(line, Failing)
    assert caught.value.facts == {"status": line.status} | (
        {"retry_after": 3.0} if line.wait else {}
    )


@pytest.mark.parametrize("server", [(Failing(401, f"no such key: {SECRET}"),)], indirect=True)
def test_a_refusal_is_told_without_the_key(keys: Keys, server: ModelServer) -> None:
    """Providers repeat what they were sent."""
    keys.put("local", SECRET, server.address)
    with pytest.raises(ProviderRefused) as caught:
        ask(desk(keys, address=server.address), make_question("?", model=MODEL))
    assert caught.value.message == "local answered 401: no such key: ***"


@pytest.mark.parametrize("server", [(Cut(),)], indirect=True)
def test_an_answer_that_breaks_off_is_no_answer(keys: Keys, server: ModelServer) -> None:
    """The half that came is not taken for the whole."""
    with pytest.raises(ProviderBusy, match="broke off"):
        ask(desk(keys, address=server.address), make_question("?", model=MODEL))


def chunk(text: bytes, usage: bytes = b"null") -> bytes:
    """Answer a whole answer in one event, of text as it stands in JSON."""
    event = b'{"model":"m\\n%s","choices":[{"delta":{"content":"%s"},"finish_reason":"stop"}],"usage":%s}'
    return b"data: " + event % (b"x" * 500, text, usage) + b"\n\n"


@pytest.mark.parametrize(
    "said",
    [
        head() + b"data: " + b"[" * 200_000 + b"\n\n",
        head() + chunk(b"a\\ud800"),
        head() + chunk(b"a", b'{"prompt_tokens":4611686018427387904,"completion_tokens":1}'),
        head() + chunk(b"a", b'{"prompt_tokens":1,"completion_tokens":1%s}' % (b"0" * 30)),
    ],
)
def test_an_answer_that_could_not_be_kept_is_refused_at_once(keys: Keys, said: bytes) -> None:
    """JSON of any depth, text that is no Unicode and numbers beyond all tokens end the call and no thread."""
    with RawServer(said) as server, pytest.raises(ProviderFailed, match="another format"):
        ask(desk(keys, address=server.address), make_question("?", model=MODEL))


def test_a_refusal_in_deep_json_is_a_refusal(keys: Keys) -> None:
    """What it says is told as text."""
    said = head("400 Bad Request") + b"[" * 70_000
    with RawServer(said) as server, pytest.raises(ProviderRefused, match="answered 400"):
        ask(desk(keys, address=server.address), make_question("?", model=MODEL))


def test_an_answer_has_neither_the_key_nor_a_name_without_end(keys: Keys) -> None:
    """Servers repeat what they were sent, in pieces too; a placeholder of a few letters is no secret."""
    cut = [
        {"choices": [{"delta": {"content": one}}]} for one in ("it is " + SECRET[:9], SECRET[9:])
    ]
    said = answered(*cut) + chunk(b" and " + SECRET.encode())
    with RawServer(said) as server:
        keys.put("local", SECRET, server.address)
        answer = ask(desk(keys, address=server.address), make_question("?", model=MODEL))
        assert answer.text == "it is *** and ***"
        assert len(answer.model) == 200
        assert answer.model.startswith("m xxx")
        keys.put("local", "test-key", server.address)
        answer = ask(desk(keys, address=server.address), make_question("?", model=MODEL))
        assert answer.text.startswith("it is test-key")


def test_a_redirect_is_not_followed(keys: Keys) -> None:
    """The key would go along."""
    with ModelServer(Failing(307)) as server, pytest.raises(ProviderRefused):
        ask(desk(keys, address=server.address), make_question("?", model=MODEL))


def test_who_listens_may_go(keys: Keys, server: ModelServer) -> None:
    """What it raises ends the call."""
    found = desk(keys, address=server.address)

    def gone(_: str) -> None:
        raise Unavailable

    with pytest.raises(Unavailable):
        found.ask(found.providers()[0], make_question("?", model=MODEL), gone)
    with pytest.raises(Unavailable):
        found.pause(2, gone)


def test_nobody_listens_at_a_closed_port(keys: Keys) -> None:
    """It is out of reach, and worth another try."""
    with pytest.raises(ProviderBusy, match="cannot be reached"):
        ask(desk(keys, address="http://127.0.0.1:9/v1"), make_question("?", model=MODEL))


def test_the_providers_that_are_known_need_a_key_alone(keys: Keys) -> None:
    """A variable of the server, or a file; without one it is said."""
    found = open_models(Modelling, keys.environ)
    assert {one.name: one.reason for one in found.providers()}["openai"] != ""
    assert not any(one.is_set for one in found.providers())
    with_key = open_models(Modelling, {**keys.environ, "COUNTERPOINT_ANTHROPIC_API_KEY": SECRET})
    assert with_key.keys.find("anthropic") is not None


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"is_on": False, "address": "https://a.example"}, "turns it off"),
        ({"kind": None}, "neither an address nor a known name"),
        ({"address": "https://a.example"}, "it has no key"),
        ({"address": "http://127.0.0.1:9", "model": ""}, "names no model"),
    ],
)
def test_who_cannot_be_asked_says_why(keys: Keys, said: dict[str, Any], why: str) -> None:
    """In words that a person can act on."""
    assert why in desk(keys, **said).providers()[0].reason


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_key_that_others_can_read_is_refused_and_not_passed_over(keys: Keys, mode: int) -> None:
    """Also if a variable has another one."""
    path = Path(keys.put("local", SECRET, "https://a.example"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(mode)
    with pytest.raises(ProviderAway, match="alone"):
        keys.find("local")
    assert "alone" in desk(keys, address="https://a.example").providers()[0].reason


def test_a_link_in_the_place_of_a_key_is_not_followed(keys: Keys, tmp_path: Path) -> None:
    """Somebody could have laid it there."""
    path = Path(keys.put("local", SECRET, "https://a.example"))
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ProviderAway, match="cannot be read"):
        keys.find("local")


@pytest.mark.parametrize(
    "text", ["", "no json", "[]", "{}", '{"address": 1}', '{"key": 1, "address": ""}']
)
def test_a_file_that_has_no_key_is_refused(keys: Keys, text: str) -> None:
    """And taken away by who logs out."""
    path = Path(keys.put("local", SECRET, ""))
    path.write_text(text)
    with pytest.raises(ProviderAway, match="has no key"):
        keys.find("local")
    assert keys.drop("local")
    assert not keys.drop("local")


@pytest.mark.parametrize("secret", ["", "two words", "a\nb", "x" * 20_000])
def test_what_is_no_key_is_not_kept(keys: Keys, secret: str) -> None:
    """A file pasted by mistake, for one."""
    with pytest.raises(InvalidInput):
        keys.put("local", secret, "https://a.example")


def test_a_secret_does_not_stand_in_what_is_printed(keys: Keys) -> None:
    """Neither of a key nor of those who have some."""
    keys.put("local", SECRET, "https://a.example")
    assert SECRET not in repr(keys.find("local"))
    assert SECRET not in repr(Keys(environ={"OPENAI_API_KEY": SECRET}))
