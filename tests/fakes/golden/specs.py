"""What happens to specs in a golden ledger, so that each action of foundry is in it."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, Final

from counterpoint.kernel.errors import ProviderRefused
from fakes.golden.stage import Refused, Seat, Stage
from fakes.scripted_models import ScriptedModels, answer_with
from fakes.spec_documents import document

WEEK: Final = 8 * 24 * 60
TAKEN: Final = "taken-2026-01-02-001"
SAID: Final = {
    "timestamp": "2026-01-02T03:04:05.000Z",
    "entry_type": "note",
    "title": "Before",
    "content": "It was written elsewhere",
    "author": "eli",
    "metadata": {},
}
"""What the journal of a spec says that is taken in."""


def specs(stage: Stage) -> None:
    """Make a spec, change it in every way, work on it, and bring it back to what it was."""
    fay, gus = _seat(stage, "fay"), _seat(stage, "gus")
    fay.call("environment", action="init", create_subdirs=True)
    fay.call("plan", action="create", name="boat")
    made = _made(fay, "A boat")
    _shaped(fay, made)
    _worked(stage, gus, made)
    _researched(stage, gus, made)
    _whole(stage, fay, made)


def _researched(stage: Stage, seat: Seat, spec: str) -> None:
    """Ask a model in a thread, several at once without an answer, and for a node; let go of one thread."""
    away = ProviderRefused("it is so")
    answer_with(seat.app, ScriptedModels(["tar", away, away, away, "pitch"]))
    thread = seat.call("research", action="chat", prompt="Which tar?")["data"]["thread_id"]
    with suppress(Refused):
        seat.call("research", action="consensus", prompt="Which tar?", providers=["local"])
    seat.call("research", action="thread-delete", thread_id=thread)
    node = {"spec_id": spec, "parent": "phase-1", "title": "Tar?", "task_type": "research"}
    made = seat.call("task", action="add", **node, research_type="chat")["data"]["task_id"]
    named = {"spec_id": spec, "research_node_id": made}
    with suppress(Refused):
        seat.call("research", action="node-execute", **named)
    answer_with(seat.app, ScriptedModels(["pitch"]))
    seat.call("research", action="node-execute", **named)
    seat.call("research", action="node-record", **named, result="completed", summary="pitch")
    stage.clock.pass_by(minutes=1)


def runs(stage: Stage) -> None:
    """Drive a spec without a person, with each command that a run takes."""
    fay = _seat(stage, "fay")
    spec = _made(fay, "A raft")
    fay.call("task", action="add", spec_id=spec, parent="phase-1", title="Fell a tree")
    old = _command(fay, "start", spec_id=spec)
    _command(fay, "end", session_id=old, reason_code="testing", reason_detail="only tried")
    stage.clock.pass_by(minutes=WEEK)
    first = _command(fay, "start", spec_id=spec, gate_policy="manual")
    _command(fay, "pause", session_id=first)
    _command(fay, "resume", session_id=first)
    lead = stage.seat("lea", surface="foundry", posture="supervised")
    lead.call(
        "task",
        action="add",
        spec_id=spec,
        parent="phase-1",
        title="Fell another",
        bypass_autonomy_lock=True,
        bypass_reason="one is not enough",
    )
    _command(fay, "pause", session_id=first)
    _command(fay, "rebase", session_id=first)
    _command(fay, "start", spec_id=spec, force=True)
    _stepped(stage, fay, lead)


def _stepped(stage: Stage, seat: Seat, lead: Seat) -> None:
    """Work in a run, with each command that a step takes, up to a change that it fails for."""
    spec = _made(seat, "A kite")
    seat.call("task", action="remove", spec_id=spec, task_id="verify-1-1")
    run = _command(seat, "start", spec_id=spec)
    step = _step(seat, run, "next")
    seat.call("task", action="session-step", command="heartbeat", session_id=run)
    for _ in range(2):
        step = _step(seat, run, "next", last_step_result=_result(step))
    with suppress(Refused):
        _step(seat, run, "next", last_step_result=_result(step))
    about = {"phase_id": step["phase_id"], "step_id": step["step_id"]}
    seat.call("review", action="fidelity-gate", spec_id=spec, session_id=run, **about)
    step = _step(seat, run, "next", last_step_result=_result(step))
    stage.clock.pass_by(minutes=2 * 60)
    step = _step(seat, run, "replay")
    step = _step(seat, run, "next", last_step_result=_result(step))
    tree = {"title": "Find wind", "kind": "task"}
    stage.seat("nat").call("plan", tree=tree, parent=_phase(seat, spec))
    with suppress(Refused):
        _step(seat, run, "next", last_step_result=_result(step, outcome="failure"))
    _command(seat, "reset", session_id=run, reason_code="testing")
    lead.call("task", action="gate-waiver", spec_id=spec, phase_id="phase-1", reason_code="testing")


def _step(seat: Seat, run: str, command: str, **given: Any) -> dict[str, Any]:
    """Give a command to the steps of a run; answer the step that is out."""
    asked = {"action": "session-step", "command": command, "session_id": run, **given}
    return seat.call("task", **asked)["data"]["next_step"]


def _result(step: dict[str, Any], outcome: str = "success") -> dict[str, Any]:
    """Answer the report of a step."""
    told = {"step_type": step["type"], "outcome": outcome}
    names = ("step_id", "step_proof", "task_id", "phase_id", "gate_attempt_id")
    return {**told, **{name: step[name] for name in names if step[name]}}


def _phase(seat: Seat, spec: str) -> str:
    """Answer the item of the first phase of a spec."""
    found = seat.core.items.find(f"{spec}/phase-1")
    if found is None:
        raise LookupError(spec)
    return found.id


def _seat(stage: Stage, name: str) -> Seat:
    return stage.seat(name, surface="foundry")


def _command(seat: Seat, command: str, **given: Any) -> str:
    told = seat.call("task", action="session", command=command, **given)
    session: str = told["data"]["session_id"]
    return session


def _made(seat: Seat, name: str) -> str:
    """Make a spec of a phase with a task; answer its id."""
    plan = seat.call("plan", action="list")["data"]["plans"][0]["path"]
    told = seat.call(
        "authoring",
        action="spec-create",
        name=name,
        mission="It floats",
        plan_path=plan,
        plan_review_path=plan,
    )
    spec: str = told["data"]["spec_id"]
    seat.call("authoring", action="phase-add", spec_id=spec, title="The hull")
    seat.call(
        "task",
        action="add",
        spec_id=spec,
        parent="phase-1",
        title="Saw the planks",
        file_path="hull/planks.md",
    )
    return spec


def _shaped(seat: Seat, spec: str) -> None:
    """Change what a spec says, as whoever writes it does."""

    def does(tool: str, action: str, **given: Any) -> Any:
        return seat.call(tool, action=action, spec_id=spec, **given)

    does("authoring", "phase-add", title="The sails")
    does("authoring", "phase-add", title="The flag")
    does("authoring", "phase-move", phase_id="phase-3", position=2)
    does("authoring", "phase-update-metadata", phase_id="phase-1", purpose="So that it floats")
    does("authoring", "phase-remove", phase_id="phase-3", force=True)
    does("authoring", "assumption-add", text="There is water")
    does("authoring", "spec-update-frontmatter", key="objective", value="To sail")
    does("authoring", "spec-find-replace", find="planks", replace="boards")
    for title in ("Tar it", "Paint it", "Name it", "Drop it"):
        does("task", "add", parent="phase-1", title=title)
    does("task", "add-dependency", task_id="task-1-1", target_id="task-1-2")
    does(
        "task",
        "add-dependency",
        task_id="task-1-3",
        target_id="task-1-4",
        dependency_type="depends",
    )
    does(
        "task",
        "remove-dependency",
        task_id="task-1-3",
        target_id="task-1-4",
        dependency_type="depends",
    )
    does(
        "task", "add-requirement", task_id="task-1-2", requirement_type="technical", text="Hot tar"
    )
    does("task", "update-metadata", task_id="task-1-2", description="All of it", status_note="soon")
    does("task", "update-estimate", task_id="task-1-2", complexity="low")
    does("task", "move", task_id="task-1-4", position=1)
    does("task", "remove", task_id="task-1-5")


def _worked(stage: Stage, seat: Seat, spec: str) -> None:
    """Work on a spec in every way that its tasks can go."""

    def does(tool: str, action: str, **given: Any) -> Any:
        return seat.call(tool, action=action, spec_id=spec, **given)

    does("task", "start", task_id="task-1-1", note="begun")
    does("task", "complete", task_id="task-1-1", completion_note="It is sawn")
    does("task", "block", task_id="task-1-2", reason="there is no tar", ticket="T-1")
    does("task", "unblock", task_id="task-1-2", resolution="it came")
    does("task", "update-status", task_id="task-1-2", status="in_progress")
    does("task", "update-status", task_id="task-1-2", status="pending", note="not yet")
    does("task", "start-batch", task_ids=["task-1-3", "task-1-4"])
    failed = {"task_id": "task-1-4", "success": False, "completion_note": "no name"}
    does("task", "complete-batch", completions=[failed])
    does("task", "reset-batch", task_ids=["task-1-3"])
    does("verification", "add", verify_id="verify-1-1", result="PARTIAL", output="half")
    does("task", "add", parent="phase-1", title="See that it floats", task_type="verify")
    does("verification", "execute", verify_id="verify-1-3", command="true", record=True)
    does("journal", "add", title="Wind", content="From the west", entry_type="decision")
    stage.clock.pass_by(minutes=1)


def _whole(stage: Stage, seat: Seat, spec: str) -> None:
    """Bring a spec back, put it away, take another in from its file, and set the project up."""

    def does(tool: str, action: str, **given: Any) -> Any:
        return seat.call(tool, action=action, spec_id=spec, **given)

    end = seat.core.overview.state().ledger_size - 1
    does("authoring", "phase-move", phase_id="phase-2", position=1)
    does("task", "remove", task_id="task-1-3")
    does("authoring", "spec-rollback", version=str(end))
    taken = document() | {"spec_id": TAKEN, "journal": [SAID]}
    (stage.root / "specs/pending" / f"{TAKEN}.json").write_text(json.dumps(taken))
    seat.call("spec", action="validate", spec_id=TAKEN)
    does("lifecycle", "archive")
    seat.call("environment", action="setup", permissions_preset="minimal", create_toml=False)
    with suppress(Refused):
        does("task", "start", task_id="task-9-9")
    seat.call("error", action="cleanup", max_errors=0)
