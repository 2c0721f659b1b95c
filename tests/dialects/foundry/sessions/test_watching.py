"""What is told of runs: one whole, all in pages, what happened in them, and what they are held to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from builders import Workshop
from counterpoint.core.model.rows import Prose
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording
from counterpoint.dialects.foundry.models.runs import SpecSession
from counterpoint.dialects.foundry.runs.rows import note_event
from counterpoint.settings import Settings
from fakes.run_party import SPEC, Party, add_step, run_row, set_run

SHAPE = {
    "session_id", "spec_id", "status", "pause_reason", "counters", "limits", "stop_conditions",
    "write_lock_enforced", "active_phase_id", "last_heartbeat_at", "next_action_hint",
    "last_step_id", "last_step_type", "current_task_id", "active_phase_progress", "retry_counters",
    "session_signal", "resume_context",
}  # fmt: skip
"""What the answer of the original has."""
LISTED = {
    "session_id", "spec_id", "status", "pause_reason", "created_at", "updated_at",
    "active_phase_id", "tasks_completed", "effective_status",
}  # fmt: skip


def test_a_run_is_told_with_all_that_an_operator_looks_at(party: Party) -> None:
    """Its last step, the task at work, how far the phase is, and what to read first when it goes on."""
    session = party.start()
    party.ends(party.fay, "task-1-1", session_id=session)
    add_step(party.fay, session, "task-1-1", outcome="success", consumed_at="2026-01-02")
    add_step(party.fay, session, "task-1-2", number=2)
    set_run(party.fay, session, tasks_completed=1, phase=party.item("phase-1"))
    told = party.does("status")
    assert told.keys() >= SHAPE
    assert told["last_step_type"] == "implement_task"
    assert told["last_step_id"] == f"step_{session[-6:]}_2"
    assert told["current_task_id"] == "task-1-2"
    assert told["active_phase_progress"] == {
        "phase_id": "phase-1",
        "title": "Phase 1",
        "status": "in_progress",
        "completed_tasks": 1,
        "total_tasks": 2,
        "percentage": 50,
    }
    context = told["resume_context"]
    assert context["completed_task_count"] == 1
    assert [one["task_id"] for one in context["recent_completed_tasks"]] == ["task-1-1"]
    assert [one["task_id"] for one in context["pending_tasks_in_phase"]] == ["task-1-2"]
    assert told["next_action_hint"] == f"task session-step next session_id={session}"


def test_a_run_of_which_nothing_is_heard_counts_as_paused(party: Party) -> None:
    """Only where no step is out: whoever has one may be long at it."""
    session = party.start()
    party.workshop.clock.pass_by(minutes=10)
    assert party.does("status")["effective_status"] == "running"
    party.workshop.clock.pass_by(minutes=1)
    told = party.does("status")
    assert (told["status"], told["effective_status"]) == ("running", "paused")
    assert (told["pause_reason"], told["session_signal"]) == (
        "heartbeat_stale",
        "paused_needs_attention",
    )
    assert told["recommended_actions"][0]["action"] == "refresh_heartbeat_or_resume"
    listed = party.does("list")["sessions"][0]
    assert (listed["status"], listed["effective_status"]) == ("running", "paused")
    add_step(party.fay, session, "task-1-1")
    assert party.does("status")["effective_status"] == "running"


@pytest.mark.parametrize("last", ["start", "resume", "rebase"])
def test_silence_is_measured_by_a_clock_that_was_set_back_too(party: Party, last: str) -> None:
    """The ledger's time never goes back: measured from that, nobody would be missed for an hour."""
    session = party.start()
    party.does("pause")
    party.workshop.clock.pass_by(minutes=-60)
    if last == "start":
        party.start(force=True)
    else:
        party.does(last, session_id=session)
    party.workshop.clock.pass_by(minutes=11)
    assert party.does("status")["effective_status"] == "paused"


@pytest.mark.parametrize(
    ("changes", "signal", "action"),
    [
        ({"status": "paused", "pause_reason": "user"}, None, None),
        ({"status": "paused", "pause_reason": "phase_complete"}, "phase_complete", None),
        (
            {"status": "paused", "pause_reason": "blocked"},
            "paused_needs_attention",
            "resolve_task_blockers",
        ),
        (
            {"status": "failed", "failure_reason": "spec_structure_changed"},
            "failed",
            "rebase_session_to_spec",
        ),
        ({"status": "completed"}, "spec_complete", None),
    ],
)
def test_the_signal_of_a_run_says_whether_a_supervisor_goes_on(
    party: Party, changes: dict[str, Any], signal: str | None, action: str | None
) -> None:
    session = party.start()
    set_run(party.fay, session, **changes)
    told = party.does("status", session_id=session)
    assert told["session_signal"] == signal
    found = told.get("recommended_actions", [])
    assert (found[0]["action"] if found else None) == action


def test_a_run_whose_row_was_damaged_is_told_all_the_same(party: Party) -> None:
    """Nothing that looks at it fails."""
    session = party.start()
    set_run(party.fay, session, limits=Prose('{"max_tasks_per_session":"many"}'))
    assert party.does("status")["limits"]["max_tasks_per_session"] == 100
    assert party.does("list")["sessions"][0]["session_id"] == session


def test_a_run_with_many_counts_is_told_on_one_page(party: Party) -> None:
    """The highest of them."""
    session = party.start()
    tasks = {f"task-1-{number}-{'x' * 80}": number for number in range(1, 400)}
    kept = {"task_retries": tasks, "phase_retries": {}}
    set_run(party.fay, session, retries=Prose(orjson.dumps(kept).decode()))
    reply = party.fay.call("task", {"action": "session", "command": "status"})
    assert len(orjson.dumps(reply.answer)) <= 10_000
    assert max(reply.answer["data"]["retry_counters"]["task_retry_counts"].values()) == 399


def test_runs_are_listed_in_pages_the_newest_first(party: Party, made: Callable[..., str]) -> None:
    """Of one spec, or of all; each page says where the next begins."""
    made(spec="other-2026-01-02-001")
    sessions = [party.start()]
    for _ in range(2):
        party.workshop.clock.pass_by(minutes=1)
        sessions.append(party.start(force=True))
    party.workshop.clock.pass_by(minutes=1)
    other = party.start(spec_id="other-2026-01-02-001")
    first = party.does("list", limit=2)
    assert [one["session_id"] for one in first["sessions"]] == [other, sessions[2]]
    assert set(first["sessions"][0]) == LISTED
    assert first["has_more"]
    rest = party.does("list", limit=2, cursor=first["cursor"])
    assert [one["session_id"] for one in rest["sessions"]] == [sessions[1], sessions[0]]
    assert (rest["has_more"], rest["cursor"]) == (False, None)
    own = party.does("list", spec_id=SPEC)["sessions"]
    assert [one["session_id"] for one in own] == sessions[::-1]
    assert party.code("list", limit=2, spec_id=SPEC, cursor=first["cursor"]) == "INVALID_FORMAT"


def events(party: Party, **given: Any) -> dict[str, Any]:
    """Answer what is told of the events of a run."""
    return party.fay.does("task", action="session-events", **given)


def test_what_happened_in_a_run_is_told_the_newest_first(party: Party) -> None:
    """Each with an id that stays, in the shape of the contract; what others wrote elsewhere is not of it."""
    session = party.start()
    journal = {"action": "add", "spec_id": SPEC, "title": "Aside", "content": "Not of the run"}
    party.gus.does("journal", **journal)
    party.does("pause")
    party.does("resume")
    party.does("end", reason_code="testing", reason_detail="enough of it")
    found = events(party, session_id=session)["data"]["events"]
    assert [one["action"] for one in found] == ["end", "resume", "pause", "start"]
    last = found[0]
    assert last["event_id"].startswith(f"{session}:")
    assert (last["event_type"], last["summary"]) == ("session", "enough of it")
    assert (last["author"], last["spec_id"]) == ("fay", SPEC)
    assert last["details"]["reason_code"] == "testing"
    numbers = [int(one["event_id"].split(":")[1]) for one in found]
    assert numbers == sorted(numbers, reverse=True)
    kept = party.fay.does("journal", action="list", spec_id=SPEC)["data"]["entries"]
    assert "Session started" in [one["title"] for one in kept]


def test_events_come_in_pages_whose_cursors_are_of_one_run(party: Party) -> None:
    """One of another run, or of nothing, is refused by name."""
    session = party.start()
    party.does("pause")
    party.does("resume")
    page = events(party, session_id=session, limit=2)
    cursor = page["meta"]["pagination"]["cursor"]
    assert page["meta"]["pagination"]["has_more"]
    rest = events(party, session_id=session, limit=2, cursor=cursor)
    assert [one["action"] for one in rest["data"]["events"]] == ["start"]
    assert rest["meta"]["pagination"]["cursor"] is None
    other = party.start(force=True)
    for given in ({"session_id": other, "cursor": cursor}, {"session_id": session, "cursor": "x"}):
        refused = party.fay.is_refused("task", action="session-events", **given)["data"]
        assert refused["error_code"] == "INVALID_CURSOR"
    none = party.fay.is_refused("task", action="session-events", session_id="ses_nobody")["data"]
    assert none["error_code"] == "NO_ACTIVE_SESSION"


def test_long_events_fit_on_a_page(party: Party) -> None:
    """However much was written down in a run."""
    session = party.start()
    for _ in range(30):
        party.does("pause")
        party.does("resume")
    row = run_row(party.fay, session)
    note_long(party, row)
    reply = party.fay.call("task", {"action": "session-events", "limit": 200})
    assert len(orjson.dumps(reply.answer)) <= 10_000
    assert reply.answer["meta"]["pagination"]["has_more"]


def note_long(party: Party, row: SpecSession) -> None:
    """Write long events down."""

    def put(context: Context) -> None:
        with recording(context, "run.looked") as change:
            for _ in range(5):
                note_event(
                    change, row, "Long " * 90, "long " * 4_000, type_="step", note="x" * 9_000
                )

    party.fay.core.use(put)


def config(party: Party, **given: Any) -> dict[str, Any]:
    """Answer what runs are held to."""
    return party.fay.does("task", action="session-config", **given)["data"]


def test_what_runs_are_held_to_is_told(party: Party) -> None:
    """With the run of a spec that is asked about."""
    told = config(party)
    assert told["session_config"]["limits"]["max_tasks_per_session"] == 100
    assert (told["auto_mode"], told["session"]) == (False, None)
    session = party.start()
    told = config(party, spec_id=SPEC, get=True, auto_mode=False)
    assert (told["auto_mode"], told["session"]["session_id"]) == (True, session)


def test_what_a_connection_used_is_told_against_its_marks(party: Party) -> None:
    """As the released program tells it: limits, what was used, and what follows from both."""
    before = config(party)
    assert before["limits"] == {
        "max_consultations": 50,
        "max_context_tokens": 100_000,
        "warn_at_percentage": 0.8,
    }
    party.fay.is_refused("task", action="info", spec_id=SPEC, task_id="task-9-9")
    after = config(party)
    calls = [one["stats"]["commands_executed"] for one in (before, after)]
    errors = [one["stats"]["errors_encountered"] for one in (before, after)]
    assert (calls[1] - calls[0], errors[1] - errors[0]) == (1, 1)
    assert after["derived"]["consultations_remaining"] == 50
    other = party.as_role("maintainer").does("task", action="session-config")["data"]
    assert other["stats"]["commands_executed"] == 0
    assert other["session_id"] != after["session_id"]


def test_auto_mode_starts_and_stops_the_run_of_a_spec(party: Party) -> None:
    """What is so already stays; it is about one spec."""
    asked = {"action": "session-config", "auto_mode": True}
    refused = party.fay.is_refused("task", **asked)["data"]
    assert refused["error_code"] == "AUTO_MODE_SPEC_REQUIRED"
    session = config(party, spec_id=SPEC, auto_mode=True)["session_id"]
    assert config(party, spec_id=SPEC, auto_mode=True)["session_id"] == session
    for on, status in ((False, "paused"), (False, "paused"), (True, "running")):
        told = config(party, spec_id=SPEC, auto_mode=on)
        assert (told["session_id"], told["status"]) == (session, status)
    set_run(party.fay, session, status="ended")
    none = party.fay.is_refused("task", action="session-config", spec_id="nope", auto_mode=True)
    assert none["data"]["error_code"] == "SPEC_NOT_FOUND"
    assert config(party, spec_id=SPEC, auto_mode=True)["session_id"] != session


LEGACY = ("start", "status", "pause", "resume", "rebase", "end", "list", "reset")


@pytest.mark.parametrize("command", LEGACY)
def test_a_former_name_is_accepted_and_told_of(
    party: Party, command: str, caplog: pytest.LogCaptureFixture
) -> None:
    """With the present name, when it goes, and a line of the log; a refusal says it too."""
    session = "" if command == "start" else party.start()
    if command in {"resume", "rebase"}:
        party.does("pause")
    if command == "reset":
        set_run(party.fay, session, status="failed")
    given: dict[str, Any] = {"spec_id": SPEC} if command == "start" else {}
    given |= {"session_id": session} if command == "reset" else {}
    given |= {"reason_code": "testing"} if command in {"end", "reset"} else {}
    reply = party.fay.does("task", action=f"session-{command}", **given)
    told = reply["meta"]["deprecated"]
    assert (told["action"], told["replacement"]) == (f"session-{command}", f"session {command}")
    assert told["removal_target"]
    assert f"session-{command}" in caplog.text
    refused = party.fay.is_refused("task", action="session-resume", session_id="nobody")
    assert refused["meta"]["deprecated"]["replacement"] == "session resume"


def test_rows_of_runs_that_were_over_long_ago_go_with_a_start(
    party: Party, made: Callable[..., str]
) -> None:
    """After a week, or a month where one has failed; those that can go on stay, and the ledger has all of them."""
    old = {status: party.start(force=True) for status in ("completed", "ended", "failed")}
    for status, session in old.items():
        set_run(party.fay, session, status=status)
        add_step(party.fay, session, "task-1-1")
    made(spec="other-2026-01-02-001")
    paused = party.start(spec_id="other-2026-01-02-001")
    party.does("pause", session_id=paused)
    for days, left in ((6, 3), (2, 1), (21, 1), (2, 0)):
        party.workshop.clock.pass_by(minutes=days * 24 * 60)
        party.does("end", session_id=party.start(), reason_code="testing")
        listed = {one["session_id"] for one in party.does("list", limit=100)["sessions"]}
        assert len(listed & set(old.values())) == left, days
    assert party.does("status", session_id=paused)["status"] == "paused"
    assert party.code("status", session_id=old["ended"]) == "NO_ACTIVE_SESSION"
    actions = {entry.action for entry in party.fay.core.audit.log(limit=200)}
    assert {"run.started", "run.collected"} <= actions


def stop_file(party: Party) -> Path:
    """Answer where somebody asks the run of the spec to stop."""
    return party.workshop.root / "specs/.autonomy/signals" / f"{SPEC}.stop"


@pytest.mark.parametrize("command", ["pause", "end", "reset"])
def test_a_request_to_stop_is_told_of_and_taken_away_when_it_was_done(
    party: Party, command: str
) -> None:
    """A start does not overlook it, and a resumption leaves it."""
    stop_file(party).parent.mkdir(parents=True)
    stop_file(party).write_text("please")
    reply = party.fay.does("task", action="session", command="start", spec_id=SPEC)
    assert "asks this spec to stop" in reply["meta"]["warnings"][0]
    session = reply["data"]["session_id"]
    set_run(party.fay, session, status="paused")
    party.does("resume")
    assert stop_file(party).exists()
    given: dict[str, Any] = {} if command == "pause" else {"reason_code": "testing"}
    if command == "reset":
        set_run(party.fay, session, status="failed")
    party.does(command, session_id=session, **given)
    assert not stop_file(party).exists()


def test_no_link_is_followed_to_a_request_to_stop(party: Party, tmp_path: Path) -> None:
    """Nothing is read or taken away outside of the folder of specs."""
    elsewhere = tmp_path / "elsewhere/signals"
    elsewhere.mkdir(parents=True)
    (elsewhere / f"{SPEC}.stop").write_text("")
    (party.workshop.root / "specs").mkdir()
    (party.workshop.root / "specs/.autonomy").symlink_to(elsewhere.parent)
    reply = party.fay.does("task", action="session", command="start", spec_id=SPEC)
    assert "warnings" not in reply["meta"]
    party.does("pause")
    assert (elsewhere / f"{SPEC}.stop").exists()


def test_a_run_survives_its_server(party: Party, workshop: Workshop) -> None:
    """Another process of the same ledger tells the same of it."""
    session = party.start(gate_policy="lenient", max_tasks_per_session=3)
    party.does("pause")
    before = party.does("status")
    again = workshop.agent(
        "new", surface="foundry", app=workshop.beside(workshop.root), settings=Settings()
    )
    assert party.does("status", again) == before
    assert run_row(again, session) == run_row(party.fay, session)
    assert party.does("resume", again)["status"] == "running"
