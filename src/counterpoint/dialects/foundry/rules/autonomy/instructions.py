"""The calls that a step requires of an agent, in their order.

Every call that changes the spec names the session, which is what its write lock asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from counterpoint.dialects.foundry.nouns.autonomy import StepType
from counterpoint.kernel.canonical import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """One call: the tool, its action, and what to give it."""

    tool: str
    action: str
    description: str

    def told(self) -> dict[str, Json]:
        """Return it as an answer has it."""
        return {"tool": self.tool, "action": self.action, "description": self.description}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPlace:
    """What the instructions of a step name. has_command: whether its verification has one that can be executed."""

    spec: str
    session: str
    step: str
    task: str = ""
    phase: str = ""
    attempt: str = ""
    has_command: bool = False

    @property
    def of_task(self) -> str:
        """The arguments that a call about the task has."""
        return f"spec_id={self.spec} task_id={self.task} session_id={self.session}"


def instructions(step_type: StepType, context: StepPlace) -> tuple[Instruction, ...]:
    """Return what to call for a step of a type."""
    return _BY_TYPE[step_type](context)


def _next(context: StepPlace, text: str) -> Instruction:
    description = (
        f"{text}: command=next session_id={context.session}, with last_step_result of step_id={context.step}"
        " and its step_proof."
    )
    return Instruction(tool="task", action="session-step", description=description)


def _implement(context: StepPlace) -> tuple[Instruction, ...]:
    return (
        Instruction(
            tool="task",
            action="prepare",
            description=f"Read the task and what it builds on: {context.of_task}.",
        ),
        Instruction(
            tool="task",
            action="update-status",
            description=f"Say that you are at it: {context.of_task} status=in_progress.",
        ),
        Instruction(
            tool="task",
            action="complete",
            description=f"Complete it when it is done: {context.of_task}, with a completion_note."
            f" Then report the step with its proof and task_id={context.task}.",
        ),
    )


def _verify(context: StepPlace) -> tuple[Instruction, ...]:
    ends = f"its proof and task_id={context.task}"
    if context.has_command:
        ends = f"its proof, task_id={context.task} and the receipt as verification_receipt"
    execute = Instruction(
        tool="verification",
        action="execute",
        description=f"Run it and keep the receipt: spec_id={context.spec} verify_id={context.task}"
        f" session_id={context.session} step_id={context.step}.",
    )
    read = (
        "Read what is to be verified"
        if context.has_command
        else "Read what is to be verified by hand"
    )
    return (
        Instruction(tool="task", action="info", description=f"{read}: {context.of_task}."),
        *((execute,) if context.has_command else ()),
        Instruction(
            tool="task",
            action="complete",
            description=f"Complete it if it passed: {context.of_task}. Then report the step with {ends}.",
        ),
    )


def _gate(context: StepPlace) -> tuple[Instruction, ...]:
    return (
        Instruction(
            tool="review",
            action="fidelity-gate",
            description=f"Have the phase reviewed: spec_id={context.spec} phase_id={context.phase}"
            f" session_id={context.session} step_id={context.step}.",
        ),
        _next(context, f"Report it, with phase_id and gate_attempt_id={context.attempt}"),
    )


def _feedback(context: StepPlace) -> tuple[Instruction, ...]:
    return (
        Instruction(
            tool="review",
            action="fidelity",
            description=f"Read what the review found: spec_id={context.spec} phase_id={context.phase}"
            f" session_id={context.session}.",
        ),
        Instruction(
            tool="task",
            action="prepare",
            description="Read the tasks that it is about, put right what was found, and execute the"
            " verifications of the phase again if files were changed:"
            f" spec_id={context.spec} session_id={context.session}.",
        ),
        _next(context, "Report it, with phase_id"),
    )


def _pause(context: StepPlace) -> tuple[Instruction, ...]:
    return (_next(context, "Stop here. Once the run is resumed, report this step"),)


def _complete(context: StepPlace) -> tuple[Instruction, ...]:
    return (_next(context, "Nothing is left to do; report this step"),)


_BY_TYPE: Final[Mapping[StepType, Callable[[StepPlace], tuple[Instruction, ...]]]] = {
    "implement_task": _implement,
    "execute_verification": _verify,
    "run_fidelity_gate": _gate,
    "address_fidelity_feedback": _feedback,
    "pause": _pause,
    "complete_spec": _complete,
}
