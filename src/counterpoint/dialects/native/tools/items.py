"""The tools `list` and `edit`: items by what they are, and changes of one."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from pydantic import Field

from counterpoint.core.model.filters import Edit, ItemFilter
from counterpoint.core.model.work import Kind
from counterpoint.core.rules.wording import few
from counterpoint.dialects.call import Call
from counterpoint.dialects.native.envelope import PHRASES
from counterpoint.dialects.native.words import (
    Argvs,
    Body,
    Count,
    Cursor,
    ItemId,
    ItemIds,
    Limit,
    Lines,
    Name,
    Priority,
    Summary,
    Word,
    Words,
    make_ready_filter,
    present_line,
    present_offer,
    refuse_nothing,
)
from counterpoint.dialects.paging import PAGE, SHORT_PAGE, pages_of, sparse
from counterpoint.kernel.acts import Act, say
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.tools import tool

_DEFAULT = 20


@tool(reads=True)
def list_(
    call: Call,
    status: Annotated[
        Word,
        Field(
            description="backlog, open, active, review, done, partial, failed, skipped, cancelled"
        ),
    ] = "",
    kind: Annotated[Kind | None, Field(description="Only items of this kind")] = None,
    label: Annotated[Word, Field(description="Only with this label")] = "",
    parent: Annotated[ItemId, Field(description="Id; only its direct children")] = "",
    root: Annotated[ItemId, Field(description="Id of the top item; only its tree")] = "",
    assignee: Annotated[Word, Field(description="Only what this agent has")] = "",
    *,
    ready: Annotated[bool, Field(description="Only what can be started now")] = False,
    limit: Limit = _DEFAULT,
    cursor: Cursor = "",
) -> Json:
    """List items, oldest first; with `ready` most urgent first, with why."""
    item_filter = ItemFilter(
        status=status, kind=kind or "", label=label, parent=parent, root=root, assignee=assignee
    )
    if ready:
        return _ready(call, item_filter, limit, cursor)
    pages = pages_of(call, cursor, "list", asdict(item_filter))
    rows = call.core.overview.items(item_filter, pages.at, limit + 1)
    if not rows:
        refuse_nothing(call, parent, root, status=status)
    items, further = pages.rows(
        rows, limit, present_line, lambda item: item.number, budget=_room(limit)
    )
    return {"items": items, **sparse(cursor=further)}


def _ready(call: Call, item_filter: ItemFilter, limit: int, cursor: str) -> Json:
    others = [name for name in ("status", "parent", "assignee") if getattr(item_filter, name)]
    kind = item_filter.kind
    if others or kind not in {"", "task", "issue"}:
        raise InvalidInput(
            f"with `ready` leave out: {', '.join(others or ['kind'])}",
            hint="Ready work can be chosen by `kind` (task or issue), `label` and `root`.",
        )
    pages = pages_of(
        call, cursor, "list ready", kind, item_filter.label, item_filter.root, first=None
    )
    chosen = make_ready_filter(
        call, root=item_filter.root, label=item_filter.label, kinds=(kind,) if kind else ()
    )
    offers, further = pages.rows(
        call.core.ready.offers(
            chosen, limit + 1, tuple(pages.at) if pages.at else None, in_order=True
        ),
        limit,
        present_offer,
        lambda offer: [offer.item.priority, offer.item.number],
        budget=_room(limit),
    )
    if not offers:
        refuse_nothing(call, item_filter.root)
    return {"ready": offers, **sparse(cursor=further)}


def _room(limit: int) -> int:
    return SHORT_PAGE if limit <= _DEFAULT else PAGE


@tool(reads=False, idempotent=False)
def edit(
    call: Call,
    id: Annotated[ItemId, Field(description="Id of the item")],  # noqa: A002 -- the name that agents expect
    title: Annotated[Name | None, Field(description="New title")] = None,
    description: Annotated[
        Body | None, Field(description="New description, replaces the old")
    ] = None,
    status: Annotated[
        Word | None,
        Field(description="open, backlog, skipped or cancelled; to end work call `finish`"),
    ] = None,
    priority: Annotated[Priority | None, Field(description="0 (urgent) to 4 (some day)")] = None,
    assignee: Annotated[Word | None, Field(description="Who should do it; empty: nobody")] = None,
    profile: Annotated[Word | None, Field(description="Role that may do it; empty: any")] = None,
    parent: Annotated[
        ItemId | None, Field(description="Id to move it below; empty: to the top")
    ] = None,
    position: Annotated[Count | None, Field(description="Place among its siblings, from 0")] = None,
    add_labels: Annotated[Words, Field(description="Labels to add")] = (),
    remove_labels: Annotated[Words, Field(description="Labels to take off")] = (),
    add_after: Annotated[ItemIds, Field(description="Ids that must be done before it")] = (),
    remove_after: Annotated[ItemIds, Field(description="Ids it need no longer wait for")] = (),
    areas: Annotated[
        Lines | None, Field(description="Files or folders it may change, as globs; replaces all")
    ] = None,
    accept: Annotated[Lines | None, Field(description="Acceptance criteria; replaces all")] = None,
    verify: Annotated[
        Argvs | None, Field(description="Checks, each a command as a list of words; replaces all")
    ] = None,
    waive: Annotated[Words, Field(description="Names of gates to open without being met")] = (),
    reason: Annotated[Summary, Field(description="Why, for `waive` and for a status")] = "",
    expected_version: Annotated[
        Count | None, Field(description="Refused unless `version` is this")
    ] = None,
) -> Json:
    """Change fields, labels, dependencies or place of an item, all or nothing."""
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
    stuck = call.core.ready.stuck(item.id) if status and item.category == "dropped" else []
    waiting = few([waiter for _, waiter in stuck])
    hint = f"{item.id} is {item.status}, which {waiting} comes after: {Act.REOPEN}, or {Act.NOT_AFTER}."
    return {
        "item": {**present_line(item, 400), "version": item.version},
        **sparse(hint=say(hint, PHRASES) if stuck else ""),
    }
