"""The lock that a run has on its spec, and whose sessions are whose."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest

from builders import Agent, Workshop
from counterpoint.core.model.sessions import Claim, Session
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.models.runs import Role
from counterpoint.dialects.foundry.runs import rows
from counterpoint.dialects.foundry.runs.locking import Locking
from counterpoint.dialects.foundry.runs.rules.limits import is_locked
from counterpoint.dialects.registry import surface
from counterpoint.protocol.tools import Tool
from fakes.run_party import SPEC, Party, run_row, set_run

LOCKED = "AUTONOMY_WRITE_LOCK_ACTIVE"
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("task", {"action": "start", "task_id": "task-1-1"}),
    ("task", {"action": "complete", "task_id": "task-1-1", "completion_note": "Done"}),
    ("task", {"action": "update-status", "task_id": "task-1-1", "status": "in_progress"}),
    ("task", {"action": "block", "task_id": "task-1-1", "reason": "no"}),
    ("task", {"action": "add", "parent": "phase-1", "title": "x"}),
    ("task", {"action": "remove", "task_id": "task-1-1"}),
    ("task", {"action": "move", "task_id": "task-1-1", "parent": "phase-2"}),
    ("task", {"action": "update-estimate", "task_id": "task-1-1", "complexity": "low"}),
    ("task", {"action": "update-metadata", "task_id": "task-1-1", "title": "y"}),
    ("task", {"action": "metadata-batch", "status_filter": "pending", "category": "x"}),
    ("task", {"action": "start-batch", "task_ids": ["task-1-1"]}),
    (
        "task",
        {"action": "complete-batch", "completions": [{"task_id": "task-1-1", "success": True}]},
    ),
    (
        "task",
        {
            "action": "add-requirement",
            "task_id": "task-1-1",
            "requirement_type": "technical",
            "text": "t",
        },
    ),
    ("task", {"action": "add-dependency", "task_id": "task-1-1", "target_id": "task-2-1"}),
    ("authoring", {"action": "phase-add", "title": "x"}),
    ("authoring", {"action": "assumption-add", "text": "x"}),
    ("lifecycle", {"action": "move", "to_folder": "active"}),
    ("lifecycle", {"action": "activate"}),
    ("verification", {"action": "add", "verify_id": "task-1-1", "result": "PASSED"}),
]


@pytest.mark.parametrize(("tool", "given"), CALLS)
def test_nobody_else_changes_the_spec_of_a_run(
    party: Party, tool: str, given: dict[str, Any]
) -> None:
    """Not over the connection that began it either, unless the call says that it is of the run."""
    session = party.start()
    for agent, named in ((party.gus, ""), (party.fay, ""), (party.gus, "ses_other")):
        asked = {**given, "spec_id": SPEC, **({"session_id": named} if named else {})}
        refused = agent.is_refused(tool, **asked)["data"]
        assert refused["error_code"] == LOCKED
        assert refused["details"]["session_id"] == session
    reply = party.fay.call(tool, {**given, "spec_id": SPEC, "session_id": session})
    assert reply.answer["data"].get("error_code") != LOCKED
    assert tool == "verification" or not reply.is_error, reply.text


def test_whoever_reads_the_id_of_a_run_is_not_at_it(party: Party) -> None:
    """It stands in every list: once somebody is at the run it is his, until he is gone."""
    session = party.start()
    asked = {"action": "add", "spec_id": SPEC, "parent": "phase-1", "session_id": session}
    party.fay.does("task", **asked, title="Before anybody is at it")
    step(party.gus, session)
    refused = party.fay.is_refused("task", **asked, title="x")
    assert refused["data"]["error_code"] == LOCKED
    assert "gus is at run" in refused["error"]
    party.gus.does("task", **asked, title="y")
    party.workshop.clock.pass_by(minutes=31)
    party.fay.does("task", **asked, title="z")


def test_a_spec_is_not_archived_under_its_run(party: Party) -> None:
    """Also by the run itself: its steps would be refused, and it would go on for ever."""
    session = party.start()
    about = {"spec_id": SPEC, "session_id": session}
    refused = party.fay.is_refused("lifecycle", action="archive", **about)
    assert refused["data"]["error_code"] == "CONFLICT"
    assert "task session end" in refused["data"]["remediation"]
    party.does("end", reason_code="testing")
    party.fay.does("lifecycle", action="archive", **about)


def test_reading_and_the_journal_stay_open(party: Party) -> None:
    """So do other specs, other dialects, and people."""
    party.start()
    for tool, given in (
        ("task", {"action": "next"}),
        ("task", {"action": "prepare", "session_id": "ses_other"}),
        ("spec", {"action": "get"}),
        ("journal", {"action": "add", "title": "t", "content": "c"}),
    ):
        assert not party.gus.call(tool, {**given, "spec_id": SPEC}).is_error
    party.workshop.agent("nat").does("note", id=party.item("phase-1"), kind="comment", text="b")


@pytest.mark.parametrize("changes", [{"command": "pause"}, {"command": "end"}])
def test_a_run_that_does_not_run_locks_nothing(party: Party, changes: dict[str, Any]) -> None:
    """Others may change the spec then."""
    party.start()
    given = {"reason_code": "testing"} if changes["command"] == "end" else {}
    party.does(**changes, **given)
    party.gus.does("task", action="add", spec_id=SPEC, parent="phase-1", title="x")


def test_a_run_may_be_begun_without_the_lock(party: Party, made: Callable[..., str]) -> None:
    made(spec="other-2026-01-02-001")
    party.start(spec_id="other-2026-01-02-001")
    party.start(enforce_write_lock=False)
    party.gus.does("task", action="add", spec_id=SPEC, parent="phase-1", title="x")


def test_a_run_that_begins_while_a_call_is_under_way_locks_it_out(
    party: Party, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked in the transaction that writes: no run begins between the look and the change."""
    entered = Locking.held

    @contextmanager
    def late(self: Locking, spec: str, session: str, role: Role | None = None) -> Generator[None]:
        with entered(self, spec, session, role):
            party.does("start", party.gus, spec_id=SPEC)
            yield

    monkeypatch.setattr(Locking, "held", late)
    asked = {"action": "add", "spec_id": SPEC, "parent": "phase-1", "title": "x"}
    reply = party.fay.call("task", {**asked, "idempotency_key": "k"})
    assert reply.answer["data"]["error_code"] == LOCKED


def test_a_maintainer_passes_the_lock_only_where_that_is_configured_and_with_a_reason(
    party: Party,
) -> None:
    """It is written down, in the ledger and in the journal."""
    party.start()
    asked = {"action": "add", "spec_id": SPEC, "parent": "phase-1", "title": "x"}
    bypass = {"bypass_autonomy_lock": True}
    data = party.gus.is_refused("task", **asked, **bypass, bypass_reason="urgent")["data"]
    assert data["error_code"] == "FORBIDDEN"
    lead = party.as_role(posture="supervised")
    assert lead.is_refused("task", **asked, **bypass)["data"]["error_code"] == "MISSING_REQUIRED"
    lead.does("task", **asked, **bypass, bypass_reason="urgent")
    events = party.fay.does("task", action="session-events")["data"]["events"]
    assert (events[0]["action"], events[0]["summary"]) == ("bypass", "urgent")
    assert (events[0]["author"], events[1]["action"]) == ("ron", "start")
    runner = party.as_role("autonomy_runner", "supervised")
    given = {"action": "start", "spec_id": SPEC, "task_id": "task-1-1"}
    data = runner.is_refused("task", **given, **bypass, bypass_reason="urgent")["data"]
    assert data["error_code"] == "FORBIDDEN"


def test_the_runner_changes_a_spec_in_its_own_run_alone(party: Party) -> None:
    """Not without a run, not in that of another spec or another agent, and no longer once it is paused."""
    runner, other = (party.as_role("autonomy_runner", name=name) for name in ("ron", "rob"))
    start = {"action": "start", "spec_id": SPEC, "task_id": "task-1-1"}
    calls = [
        start,
        {"action": "complete", "spec_id": SPEC, "task_id": "task-1-1", "completion_note": "n"},
        {"action": "update-status", "spec_id": SPEC, "task_id": "task-1-1", "status": "completed"},
        {"action": "block", "spec_id": SPEC, "task_id": "task-1-1", "reason": "r"},
    ]

    def refused(agent: Agent, **given: Any) -> str:
        return agent.is_refused("task", **given)["data"]["error_code"]

    bypass = {"bypass_autonomy_lock": True, "bypass_reason": "x"}
    for call in calls:
        assert refused(runner, **call) == "AUTHORIZATION"
        assert refused(runner, **call, session_id="ses_x") == "AUTHORIZATION"
        assert refused(runner, **call, **bypass) == "AUTHORIZATION"
    begun = party.does("start", runner, spec_id=SPEC, enforce_write_lock=False)
    run = {"session_id": begun["session_id"]}
    runner.does("task", action="session-step", command="next", **run)
    for call in calls:
        assert refused(runner, **call) == "AUTHORIZATION"
        assert refused(runner, **call, **bypass) == "AUTHORIZATION"
    assert refused(other, **start, **run) == LOCKED
    runner.does("task", **start, **run)
    party.fay.does("task", action="session", command="pause", **run)
    assert refused(runner, **calls[1], **run) == "AUTHORIZATION"
    party.fay.does("task", action="session", command="resume", **run)
    runner.does("task", action="info", spec_id=SPEC, task_id="task-1-1")


def test_a_bypass_that_is_refused_otherwise_leaves_nothing(party: Party) -> None:
    """The word that it was used goes with what it was used for."""
    party.start()
    lead = party.as_role(posture="debug")
    asked = {"action": "add", "spec_id": SPEC, "parent": "phase-9", "title": "x"}
    lead.is_refused("task", **asked, bypass_autonomy_lock=True, bypass_reason="urgent")


def test_every_action_that_changes_a_spec_takes_the_session_of_a_run() -> None:
    """So that no call of a run is refused by its own lock."""
    lacking = [
        part.name
        for tool in surface("foundry").tools
        for part in tool.parts
        if is_locked(part.name)
        and not part.reads
        and "spec_id" in part.parameters.accepted
        and "session_id" not in part.parameters.accepted
    ]
    assert lacking == []


def session_of(party: Party, session: str) -> Session:
    """Answer the session of the core that a run is."""
    return party.fay.core.sessions.get(session).session


def step(agent: Agent, session: str) -> None:
    """Ask for a step as the verb of it does."""

    def put(context: Context) -> None:
        with recording(context.in_session(session), "run.looked") as change:
            rows.take_up(change, session)

    agent.core.use(put)


def test_whoever_steps_first_has_the_session_of_a_run(party: Party) -> None:
    """Not who began it; and nobody else while he is at it."""
    session = party.start()
    known = session_of(party, session)
    assert (known.purpose, known.status) == ("work", "paused")
    assert known.item == run_row(party.fay, session).spec
    step(party.gus, session)
    assert (session_of(party, session).status, session_of(party, session).agent) == (
        "active",
        "gus",
    )
    step(party.gus, session)
    with pytest.raises(Exception, match="who is at it"):
        step(party.fay, session)


def test_a_run_that_stops_hands_its_session_over(party: Party) -> None:
    """With what is held in it; whoever steps next has it."""
    session = party.start()
    step(party.gus, session)
    held = {"action": "start", "spec_id": SPEC, "task_id": "task-1-1", "session_id": session}
    party.gus.core.in_session(session).claims.start(party.item("task-1-1"))
    party.does("pause", party.gus)
    assert session_of(party, session).status == "paused"
    party.does("resume")
    step(party.fay, session)
    assert session_of(party, session).agent == "fay"
    assert party.fay.does("task", **held)["data"]["task_id"] == "task-1-1"


def claim(party: Party, task: str) -> Claim:
    """Answer the claim of a task."""

    def read(context: Context) -> Claim:
        with context.reading() as view:
            found = view.find(Claim, party.item(task))
            assert found is not None
            return found

    return party.fay.core.use(read)


@pytest.mark.parametrize(
    ("command", "given"), [("pause", {}), ("end", {"reason_code": "operator_override"})]
)
def test_whoever_stops_the_run_of_somebody_else_takes_nothing_from_him(
    party: Party, command: str, given: dict[str, Any]
) -> None:
    """The run stops; what he holds he holds, until he lets go or his lease ends."""
    session = party.start()
    step(party.gus, session)
    party.gus.core.in_session(session).claims.start(party.item("task-1-1"))
    party.does(command, session_id=session, **given)
    assert session_of(party, session).status == "active"
    assert claim(party, "task-1-1").is_held_by(session)


def test_a_run_that_its_holder_ends_gives_back_what_is_held_in_it(party: Party) -> None:
    """Its session is over with it."""
    session = party.start()
    step(party.gus, session)
    party.gus.core.in_session(session).claims.start(party.item("task-1-1"))
    party.does("end", party.gus, session_id=session, reason_code="testing")
    assert session_of(party, session).has_ended
    assert not claim(party, "task-1-1").is_held


@pytest.mark.parametrize("who", ["gus", "fay"])
@pytest.mark.parametrize("command", ["end", "start"])
def test_what_was_held_in_a_run_that_was_handed_over_goes_back_with_its_end(
    party: Party, who: str, command: str
) -> None:
    """Nobody is at it: whoever ends it, or begins another in its place, leaves nothing held against the next run."""
    session = party.start()
    step(party.gus, session)
    party.gus.core.in_session(session).claims.start(party.item("task-1-1"))
    party.does("pause", party.gus)
    given = {"reason_code": "testing"} if command == "end" else {"force": True}
    party.does(command, getattr(party, who), spec_id=SPEC, **given)
    assert session_of(party, session).has_ended
    assert not claim(party, "task-1-1").is_held


@pytest.mark.parametrize("is_handed_over", [True, False])
def test_a_run_that_follows_a_failed_one_finds_its_tasks_free(
    party: Party, *, is_handed_over: bool
) -> None:
    """But for those that somebody is at who is not the caller; the failed one can still be rebased later."""
    session = party.start()
    step(party.gus, session)
    party.gus.core.in_session(session).claims.start(party.item("task-1-1"))
    if is_handed_over:
        party.does("pause", party.gus)
    set_run(party.gus, session, status="failed", pause_reason="")
    second = party.start()
    assert claim(party, "task-1-1").is_held != is_handed_over
    assert not session_of(party, session).has_ended
    party.does("end", session_id=second, reason_code="testing")
    party.does("rebase", party.gus, session_id=session)
    third = party.code("start", spec_id=SPEC)
    assert third == "SPEC_SESSION_EXISTS"


def test_the_session_of_a_run_goes_to_others_when_its_lease_is_over(party: Party) -> None:
    session = party.start()
    step(party.gus, session)
    party.workshop.clock.pass_by(minutes=31)
    step(party.fay, session)
    assert session_of(party, session).agent == "fay"


def test_a_call_without_a_spec_is_asked_nothing(workshop: Workshop) -> None:
    """Making one, for instance."""
    fay = workshop.agent("fay", surface="foundry")
    (workshop.root / "specs").mkdir()
    for name in ("plan.md", "review.md"):
        (workshop.root / "specs" / name).write_text("# It")
    asked = {"plan_path": "plan.md", "plan_review_path": "review.md"}
    fay.does("authoring", action="spec-create", name="New", **asked)


def test_what_is_asked_in_a_call_is_not_asked_in_the_next() -> None:
    """The tools of the surface are known by what they do."""
    parts: list[Tool[Call]] = [part for one in surface("foundry").tools for part in one.parts]
    free = {one.name for one in parts if not one.reads and not is_locked(one.name)}
    assert "task session start" in free
    assert "journal add" in free
    assert {"task start", "authoring phase-add", "spec fix"}.isdisjoint(free)
