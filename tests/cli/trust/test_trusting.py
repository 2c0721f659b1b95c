"""Which commands may be run: listed, trusted by a person, and no others."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from counterpoint.app import App, Identity, open_app
from counterpoint.core.coordinator import Core
from counterpoint.core.model.evidence import Command
from counterpoint.core.model.filters import Check, Edit
from counterpoint.core.model.journal import Receipt
from counterpoint.core.model.models import make_question
from counterpoint.dialects.envelope import PEOPLE
from counterpoint.kernel.errors import CommandNotAllowed, NotTrusted
from fakes.scripted_models import ModelServer
from fakes.terminal import Open

FREE = ("sh", "-c", "echo ran")


def runs(core: Core, *argv: str) -> Receipt:
    """Have a command run, as an agent does."""
    return core.gates.verify(Check(item="", command=Command(argv=argv))).receipts[0]


def test_an_agent_has_no_command_run_that_no_person_let_be_run(
    app: App, agent: Core, call: Callable[..., Any], ledger: Path
) -> None:
    """Neither by the tool, nor as the check of an item, nor by editing the file; a person lets one, or all."""
    with pytest.raises(CommandNotAllowed, match="`sh -c 'echo ran'`") as refused:
        runs(agent, *FREE)
    assert "counterpoint trust --allow" in refused.value.hint_in(PEOPLE)
    item = agent.plans.create(agent.plans.read("# More\n- [ ] Task\n  - verify: sh -c true\n"))
    with pytest.raises(CommandNotAllowed):
        agent.gates.verify(Check(item=item.ready[0]))
    assert "Runs: sh -c true" in call("trust", "--allow", "sh -c true").out
    assert agent.gates.verify(Check(item=item.ready[0])).passed
    file = ledger / "counterpoint.toml"
    text = file.read_text()
    file.write_text(text.replace("true", "echo ran"))
    for argv in (FREE, ("sh", "-c", "true")):
        with pytest.raises(NotTrusted) as untrusted:
            runs(agent, *argv)
    assert "`counterpoint trust`" in untrusted.value.hint_in(PEOPLE)
    refused_here = call("trust", "--allow", "ruff check")
    assert refused_here.code == 1
    assert "New: Runs: sh -c 'echo ran'; Gone: Runs: sh -c true" in refused_here.err
    assert "ruff" not in file.read_text()
    shown = call("trust")
    assert shown.code == 1
    assert "  New: Runs: sh -c 'echo ran'\n  Gone: Runs: sh -c true\n" in shown.out
    with pytest.raises(NotTrusted):
        runs(agent, *FREE)
    assert call("trust", "--yes").code == 0
    assert call("trust").code == 0
    assert runs(agent, *FREE).output == "ran\n"
    assert call("trust", "--free", "--json").json["free"] is True
    assert runs(agent, "sh", "-c", "echo any").output == "any\n"
    assert app.itself().audit.verify().sound


def test_nobody_trusts_by_an_answer_that_he_takes_for_a_no(
    at: Open, call: Callable[..., Any], ledger: Path
) -> None:
    """A terminal shows all that would count and asks; a no to that, and one to making a key, leave it untrusted."""
    file = ledger / "counterpoint.toml"
    file.write_text("[checks]\nsandbox = 'off'\ncommands = [['rm', '*']]\n")
    refused = call("trust", "--allow", "echo hi")
    assert refused.code == 1
    assert "New: Runs: rm * (any words); Sandbox: off (it was auto)" in refused.err
    for answers, code in ((("n",), 1), (("y", "n"), 1)):
        terminal = at("trust")
        terminal.expect("New: Runs: rm * (any words)")
        for words, answer in zip(("Is all of this to count?", "n: stop"), answers, strict=False):
            terminal.expect(words)
            terminal.type(answer)
        assert terminal.end() == code
    assert call("trust", "--json").json["counts"] is False
    assert "trusted" not in call("log", "--json").out


def test_a_command_that_cannot_be_read_is_refused_as_such(
    ledger: Path, call: Callable[..., Any]
) -> None:
    """An open quotation mark, a sign of a shell, nothing at all: with what is wrong, and nothing is written."""
    for command, wrong in (("a'", "no closing quotation"), ("a && b", "a shell"), ("", "empty")):
        refused = call("trust", "--allow", command)
        assert refused.code == 2
        assert wrong in refused.err
    assert not (ledger / "counterpoint.toml").exists()


def test_what_is_no_file_in_the_place_of_the_configuration_is_called_what_it_is(
    ledger: Path, call: Callable[..., Any]
) -> None:
    file = ledger / "counterpoint.toml"
    for sort, make in (
        ("link", lambda: file.symlink_to(ledger / "other.toml")),
        ("pipe", lambda: os.mkfifo(file)),
        ("folder", file.mkdir),
    ):
        make()
        for words in (("trust",), ("trust", "--allow", "make test")):
            refused = call(*words)
            assert (refused.code, f"is a {sort}, where a file is meant" in refused.err) == (2, True)
        assert f"is a {sort}" in call("status").out
        if sort != "folder":
            file.unlink()


def test_a_command_that_would_not_be_run_is_told_before_an_agent_fails_on_it(
    agent: Core, call: Callable[..., Any], ledger: Path
) -> None:
    """By `status` and `doctor`: not listed, a file that cannot be read, and one that was changed since it was trusted."""

    def told() -> tuple[str, str, str]:
        (found,) = (
            one for one in call("doctor", "--json").json["checks"] if one["name"] == "checks"
        )
        state = call("status", "--json").json
        waiting = [one for one in state["waiting_for_you"] if "counterpoint trust" in str(one)]
        assert bool(waiting) == bool(state["checks"])
        return state["checks"], found["verdict"], found["found"]

    assert told()[:2] == ("", "ok")
    made = agent.plans.create(agent.plans.read("# More\n- [ ] Task\n  - verify: sh -c 'exit 0'\n"))
    said, verdict, found = told()
    assert (
        said
        == found
        == (
            "these commands of checks are not allowed yet: `sh -c 'exit 0'`."
            """ A person allows them with: `counterpoint trust --allow 'sh -c '"'"'exit 0'"'"''`"""
        )
    )
    assert verdict == "warn"
    call(*shlex.split(said.partition(": `counterpoint ")[2].removesuffix("`")))
    assert told()[:2] == ("", "ok")
    file = ledger / "counterpoint.toml"
    kept = file.read_text()
    for text, words in (
        ("[checks\n", "cannot be read"),
        (f"{kept}free = true\n", "not what was trusted"),
    ):
        file.write_text(text)
        said, verdict, _ = told()
        assert words in said
        assert verdict == "warn"
    call("trust", "--yes")
    assert told()[:2] == ("", "ok")
    call("trust", "--no-free")
    file.write_text("")
    assert told()[1] == "warn"
    agent.items.edit(made.root.id, Edit(status="cancelled", reason="Not wanted"))
    assert told()[:2] == ("", "ok")


def test_programs_are_those_of_whoever_trusted_them(
    app: App, agent: Core, call: Callable[..., Any], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that an agent started finds them on the PATH of the person, and no others."""
    for name in ("real", "fake"):
        (place / name).mkdir()
        (place / name / "tests").write_text(f"#!/bin/sh\necho {name}\n")
        (place / name / "tests").chmod(0o700)
    monkeypatch.setenv("PATH", f"{place}/real")
    call("trust", "--allow", "tests *")
    app.environ = {"PATH": f"{place}/fake"}
    kept = runs(agent, "tests", "-q")
    assert kept.output == "real\n"
    assert kept.program == f"{place}/real/tests"
    monkeypatch.setenv("PATH", f"{place}/fake")
    assert call("trust", "--json").json["differs"] == [f"PATH: {place}/fake (it was {place}/real)"]
    said = call("trust", "--yes", "--json").json
    assert said["commands"] == [["tests", "*"]]
    assert runs(agent, "tests").output == "fake\n"


def test_a_sandbox_is_given_up_by_a_person_alone(
    agent: Core, call: Callable[..., Any], ledger: Path
) -> None:
    """A file that says so is refused until he trusts it; one that asks for more is not."""
    file = ledger / "counterpoint.toml"
    file.write_text("[checks]\nsandbox = 'off'\n")
    with pytest.raises(NotTrusted):
        runs(agent, "sh", "-c", "true")
    file.write_text("[checks]\nnetwork = false\n")
    with pytest.raises(CommandNotAllowed):
        runs(agent, "sh", "-c", "true")
    file.write_text("[checks]\nsandbox = 'off'\nfree = true\n")
    differs = call("trust", "--json").json["differs"]
    assert differs == ["New: Runs whatever agents ask for.", "Sandbox: off (it was auto)"]
    call("trust", "--yes")
    assert runs(agent, "sh", "-c", "true").sandbox == "none"


def test_a_credential_has_free_commands_run_with_the_scope_alone(
    ledger: Path, call: Callable[..., Any]
) -> None:
    """Whatever the configuration lets others do."""
    call("trust", "--free")
    for words, may in (((), False), (("--run",), True)):
        made = call("agent", "create", f"eve{len(words)}", *words, "--json").json["credential"]
        bearer = open_app(ledger, {"COUNTERPOINT_CREDENTIAL": made})
        attested = bearer.core(Identity(kind="agent", name="eve")).identities.attest(
            bearer.own_peer, credential=made
        )
        core = bearer.core(Identity(kind="agent", name="eve", attested=attested, session=f"s{may}"))
        if may:
            assert runs(core, *FREE).output == "ran\n"
        else:
            with pytest.raises(CommandNotAllowed, match="scope `run`"):
                runs(core, *FREE)
        bearer.close()


def test_where_models_are_asked_is_shown_and_holds_once_a_person_trusted_it(
    agent: Core, call: Callable[..., Any], ledger: Path
) -> None:
    """An address, a command, a price and limits; what an agent changes is shown as new, and nobody is asked until then."""
    with ModelServer("fine") as models:
        file = models.configure(ledger, "daily_usd = 25\ntotal_usd = 90")
        for change in ("", '[models.prices."a-1"]\ninput = 1\noutput = 2.5\n'):
            file.write_text(file.read_text() + change)
            with pytest.raises(NotTrusted):
                agent.models.ask(make_question("?"))
            shown = call("trust")
            assert shown.code == 1
            new = [line for line in shown.out.splitlines() if line.startswith("  New: ")]
            if not change:
                assert new == [
                    f"  New: Asks local for models at {models.address}",
                    "  New: Models may cost $25.0000 a day, and $90.0000 in all",
                ]
            else:
                assert new == [
                    "  New: A million tokens of a-1 cost $1.0000 ($1.0000 kept), of its answers $2.5000"
                ]
            assert call("trust", "--yes").code == 0
            assert agent.models.ask(make_question("?")).text == "fine"
        file.write_text(file.read_text().replace("= 25", "= 26"))
        with pytest.raises(NotTrusted):
            agent.models.ask(make_question("?"))
        command = file.read_text() + "[models.providers.other]\ncommand = ['sh', '-c', 'true']\n"
        file.write_text(command)
        assert "Asks other for models by running: sh -c true" in call("trust").out
        file.write_text(command + '[models.embedding]\nprovider = "openai"\nmodel = "vec-1"\n')
        assert "Sends every text of the ledger to openai, to be found by vec-1" in call("trust").out
        assert len(models.questions) == 2
