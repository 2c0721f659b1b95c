"""The tool `find`: full text over everything that was written."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, WithJsonSchema

from counterpoint.core.model.answers import Found
from counterpoint.core.model.journal import Record
from counterpoint.core.model.work import Item
from counterpoint.dialects.call import Call
from counterpoint.dialects.native.words import (
    Cursor,
    ItemId,
    Limit,
    Name,
    present_line,
    present_record,
    refuse_nothing,
)
from counterpoint.dialects.paging import PAGE, SHORT_PAGE, clip, pages_of, sparse
from counterpoint.kernel.canonical import Json
from counterpoint.protocol.tools import tool

Kind = Literal[
    "task",
    "issue",
    "phase",
    "plan",
    "workflow",
    "spec",
    "decision",
    "finding",
    "learning",
    "blocker",
    "milestone",
    "comment",
    "thought",
    "outcome",
    "handoff",
    "submission",
    "verdict",
    "brief",
]
Kinds = Annotated[
    tuple[Kind, ...],
    Field(max_length=20),
    WithJsonSchema({"type": "array", "items": {"type": "string"}}),
]
"""Too many words to be worth their bytes in a schema; a wrong one is answered with all of them."""

_DEFAULT = 10
_EXCERPT = 200


@tool(reads=True)
def find(
    call: Call,
    query: Annotated[Name, Field(description="Words to look for, in any order")],
    kinds: Annotated[
        Kinds, Field(description="Only these: task, phase, decision, finding, learning, outcome, …")
    ] = (),
    item: Annotated[ItemId, Field(description="Id; only what is about this item")] = "",
    limit: Limit = _DEFAULT,
    cursor: Cursor = "",
) -> Json:
    """Search items, records, outcomes, handoffs and verdicts."""
    pages = pages_of(call, cursor, "find", query, list(kinds), item)
    results_found = call.core.overview.search(
        query, kinds=kinds, item=item, limit=limit + 1, offset=pages.at
    )
    hits, further = pages.rows(
        list(enumerate(results_found, pages.at + 1)),
        limit,
        lambda numbered: _present(numbered[1]),
        lambda numbered: numbered[0],
        budget=SHORT_PAGE if limit <= _DEFAULT else PAGE,
    )
    if not hits:
        refuse_nothing(call, item)
        return {"hits": [], "hint": "Try fewer or other words, or leave `kinds` and `item` out."}
    return {"hits": hits, **sparse(cursor=further)}


def _present(hit: Found) -> dict[str, Json]:
    row = hit.row
    score = round(hit.score, 3)
    if isinstance(row, Item):
        return {**present_line(row), "text": clip(row.body, _EXCERPT), "score": score}
    if isinstance(row, Record):
        return {**present_record(row, _EXCERPT), "score": score}
    return {**_other(hit), "score": score}


def _other(hit: Found) -> dict[str, Json]:
    """Return a hit by the columns that are searched in it, so that every noun there is has a face."""
    row, searched = hit.row, type(hit.row).searched
    words = [getattr(row, name) for name in (*searched.title, searched.body)] if searched else []
    at = getattr(row, "created_at", "") or getattr(row, "ended_at", "")
    # What has no number of its own is named by what it is about: an outcome by its item.
    name = getattr(row, "id", "") if row.letter else hit.item
    text = ": ".join(word for word in words if word and isinstance(word, str))
    return sparse(id=name, kind=hit.kind, item=hit.item, text=clip(text, _EXCERPT), at=at)
