"""A spec of forty tasks worked to its end by unattended agents, with everything that goes wrong in one run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from builders import Opened, Window
from counterpoint.app import App
from counterpoint.core.ledger.entry import load_fields
from counterpoint.core.model.journal import Receipt, Verdict
from counterpoint.core.model.work import Gate, Item
from counterpoint.dialects.foundry.models.runs import GateEvidence, SessionStep, SpecSession
from counterpoint.kernel.canonical import text_digest
from fakes.supervised import AGENT, Told

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(300)]

FOUNDRY: Final = "--surface foundry"
TASKS: Final = 10
"""Of each phase; the last of the last one is added while the run is under way."""
PERSONS: Final = 2
"""The phase without a verification: somebody else opens its gate."""
PHASES: Final = (1, 2, 3, 4)
NODES: Final = 46
"""Forty tasks, and six verifications; those have two titles."""
DOUBLES: Final = 4
TOLD: Final = frozenset(
    {"start", "pause", "resume", "fail", "rebase", "spec_complete"}
    | {"gate_passed", "gate_failed", "gate_pending"}
)
TURNS: Final = [
    "start",
    *("pause user", "resume"),
    *("gate_passed phase-1", "pause phase_complete", "resume"),
    *("gate_pending phase-2", "pause gate_review_required", "resume"),
    *("pause phase_complete", "resume"),
    *("gate_failed phase-3", "gate_passed phase-3", "pause phase_complete", "resume"),
    *("pause context_limit", "resume", "fail", "rebase"),
    *("gate_passed phase-4", "pause phase_complete", "resume"),
    "spec_complete",
]
"""What the journal tells of the whole, but for its steps."""


def title(phase: int, task: int) -> str:
    """Answer what a task is called, and the commit that ends it."""
    return f"Write part {task} of {phase}"


def part(phase: int, task: int) -> dict[str, Any]:
    """Answer a task as a planner gives it."""
    return {
        "title": title(phase, task),
        "description": "A part of the book",
        "acceptance_criteria": [f"part {task} of {phase} is there"],
        "task_category": "implementation",
        "file_path": f"parts/phase-{phase}-{task:02}.md",
    }


def check(phase: int) -> dict[str, Any]:
    """Answer the verification of a phase: the file of its sixth task has something in it."""
    command = f"test -s parts/phase-{phase}-06.md"
    return {"title": "Look", "type": "verify", "verification_type": "run-tests", "command": command}


class Desk:
    """A planner, and those who see to a run that has stopped: each a client of its own."""

    def __init__(self, open_window: Opened) -> None:
        """Let each begin a process."""
        self.planner, self.judge = open_window(), open_window()
        self.spec = ""

    def plans(self, plan: Path) -> None:
        """Make the spec: four phases of ten tasks, in all but one of them two verifications."""
        given = {"plan_path": str(plan), "plan_review_path": str(plan)}
        made = self.does("authoring", "spec-create", name="Book", mission="It is read", **given)
        self.spec = made["spec_id"]
        for phase in PHASES:
            tasks = [part(phase, number + 1) for number in range(TASKS)]
            self.does(
                "authoring",
                "phase-add-bulk",
                phase={"title": f"Chapter {phase}"},
                tasks=[*tasks[: TASKS - (phase == PHASES[-1])], check(phase)],
            )
        for number in (1, 2):
            self.does("task", "remove", task_id=f"verify-{PERSONS}-{number}")

    def does(self, tool: str, action: str, who: Window | None = None, **given: Any) -> Any:
        """Call an action that must succeed; answer its data."""
        about = {"spec_id": self.spec} if self.spec else {}
        return (who or self.planner).does(FOUNDRY, tool, action=action, **about, **given)["data"]

    def runs(self, command: str, who: Window | None = None, **given: Any) -> Any:
        """Give a command to the run."""
        return self.does("task", "session", who, command=command, **given)

    def events(self, session: str) -> list[dict[str, Any]]:
        """Answer all that happened in a run, the oldest first, page by page."""
        found: list[dict[str, Any]] = []
        more: dict[str, Any] = {}
        while True:
            asked = {"action": "session-events", "session_id": session, "limit": 200, **more}
            told = self.planner.does(FOUNDRY, "task", **asked)
            found += told["data"]["events"]
            more = {"cursor": told["meta"]["pagination"]["cursor"]}
            if not more["cursor"]:
                return found[::-1]


@pytest.fixture
def desk(window: Opened, repository: Path, counterpoint: Callable[..., Any]) -> Desk:
    """Give the spec with those around it; its verifications may be run here."""
    made, plan = Desk(window), repository / "plan.md"
    plan.write_text("# Book\n")
    made.plans(plan)
    said = counterpoint("trust", "--allow", "test -s *", cwd=repository)
    assert said.returncode == 0, said.stderr
    return made


@pytest.fixture
def supervise(desk: Desk, repository: Path, counterpoint: Callable[..., Any]) -> Callable[..., Any]:
    """Give what runs a supervisor to its end; oddities: what its agents do, by node."""

    def run(*words: str, **oddities: str) -> Told:
        odd = [word for name, node in oddities.items() for word in (f"--{name}", node)]
        asked = ("supervise", desk.spec, "--json", *words, "--", *AGENT, *odd)
        said = counterpoint(*asked, cwd=repository)
        return Told(said.returncode, said.stdout, said.stderr)

    return run


@pytest.mark.long
@pytest.mark.parametrize("where", ["sqlite"], indirect=True)
def test_a_spec_of_forty_tasks_comes_to_its_end_through_all_that_goes_wrong(
    desk: Desk,
    supervise: Callable[..., Told],
    app: App,
    repository: Path,
    git: Callable[..., str],
    assert_whole: Callable[[App], None],
) -> None:
    """One run: each task is done once, each proof is there, and the ledger and the journal tell all of it."""
    told = supervise(dies="task-1-3")
    assert (told.code, told.last["because"], told.last["tasks"]["done"]) == (1, "agent_failed", 2)
    session = told.last["session"]

    told = supervise(kills="task-1-4", loses="task-1-5", forgets="task-1-6")
    assert (told.code, told.last["reason"], told.rounds) == (1, "gate_review_required", 2), told.err
    first = Path(next(one["log"] for one in told.events if one["event"] == "round.started"))
    for words in ("killed ", "replayed True", "failed verify-1-1", "signal phase_complete"):
        assert words in first.read_text("utf-8")

    seen = {"acknowledged_gate_attempt_id": told.last["gate_attempt_id"]}
    desk.runs("resume", desk.judge, acknowledge_gate_review=True, **seen)
    told = supervise(spoils="verify-3-2", fills="task-4-2")
    assert (told.code, told.last["reason"], told.rounds) == (1, "context_limit", 3), told.err

    assert supervise().rounds == 0
    desk.does("task", "add", parent="phase-4", **added())
    told = supervise("--resume")
    assert (told.code, told.last["because"]) == (1, "failed"), told.err
    assert told.last["reason"] == "spec_structure_changed"
    changed = desk.runs("rebase")["rebase_result"]
    assert (changed["added_tasks"], changed["removed_tasks"]) == (["task-4-10"], [])

    told = supervise()
    assert (told.code, told.last["because"]) == (0, "spec_complete"), told.err
    assert told.last["tasks"] == {"done": NODES, "total": NODES}
    assert told.last["session"] == session
    is_done_once(app, git(repository, "log", "--format=%s").splitlines())
    is_proved(app)
    assert_whole(app)
    is_told(desk, desk.events(session))


def added() -> dict[str, Any]:
    """Answer the task that is added."""
    given = part(PHASES[-1], TASKS)
    return {name: given[name] for name in ("title", "description", "file_path")}


def is_done_once(app: App, commits: list[str]) -> None:
    """Check that each task was ended by one commit, one report and one entry of the ledger."""
    titles = {title(phase, 1 + number) for phase in PHASES for number in range(TASKS)}
    others = ["Remember phase-1-06.md", "Spoil it", "first"]
    assert sorted(commits) == sorted([*(titles - {title(1, 6)}), *others])
    ended: Counter[str] = Counter()
    with app.store.reading(app.project) as view:
        done = {item.id for item in view.select(Item, kind="task", status="done")}
        steps = view.select(SessionStep, outcome="success")
        for data in view.entries():
            for row in load_fields(data).get("r", ()):
                said = row.get("v") or row.get("c") or {}
                if row["t"] == Item.table and said.get("status") == "done":
                    ended[row["k"]["id"]] += 1
    once = dict.fromkeys(done, 1)
    assert len(done) == NODES
    assert {name: count for name, count in ended.items() if name in done} == once
    assert Counter(one.task for one in steps if one.task) == once


def is_proved(app: App) -> None:
    """Check that every proof of the run is there, and says what came of it."""
    with app.store.reading(app.project) as view:
        (run,) = view.select(SpecSession)
        steps = view.select(SessionStep, order="number")
        kept = {one.id: one for one in view.select(Receipt)}
        gates = view.select(Gate)
        found = view.select(GateEvidence, order="issued_at")
        (verdict,) = view.select(Verdict)
    assert (run.status, run.tasks_completed) == ("completed", NODES)
    assert [one.number for one in steps] == list(range(1, len(steps) + 1))
    assert [one.type for one in steps if not one.consumed_at] == ["complete_spec"]
    ran = [one for one in steps if one.command]
    assert [one.outcome for one in ran] == ["failure", "success", "success", "success"]
    for one in ran:
        receipt = kept[one.receipt]
        assert (receipt.item, bool(receipt.exit_code)) == (one.task, one.outcome == "failure")
        assert text_digest(" ".join(receipt.argv)) == one.command
        assert one.issued_at <= receipt.started_at <= receipt.ended_at <= one.consumed_at
    assert [one.verdict for one in found] == ["pass", "pass", "warn", "pass", "pass"]
    assert [gate.status for gate in gates] == ["met"] * len(PHASES)
    by_reviewer = {gate.item: gate.proof for gate in gates if gate.name == "fidelity"}
    assert set(by_reviewer.items()) < {(one.phase, one.id) for one in found}
    (by_person,) = [gate for gate in gates if gate.name == "manual_review"]
    assert (verdict.decision, verdict.item) == ("approve", by_person.item)


def is_told(desk: Desk, events: list[dict[str, Any]]) -> None:
    """Check that the journal tells the run from its start to its end."""
    said = [(one.get("action", ""), one.get("details", {})) for one in events]
    turns = [
        f"{action} {details.get('pause_reason') or details.get('phase_id') or ''}".rstrip()
        for action, details in said
        if action in TOLD
    ]
    assert turns == TURNS
    counts = Counter(action for action, _ in said)
    by_itself = sum(turn.startswith("pause") for turn in turns) - 1
    assert counts["step_consumed"] == counts["step_issued"] + by_itself
    done = [one["title"] for one in events if one["event_type"] == "status_change"]
    assert len(done) == len(set(done)) + DOUBLES == NODES
    entries = desk.does("journal", "list", limit=5)["entries"]
    assert "Spec completed" in [one["title"] for one in entries]
