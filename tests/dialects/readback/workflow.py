"""Every parameter of the workflow tools is read back by another tool, whole, on a server started anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from readback import FULL, LINE, Act, Back, Table, Write

WHOLE = {"include": []}


def whole(name: str, *path: str, **more: Any) -> Back:
    """Return where something of an id is read whole."""
    return Back(tool="get_context", arguments={"workflow_id": name, **WHOLE}, path=path, **more)


def listed(include: str, chosen: str, *path: str, **more: Any) -> Back:
    """Return where something stands in a list of the workflow."""
    asked = {"workflow_id": "$flow", "include": [include]}
    return Back(tool="get_context", arguments=asked, path=(include, chosen, *path), **more)


def make_folder(folder: Path, _names: dict[str, Any]) -> None:
    """Make the folder that a task works in."""
    (folder / "deep").mkdir()


NESTED = {"workflow_id": "$flow", "phase_id": "$phase", "caller_type": "orchestrator"}
FLAGGED = {"task_id": "$task", "type": "other", "resolution": "R", "requires_human_review": True}
TABLE = Table(
    dialect="workflow",
    nothing={
        ("complete_workflow", "workflow_id"): "names what is ended",
        ("start_phase", "workflow_id"): "names what the phase is of, which is asked for by that id",
        ("complete_phase", "phase_id"): "names what is ended",
        ("complete_task", "task_id"): "names what is ended",
        ("get_context", "workflow_id"): "reads",
        ("get_context", "include"): "reads",
        **{("get_context", f"filter.{part}"): "reads" for part in ("phase", "agent", "since")},
    },
    steps=(
        Act(do=make_folder),
        Write(
            tool="start_workflow",
            arguments={
                "name": LINE,
                "objective": FULL,
                "profile": "complex",
                "total_phases": FULL,
                "scope": FULL,
                "constraints": FULL,
            },
            keep={"flow": "workflow_id"},
            back={
                "name": whole("$flow"),
                "objective": whole("$flow"),
                "profile": whole("$flow", value="COMPLEX"),
                "total_phases": whole("$flow"),
                "scope": whole("$flow"),
                "constraints": whole("$flow"),
            },
        ),
        Write(
            tool="start_phase",
            arguments={
                "workflow_id": "$flow",
                "number": 7,
                "name": LINE,
                "description": FULL,
                "is_parallel": True,
            },
            keep={"phase": "phase_id"},
            back={
                "number": whole("$phase"),
                "name": listed("phase_summary", "phase_id=$phase", "phase_name"),
                "description": whole("$phase"),
                "is_parallel": listed("phase_summary", "phase_id=$phase"),
            },
        ),
        Write(
            tool="start_task",
            arguments={**NESTED, "name": LINE, "goal": FULL, "areas": FULL},
            keep={"above": "task_id"},
            back={
                "workflow_id": whole("$above"),
                "phase_id": listed("tasks", "id=$above"),
                "caller_type": whole("$above", value="ORCHESTRATOR"),
                "name": whole("$above"),
                "goal": whole("$above"),
                "areas": whole("$above"),
            },
        ),
        Write(
            tool="start_task",
            arguments={
                **NESTED,
                "caller_type": "subagent",
                "name": "T",
                "goal": "G",
                "agent_name": LINE,
                "parent_task_id": "$above",
                "areas": ["src/", "docs/**"],
                "repo_path": "deep",
            },
            keep={"task": "task_id"},
            back={
                "caller_type": listed("tasks", "id=$task", value="SUBAGENT"),
                "agent_name": whole("$task"),
                "parent_task_id": whole("$task"),
                "areas": listed("tasks", "id=$task"),
                "repo_path": whole("$task"),
            },
        ),
        Write(
            tool="log_decision",
            arguments={
                "task_id": "$task",
                "category": "trade_off",
                "question": FULL,
                "options_considered": FULL,
                "chosen": FULL,
                "reasoning": FULL,
                "trade_offs": FULL,
            },
            keep={"decision": "decision_id"},
            back={
                "task_id": whole("$decision"),
                "category": whole("$decision", value="TRADE_OFF"),
                **{
                    name: whole("$decision")
                    for name in (
                        "question",
                        "options_considered",
                        "chosen",
                        "reasoning",
                        "trade_offs",
                    )
                },
            },
        ),
        Write(
            tool="log_issue",
            arguments={
                "task_id": "$task",
                "type": "documentation_gap",
                "description": FULL,
                "resolution": FULL,
            },
            keep={"issue": "issue_id"},
            back={
                "task_id": whole("$issue"),
                "type": whole("$issue", value="DOC_GAP"),
                "description": whole("$issue"),
                "resolution": whole("$issue"),
            },
        ),
        Write(
            tool="log_issue",
            arguments={**FLAGGED, "description": FULL},
            keep={"flagged": "issue_id"},
            back={
                "requires_human_review": whole("$flagged"),
                "description": whole("$flagged"),
            },
        ),
        Write(
            tool="log_issue",
            arguments={**FLAGGED, "description": "D"},
            keep={"asked": "issue_id"},
        ),
        Write(
            tool="log_issue",
            by="another",
            arguments={
                "task_id": "$task",
                "type": "bug_encountered",
                "description": "D",
                "resolution": FULL,
                "resolves": "$asked",
            },
            back={
                "resolves": whole("$asked", "status", value="RESOLVED"),
                "resolution": whole("$asked", "resolved_with"),
            },
        ),
        Write(
            tool="log_milestone",
            arguments={
                "task_id": "$task",
                "message": FULL,
                "progress": 42.5,
                "metadata": {"deep": [1, None, {"a/b~": "\u4e16"}], "long": "x" * 4_900},
            },
            keep={"milestone": "milestone_id"},
            back={
                name: whole("$milestone") for name in ("task_id", "message", "progress", "metadata")
            },
        ),
        Write(
            tool="complete_task",
            arguments={
                "task_id": "$task",
                "status": "partial_success",
                "outcome": {
                    "summary": FULL,
                    "achievements": FULL,
                    "limitations": FULL,
                    "next_steps": FULL,
                    "manual_review_needed": True,
                    "manual_review_reason": FULL,
                },
            },
            back={
                "status": whole("$task", value="PARTIAL_SUCCESS"),
                **{
                    f"outcome.{name}": whole("$task", "outcome", name)
                    for name in (
                        "summary",
                        "achievements",
                        "limitations",
                        "next_steps",
                        "manual_review_needed",
                        "manual_review_reason",
                    )
                },
            },
        ),
        Write(
            tool="complete_task",
            arguments={
                "task_id": "$above",
                "status": "failed",
                "outcome": {"summary": "S"},
                "metadata": {
                    "packages_added": ["a/b==1", 'c "d"'],
                    "packages_removed": ["e"],
                    "commands_executed": [f"make {number}\nmake check" for number in range(100)],
                    "tests_status": "not_run",
                    "tokens_input": 12_345_678,
                    "tokens_output": 87_654,
                },
            },
            back={
                "status": listed("tasks", "id=$above", value="FAILED"),
                **{
                    f"metadata.{name}": whole("$above", "metadata", name)
                    for name in (
                        "packages_added",
                        "packages_removed",
                        "commands_executed",
                        "tests_status",
                        "tokens_input",
                        "tokens_output",
                    )
                },
            },
        ),
        Write(
            tool="complete_phase",
            arguments={"phase_id": "$phase", "status": "failed", "summary": FULL},
            back={
                "status": listed("phase_summary", "phase_id=$phase", value="FAILED"),
                "summary": whole("$phase"),
            },
        ),
        Write(
            tool="complete_workflow",
            arguments={
                "workflow_id": "$flow",
                "status": "partial",
                "summary": "S" * 19_999,
                "achievements": ["one\ntwo", 'x "y"'],
                "limitations": [f"{number}" * 1_000 for number in range(10, 25)],
            },
            back={
                "status": whole("$flow", "workflow_status", value="PARTIAL"),
                "summary": whole("$flow"),
                "achievements": whole("$flow"),
                "limitations": whole("$flow"),
            },
        ),
    ),
)
