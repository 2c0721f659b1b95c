"""Those who work with unattended runs, and what brings these to where a test begins."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from builders import Agent, Workshop
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording
from counterpoint.dialects.foundry.models.runs import GateEvidence, SessionStep, SpecSession
from counterpoint.dialects.foundry.nodes.queries import Nodes
from counterpoint.dialects.foundry.runs.rows import keep
from counterpoint.settings import Settings

SPEC: Final = "export-2026-01-02-001"


@dataclass(frozen=True, kw_only=True)
class Party:
    """Who works with runs: fay begins them, gus works beside her; each speaks foundry."""

    workshop: Workshop
    fay: Agent
    gus: Agent

    def does(self, command: str, who: Agent | None = None, **given: Any) -> dict[str, Any]:
        """Give a command to a run that succeeds; answer its data."""
        asked = {"action": "session", "command": command, **given}
        return (who or self.fay).does("task", **asked)["data"]

    def code(self, command: str, who: Agent | None = None, **given: Any) -> str:
        """Give a command that is refused; answer the code."""
        asked = {"action": "session", "command": command, **given}
        return (who or self.fay).is_refused("task", **asked)["data"]["error_code"]

    def start(self, **given: Any) -> str:
        """Begin a run of the spec; answer its session."""
        return self.does("start", **{"spec_id": SPEC, **given})["session_id"]

    def item(self, name: str) -> str:
        """Answer the item of a node."""
        found = self.fay.core.items.find(f"{SPEC}/{name}")
        assert found is not None
        return found.id

    def ends(self, who: Agent, *tasks: str, **given: Any) -> None:
        """Let somebody complete tasks."""
        for task in tasks:
            asked = {"action": "complete", "task_id": task, "completion_note": "Done"}
            who.does("task", spec_id=SPEC, **asked, **given)

    def as_role(self, role: str = "", posture: str = "", name: str = "ron") -> Agent:
        """Answer an agent whose connection was started with a role."""
        settings = Settings(role=role, posture=posture)
        return self.workshop.agent(name, surface="foundry", settings=settings)


def set_run(agent: Agent, session: str, **changes: Any) -> None:
    """Let the row of a run say something else."""

    def put(context: Context) -> None:
        with recording(context, "run.looked") as change:
            keep(change, replace(change.get(SpecSession, session), **changes))

    agent.core.use(put)


def run_row(agent: Agent, session: str) -> SpecSession:
    """Answer the row of a run."""

    def read(context: Context) -> SpecSession:
        with context.reading() as view:
            found = view.find(SpecSession, session)
            assert found is not None
            return found

    return agent.core.use(read)


def add_step(agent: Agent, session: str, task: str, *, number: int = 1, **more: Any) -> None:
    """Let a step have been issued in a run, and reported if `more` says so. task: the id of its node."""

    def put(context: Context) -> None:
        with recording(context, "run.looked") as change:
            row = change.get(SpecSession, session)
            known = Nodes(change.writing, change.get(Item, row.spec))
            plain: dict[str, Any] = {
                "type": "implement_task",
                "phase": known.get(task).parent if task else "",
                "attempt": "",
                "reason": "",
                "proof": f"{number:064x}",
                "command": Prose(""),
                "renewed_at": "",
                "consumed_at": "",
                "outcome": "",
                "note": Prose(""),
                "files": (),
                "receipt": "",
                "report": Prose(""),
                "answer": Prose(""),
            }
            change.put(
                SessionStep(
                    project=row.project,
                    session=session,
                    number=number,
                    id=f"step_{session[-6:]}_{number}",
                    task=known.get(task).id if task else "",
                    issued_at=change.now,
                    **plain | more,
                )
            )

    agent.core.use(put)


def add_evidence(agent: Agent, session: str, phase: str, verdict: Any = "pass") -> str:
    """Let a reviewer have judged a phase, and a report rest on that; answer the attempt."""

    def put(context: Context) -> str:
        with recording(context, "run.looked") as change:
            row = change.get(SpecSession, session)
            known = Nodes(change.writing, change.get(Item, row.spec))
            attempt = f"attempt_{phase}"
            change.put(
                GateEvidence(
                    project=row.project,
                    id=attempt,
                    session=session,
                    step="step_1",
                    phase=known.get(phase).id,
                    verdict=verdict,
                    findings=Prose("[]"),
                    reviewer="deterministic",
                    issued_at=change.now,
                    integrity="0" * 64,
                    reported_at=change.now,
                    answered_at="",
                )
            )
            return attempt

    return agent.core.use(put)
