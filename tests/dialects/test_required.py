"""What a published contract requires is required, or the page of its dialect says what it means without."""

from __future__ import annotations

from pathlib import Path

import pytest

from counterpoint.dialects.registry import surface
from counterpoint.settings import Settings

DOCS = Path(__file__).parents[2] / "docs"
_PHASE = "plan_slug phase_order"
_SPEC = "spec_id"
_TASK = "spec_id task_id"
_IN_PHASE = "spec_id phase_id"
REQUIRED = {
    "agentic": {
        "plan_create": "title",
        "plan_get": "slug",
        "plan_update_status": "slug status",
        "plan_archive": "slug",
        "phase_get": _PHASE,
        "phase_update_status": f"{_PHASE} status",
        "phase_add_checkpoint": f"{_PHASE} note",
        "session_start": "agent_type",
        "session_end": "session_id status",
        "session_log": "session_id message",
        "session_handoff": "session_id summary",
        "session_resume": "session_id",
        "session_replay": "session_id",
        "session_continue": "session_id",
        "session_artifact": "session_id path action",
        "state_set": "plan_slug key value",
        "state_get": "plan_slug key",
        "state_list": "plan_slug",
        "task_update": f"{_PHASE} task_identifier",
        "task_toggle": f"{_PHASE} task_identifier",
        "template_preview": "slug",
        "template_create_plan": "template_slug variables",
        "content_generate": "prompt",
        "content_batch_generate": "batch_id",
    },
    "workflow": {
        "start_workflow": "name objective",
        "complete_workflow": "workflow_id status summary",
        "get_context": "workflow_id include",
        "start_phase": "workflow_id number name",
        "complete_phase": "phase_id status",
        "start_task": "workflow_id phase_id caller_type name goal",
        "complete_task": "task_id status outcome",
        "log_decision": "task_id category question chosen reasoning",
        "log_issue": "task_id type description resolution",
        "log_milestone": "task_id message",
    },
    "symphony": {
        "update_issue_status": "status",
        "add_finding": "category summary",
        "add_learning": "pattern",
        "add_comment": "content",
        "create_issue": "title",
        "create_subtask": "title",
        "search_learnings": "query",
        "create_pr": "diff branch_name base_branch",
        "complete_phase": "completed_phase summary project_path",
        "approve_phase": "phase artifact_hash",
        "reject_phase": "phase artifact_hash reason",
        "record_coverage": "file_path concept status",
        "move_issue": "target_project_id reason",
        "record_test_health": "test_count",
        "search_knowledge": "query",
        "vault_retrieve": "query",
        "vault_update": "path",
        "vault_delete": "path",
        "update_memory": "scope filename content",
    },
    "colibri": {
        "task_create": "title",
        "task_get": "id",
        "task_update": "id",
        "thought_record": "type task_id agent_id content",
        "audit_session_start": "intent",
        "merkle_finalize": "session_id",
        "merkle_root": "session_id",
    },
    "foundry": {
        **dict.fromkeys(
            (
                *("spec find", "spec get", "spec validate", "spec fix", "spec stats", "spec diff"),
                *("spec analyze-deps", "spec history", "spec completeness-check"),
                *("spec duplicate-detection", "spec validate-fix"),
                *("spec recalculate-actual-hours", "task next", "task prepare", "task progress"),
                *("task list", "task query", "task hierarchy", "task list-blocked"),
                *("task prepare-batch", "task reset-batch", "task metadata-batch"),
                *("task fix-verification-types", "task session start"),
                *("lifecycle activate", "lifecycle complete", "lifecycle archive"),
                *("lifecycle state", "journal list", "journal list-unjournaled"),
                *("authoring assumption-list", "authoring constraint-list"),
                *("authoring risk-list", "authoring question-list"),
                *("authoring success-criteria-list",),
            ),
            _SPEC,
        ),
        **dict.fromkeys(
            (
                *("task info", "task check-deps", "task start", "task unblock", "task remove"),
                *("task move", "task update-estimate", "task update-metadata"),
            ),
            _TASK,
        ),
        **dict.fromkeys(
            (f"authoring {one}-add" for one in ("constraint", "question", "success-criterion")),
            f"{_SPEC} text",
        ),
        "task start-batch": f"{_SPEC} task_ids",
        "task complete-batch": f"{_SPEC} completions",
        "task complete": f"{_TASK} completion_note",
        "task update-status": f"{_TASK} status",
        "task block": f"{_TASK} reason",
        "task add": f"{_SPEC} parent title",
        "task add-dependency": f"{_TASK} target_id",
        "task remove-dependency": f"{_TASK} target_id",
        "task add-requirement": f"{_TASK} requirement_type text",
        "task gate-waiver": "phase_id reason_code",
        "task session end": "reason_code",
        "task session reset": "session_id reason_code",
        "authoring spec-create": "name plan_path plan_review_path",
        "authoring spec-update-frontmatter": f"{_SPEC} key value",
        "authoring phase-add": f"{_SPEC} title",
        "authoring phase-add-bulk": f"{_SPEC} phase tasks",
        "authoring phase-remove": _IN_PHASE,
        "authoring phase-move": f"{_IN_PHASE} position",
        "authoring phase-update-metadata": _IN_PHASE,
        "authoring assumption-add": f"{_SPEC} text",
        "authoring risk-add": f"{_SPEC} description",
        "authoring revision-add": f"{_SPEC} version changes",
        "authoring spec-find-replace": f"{_SPEC} find replace",
        "authoring spec-rollback": f"{_SPEC} version",
        "lifecycle move": f"{_SPEC} to_folder",
        "journal add": f"{_SPEC} title content",
        "verification add": f"{_SPEC} verify_id result",
        "verification execute": f"{_SPEC} verify_id",
        "plan create": "name",
        "plan review": "plan_path",
        "review spec": _SPEC,
        "review parse-feedback": f"{_SPEC} review_path",
        "review fidelity": _SPEC,
        "review fidelity-gate": f"{_IN_PHASE} session_id step_id",
        "provider status": "provider_id",
        "provider execute": "provider_id prompt",
        "research chat": "prompt",
        "research consensus": "prompt",
        "research thread-get": "thread_id",
        "research thread-delete": "thread_id",
        "research node-execute": f"{_SPEC} research_node_id",
        "research node-record": f"{_SPEC} research_node_id result",
        "research node-status": f"{_SPEC} research_node_id",
        "research node-findings": f"{_SPEC} research_node_id",
        "research extract": "urls",
        "research deep-research-status": "research_id",
        "research deep-research-report": "research_id",
        "research deep-research-delete": "research_id",
        "error get": "error_id",
        "server schema": "tool_name",
    },
}
"""The required parameters of each tool, and of each action of one, as its contract has them."""


@pytest.mark.parametrize("name", REQUIRED)
def test_a_parameter_that_a_contract_requires_is_left_out_only_as_the_page_says(name: str) -> None:
    parts = (part for tool in surface(name, Settings()).tools for part in tool.parts)
    tools = {part.name: part.parameters.schema for part in parts}
    lines = (DOCS / f"{name}.md").read_text("utf-8").splitlines()
    assert REQUIRED[name].keys() <= tools.keys()
    silent = []
    for tool, schema in tools.items():
        asked, required = (
            set(REQUIRED[name].get(tool, "").split()),
            set(schema.get("required", ())),
        )
        more = (
            {"title", "content_type", "id", "plan_slug"} if tool.startswith("content_") else set()
        )
        assert required <= asked | more, tool
        silent += [
            f"{tool} {left}"
            for left in asked - required
            if not any(f"`{left}`" in line and f"`{tool}`" in line for line in lines)
        ]
    assert silent == []
