"""Moving nodes along: start, complete, block and unblock."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from counterpoint.dialects.arguments import TEXT
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import present
from counterpoint.dialects.foundry.rules.working.hints import commit_hint
from counterpoint.dialects.foundry.tools.tasks.shown import TITLE
from counterpoint.dialects.foundry.verbs.tasks.moving import Moving
from counterpoint.dialects.foundry.words import LONGEST, Reason, SpecId, Status, TaskId
from counterpoint.dialects.lacking import unallowed_lines
from counterpoint.dialects.paging import clip
from counterpoint.kernel.canonical import Json
from counterpoint.protocol.actions import action

Note = Annotated[str, Field(max_length=LONGEST, description="For the journal"), TEXT]
CompletionNote = Annotated[
    str, Field(min_length=1, max_length=LONGEST, description="What was done"), TEXT
]
BlockerType = Annotated[
    Literal["dependency", "technical", "resource", "decision"],
    Field(description="Sort of blocker"),
]
Ticket = Annotated[str, Field(max_length=500, description="Where it is tracked"), TEXT]
Resolution = Annotated[str, Field(max_length=LONGEST, description="How it was solved"), TEXT]

CADENCE: Final = "phase"
"""After what a commit is suggested."""


@action(reads=False)
def start(call: Call, spec_id: SpecId, task_id: TaskId, note: Note = "") -> Json:
    """It becomes yours."""
    started = call.core.use(Moving).start(spec_id, task_id, note)
    return present(
        {
            "spec_id": started.spec,
            "task_id": started.id,
            "started_at": started.started_at,
            "title": clip(started.title, TITLE),
            "type": started.type,
        },
        warnings=[*started.warnings, *unallowed_lines(started.lacking)],
    )


@action(reads=False, idempotent=False)
def complete(call: Call, spec_id: SpecId, task_id: TaskId, completion_note: CompletionNote) -> Json:
    """Also one that was not started."""
    done = call.core.use(Moving).complete(spec_id, task_id, completion_note)
    phase = done.phase if done.phase_is_done else ""
    return present(
        {
            "spec_id": done.spec,
            "task_id": done.id,
            "completed_at": done.completed_at or None,
            "progress": {
                "completed_tasks": done.total.completed,
                "total_tasks": done.total.total,
                "percentage": done.total.percentage,
            },
            **commit_hint(CADENCE, done.id, done.title, phase, done.phase_title),
        },
        warnings=done.warnings,
    )


@action(reads=False)
def update_status(
    call: Call, spec_id: SpecId, task_id: TaskId, status: Status, note: Note = ""
) -> Json:
    """For blocked give a note."""
    spec = call.core.use(Moving).set_status(spec_id, task_id, status, note)
    return present({"spec_id": spec, "task_id": task_id, "new_status": status})


@action(reads=False, idempotent=False, plain=True)
def block(
    call: Call,
    spec_id: SpecId,
    task_id: TaskId,
    reason: Reason,
    blocker_type: BlockerType = "dependency",
    ticket: Ticket = "",
) -> Json:
    """Say why it cannot go on."""
    spec, name = call.core.use(Moving).block(spec_id, task_id, reason, blocker_type, ticket)
    return present(
        {
            "spec_id": spec,
            "task_id": name,
            "blocker_type": blocker_type,
            "reason": clip(reason, TITLE),
            "ticket": ticket or None,
        }
    )


@action(reads=False, plain=True)
def unblock(call: Call, spec_id: SpecId, task_id: TaskId, resolution: Resolution = "") -> Json:
    """Let it go on."""
    free = call.core.use(Moving).unblock(spec_id, task_id, resolution)
    return present(
        {
            "spec_id": free.spec,
            "task_id": free.id,
            "previous_blocker": {
                "type": free.before.type,
                "description": clip(free.before.description, TITLE),
            },
            "resolution": clip(resolution, TITLE),
            "new_status": free.status,
        }
    )


MOVING: Final = (start, complete, update_status, block, unblock)
"""The actions, in the order of the list."""
