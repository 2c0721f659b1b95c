"""The tools `start_task` and `complete_task`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final

from pydantic import Field

from counterpoint.core.model.drafts import Draft
from counterpoint.dialects.call import Call
from counterpoint.dialects.paging import clip, fit_parts, part_of_list, sparse
from counterpoint.dialects.workflow.nouns import EndedTask, TaskWords
from counterpoint.dialects.workflow.verbs.queries import WorkflowQueries, phase_number
from counterpoint.dialects.workflow.verbs.workflows import Workflows
from counterpoint.dialects.workflow.words import (
    PHASE_COUNTS,
    Areas,
    CallerType,
    Id,
    Metadata,
    Name,
    Outcome,
    Said,
    TaskEnded,
    parse_report,
    plain,
    present_counts,
    present_task_status,
    refuse_large,
    seconds,
)
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import elapsed_ms
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.tools import tool

_ROOM: Final = 8_000
"""Bytes for the lists of an answer."""


@tool(reads=False, idempotent=False)
def start_task(
    call: Call,
    workflow_id: Annotated[Id, Field(description="From `start_workflow`")],
    phase_id: Annotated[Id, Field(description="From `start_phase`")],
    caller_type: Annotated[CallerType, Field(description="Who does it")],
    name: Annotated[Name, Field(description="Task name")],
    goal: Annotated[Said, Field(description="Task goal")],
    *,
    agent_name: Annotated[str, Field(max_length=200, description="Needed for a subagent")] = "",
    parent_task_id: Annotated[
        str, Field(max_length=80, description="The task this is a part of")
    ] = "",
    areas: Annotated[Areas, Field(description="Folders, files or globs it will touch")] = (),
    repo_path: Annotated[
        str, Field(max_length=1_000, description="Repository it works in, below the project")
    ] = "",
) -> Json:
    """Begin a task within a phase; the server takes a snapshot of the working tree."""
    if caller_type == "subagent" and not agent_name.strip():
        raise InvalidInput(
            "agent_name is required when caller_type is subagent", hint="Say who does the task."
        )
    draft = Draft(
        kind="task",
        title=name,
        body=goal,
        assignee=agent_name,
        areas=areas,
        attributes={
            "caller_type": caller_type.upper(),
            # The core keeps areas as a set.
            **({"areas": list(areas)} if list(areas) != sorted(set(areas)) else {}),
        },
    )
    begun = call.core.use(Workflows).begin_task(
        workflow_id, phase_id, draft, parent=parent_task_id, tree=repo_path
    )
    point = begun.started.snapshot
    return {
        "task_id": begun.started.item.id,
        "workflow_id": workflow_id,
        "phase_id": phase_id,
        "phase_number": phase_number(call.core.use(WorkflowQueries).phase(phase_id)),
        "phase_name": begun.phase.title,
        "caller_type": caller_type.upper(),
        **sparse(agent_name=agent_name),
        "snapshot_id": point.commit or f"checksum-{begun.started.item.id}-{point.token}",
        "snapshot_type": "git" if point.commit else "checksum",
        "started_at": begun.started.claim.claimed_at,
        **sparse(warnings=[clip(warning, 500) for warning in begun.warnings[:20]]),
    }


@tool(reads=False, idempotent=False)
def complete_task(
    call: Call,
    task_id: Annotated[Id, Field(description="From `start_task`")],
    status: Annotated[TaskEnded, Field(description="How it ended")],
    outcome: Annotated[Outcome, Field(description="What came of it")],
    metadata: Annotated[Metadata | None, Field(description="What it used")] = None,
) -> Json:
    """End a task; the server measures which files changed and what the evidence says of it."""
    used: Metadata = metadata or {}
    details: dict[str, Json] = {
        **plain(used),
        **sparse(
            manual_review_needed=outcome.get("manual_review_needed"),
            manual_review_reason=outcome.get("manual_review_reason"),
        ),
    }
    refuse_large("metadata, manual_review_reason", details)
    words = TaskWords(
        tests=used.get("tests_status", ""),
        packages_added=tuple(used.get("packages_added", ())),
        details=details,
    )
    ended = call.core.use(Workflows).end_task(task_id, parse_report(status, outcome), words)
    item = ended.finished.item
    return {
        "task_id": task_id,
        "workflow_id": item.root,
        "status": present_task_status(item),
        "duration_seconds": seconds(elapsed_ms(ended.began_at, ended.finished.outcome.ended_at)),
        **_measured(ended),
        "phase_status": _phase_status(call, ended),
    }


def _measured(ended: EndedTask) -> dict[str, Json]:
    """Return the files and the verification; what does not fit is counted."""
    lists: Mapping[str, Sequence[str]] = {
        "added": ended.added,
        "modified": ended.modified,
        "deleted": ended.deleted,
        "unexpected": ended.unexpected_files,
        "warnings": ended.warnings,
    }
    parts = {
        name: part_of_list([clip(entry, 600) for entry in entries], limit=10_000)
        for name, entries in lists.items()
        if entries
    }
    contents, next_starts = fit_parts(parts, _ROOM) if parts else ({}, {})
    omitted: dict[str, Json] = {}
    for name, start in next_starts.items():
        count = start if isinstance(start, int) else 0
        omitted[name] = len(lists[name]) - count
    return {
        "files_changed": {
            name: contents.get(name, []) for name in ("added", "modified", "deleted")
        },
        "verification": {
            "scope_match": ended.scope_match,
            "unexpected_files": contents.get("unexpected", []),
            "warnings": contents.get("warnings", []),
        },
        **sparse(not_shown=omitted),
    }


def _phase_status(call: Call, ended: EndedTask) -> dict[str, Json]:
    phase = call.core.use(WorkflowQueries).phase(ended.phase.id)
    return present_counts(phase.progress, *PHASE_COUNTS)
