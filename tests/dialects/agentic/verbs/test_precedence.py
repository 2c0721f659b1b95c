"""What has to come first: refused with the way to it, remembered for each session."""

from __future__ import annotations

from dataclasses import replace

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Handover
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.sessions import Session
from counterpoint.core.operations.recording.unit import recording
from counterpoint.dialects.agentic.rules.precedence import read_table
from counterpoint.dialects.agentic.verbs.precedence import Precedence
from counterpoint.kernel.errors import OutOfOrder
from fakes.studio import Studio

TABLE = """
log:
  - tool_called: start
  - session_state: active
    made_by: resume
update:
  - context_exists: goal
  - entity_exists: item
    argument: id
    made_by: plan
"""
TOOLS = ("start", "resume", "log", "update", "plan")


def nothing(_kind: str, _name: str) -> bool:
    """Answer that there is no such thing."""
    return False


@pytest.fixture
def ordered():
    """Give a project whose tools have an order; after the test it must be sound."""
    opened = Studio(order=read_table(TABLE, TOOLS))
    yield opened
    opened.check()
    opened.close()


def test_without_a_table_nothing_is_asked_and_nothing_is_counted(studio, ada):
    """The store is as it was."""
    before = studio.image()
    ada.use(Precedence).check("log", {}, nothing)
    ada.use(Precedence).note("start")
    assert ada.use(Precedence).called(ada.caller.actor.session) == frozenset()
    assert studio.image() == before


def test_a_call_that_comes_too_early_is_told_what_to_call(ordered):
    ada = ordered.core("ada")
    ada.use(Precedence).check("start", {}, nothing)
    with pytest.raises(OutOfOrder) as refused:
        ada.use(Precedence).check("log", {}, nothing)
    assert refused.value.facts["suggested_order"] == ["start", "resume", "log"]
    assert [one["kind"] for one in refused.value.facts["missing"]] == [
        "tool_called",
        "session_state",
    ]
    ada.use(Precedence).note("start")
    ada.memory.put("project", "k", 1)
    ada.use(Precedence).check("log", {}, nothing)
    ada.sessions.hand_over(Handover(action="pause", summary="later"))
    with pytest.raises(OutOfOrder) as refused:
        ada.use(Precedence).check("log", {}, nothing)
    assert refused.value.facts["suggested_order"] == ["resume", "log"]


def test_a_tool_is_remembered_once(ordered, monkeypatch):
    """The second call writes nothing; what else is counted of a session is no tool."""
    ada = ordered.core("ada")
    ada.use(Precedence).note("start")
    ada.tokens.take(ada.caller.actor.session, 5)
    monkeypatch.delattr(type(ordered.store), "writing")
    ada.use(Precedence).note("start")
    assert ada.use(Precedence).called(ada.caller.actor.session) == {"start"}
    monkeypatch.undo()


def test_each_session_has_called_its_own_tools(ordered):
    """Once is enough; another session begins with none; the one meant can be named."""
    ada, bob = ordered.core("ada"), ordered.core("bob")
    mine = ada.caller.actor.session
    for _ in range(2):
        ada.use(Precedence).note("start")
    bob.use(Precedence).note("resume", session=mine)
    assert ada.use(Precedence).called(mine) == {"start", "resume"}
    assert bob.use(Precedence).called(bob.caller.actor.session) == frozenset()
    bob.memory.put("project", "k", 1)
    with pytest.raises(OutOfOrder):
        bob.use(Precedence).check("log", {}, nothing)


def test_what_was_called_is_in_no_entry(ordered):
    """It is counted beside the ledger; a replay neither makes nor misses it."""
    ada = ordered.core("ada")
    size = ordered.image().size
    ada.use(Precedence).note("start")
    assert ordered.image().size == size
    assert ada.audit.rebuild().differences == ()


@pytest.mark.parametrize("details", ["", '{"goal": "walnuts"}', '{"goal": ""}', '["goal"]'])
def test_a_key_is_in_the_arguments_or_in_what_the_session_was_given(ordered, details):
    """What is there but empty is not."""
    ada = ordered.core("ada")
    ada.memory.put("project", "k", 1)
    give(ada, details)

    def there(kind: str, name: str) -> bool:
        return (kind, name) == ("item", "demo-1")

    ada.use(Precedence).check("update", {"id": "demo-1", "goal": "pears"}, there)
    for arguments in ({"id": "demo-1"}, {"id": "demo-1", "goal": None}):
        if details == '{"goal": "walnuts"}':
            ada.use(Precedence).check("update", arguments, there)
            continue
        with pytest.raises(OutOfOrder) as refused:
            ada.use(Precedence).check("update", arguments, there)
        assert [one["kind"] for one in refused.value.facts["missing"]] == ["context_exists"]
    with pytest.raises(OutOfOrder) as refused:
        ada.use(Precedence).check("update", {"id": "demo-2", "goal": "pears"}, there)
    assert refused.value.facts["suggested_order"] == ["plan", "update"]


def give(core: Core, details: str) -> None:
    """Let the session of a caller have been given something when it was opened."""
    with recording(core._context, "session.given") as change:
        session = change.find(Session, core.caller.actor.session)
        change.put(replace(session, details=Prose(details)))


def test_what_a_session_was_given_may_have_been_redacted(ordered):
    ada = ordered.core("ada")
    ada.memory.put("project", "k", 1)
    give(ada, '{"goal": "walnuts"}')
    session = ada.caller.actor.session
    ordered.core("pat", kind="human").erasing.of_row(Session, session, reason="private")
    with pytest.raises(OutOfOrder):
        ada.use(Precedence).check("update", {"id": "demo-1"}, lambda _kind, _name: True)
