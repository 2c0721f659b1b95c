"""The shapes of what every action answers: keys and JSON types, from one table.

A shape is written as `{key: type, optional?: type, *id: type}`: `str`, `int`, `num`, `bool`, `null` or `any`, one of several
joined by `|`, a list as `[type]`. No key is there that the shape does not name.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from builders import Agent
from fakes.shapes import SPEC, faults, misshapen, on, parsed, row

PLAN = {"plan_path": ".plans/a.md", "plan_review_path": ".plan-reviews/a.md"}
MOVED = "{spec_id: str, from_folder: str, to_folder: str, old_path: str, new_path: str}"
DIAGNOSTIC = (
    "{code: str, message: str, severity: str, category: str, location: str,"
    " suggested_fix: str, auto_fixable: bool}"
)
LISTED = "[{id: str, text: str, index: int}]"


SPEC_ROWS = (
    row(
        "spec find",
        "{found: bool, spec_id: str, path: str, status_folder: str}",
        spec_id=SPEC,
    ),
    row("spec find", "{found: bool, spec_id: str}", spec_id="nothing"),
    row("spec get", "{spec: str}", spec_id=SPEC),
    row(
        "spec list",
        "{specs: [{spec_id: str, status: str, title: str, total_tasks: int, completed_tasks: int,"
        " progress_percentage: int, current_phase: str}], count: int}",
    ),
    row(
        "spec list",
        "{specs: [{spec_id: str, status: str, title: str}], count: int}",
        include_progress=False,
    ),
    row(
        "spec validate",
        "{spec_id: str, is_valid: bool, error_count: int, warning_count: int, info_count: int,"
        f" diagnostics: [{DIAGNOSTIC}]}}",
        spec_id=SPEC,
    ),
    row(
        "spec fix",
        "{spec_id: str, applied_count: int, skipped_count: int, message: str, dry_run: bool,"
        " applied_actions: [{id: str, description: str, category: str}], skipped_actions: [],"
        " backup_path: str}",
        on(
            "authoring phase-add-bulk",
            phase={"title": "More"},
            tasks=[{"title": "Look", "type": "verify"}],
        ),
        spec_id=SPEC,
    ),
    row(
        "spec fix",
        "{spec_id: str, applied_count: int, skipped_count: int, message: str, dry_run: bool,"
        " applied_actions: [], skipped_actions: [{id: str, description: str, category: str}],"
        " backup_path: null}",
        on(
            "authoring phase-add-bulk",
            phase={"title": "More"},
            tasks=[{"title": "Look", "type": "verify"}],
        ),
        spec_id=SPEC,
        dry_run=True,
    ),
    row(
        "spec stats",
        "{spec_id: str, title: str, version: str, status: str, totals: {nodes: int, tasks: int,"
        " phases: int, verifications: int}, status_counts: {pending: int, completed: int,"
        " in_progress: int, blocked: int}, max_depth: int, avg_tasks_per_phase: num,"
        " verification_coverage: num, progress: num, file_size_kb: num}",
        spec_id=SPEC,
    ),
    row(
        "spec analyze",
        "{directory: str, has_specs: bool, specs_dir: str, spec_counts: {active: int, pending: int,"
        " completed: int, archived: int}, total_specs: int, documentation_available: bool,"
        " codebase_docs_available: bool}",
    ),
    row(
        "spec analyze-deps",
        "{spec_id: str, dependency_count: int, bottlenecks: [{task_id: str, title: str, status: str,"
        " blocks_count: int}], bottleneck_threshold: int, circular_deps: [], has_cycles: bool}",
        spec_id=SPEC,
        bottleneck_threshold=1,
    ),
    row(
        "spec schema",
        "{templates: [{name: str, description: str}], node_types: [str], statuses: [str],"
        " task_categories: [str], verification_types: [str], journal_entry_types: [str],"
        " blocker_types: [str], status_folders: [str]}",
    ),
    row(
        "spec diff",
        "{spec_id: str, compared_to: str, summary: {added_count: int, removed_count: int,"
        " modified_count: int, total_changes: int}, changes: {added: [{node_id: str, type: str,"
        " title: str}], removed: [], modified: [{node_id: str, type: str, title: str,"
        " field_changes: [{field: str, old: any, new: any}]}]}, partial: bool}",
        on("authoring phase-add", title="More"),
        spec_id=SPEC,
    ),
    row(
        "spec diff",
        "{spec_id: str, compared_to: str, summary: {added_count: int, removed_count: int,"
        " modified_count: int, total_changes: int}, changes: {added: [], removed: [{node_id: str,"
        " type: str, title: str}], modified: [{node_id: str, type: str, title: str,"
        " field_changes: [{field: str, old: any, new: any}]}]}, partial: bool}",
        on("task remove", task_id="task-1-1"),
        spec_id=SPEC,
    ),
    row(
        "spec history",
        "{spec_id: str, entries: [{type: str, timestamp: str, version: str,"
        " action?: str, author: str, changed?: {*id: [str]}, changes?: str}], backup_count: int,"
        " revision_count: int}",
        on("authoring revision-add", version="1.1", changes="More"),
        spec_id=SPEC,
    ),
    row(
        "spec completeness-check",
        "{spec_id: str, completeness_score: int, categories: {titles: {complete: int, total: int,"
        " score: num}, descriptions: {complete: int, total: int, score: num}, file_paths:"
        " {complete: int, total: int, score: num}}, issues: [{node_id: str, category: str,"
        " message: str}], issue_count: int}",
        on("authoring phase-add", title="More"),
        spec_id=SPEC,
    ),
    row(
        "spec validate-fix",
        "{spec_id: str, is_valid: bool, error_count: int, warning_count: int, info_count: int,"
        f" fixes_applied: int, diagnostics: [{DIAGNOSTIC}]}}",
        spec_id=SPEC,
    ),
    row(
        "spec recalculate-actual-hours",
        "{spec_id: str, dry_run: bool, spec_level: {previous: null, calculated: num, delta: num},"
        " phases: [{phase_id: str, title: str, previous: null, calculated: num, delta: num,"
        " task_count: int}], summary: {total_phases: int, phases_changed: int, spec_changed: bool}}",
        spec_id=SPEC,
    ),
    row(
        "spec duplicate-detection",
        "{spec_id: str, duplicates: [{node_a: str, node_b: str, similarity: num, scope: str}],"
        " duplicate_count: int, scope: str, threshold: num, nodes_checked: int, pairs_compared: int}",
        spec_id=SPEC,
    ),
)
AUTHORING_ROWS = (
    row(
        "authoring spec-create",
        "{name: str, spec_id: str, template: str, category: null, mission: null, spec_path: str,"
        " structure: {phases: int, tasks: int}}",
        name="Import",
        **PLAN,
    ),
    row(
        "authoring spec-create",
        "{name: str, spec_id: str, template: str, category: str, mission: null, dry_run: bool,"
        f" is_valid: bool, error_count: int, warning_count: int, diagnostics: [{DIAGNOSTIC}],"
        " note: str}",
        name="Import",
        category="decision",
        dry_run=True,
        **PLAN,
    ),
    row(
        "authoring spec-template",
        "{action: str, templates: [{name: str, description: str}], total_count: int, message: str}",
    ),
    row(
        "authoring spec-template",
        "{action: str, template_name: str, content: {name: str, description: str, usage: str}}",
        template_action="show",
        template_name="empty",
    ),
    row(
        "authoring spec-template",
        "{action: str, template_name: str, generated: {template: str, message: str},"
        " instructions: str}",
        template_action="apply",
        template_name="empty",
    ),
    row(
        "authoring spec-update-frontmatter",
        "{spec_id: str, key: str, value: str, previous_value: str, dry_run: bool}",
        spec_id=SPEC,
        key="mission",
        value="Another",
    ),
    row(
        "authoring phase-add",
        "{spec_id: str, dry_run: bool, phase_id: str, title: str, position: int,"
        " linked_previous: str, verify_tasks: [str]}",
        spec_id=SPEC,
        title="More",
    ),
    row(
        "authoring phase-add-bulk",
        "{spec_id: str, dry_run: bool, phase_id: str, title: str, position: int,"
        " linked_previous: null, tasks_created: [{task_id: str, title: str, type: str}],"
        " total_tasks: int}",
        spec_id=SPEC,
        phase={"title": "More"},
        tasks=[{"title": "Write", "description": "All of it"}],
        link_previous=False,
    ),
    row(
        "authoring phase-move",
        "{spec_id: str, phase_id: str, phase_title: str, old_position: int, new_position: int,"
        " moved: bool, link_previous: bool, dry_run: bool, dependencies_updated: [{action: str,"
        " from: str, relationship: str, target: str}]}",
        spec_id=SPEC,
        phase_id="phase-2",
        position=1,
    ),
    row(
        "authoring phase-remove",
        "{spec_id: str, dry_run: bool, phase_id: str, phase_title: str, children_removed: int,"
        " total_tasks_removed: int, completed_tasks_removed: int, force: bool}",
        spec_id=SPEC,
        phase_id="phase-2",
        force=True,
    ),
    row(
        "authoring phase-update-metadata",
        "{spec_id: str, phase_id: str, phase_title: str, updates: [{field: str,"
        " previous_value: str|null, new_value: str}], dry_run: bool}",
        spec_id=SPEC,
        phase_id="phase-2",
        purpose="To end",
    ),
    row(
        "authoring assumption-add",
        "{spec_id: str, assumption_id: str, text: str, type: str, dry_run: bool, author: str}",
        spec_id=SPEC,
        text="It is small",
        assumption_type="requirement",
        author="eve",
    ),
    row(
        "authoring assumption-list",
        f"{{spec_id: str, assumptions: {LISTED}, total_count: int, filter_type: null}}",
        on("authoring assumption-add", text="It is small"),
        spec_id=SPEC,
    ),
    *(
        row(
            f"authoring {name}-add",
            "{spec_id: str, text: str, dry_run: bool, index: int}",
            spec_id=SPEC,
            text="So it is",
        )
        for name in ("constraint", "question", "success-criterion")
    ),
    *(
        row(
            f"authoring {name}-list",
            f"{{spec_id: str, {key}: {LISTED}, total_count: int}}",
            on(f"authoring {adder}-add", text="So it is"),
            spec_id=SPEC,
        )
        for name, adder, key in (
            ("constraint", "constraint", "constraints"),
            ("question", "question", "questions"),
            ("success-criteria", "success-criterion", "success_criteria"),
        )
    ),
    row(
        "authoring risk-add",
        "{spec_id: str, dry_run: bool, risk: {description: str, likelihood: str, impact: str,"
        " mitigation: str}, index: int}",
        spec_id=SPEC,
        description="It breaks",
        likelihood="low",
        impact="high",
        mitigation="Try again",
    ),
    row(
        "authoring risk-list",
        "{spec_id: str, risks: [{id: str, index: int, description: str, likelihood?: str,"
        " impact: str, mitigation?: str}], total_count: int}",
        on("authoring risk-add", description="It breaks", impact="low"),
        on(
            "authoring risk-add",
            description="It is late",
            likelihood="high",
            impact="low",
            mitigation="Begin",
        ),
        spec_id=SPEC,
    ),
    row(
        "authoring spec-find-replace",
        "{spec_id: str, total_replacements: int, nodes_affected: int, dry_run: bool, scope: str,"
        " find: str, replace: str, use_regex: bool, case_sensitive: bool, changes: [{node_id: str,"
        " field: str, old: str, new: str, replacement_count: int}], changes_truncated: bool,"
        " total_changes: int, message: str}",
        spec_id=SPEC,
        find="part",
        replace="piece",
    ),
    row(
        "authoring spec-rollback",
        "{spec_id: str, timestamp: str, dry_run: bool, restored_from: str, backup_created: str,"
        " message: str, changes: [{node_id: str, field: str}], more_changes: int}",
        spec_id=SPEC,
        version="2026-01-02T03:04:05Z",
    ),
    row(
        "authoring revision-add",
        "{spec_id: str, version: str, changes: str, dry_run: bool, author: str, date: str}",
        spec_id=SPEC,
        version="1.1",
        changes="Two phases",
    ),
)
OTHER_ROWS = (
    row("lifecycle activate", MOVED, spec_id=SPEC),
    row("lifecycle archive", MOVED, spec_id=SPEC),
    row("lifecycle move", MOVED, spec_id=SPEC, to_folder="active"),
    row("lifecycle complete", MOVED, on("lifecycle activate"), spec_id=SPEC, force=True),
    row(
        "lifecycle state",
        "{spec_id: str, folder: str, status: str, progress_percentage: num, total_tasks: int,"
        " completed_tasks: int, can_complete: bool, can_archive: bool}",
        spec_id=SPEC,
    ),
    row(
        "journal add",
        "{spec_id: str, entry: {timestamp: str, entry_type: str, title: str, task_id: null}}",
        spec_id=SPEC,
        title="Begun",
        content="It goes on",
    ),
    row(
        "journal list",
        "{spec_id: str, count: int, entries: [{timestamp: str, entry_type: str, title: str,"
        " content: str, author: str, task_id: str}]}",
        on("journal add", title="Begun", content="It goes on", task_id="task-1-1"),
        spec_id=SPEC,
    ),
    row(
        "journal list-unjournaled",
        "{spec_id: str, count: int, unjournaled_tasks: []}",
        spec_id=SPEC,
    ),
)
ROWS = (*SPEC_ROWS, *AUTHORING_ROWS, *OTHER_ROWS)


TOOLS = tuple(dict.fromkeys(row.call.split()[0] for row in ROWS))


@pytest.mark.parametrize("tool", TOOLS)
def test_every_answer_has_its_shape(
    tool: str, made: Callable[..., str], foundry: Agent, repository: Path
) -> None:
    """In one page, whatever it is of; each call is about a spec of its own."""
    for name in PLAN.values():
        (repository / "specs" / name).parent.mkdir(parents=True)
        (repository / "specs" / name).write_text("# Plan\n")
    assert list(misshapen(ROWS, tool, made, foundry)) == []


def test_a_shape_tells_what_differs() -> None:
    """A key too many, one that is missing, a value of another type, at any depth."""
    shape = parsed("{a: int, b?: [{c: str|null}], d: {*id: bool}}")
    assert faults({"a": 1, "b": [{"c": None}], "d": {"x": True}}, shape) == []
    assert faults({"a": 1, "d": {}}, shape) == []
    found = faults({"a": True, "b": [{"c": 1}], "d": {"x": 1}, "e": 1}, shape)
    assert found == [".a is bool", ".b[0].c is int", ".d.x is int", ".e is too many"]
    assert faults({"a": 1}, shape) == [".d is missing"]
    assert faults({"a": 1, "b": {}, "d": []}, shape) == [".b is obj", ".d is list"]
