"""The tools `list` and `edit`: items by what they are, and changes of one."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from counterpoint.core.model.asks import Edit, Sought
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.tools import tool
from counterpoint.surfaces.call import Call
from counterpoint.surfaces.native.pages import PAGE, SHORT_PAGE, paged, sparse, unseal
from counterpoint.surfaces.native.vocabulary import (
    Argvs,
    Body,
    Count,
    Cursor,
    Id,
    Ids,
    Lines,
    Summary,
    Title,
    Word,
    Words,
    told_line,
    told_offer,
    wanted,
)

Kind = Literal["issue", "workflow", "plan", "spec", "phase", "task"]
_DEFAULT = 20


@tool(reads=True)
def list_(
    call: Call,
    status: Annotated[Word, Field(description="open, active, review, done, skipped, …")] = "",
    kind: Annotated[Kind | None, Field(description="Kind of item")] = None,
    label: Annotated[Word, Field(description="Having this label")] = "",
    parent: Annotated[Id, Field(description="Directly below this item")] = "",
    root: Annotated[Id, Field(description="Anywhere in this tree")] = "",
    assignee: Annotated[Word, Field(description="Agent's name")] = "",
    *,
    ready: Annotated[bool, Field(description="Only what can be started now, with why")] = False,
    limit: Annotated[int, Field(ge=1, le=100, description="Most items")] = _DEFAULT,
    cursor: Annotated[Cursor, Field(description="From the last page")] = "",
) -> Json:
    """List items, oldest first; with `ready` in the order in which they should be done."""
    asked: dict[str, Json] = {
        "tool": "list",
        "status": status,
        "kind": kind or "",
        "label": label,
        "parent": parent,
        "root": root,
        "assignee": assignee,
        "ready": ready,
    }
    if ready:
        return _ready(call, asked, limit, cursor)
    after = unseal(call, asked, cursor, 0)
    sought = Sought(
        status=status, kind=kind or "", label=label, parent=parent, root=root, assignee=assignee
    )
    items, further = paged(
        call,
        asked,
        call.core.items.list(sought, after, limit + 1),
        limit=limit,
        room=_room(limit),
        shown=told_line,
        place=lambda item: item.number,
    )
    return {"items": items, **sparse(cursor=further)}


def _ready(call: Call, asked: dict[str, Json], limit: int, cursor: str) -> Json:
    others = [name for name in ("status", "parent", "assignee") if asked[name]]
    kind = asked["kind"]
    if others or kind not in {"", "task", "issue"}:
        raise InvalidInput(
            f"with `ready` leave out: {', '.join(others or ['kind'])}",
            hint="Ready work can be chosen by `kind` (task or issue), `label` and `root`.",
        )
    after = unseal(call, asked, cursor, None)
    asked_for = wanted(
        call, root=asked["root"], label=asked["label"], kinds=(kind,) if kind else ()
    )
    offers, further = paged(
        call,
        asked,
        call.core.ready.offers(asked_for, limit + 1, tuple(after) if after else None),
        limit=limit,
        room=_room(limit),
        shown=told_offer,
        place=lambda offer: [offer.item.priority, offer.item.number],
    )
    return {"ready": offers, **sparse(cursor=further)}


def _room(limit: int) -> int:
    return SHORT_PAGE if limit <= _DEFAULT else PAGE


@tool(reads=False, idempotent=False, keyed="shown")
def edit(
    call: Call,
    id: Annotated[Id, Field(description="Item id")],  # noqa: A002 -- the name that agents expect
    title: Annotated[Title | None, Field(min_length=1, description="New title")] = None,
    description: Annotated[Body | None, Field(description="New text")] = None,
    status: Annotated[Word | None, Field(description="Move to this state")] = None,
    priority: Annotated[int | None, Field(ge=0, le=4, description="0 is most urgent")] = None,
    assignee: Annotated[Word | None, Field(description="Agent's name")] = None,
    profile: Annotated[Word | None, Field(description="Role that should do it")] = None,
    parent: Annotated[Id | None, Field(description="Put below this item; '' for the top")] = None,
    position: Annotated[Count | None, Field(description="Place among siblings, from 0")] = None,
    add_labels: Annotated[Words, Field(description="Labels to add")] = (),
    remove_labels: Annotated[Words, Field(description="Labels to remove")] = (),
    add_after: Annotated[Ids, Field(description="Must wait for these ids")] = (),
    remove_after: Annotated[Ids, Field(description="No longer waits for these")] = (),
    areas: Annotated[Lines | None, Field(description="Paths it touches, replacing all")] = None,
    accept: Annotated[Lines | None, Field(description="Acceptance, replacing all")] = None,
    verify: Annotated[
        Argvs | None, Field(description="Check commands as argument lists, replacing all")
    ] = None,
    waive: Annotated[Words, Field(description="Gates to waive; needs `reason`")] = (),
    reason: Annotated[Summary, Field(description="Why; kept in the ledger")] = "",
    expected_version: Annotated[Count | None, Field(description="Refuse if changed since")] = None,
) -> Json:
    """Change an item's fields, status, labels, dependencies, place, checks or gates, all or none."""
    change = Edit(
        title=title,
        body=description,
        status=status,
        priority=priority,
        assignee=assignee,
        profile=profile,
        parent=parent,
        position=position,
        add_labels=add_labels,
        remove_labels=remove_labels,
        add_needs=add_after,
        remove_needs=remove_after,
        areas=areas,
        acceptance=accept,
        checks=verify,
        waive=waive,
        reason=reason,
        expected_version=expected_version,
    )
    if change == Edit(reason=reason, expected_version=expected_version):
        raise InvalidInput("there is nothing to change", hint="Name at least one field to change.")
    item = call.core.items.edit(id, change)
    return {"item": {**told_line(item, 400), "version": item.version}}
