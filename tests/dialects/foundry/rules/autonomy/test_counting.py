"""What outcomes and commands do to the counters of a run."""

from __future__ import annotations

import pytest

from counterpoint.dialects.foundry.models.runs import OUTCOMES, PAUSE_REASONS, STEP_TYPES, Counters
from counterpoint.dialects.foundry.runs.rules.commands import (
    Result,
    count_rebase,
    count_result,
    count_resumption,
    is_completed,
)

BEFORE = Counters(
    tasks_completed=5, consecutive_errors=2, task_retries={"t": 1}, phase_retries={"p": 1, "q": 2}
)

EXPECTED = {
    ("implement_task", "success"): (6, 0, 1, 1),
    ("implement_task", "failure"): (5, 3, 2, 1),
    ("implement_task", "skipped"): (5, 2, 2, 1),
    ("execute_verification", "success"): (6, 0, 1, 1),
    ("execute_verification", "failure"): (5, 3, 2, 1),
    ("execute_verification", "skipped"): (5, 2, 2, 1),
    ("run_fidelity_gate", "failure"): (5, 2, 1, 2),
    ("address_fidelity_feedback", "success"): (5, 0, 1, 1),
    ("address_fidelity_feedback", "failure"): (5, 3, 1, 1),
}
"""Completed tasks, errors in a row, retries of the task and of the phase; what is not named changes nothing."""


def told(counters):
    """Return the counts that the table names."""
    retries = (counters.task_retries["t"], counters.phase_retries["p"])
    return (counters.tasks_completed, counters.consecutive_errors, *retries)


@pytest.mark.parametrize("kind", STEP_TYPES)
@pytest.mark.parametrize("outcome", OUTCOMES)
def test_each_outcome_of_each_step_counts_as_the_table_says(kind, outcome):
    """Gates leave the errors alone, and tasks are really counted by task."""
    result = Result(type=kind, outcome=outcome, task="t", phase="p")
    after = count_result(BEFORE, result)
    assert told(after) == EXPECTED.get((kind, outcome), (5, 2, 1, 1))
    assert is_completed(result) == (after.tasks_completed == 6)


@pytest.mark.parametrize(
    ("gate", "cycles"), [("failed", 2), ("passed", 1), ("pending", 1), ("waived", 1)]
)
def test_a_review_counts_as_a_cycle_when_it_ended_without_a_pass(gate, cycles):
    result = Result(type="run_fidelity_gate", outcome="success", phase="p", gate=gate)
    assert count_result(BEFORE, result).cycles_of("p") == cycles


@pytest.mark.parametrize("reason", PAUSE_REASONS)
def test_whoever_resumes_from_a_limit_gives_as_much_again(reason):
    """Errors and the cycles of the phase at work; nothing else is forgotten."""
    after = count_resumption(BEFORE, reason, "p")
    assert after.consecutive_errors == (0 if reason == "error_threshold" else 2)
    assert after.cycles_of("p") == (0 if reason == "fidelity_cycle_limit" else 1)
    assert after.cycles_of("q") == 2
    assert after.tasks_completed == 5


def test_a_rebase_forgets_what_is_not_there_any_more():
    """And the errors, which were of the spec as it was."""
    after = count_rebase(BEFORE, frozenset({"q"}), 7)
    assert after == Counters(tasks_completed=0, phase_retries={"q": 2})
