"""How specs and parts of them are shown, and lists in pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import page, present
from counterpoint.dialects.foundry.nouns.specs import SpecLine
from counterpoint.dialects.paging import (
    PAGE,
    RESERVE,
    clip,
    pages_of,
    part_of_list,
    shared,
    size_of,
)
from counterpoint.kernel.canonical import Json, object_of

META: Final = 400
"""What the envelope around the data may take beside a cursor."""
SAID: Final = 1_500
"""The most bytes of a text in a list; `spec get` has all of it."""


def in_pages(
    call: Call,
    query: Sequence[Json],
    cursor: str,
    report: Mapping[str, Json],
    *lists: str,
    limit: int = 1_000,
) -> Json:
    """Return what a tool answers with a report of which some parts are lists that may be long.

    query: the action and what narrows it, of which a cursor is good for this very one.
    """
    beside = {name: value for name, value in report.items() if name not in lists}
    whole = {name: cast("list[Json]", report[name]) for name in lists}
    pages = pages_of(call, cursor, *query, first=dict.fromkeys(lists, 0))
    opened = {
        name: part_of_list(entries, pages.at[name], limit)
        for name, entries in whole.items()
        if name in pages.at
    }
    shown, rest = shared(opened, PAGE - RESERVE - META - size_of(beside))
    size = sum(len(cast("list[Json]", one)) for one in shown.values())
    told = page(pages.cursor(rest or None), size, sum(map(len, whole.values())))
    return present({**report, **{name: [] for name in lists}, **shown}, pagination=told)


def clipped(value: Json) -> Json:
    """Return a value whose texts are not longer than a list shows them."""
    if isinstance(value, str):
        return clip(value, SAID)
    parts = object_of(value)
    return {name: clipped(one) for name, one in parts.items()} if parts else value


def spec_line(line: SpecLine, *, counted: bool) -> dict[str, Json]:
    """Return a spec as a list shows it."""
    shown: dict[str, Json] = {
        "spec_id": line.spec,
        "status": line.folder,
        "title": clip(line.root.title, SAID),
    }
    if not counted:
        return shown
    return {
        **shown,
        "total_tasks": line.tally.total,
        "completed_tasks": line.tally.completed,
        "progress_percentage": line.tally.percentage,
        "current_phase": line.current.id if line.current else None,
    }
