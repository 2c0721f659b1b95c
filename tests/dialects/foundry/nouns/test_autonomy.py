"""The words, tables and rows of unattended runs."""

from __future__ import annotations

import pytest

from counterpoint.core.model.rows import columns, prose_columns
from counterpoint.dialects.foundry.models import runs
from counterpoint.dialects.foundry.models.environment import TYPES
from counterpoint.dialects.foundry.models.runs import (
    AUTONOMY,
    COMMAND_MOVES,
    COMMANDS,
    STATUSES,
    GateEvidence,
    SessionStep,
    SpecSession,
    counts_of,
    move_of,
)

REFUSED = "INVALID_STATE_TRANSITION"
EXPECTED = {
    ("start", None): "running",
    ("start", "running"): "SPEC_SESSION_EXISTS",
    ("start", "paused"): "SPEC_SESSION_EXISTS",
    ("start", "failed"): "running",
    ("start", "completed"): "running",
    ("start", "ended"): "running",
    ("pause", "running"): "paused",
    ("resume", "paused"): "running",
    ("resume", "failed"): REFUSED,
    ("rebase", "paused"): "running",
    ("rebase", "failed"): "running",
    ("end", "running"): "ended",
    ("end", "paused"): "ended",
    ("end", "failed"): "ended",
    ("reset", "failed"): "ended",
}
"""What a command without any word more makes of a run; what is not named is refused."""
WORDS = {
    "STATUSES": "running paused completed failed ended",
    "PAUSE_REASONS": """
        user context_limit error_threshold blocked gate_failed gate_review_required task_limit heartbeat_stale
        step_stale phase_complete fidelity_cycle_limit
    """,
    "STEP_TYPES": """
        implement_task execute_verification run_fidelity_gate address_fidelity_feedback pause complete_spec
    """,
    "OUTCOMES": "success failure skipped",
    "GATE_POLICIES": "strict lenient manual",
    "GATE_STATUSES": "pending passed failed waived",
    "VERDICTS": "pass warn fail",
    "POSTURES": "unattended supervised debug",
    "ROLES": "maintainer autonomy_runner observer",
    "REASON_CODES": "stuck_agent corrupt_state operator_override incident_response testing",
    "COMMANDS": "start pause resume rebase end reset",
    "LOOP_SIGNALS": "phase_complete spec_complete failed blocked_runtime paused_needs_attention",
}
"""The words of the reference, by the names that they have here."""


@pytest.mark.parametrize("noun", [SpecSession, SessionStep, GateEvidence])
def test_every_row_says_how_its_columns_are_kept(noun):
    """Keys, indexes and what is unique are columns of the noun."""
    names = {column.name for column in columns(noun)}
    partial = noun.partial.indexes if noun.partial else ()
    for index in (*noun.indexes, *noun.unique, *partial, ",".join(noun.key)):
        assert set(index.split(",")) <= names


def test_nothing_that_is_found_by_is_a_text_that_can_be_taken_away():
    assert set(prose_columns(SpecSession)) == {"limits", "retries", "reason_detail"}
    assert set(prose_columns(SessionStep)) == {"command", "note", "report", "answer"}
    assert set(prose_columns(GateEvidence)) == {"findings"}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("status", [None, *STATUSES])
def test_each_command_makes_the_move_of_the_contract_in_each_state(command, status):
    """What is in no row of the contract is refused with a code of its own."""
    move = move_of(command, status)
    wanted = EXPECTED.get((command, status), REFUSED if status else "NO_ACTIVE_SESSION")
    assert (move.code or move.to) == wanted
    assert not move.code or move.code in TYPES


def test_every_move_of_a_command_is_an_edge_of_the_table_of_states():
    """A start makes a run of its own, so it is no edge."""
    for command in set(COMMANDS) - {"start"}:
        for status, move in COMMAND_MOVES[command].items():
            if status and move.to:
                assert AUTONOMY.allows(status, move.to)


@pytest.mark.parametrize("name", WORDS)
def test_the_words_are_those_of_the_contract(name):
    """No more, no fewer, and as they are spelled there."""
    assert set(getattr(runs, name)) == set(WORDS[name].split())
    assert len(getattr(runs, name)) == len(WORDS[name].split())


def test_every_state_of_the_contract_is_in_the_table_of_states():
    """A run begins by running."""
    assert set(AUTONOMY.categories) == set(STATUSES)
    assert AUTONOMY.first == "running"


def test_only_counts_are_read_as_counts():
    """A row that somebody wrote otherwise reads as empty."""
    assert counts_of({"a": 2, "b": True, "c": "3", "d": -1, "e": 0}) == {"a": 2}
    assert counts_of(["a"]) == {}
