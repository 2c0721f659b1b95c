"""What a published contract requires is required, or the page of its dialect says what it means without."""

from __future__ import annotations

from pathlib import Path

import pytest

from counterpoint.dialects.registry import surface
from counterpoint.settings import Settings

DOCS = Path(__file__).parents[2] / "docs"
_PHASE = "plan_slug phase_order"
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
}
"""The required parameters of each tool, as its contract has them."""


@pytest.mark.parametrize("name", REQUIRED)
def test_a_parameter_that_a_contract_requires_is_left_out_only_as_the_page_says(name: str) -> None:
    """And nothing else is required than it says."""
    tools = {tool.name: tool.parameters.schema for tool in surface(name, Settings()).tools}
    lines = (DOCS / f"{name}.md").read_text("utf-8").splitlines()
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
