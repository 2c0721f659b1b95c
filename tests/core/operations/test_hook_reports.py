"""What hooks report of calls of tools, as the run of a session."""

from __future__ import annotations

import json
from typing import Any

from counterpoint.core.coordinator import Core
from counterpoint.core.model.access import Actor
from counterpoint.core.model.runs import REPORTED, EventFilter, HookReport, RunOrder
from counterpoint.core.model.sessions import Session, SessionOpening
from counterpoint.core.operations.recording.context import Caller
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import Conflict
from fakes.studio import ROOT, Studio

AT = Timestamp("2026-01-01T00:00:00.000Z")


def told(text: str | dict[str, Any], size: int = 9) -> HookReport:
    """Answer what a hook was told."""
    words = text if isinstance(text, str) else json.dumps(text)
    return HookReport(client="claude", text=words, size=size, at=AT)


def payloads(core: Core, run: str) -> list[Any]:
    """Answer what the events of a run say."""
    return [json.loads(one.payload) for one in core.runs.events(EventFilter(run=run), 100).events]


def test_calls_stand_in_the_session_that_their_agent_opened_last(studio: Studio) -> None:
    """By whatever connection: the hook is another one of the same principal."""
    agent = studio.core("ada")
    mine = agent.sessions.open(SessionOpening(purpose="work", is_own=True))
    hook = studio.core("ada", session="ses_hook")
    run = hook.runs.report([told({"tool_name": "Bash", "tool_input": {"command": "ls"}})])
    assert (run.id, run.status, run.events, run.agent) == (mine.id, REPORTED, 1, "ada")
    again = hook.runs.report([told({"tool_name": "Edit"})], missing=3)
    assert (again.id, again.events) == (mine.id, 3)
    assert [one.get("tool_name", one.get("missing")) for one in payloads(agent, mine.id)] == [
        *("Bash", 3, "Edit")
    ]
    last = studio.last()
    assert (last.action, last.subject, last.actor.session) == ("run.ingested", mine.id, mine.id)
    assert dict(last.facts) == {"events": 1, "first": 2, "status": REPORTED, "missing": 3}
    studio.check()


def test_nobody_writes_in_the_session_of_another(studio: Studio) -> None:
    """Who has none, or is nobody that is known, has one of the hook."""
    ada = studio.core("ada").sessions.open(SessionOpening(purpose="work", is_own=True))
    run = studio.core("bob", session="ses_bob").runs.report([told({"tool_name": "Bash"})])
    assert run.id == "ses_bob"
    nobody = Actor(kind="agent", name="ada", session="ses_x")
    unknown = Core(studio.ports, Caller(actor=nobody, root=ROOT, capability="c"))
    assert unknown.runs.report([told({"tool_name": "Bash"})]).id == "ses_x"
    with studio.view() as view:
        assert view.find(Session, "ses_x") is not None
    assert ada.id not in {"ses_bob", "ses_x"}


def test_the_run_of_a_session_is_no_stream(studio: Studio) -> None:
    """Its events are not mixed with those of a file."""
    hook = studio.core("ada")
    run = hook.runs.report([told({"tool_name": "Bash"})])
    studio.refuses(Conflict, lambda: hook.runs.ingest(["{}"], RunOrder(run=run.id)))


def test_secrets_are_masked_before_anything_is_cut(studio: Studio) -> None:
    """Where the cut goes through one, too; what was cut is said."""
    studio.masking("hunter2hunter2")
    hook = studio.core("ada", session="ses_a")
    answer = "x" * 3_990 + "hunter2hunter2" + " and so on" * 2_000
    told_of = {"tool_name": "Read", "tool_input": {"a": "b"}, "tool_response": answer, "cwd": "/h"}
    hook.runs.report([told({**told_of, "tool_output": ["y" * 3_000], "error": "z" * 3_000})])
    (event,) = hook.runs.events(EventFilter(run="ses_a"), 9).events
    assert event.is_cut
    assert "hunter" not in event.payload
    assert "more characters" in event.payload
    assert "cwd" not in event.payload
    assert len(event.payload) <= 8_000


def test_what_cannot_be_read_is_said_and_calls_of_ours_are_kept_by_name(studio: Studio) -> None:
    """So that no call is missing silently, and nothing stands twice."""
    hook = studio.core("ada", session="ses_a")
    ours = {"tool_name": "mcp__counterpoint__plan", "tool_input": {"markdown": "# x"}}
    hook.runs.report([told("no json"), told("[1]"), told("", 2_000_000), told("", 0), told(ours)])
    by = {"reported_by": "hook of claude"}
    assert payloads(hook, "ses_a") == [
        {**by, "unread": "what the hook was told was no JSON object: 9 bytes"},
        {**by, "unread": "what the hook was told was no JSON object: 9 bytes"},
        {**by, "unread": "what the hook was told was too large to be looked at: 2000000 bytes"},
        {**by, "unread": "the hook was told nothing"},
        {**by, "tool_name": "mcp__counterpoint__plan"},
    ]
