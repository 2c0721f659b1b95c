"""The shapes of what every command to an unattended run answers."""

from __future__ import annotations

from collections.abc import Callable

from builders import Agent
from fakes.run_party import Party, set_run
from fakes.shapes import LIMITS, SPEC, STOPS, faults, misshapen, on, parsed, row

LINE = (
    "session_id: str, spec_id: str, status: str, effective_status: str, pause_reason: str|null,"
    " created_at: str, updated_at: str, active_phase_id: str|null, tasks_completed: int"
)
TERMS = (
    f"gate_policy: str, limits: {{{LIMITS}}}, stop_conditions: {{{STOPS}}},"
    " write_lock_enforced: bool"
)
COUNTED = "consecutive_errors: int, fidelity_review_cycles_in_active_phase: int"
TASKS = "[{task_id: str, title: str, phase_id: str|null}]"
CONTEXT = (
    "{spec_id: str, spec_title: str, active_phase_id: str|null, active_phase_title: str|null,"
    f" completed_task_count: int, recent_completed_tasks: {TASKS}, completed_phases: [str],"
    f" pending_tasks_in_phase: {TASKS}, last_pause_reason: str|null, journal_available: bool,"
    " journal_hint: str}"
)
RUN = (
    f"{LINE}, failure_reason: str|null, state_version: int, posture_profile: str|null, {TERMS},"
    f" counters: {{tasks_completed: int, {COUNTED}}}, retry_counters: {{{COUNTED},"
    " phase_retry_counts: {*id: int}, task_retry_counts: {*id: int}},"
    " context: {usage_pct: int|null, source: str|null}, last_heartbeat_at: str|null,"
    " paused_at: str|null, last_step_id: str|null, last_step_type: str|null,"
    " current_task_id: str|null, active_phase_progress: {phase_id: str, title: str, status: str,"
    " completed_tasks: int, total_tasks: int, percentage: int}, session_signal: str|null,"
    f" next_action_hint: str|null, resume_context: {CONTEXT}, recommended_actions?: [{{action: str,"
    " description: str, command: str}], gate_attempt_id?: str, reason_code?: str"
)
TOLD = f"{{{RUN}}}"
BEGUN = on("task session start")
STOPPED = on("task session pause")
REASON = {"reason_code": "testing"}
RESET = row("task session reset", TOLD)
ROWS = (
    row("task session start", TOLD, spec_id=SPEC),
    row("task session status", TOLD, BEGUN, spec_id=SPEC),
    row("task session pause", TOLD, BEGUN, spec_id=SPEC),
    row("task session resume", TOLD, BEGUN, STOPPED, spec_id=SPEC),
    row(
        "task session rebase",
        f"{{{RUN}, rebase_result: {{result: str, added_phases: [str], removed_phases: [str],"
        " added_tasks: [str], removed_tasks: [str], completed_tasks_removed: int|null}}",
        BEGUN,
        STOPPED,
        on("authoring phase-add", title="More"),
        spec_id=SPEC,
    ),
    row("task session end", TOLD, BEGUN, spec_id=SPEC, **REASON),
    row(
        "task session list",
        f"{{sessions: [{{{LINE}}}], cursor: null, has_more: bool}}",
        BEGUN,
        spec_id=SPEC,
    ),
    row(
        "task session-events",
        "{session_id: str, spec_id: str, events: [{event_id: str, session_id: str, spec_id: str,"
        " timestamp: str, event_type: str, action: str, title: str, summary: str, author: str,"
        " task_id?: str, details: {*id: any}}]}",
        BEGUN,
        spec_id=SPEC,
    ),
    row("task session-config", TOLD, spec_id=SPEC, auto_mode=True),
    row(
        "task session-config",
        "{spec_id?: str, session_config: {role: str, posture_profile: str|null,"
        f" allow_lock_bypass: bool, allow_gate_waiver: bool, {TERMS}}}, auto_mode: bool,"
        f" session: {{{LINE}}}, session_id: str,"
        " limits: {max_consultations: int, max_context_tokens: int, warn_at_percentage: num},"
        " stats: {consultation_count: int, estimated_tokens_used: int, commands_executed: int,"
        " errors_encountered: int}, derived: {consultations_remaining: int, tokens_remaining: int,"
        " consultation_usage_percentage: num, token_usage_percentage: num, should_warn: bool,"
        " at_limit: bool}, message: str}",
        BEGUN,
        spec_id=SPEC,
    ),
)


def test_every_answer_about_runs_has_its_shape(made: Callable[..., str], foundry: Agent) -> None:
    assert list(misshapen(ROWS, "task", made, foundry)) == []


def test_giving_a_run_up_has_the_same_shape(party: Party) -> None:
    """Only one that has failed is given up."""
    session = party.start()
    set_run(party.fay, session, status="failed")
    found = party.does("reset", session_id=session, **REASON)
    assert faults(found, parsed(RESET.shape)) == []
