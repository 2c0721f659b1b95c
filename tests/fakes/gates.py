"""A run of a spec whose first phase is done, up to its gate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from builders import Agent, Workshop, attested_as, commit
from counterpoint.app import Identity
from counterpoint.core.coordinator import Core
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.rows import Noun, Prose
from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording, transaction
from counterpoint.dialects.foundry.models.runs import GateEvidence, SessionStep, SpecSession
from counterpoint.dialects.foundry.nodes.queries import Nodes, get_spec
from counterpoint.dialects.foundry.runs import rows
from counterpoint.dialects.foundry.runs.gates import EvidenceKeys, Judging, gate_events
from counterpoint.dialects.foundry.runs.rows import (
    evidence_in,
    last_step,
    phase_gates,
    shape_of,
    shown_terms,
    step_in,
)
from counterpoint.dialects.foundry.runs.rules.commands import (
    PhaseGate,
    refuse_evidence,
    refuse_unproven,
)
from counterpoint.kernel.canonical import Json, text_digest

SPEC: Final = "gates-2026-01-02-001"
PROOF: Final = "ab" * 32


def gated_draft(command: str = "true", spec: str = SPEC, folder: str = "src") -> Draft:
    """Return a spec of a phase with a task and a verification, and one with a task alone; folder: of its files."""
    return Draft(
        kind="spec",
        title="Gates",
        lifecycle="declared",
        aliases=(("spec", spec),),
        children=(
            _phase(spec, 1, (_task(spec, 1, folder), _verify(spec, command))),
            _phase(spec, 2, (_task(spec, 2, folder),)),
        ),
    )


def verified_draft(command: str, spec: str, folder: str = "") -> Draft:
    """Return a spec of a phase that has nothing but a verification, and so no files."""
    del folder
    return Draft(
        kind="spec",
        title="Verified",
        lifecycle="declared",
        aliases=(("spec", spec),),
        children=(_phase(spec, 1, (_verify(spec, command, needs=()),)),),
    )


def _phase(spec: str, number: int, children: tuple[Draft, ...]) -> Draft:
    name = f"phase-{number}"
    return Draft(
        kind="phase",
        title=f"Phase {number}",
        name=name,
        aliases=(("node", f"{spec}/{name}"),),
        children=children,
    )


def _task(spec: str, phase: int, folder: str) -> Draft:
    name = f"task-{phase}-1"
    return Draft(
        kind="task",
        title=f"Write part {phase}",
        name=name,
        acceptance=(f"part {phase} is there",),
        areas=(f"{folder}/part{phase}.py",),
        aliases=(("node", f"{spec}/{name}"),),
    )


def extra_verification(name: str = "verify-2-1") -> Draft:
    """Return one more verification."""
    return _verify(SPEC, "true", name, ())


def _verify(
    spec: str, command: str, name: str = "verify-1-1", needs: tuple[str, ...] = ("task-1-1",)
) -> Draft:
    return Draft(
        kind="task",
        title="Run tests",
        name=name,
        needs=needs,
        aliases=(("node", f"{spec}/{name}"),),
        attributes={
            "type": "verify",
            "verification_type": "run-tests",
            **({"command": command} if command else {}),
        },
    )


@dataclass(kw_only=True)
class Gated:
    """A run at work, as the agent that works in it calls the tools."""

    workshop: Workshop
    agent: Agent
    session: str
    steps: int = field(default=0)

    @property
    def run(self) -> dict[str, str]:
        """What calls of this run name."""
        return {"spec_id": SPEC, "session_id": self.session}

    def work(self, phase: int = 1) -> None:
        """Do the task of a phase, with a file that is committed."""
        name = f"task-{phase}-1"
        asked = {**self.run, "task_id": name}
        self.agent.does("task", action="update-status", status="in_progress", **asked)
        commit(self.workshop.root, f"src/part{phase}.py", f"PART = {phase}\n")
        self.agent.does("task", action="complete", completion_note="written", **asked)

    def verify(self) -> None:
        """Execute the verification of the first phase, and complete it."""
        self.agent.does("verification", action="execute", verify_id="verify-1-1", **self.run)
        asked = {**self.run, "task_id": "verify-1-1"}
        self.agent.does("task", action="complete", completion_note="passed", **asked)

    def issue(self, phase: str = "phase-1", kind: Any = "run_fidelity_gate") -> dict[str, str]:
        """Issue the step of a gate; answer what a review of it names."""
        self.steps += 1
        step = f"step_{self.steps}"

        def act(context: Context) -> None:
            with recording(context.in_session(self.session), "run.stepped") as change:
                rows.take_up(change, self.session)
                known = Nodes(change.writing, get_spec(change.writing, SPEC))
                before = last_step(change.writing, self.session)
                change.put(
                    SessionStep(
                        project=change.context.project,
                        session=self.session,
                        number=before.number + 1 if before else 1,
                        id=step,
                        type=kind,
                        task="",
                        phase=known.get(phase).id,
                        attempt=f"attempt_{self.steps}",
                        reason="",
                        proof=text_digest(PROOF),
                        command=Prose(""),
                        issued_at=change.now,
                        renewed_at="",
                        consumed_at="",
                        outcome="",
                        note=Prose(""),
                        files=(),
                        receipt="",
                        report=Prose(""),
                        answer=Prose(""),
                    )
                )

        self.agent.core.use(act)
        return {**self.run, "phase_id": phase, "step_id": step}

    def review(self, **asked: Any) -> dict[str, Any]:
        """Have a step reviewed; answer what was found."""
        return self.agent.does("review", action="fidelity-gate", **asked)["data"]

    def fails(self, **asked: str) -> str:
        """Ask for a review that must be refused; answer the code."""
        return self.agent.is_refused("review", action="fidelity-gate", **asked)["data"][
            "error_code"
        ]

    def report(self, asked: Mapping[str, str], attempt: str) -> str:
        """Report that a step rests on evidence, as the tool does; answer how its gate stands then."""

        def act(context: Context) -> str:
            key = context.ports.get(EvidenceKeys).of(context)
            inside = context.in_session(self.session)
            with transaction(inside):
                with recording(inside, "run.stepped") as change:
                    change.open_session()
                    known = Nodes(change.writing, get_spec(change.writing, SPEC))
                    step = last_step(change.writing, self.session)
                    assert step is not None
                    row = change.writing.find(GateEvidence, attempt)
                    seen = evidence_in(row, known) if row is not None else None
                    refuse_evidence(step_in(step, known), self.session, seen, key)
                    change.get(SessionStep, step.session, step.number)
                    change.put(replace(step, consumed_at=change.now, outcome="success"))
                return Judging(inside).act_upon(attempt)

        assert asked["step_id"] == f"step_{self.steps}"
        return self.agent.core.use(act)

    def edit(self, noun: type[Noun], key: dict[str, Json], **columns: Json) -> None:
        """Change a row past the product, as whoever can write the database does."""
        store = self.workshop.app.ports.store
        with store.writing(self.workshop.app.ports.project) as writing:
            writing.change(noun, key, columns)

    def gates(self) -> list[PhaseGate]:
        """Answer the gates as the run sees them."""

        def look(context: Context) -> list[PhaseGate]:
            with context.reading() as view:
                row = view.find(SpecSession, self.session)
                assert row is not None
                shape = shape_of(view, get_spec(view, SPEC))
                return phase_gates(view, shape, row, shown_terms(row))

        return self.agent.core.use(look)

    def prove(self) -> None:
        """Ask the ledger whether it says of every open gate how it was opened."""

        def look(context: Context) -> None:
            with context.reading() as view:
                events = gate_events(view, shape_of(view, get_spec(view, SPEC)))
            refuse_unproven([one for one in self.gates() if one.is_satisfied], events)

        self.agent.core.use(look)

    def item(self, node: str) -> Item:
        """Answer the item of a node."""
        found = self.agent.core.items.find(f"{SPEC}/{node}")
        assert found is not None
        return found

    def events(self) -> list[str]:
        """Answer the actions of what happened in the run, the newest first."""
        told = self.agent.does("task", action="session-events", session_id=self.session)
        return [one.get("action", "") for one in told["data"]["events"]]


Begin = Callable[..., Gated]
"""What begins a run."""


def person_of(workshop: Workshop) -> Core:
    """Answer the core as a person uses it at the command line."""
    return workshop.app.core(Identity(kind="human", name="pat", attested=attested_as("pat")))


def types(found: Mapping[str, Any]) -> list[str]:
    """Return what was found, by type."""
    return [one["type"] for one in found["findings"]]
