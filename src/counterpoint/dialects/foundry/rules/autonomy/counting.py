"""What the outcomes of steps do to the counters of a run.

step                       outcome            consecutive errors   retries
implement_task,            success            none again           –
execute_verification       failure            one more             one more of the task
                           skipped            –                    one more of the task
address_fidelity_feedback  success            none again           –
                           failure            one more             –
run_fidelity_gate          no pass            –                    one more of the phase
pause, complete_spec       any                –                    –
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from counterpoint.dialects.foundry.nouns.autonomy import (
    TASK_STEPS,
    Counters,
    GateStatus,
    Outcome,
    StepType,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What was reported of a step. gate: how the gate stands after it, for a step that ran one."""

    type: StepType
    outcome: Outcome
    task: str = ""
    phase: str = ""
    gate: GateStatus = "pending"


def count_result(counters: Counters, result: Result) -> Counters:
    """Return the counters after a step's result."""
    if result.type in TASK_STEPS:
        return _after_task(counters, result)
    if result.type == "address_fidelity_feedback" and result.outcome != "skipped":
        errors = 0 if result.outcome == "success" else counters.consecutive_errors + 1
        return replace(counters, consecutive_errors=errors)
    if result.type == "run_fidelity_gate" and _is_cycle(result):
        return replace(counters, phase_retries=_more(counters.phase_retries, result.phase))
    return counters


def is_completed(result: Result) -> bool:
    """Whether a task is to be completed with this result."""
    return result.type in TASK_STEPS and result.outcome == "success"


def count_resumption(counters: Counters, reason: str, phase: str) -> Counters:
    """Return the counters after a run was resumed; reason: of its pause; phase: the one at work.

    Whoever resumes from a limit of errors or of reviews gives the run as many again. The limit of tasks is of the whole run.
    """
    give = _GIVEN.get(reason)
    return give(counters, phase) if give else counters


def count_rebase(counters: Counters, ids: frozenset[str], completed_removed: int) -> Counters:
    """Return the counters after a rebase; ids: that still exist; completed_removed: completed tasks that do not."""
    return Counters(
        tasks_completed=max(0, counters.tasks_completed - completed_removed),
        consecutive_errors=0,
        task_retries=_only(counters.task_retries, ids),
        phase_retries=_only(counters.phase_retries, ids),
    )


def _after_task(counters: Counters, result: Result) -> Counters:
    if result.outcome == "success":
        done = counters.tasks_completed + 1
        return replace(counters, tasks_completed=done, consecutive_errors=0)
    errors = counters.consecutive_errors + (result.outcome == "failure")
    retries = _more(counters.task_retries, result.task)
    return replace(counters, consecutive_errors=errors, task_retries=retries)


def _is_cycle(result: Result) -> bool:
    """Whether a review ended without a pass; one that waits for a person has not ended."""
    return result.outcome == "failure" or (result.outcome == "success" and result.gate == "failed")


def _more(counts: Mapping[str, int], name: str) -> dict[str, int]:
    return {**counts, name: counts.get(name, 0) + 1}


def _only(counts: Mapping[str, int], ids: frozenset[str]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if name in ids}


def _without_errors(counters: Counters, _phase: str) -> Counters:
    return replace(counters, consecutive_errors=0)


def _without_cycles(counters: Counters, phase: str) -> Counters:
    ids = frozenset(counters.phase_retries) - {phase}
    return replace(counters, phase_retries=_only(counters.phase_retries, ids))


_GIVEN: Final[Mapping[str, Callable[[Counters, str], Counters]]] = {
    "error_threshold": _without_errors,
    "fidelity_cycle_limit": _without_cycles,
}
