"""The shapes of what every action on tasks and verifications answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from builders import Agent
from fakes.shapes import SPEC, Row, misshapen, on, row

EDGES = "{blocks: [str], blocked_by: [str], depends: [str]}"
NODE = (
    "{type: str, title: str, status: str, parent: str, children: [str], total_tasks: int,"
    f" completed_tasks: int, metadata: {{*id: any}}, dependencies: {EDGES}}}"
)
BESIDE = "{id: str, title: str, status: str, file: str|null}"
WAITS = (
    "task_id: str, can_start: bool,"
    f" blocked_by: [{BESIDE}], soft_depends: [{BESIDE}], blocks: [{BESIDE}], reasons?: [str]"
)
PHASE = (
    "{id: str, title: str, status: str, sequence_index: int, completed_tasks: int,"
    " total_tasks: int, percentage: int, summary: str|null, blockers: [str]}"
)
LINKED = (
    "{spec_id: str, source_task: str, target_task: str, dependency_type: str, action: str,"
    f" dry_run: bool, source_dependencies: {EDGES}, target_dependencies: {EDGES}, message?: str}}"
)
REQUIRED = (
    "{spec_id: str, task_id: str, action: str, requirement: {id: str, type: str, text: str},"
    " total_requirements: int, dry_run: bool, message?: str}"
)
LATER = ("task add-dependency", {"spec_id": SPEC, "task_id": "task-1-1", "target_id": "task-1-2"})
VERIFY = (
    "task add",
    {"spec_id": SPEC, "parent": "phase-1", "title": "Verify", "task_type": "verify"},
)


def _of(call: str, shape: str, *before: tuple[str, dict[str, Any]], **given: Any) -> Row:
    return row(call, shape, *before, spec_id=SPEC, **given)


TASK_ROWS = (
    _of(
        "task next",
        "{spec_id: str, found: bool, task_id: str, title: str, type: str, status: str,"
        " metadata: {*id: any}}",
    ),
    _of(
        "task next",
        "{spec_id: str, found: bool, spec_complete: bool, message: str, continue: {*id: any}}",
        on("task start", task_id="task-1-1"),
        on("task block", task_id="task-1-2", reason="why"),
    ),
    _of(
        "task prepare",
        f"{{continue?: {{*id: any}}, task_id: str, task_data: {NODE}, dependencies: {{{WAITS}}}, spec_complete: bool,"
        f" context: {{previous_sibling: null, parent_task: {{id: str, title: str, type: str,"
        " status: str, description: str|null, completed_tasks: int, total_tasks: int,"
        " remaining_tasks: int, position_label: str, children: [{id: str, title: str,"
        f" status: str}}], children_total: int}}, phase: {PHASE},"
        " task_journal: {entry_count: int, entries: []}},"
        " auto_mode_hints: {estimated_complexity: str, has_sibling_verify: bool,"
        " may_require_user_input: bool}}",
    ),
    _of(
        "task prepare-batch",
        "{spec_id: str, tasks: [{task_id: str, title: str, type: str, status: str,"
        f" metadata: {{*id: any}}, dependencies: {{{WAITS}}}, phase: {PHASE},"
        " parent: {id: str, title: str, position_label: str}}], task_count: int,"
        " spec_complete: bool, all_blocked: bool, stale_tasks: [], dependency_graph: {nodes:"
        " [{id: str, title: str, status: str, file_path: null|str, is_target: bool}],"
        " edges: [any]}, token_estimate: int}",
    ),
    _of(
        "task start-batch",
        "{spec_id: str, started: [str], started_count: int, started_at: str}",
        task_ids=["task-1-1", "task-1-2"],
    ),
    _of(
        "task complete-batch",
        "{spec_id: str, results: {task-1-1: {status: str, completed_at: str}, task-1-2: {status:"
        " str, retry_count: int, failed_at: str}, nope: {status: str, error: str}},"
        " completed_count: int, failed_count: int, total_processed: int}",
        completions=[
            {"task_id": "task-1-1", "success": True, "completion_note": "done"},
            {"task_id": "task-1-2", "success": False, "completion_note": "no"},
            {"task_id": "nope", "success": True},
        ],
    ),
    _of(
        "task reset-batch",
        "{spec_id: str, reset: [str], reset_count: int, errors: null, message: str}",
    ),
    _of("task info", f"{{spec_id: str, task_id: str, task: {NODE}}}", LATER, task_id="task-1-1"),
    _of("task check-deps", f"{{{WAITS}, spec_id: str}}", LATER, task_id="task-1-2"),
    _of(
        "task start",
        "{spec_id: str, task_id: str, started_at: str, title: str, type: str}",
        task_id="task-1-1",
    ),
    _of(
        "task complete",
        "{spec_id: str, task_id: str, completed_at: str, progress: {completed_tasks: int,"
        " total_tasks: int, percentage: int}, suggest_commit: bool, commit_scope: null,"
        " commit_message_hint: null}",
        task_id="task-1-1",
        completion_note="done",
    ),
    _of(
        "task complete",
        "{spec_id: str, task_id: str, completed_at: str, progress: {completed_tasks: int,"
        " total_tasks: int, percentage: int}, suggest_commit: bool, commit_scope: str,"
        " commit_message_hint: str}",
        on("task complete", task_id="task-1-1", completion_note="done"),
        task_id="task-1-2",
        completion_note="done",
    ),
    _of(
        "task update-status",
        "{spec_id: str, task_id: str, new_status: str}",
        task_id="task-1-1",
        status="in_progress",
    ),
    _of(
        "task block",
        "{spec_id: str, task_id: str, blocker_type: str, reason: str, ticket: str}",
        task_id="task-1-1",
        reason="why",
        ticket="OPS-1",
    ),
    _of(
        "task unblock",
        "{spec_id: str, task_id: str, previous_blocker: {type: str, description: str},"
        " resolution: str, new_status: str}",
        on("task block", task_id="task-1-1", reason="why"),
        task_id="task-1-1",
    ),
    _of(
        "task list-blocked",
        "{spec_id: str, count: int, blocked_tasks: [{task_id: str, title: str, blocker_type: str,"
        " blocker_description: str, blocked_at: str, ticket: str|null}]}",
        on("task block", task_id="task-1-1", reason="why"),
    ),
    _of(
        "task add",
        "{task_id: str, parent: str, title: str, type: str, position: int, file_path: null,"
        " spec_id: str, task_type: str, dry_run: bool}",
        parent="phase-1",
        title="More",
    ),
    _of(
        "task remove",
        "{task_id: str, spec_id: str, cascade: bool, children_removed: int,"
        " total_tasks_removed: int, dry_run: bool}",
        task_id="task-1-1",
    ),
    _of(
        "task update-estimate",
        "{spec_id: str, task_id: str, hours: num, previous_hours: null, complexity: str,"
        " previous_complexity: null, dry_run: bool}",
        task_id="task-1-1",
        estimated_hours=2,
        complexity="low",
    ),
    _of(
        "task update-metadata",
        "{spec_id: str, task_id: str, fields_updated: [str], previous_values: {title: str,"
        " a: null, command: null}, dry_run: bool}",
        task_id="task-1-1",
        title="Anew",
        command="pytest",
        custom_metadata={"a": 1},
    ),
    _of(
        "task metadata-batch",
        "{spec_id: str, matched_count: int, updated_count: int, skipped_count: int,"
        " nodes: [{node_id: str, title: str, type: str, status: str, fields_updated: [str],"
        " diff: {description: {old: str, new: str}, k: {old: null, new: str}}}],"
        " filters: {status_filter: null, parent_filter: str, pattern: null},"
        " metadata_applied: {description: str, k: str}, dry_run: bool}",
        parent_filter="phase-1",
        description="Anew",
        update_metadata={"k": "v"},
    ),
    _of(
        "task progress",
        "{node_id: str, spec_id: str, title: str, type: str, status: str, total_tasks: int,"
        " completed_tasks: int, percentage: int, remaining_tasks: int, current_phase: {id: str,"
        " title: str, completed: int, total: int}, phases: [{id: str, title: str, status: str,"
        " completed_tasks: int, total_tasks: int, percentage: int}]}",
    ),
    _of(
        "task list",
        "{spec_id: str, tasks: [{id: str, title: str, type: str, status: str, icon: null,"
        " file_path: str, parent: str}], count: int}",
    ),
    _of(
        "task query",
        "{spec_id: str, tasks: [{task_id: str, title: str, status: str, type: str, parent: str}],"
        " count: int}",
        parent="phase-2",
    ),
    _of(
        "task hierarchy",
        "{spec_id: str, hierarchy: {*id: {type: str, title: str, status: str, children: [str],"
        " parent: str|null}}, node_count: int, total_nodes: int, filters_applied: {max_depth: int,"
        " include_metadata: bool}}",
    ),
    _of(
        "task move",
        "{spec_id: str, task_id: str, old_parent: str, new_parent: str, old_position: int,"
        " new_position: int, is_reparenting: bool, tasks_in_subtree: int, dry_run: bool}",
        task_id="task-1-2",
        parent="phase-2",
        position=1,
    ),
    _of("task add-dependency", LINKED, task_id="task-1-1", target_id="task-1-2"),
    _of(
        "task add-dependency",
        LINKED.replace("message?", "message"),
        task_id="task-1-1",
        target_id="task-1-2",
        dependency_type="depends",
        dry_run=True,
    ),
    _of("task remove-dependency", LINKED, LATER, task_id="task-1-1", target_id="task-1-2"),
    _of(
        "task add-requirement",
        REQUIRED,
        task_id="task-1-1",
        requirement_type="technical",
        text="It is fast",
    ),
    _of(
        "task add-requirement",
        REQUIRED.replace("message?", "message"),
        task_id="task-1-1",
        requirement_type="constraint",
        text="It is small",
        dry_run=True,
    ),
    _of(
        "task fix-verification-types",
        "{spec_id: str, total_fixes: int, applied_count: int, fixes: [{node_id: str, title: str,"
        " old: null, new: str}], summary: {missing_set_to_run_tests: int,"
        " invalid_set_to_manual: int}, valid_types: [str], dry_run: bool}",
        VERIFY,
    ),
    _of(
        "verification add",
        "{spec_id: str, verify_id: str, result: str, dry_run: bool}",
        VERIFY,
        verify_id="verify-1-1",
        result="PASSED",
    ),
    _of(
        "verification execute",
        "{spec_id: str, verify_id: str, result: str, recorded: bool, command: null, output: str,"
        " exit_code: null, receipt_id: null, receipt: null}",
        VERIFY,
        verify_id="verify-1-1",
    ),
    _of(
        "verification execute",
        "{spec_id: str, verify_id: str, result: str, recorded: bool, command: str, output: str,"
        " exit_code: int, receipt_id: str, receipt: {command_hash: str, exit_code: int,"
        " output_digest: str, issued_at: str, step_id: str}}",
        VERIFY,
        verify_id="verify-1-1",
        command="echo well",
        step_id="step_1",
        record=True,
    ),
)


@pytest.mark.parametrize("tool", ["task", "verification"])
def test_every_answer_about_tasks_has_its_shape(
    tool: str, made: Callable[..., str], foundry: Agent
) -> None:
    """In one page, whatever it is of; each call is about a spec of its own."""
    assert list(misshapen(TASK_ROWS, tool, made, foundry)) == []
