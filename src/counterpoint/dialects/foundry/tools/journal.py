"""What was written down about specs and their tasks."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from counterpoint.dialects.arguments import TEXT
from counterpoint.dialects.call import Call
from counterpoint.dialects.continuing import lost
from counterpoint.dialects.foundry.envelope import PHRASES, page, present
from counterpoint.dialects.foundry.nouns.specs import JournalEntry
from counterpoint.dialects.foundry.tools.shown import META, SAID, clipped
from counterpoint.dialects.foundry.verbs.journal import Journals
from counterpoint.dialects.foundry.words import WORKSPACE, Cursor, LongLimit, SpecId, TaskId, Text
from counterpoint.dialects.paging import PAGE, clip, pages_of, sparse
from counterpoint.kernel.canonical import Json
from counterpoint.protocol.actions import action, of_actions

EntryType = Annotated[
    Literal["status_change", "deviation", "blocker", "decision", "note"],
    Field(description="Type of entry"),
]
EntryTitle = Annotated[str, Field(min_length=1, max_length=500, description="Title"), TEXT]


@action(reads=False, idempotent=False, plain=True)
def add(
    call: Call,
    spec_id: SpecId,
    title: EntryTitle,
    content: Text,
    entry_type: EntryType = "note",
    task_id: TaskId = "",
) -> Json:
    """Write an entry down."""
    entry = call.core.use(Journals).add(spec_id, entry_type, title, content, task_id)
    fields = entry_of(entry)
    summary = {name: fields[name] for name in ("timestamp", "entry_type", "title", "task_id")}
    return present({"spec_id": spec_id, "entry": summary, **lost(call, PHRASES)})


@action(reads=True, name="list", plain=True)
def list_(
    call: Call,
    spec_id: SpecId,
    task_id: TaskId = "",
    entry_type: Annotated[
        Literal["status_change", "deviation", "blocker", "decision", "note", "session", "step"]
        | None,
        Field(description="Only this type"),
    ] = None,
    cursor: Cursor = "",
    limit: LongLimit = 100,
) -> Json:
    """Entries, the newest first."""
    pages = pages_of(call, cursor, "journal list", spec_id, task_id, entry_type, first=0)
    entries = call.core.use(Journals).list(spec_id, task_id, entry_type or "", pages.at, limit + 1)
    lines, further = pages.rows(entries, limit, entry_of, lambda entry: entry.number, PAGE - META)
    return present(
        {"spec_id": spec_id, "count": len(lines), "entries": lines},
        pagination=page(further, len(lines)),
    )


@action(reads=True)
def list_unjournaled(
    call: Call, spec_id: SpecId, cursor: Cursor = "", limit: LongLimit = 100
) -> Json:
    """Completed tasks without an entry."""
    pages = pages_of(call, cursor, "journal list-unjournaled", spec_id, first=0)
    nodes, spec = call.core.use(Journals).unjournaled(spec_id, pages.at, limit + 1)
    lines, further = pages.rows(
        nodes,
        limit,
        lambda pair: {
            "task_id": pair[0],
            "title": clip(pair[1].title, SAID),
            "completed_at": pair[1].closed_at,
            "needs_journaling": True,
        },
        lambda pair: pair[1].number,
        PAGE - META,
    )
    return present(
        {"spec_id": spec, "count": len(lines), "unjournaled_tasks": lines},
        pagination=page(further, len(lines)),
    )


def entry_of(entry: JournalEntry) -> dict[str, Json]:
    """Return an entry as it is told."""
    return {
        "timestamp": entry.timestamp,
        "entry_type": entry.entry_type,
        "title": clip(entry.title, SAID),
        "content": clip(entry.content, SAID),
        "author": entry.author,
        "task_id": entry.task or None,
        **sparse(metadata=clipped(dict(entry.metadata))),
    }


journal = of_actions(
    "journal",
    "Keep the journal of a spec.",
    (add, list_, list_unjournaled),
    beside=WORKSPACE,
    aliases={"path": "workspace"},
)
