"""Works in an unattended run as an agent does: over MCP, with what each step says and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from builders import Agent, Reply, Workshop, commit
from counterpoint.core.model.rows import Noun
from counterpoint.core.model.work import Item
from counterpoint.dialects.foundry.models.runs import SpecSession
from counterpoint.kernel.canonical import Json
from fakes.gates import SPEC, gated_draft

ABOUT: Final = {"task_id": "task_id", "phase_id": "phase_id", "gate_attempt_id": "gate_attempt_id"}
"""What of a step its report names."""


@dataclass(kw_only=True)
class Stepper:
    """An agent at work in a run. folder: of the files of its tasks. data: what it was answered last."""

    workshop: Workshop
    agent: Agent
    session: str
    spec: str = SPEC
    folder: str = "src"
    data: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def step(self) -> dict[str, Any]:
        """The step that is out, as it was told."""
        return self.data["next_step"]

    @property
    def type(self) -> str:
        """Of what type that is; empty without one."""
        return self.data["next_step"]["type"] if self.data.get("next_step") else ""

    def asks(self, command: str = "next", **given: Any) -> Reply:
        """Give a command; answer what came back."""
        asked = {"action": "session-step", "command": command, "session_id": self.session, **given}
        return self.agent.call("task", asked)

    def does(self, command: str = "next", **given: Any) -> dict[str, Any]:
        """Give a command that succeeds, and keep what it answers."""
        reply = self.asks(command, **given)
        assert not reply.is_error, reply.text
        if command != "heartbeat":
            self.data = reply.answer["data"]
        return reply.answer["data"]

    def fails(self, command: str = "next", **given: Any) -> dict[str, Any]:
        """Give a command that is refused and writes nothing; answer the refusal's data."""
        before = self.agent.ledger_size
        reply = self.asks(command, **given)
        assert reply.is_error, reply.text
        assert self.agent.ledger_size == before
        return reply.answer["data"]

    def result(self, outcome: str = "success", **changed: Any) -> dict[str, Any]:
        """Answer the report of the step that is out; what is None is left out."""
        step = self.step
        told = {
            "step_id": step["step_id"],
            "step_type": step["type"],
            "outcome": outcome,
            "step_proof": step["step_proof"],
            **{name: step[of] for name, of in ABOUT.items()},
            **changed,
        }
        return {name: value for name, value in told.items() if value is not None}

    def reports(self, outcome: str = "success", **changed: Any) -> dict[str, Any]:
        """Report the step that is out, and take the next."""
        return self.does(last_step_result=self.result(outcome, **changed))

    def code(self, outcome: str = "success", **changed: Any) -> str:
        """Report the step that is out in a way that is refused; answer the code."""
        return self.fails(last_step_result=self.result(outcome, **changed))["error_code"]

    def executes(self, **given: Any) -> dict[str, Any]:
        """Run the verification that is out; answer its receipt."""
        told = self.agent.does(
            "verification",
            action="execute",
            spec_id=self.spec,
            verify_id=self.step["task_id"],
            session_id=self.session,
            step_id=self.step["step_id"],
            **given,
        )
        return told["data"]["receipt"]

    def reviews(self) -> dict[str, Any]:
        """Have the phase judged whose gate is out."""
        told = self.agent.does(
            "review",
            action="fidelity-gate",
            spec_id=self.spec,
            phase_id=self.step["phase_id"],
            session_id=self.session,
            step_id=self.step["step_id"],
        )
        return told["data"]

    def works(self) -> dict[str, Any]:
        """Do what the step that is out asks for, and report it as done."""
        more: dict[str, Any] = {}
        self.workshop.clock.pass_by(seconds=1)
        if self.type == "implement_task":
            name = self.step["task_id"].removeprefix("task-").partition("-")[0]
            self.writes(name)
        if self.type == "execute_verification" and "execute" in self.calls:
            more["verification_receipt"] = self.executes()
        if self.type == "run_fidelity_gate":
            self.reviews()
        return self.reports(**more)

    def writes(self, phase: str) -> None:
        """Write the file of the task of a phase anew, and commit it."""
        text = f"PART = {self.workshop.clock.now()!r}\n"
        commit(self.workshop.root, f"{self.folder}/part{phase}.py", text)

    @property
    def calls(self) -> list[str]:
        """The actions that the step that is out asks for."""
        return [one["action"] for one in self.step["instructions"]]

    def goes_on_to(self, kind: str) -> dict[str, Any]:
        """Do step after step up to one of a type."""
        self.data = self.data or self.does()
        for _ in range(40):
            if self.type == kind:
                return self.data
            self.works()
        raise AssertionError(self.data)

    def manages(self, command: str, who: Agent | None = None, **given: Any) -> dict[str, Any]:
        """Give a command to the run itself; answer its data."""
        asked = {"action": "session", "command": command, "session_id": self.session, **given}
        return (who or self.agent).does("task", **asked)["data"]

    def status(self) -> dict[str, Any]:
        """Answer how the run stands."""
        return self.manages("status")

    def item(self, node: str) -> Item:
        """Answer the item of a node."""
        found = self.agent.core.items.find(f"{self.spec}/{node}")
        assert found is not None
        return found

    def row(self) -> SpecSession:
        """Answer the row of the run."""

        def read(context: Any) -> SpecSession:
            with context.reading() as view:
                found = view.find(SpecSession, self.session)
                assert found is not None
                return found

        return self.agent.core.use(read)

    def edit(self, noun: type[Noun], key: dict[str, Json], **columns: Json) -> None:
        """Change a row past the product, as whoever can write the database does."""
        ports = self.workshop.app.ports
        with ports.store.writing(ports.project) as writing:
            writing.change(noun, key, columns)

    def events(self) -> list[str]:
        """Answer the actions of what happened in the run, the oldest first."""
        told = self.agent.does("task", action="session-events", session_id=self.session)
        return [one.get("action", "") for one in told["data"]["events"]][::-1]


def begin(workshop: Workshop, command: str = "true", **terms: Any) -> Stepper:
    """Begin a run of a spec of two phases: a task with a verification, and a task alone."""
    workshop.agent("ada").core.plans.create(gated_draft(command))
    agent = workshop.agent("fay", surface="foundry")
    begun = agent.does("task", action="session", command="start", spec_id=SPEC, **terms)
    return Stepper(workshop=workshop, agent=agent, session=begun["data"]["session_id"])
