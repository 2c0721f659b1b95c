"""What is asked of work that comes again: it is asked here too, or each difference is told with what changes it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from counterpoint.cli.importing.readers import own
from counterpoint.core.coordinator import Core
from counterpoint.core.model.foreign import Source
from counterpoint.core.operations.foreign.importing import ForeignImports

Bring = Callable[..., dict[str, Any]]
CHECKS = [["true"], ["test", "-e", "a b"]]


def write(folder: Path, item: dict[str, Any]) -> None:
    """Write a file with one item."""
    work = {"format": "counterpoint", "version": 1, "title": "W", "items": [item]}
    (folder / "work.json").write_text(json.dumps(work))


@pytest.fixture
def bring(call: Any, ledger: Path) -> Bring:
    """Give what imports one item that asks for these things."""

    def bring_(**asked: Any) -> dict[str, Any]:
        item = {"id": "t-1", "title": "Hull", **asked}
        write(ledger, item)
        imported = call("import", "counterpoint", "work.json", "--json")
        assert imported.code == 0, imported.err
        return imported.json["sources"][0]

    return bring_


def find_gates(agent: Core) -> dict[str, str]:
    """Return the status of each gate of the imported item by its command or name."""
    item = agent.items.find("t-1", "counterpoint")
    gates = agent.overview.facets(item.id).gates
    return {" ".join(gate.argv) or gate.name: gate.status for gate in gates}


def test_what_is_asked_since_is_asked_here_too(bring: Bring, agent: Core, call: Any) -> None:
    """Once: the same again writes nothing."""
    bring()
    asked = {
        "checks": CHECKS,
        "review": True,
        "approval": True,
        "artifact": True,
        "profile": "judge",
    }
    came = bring(**asked)
    assert came["kept"] == []
    assert set(came["changed"][0]["fields"]) == {*asked}
    gates = dict.fromkeys(("true", "test -e a b", "review", "approval", "artifact"), "closed")
    assert find_gates(agent) == gates
    assert agent.items.find("t-1", "counterpoint").profile == "judge"
    head = call("log", "--json").json
    again = bring(**asked)
    assert (again["changed"], again["kept"]) == ([], [])
    assert call("log", "--json").json == head


def test_what_is_asked_no_more_is_let_go_before_work_has_begun(bring: Bring, agent: Core) -> None:
    """Checks are taken away, gates are waived."""
    bring(checks=CHECKS, review=True)
    came = bring(checks=CHECKS[:1])
    assert came["kept"] == []
    assert find_gates(agent) == {"true": "closed", "review": "waived"}


def test_what_cannot_be_taken_over_is_told_with_the_command_at_each_import(
    bring: Bring, agent: Core, ledger: Path
) -> None:
    """After work has begun whoever works lets go of nothing; the rest of the item is brought."""
    bring(checks=CHECKS[:1])
    item = agent.items.find("t-1", "counterpoint").id
    agent.claims.start(item)
    text = {"id": "t-1", "title": "Hull 2", "approval": True, "checks": CHECKS[1:]}
    write(ledger, text)
    for _ in range(2):
        (work,) = own.read(ledger / "work.json")
        came = agent.use(ForeignImports).bring(work, Source(place="work.json"))
        why = {left.fields[0]: left.why for left in came.kept}
        assert "nobody approves its start any more" in why["approval"]
        (line,) = [shlex.join(argv) for argv in CHECKS[1:]]
        assert f"`counterpoint edit {item} --check {shlex.quote(line)}` changes it" in why["checks"]
        assert agent.items.get(item).title == "Hull 2"
        assert find_gates(agent) == {"true": "closed"}
    # What is there as it is here is no difference any more.
    assert bring(title="Hull 2", checks=CHECKS[:1])["kept"] == []


def test_what_both_sides_changed_stays_and_is_told_with_the_command(
    bring: Bring, agent: Core, call: Any
) -> None:
    bring()
    item = agent.items.find("t-1", "counterpoint").id
    assert call("edit", item, "--check", "false", "--profile", "smith").code == 0
    # Nothing was said there, so nothing is taken away here.
    assert bring()["kept"] == []
    came = bring(checks=CHECKS[:1], profile="judge")
    why = {left["fields"][0]: left["why"] for left in came["kept"]}
    assert f"`counterpoint edit {item} --check true` changes it" in why["checks"]
    assert f"`counterpoint edit {item} --profile judge` changes it" in why["profile"]
    assert find_gates(agent) == {"false": "closed"}


def test_what_has_ended_is_asked_nothing_more(bring: Bring, agent: Core, call: Any) -> None:
    """It is told, with the command that opens it."""
    bring()
    item = agent.items.find("t-1", "counterpoint").id
    for status in ("active", "done"):
        assert call("edit", item, "--status", status).code == 0
    (left,) = bring(review=True)["kept"]
    assert (left["fields"], left["why"]) == (
        ["review"],
        f"it is done here; `counterpoint reopen {item}` opens it",
    )
    assert find_gates(agent) == {}
