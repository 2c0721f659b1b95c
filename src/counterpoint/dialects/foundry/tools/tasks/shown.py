"""How nodes are shown, and made to fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, cast

from counterpoint.dialects.foundry.nouns.nodes import Node
from counterpoint.dialects.foundry.nouns.tasks import Beside, Blocker, Holder, Prepared, Waits
from counterpoint.dialects.foundry.rules.nodes import document_node
from counterpoint.dialects.foundry.rules.working.hints import auto_mode_hints, position_label
from counterpoint.dialects.foundry.tools.shown import META, SAID
from counterpoint.dialects.paging import PAGE, RESERVE, clip, size_of
from counterpoint.kernel.canonical import Json, object_of

ROOM: Final = PAGE - RESERVE - META
"""Bytes that the data of an answer may have."""
TITLE: Final = 300
_MOST_CHILDREN: Final = 50
_LETTERS: Final = (4_000, 1_500, 600, 250, 100, 40)
_ENTRIES: Final = (200, 50, 20, 10, 5, 3)


def fitted(value: Json, max_bytes: int) -> Json:
    """Return a value with long texts and lists cut, so far that it fits into so many bytes of JSON."""
    shortened = value
    for letters, entries in zip(_LETTERS, _ENTRIES, strict=True):
        if size_of(shortened) <= max_bytes:
            return shortened
        shortened = _cut(value, letters, entries)
    parts = object_of(shortened)
    while parts and size_of(parts) > max_bytes:
        largest = max(parts, key=lambda name: size_of(parts[name]))
        parts = {name: part for name, part in parts.items() if name != largest}
    return parts or shortened


def previewed(*, dry_run: bool) -> dict[str, Json]:
    """Return what the answer of a call that only previews says of it."""
    return {"message": "Only a preview: nothing was changed"} if dry_run else {}


def _cut(value: Json, letters: int, entries: int) -> Json:
    if isinstance(value, str):
        return clip(value, letters)
    if isinstance(value, list):
        return [_cut(part, letters, entries) for part in cast("list[Json]", value)[:entries]]
    if isinstance(value, dict):
        parts = cast("dict[str, Json]", value)
        return {name: _cut(part, letters, entries) for name, part in parts.items()}
    return value


def present_node(node: Node, max_bytes: int) -> dict[str, Json]:
    """Return a node as its document holds it, cut to so many bytes."""
    whole = document_node(node)
    whole["children"] = list(node.children[:_MOST_CHILDREN])
    if len(node.children) > _MOST_CHILDREN:
        whole["children_total"] = len(node.children)
    return cast("dict[str, Json]", fitted(whole, max_bytes))


def node_line(node: Node, max_bytes: int) -> dict[str, Json]:
    """Return what of a node is handed out with it."""
    return {
        "task_id": node.id,
        "title": clip(node.item.title, TITLE),
        "type": node.type,
        "status": node.status,
        "metadata": fitted(dict(node.metadata), max_bytes),
    }


def present_beside(beside: Beside) -> dict[str, Json]:
    """Return a node as others name it."""
    return {
        "id": beside.id,
        "title": clip(beside.title, TITLE),
        "status": beside.status,
        "file": beside.file or None,
    }


def _besides(many: Iterable[Beside]) -> list[Json]:
    return [present_beside(node) for node in many]


def present_waits(waits: Waits) -> dict[str, Json]:
    """Return what a node waits for and what waits for it."""
    more: dict[str, Json] = {"blocks_more": waits.more} if waits.more else {}
    reasons: dict[str, Json] = {"reasons": list(waits.reasons)} if waits.reasons else {}
    return {
        "task_id": waits.id,
        "can_start": waits.can_start,
        "blocked_by": _besides(waits.blocked_by),
        "soft_depends": _besides(waits.depends),
        "blocks": _besides(waits.blocks),
        **more,
        **reasons,
    }


def present_prepared(prepared: Prepared) -> dict[str, Json]:
    """Return a node with all that lies around it, in one answer."""
    node, waits, around = prepared.offered.node, prepared.waits, prepared.around
    if node is None or waits is None or around is None:
        return {"spec_complete": prepared.offered.is_complete, "message": prepared.offered.message}
    types = [node.type for node in around.nearest]
    before: Json = present_beside(around.before) if around.before else None
    context: dict[str, Json] = {
        "previous_sibling": before,
        "parent_task": {
            **_holder(around.parent),
            "position_label": position_label(around.place, around.siblings),
            "children": [
                {"id": node.id, "title": clip(node.title, 120), "status": node.status}
                for node in around.nearest
            ],
            "children_total": around.siblings,
        },
        "phase": present_phase(prepared),
        "task_journal": {
            "entry_count": around.entries,
            "entries": [
                {
                    "timestamp": entry.timestamp,
                    "entry_type": entry.entry_type,
                    "title": clip(entry.title, TITLE),
                    "content": clip(entry.content, TITLE),
                    "author": entry.author,
                }
                for entry in around.journal
            ],
        },
    }
    about: dict[str, Json] = {
        "task_id": node.id,
        "dependencies": fitted(present_waits(waits), 2_500),
        "spec_complete": False,
        "context": context,
        "auto_mode_hints": auto_mode_hints(node.metadata, types),
    }
    return {**about, "task_data": present_node(node, ROOM - size_of(about) - 20)}


def present_phase(prepared: Prepared) -> Json:
    """Return the phase of a node that was prepared; None without one."""
    around = prepared.around
    if around is None or around.phase is None:
        return None
    phase = around.phase
    return {
        "id": phase.id,
        "title": clip(phase.title, TITLE),
        "status": phase.status,
        "sequence_index": around.phase_place,
        "completed_tasks": phase.tally.completed,
        "total_tasks": phase.tally.total,
        "percentage": phase.tally.percentage,
        "summary": clip(phase.description, TITLE) or None,
        "blockers": [clip(words, TITLE) for words in around.blocked],
    }


def _holder(holder: Holder) -> dict[str, Json]:
    return {
        "id": holder.id,
        "title": clip(holder.title, TITLE),
        "type": holder.type,
        "status": holder.status,
        "description": clip(holder.description, TITLE) or None,
        "completed_tasks": holder.tally.completed,
        "total_tasks": holder.tally.total,
        "remaining_tasks": holder.tally.total - holder.tally.completed,
    }


def present_blocker(blocker: Blocker) -> Json:
    """Return what blocks a node."""
    return {
        "task_id": blocker.id,
        "title": clip(blocker.title, TITLE),
        "blocker_type": blocker.type,
        "blocker_description": clip(blocker.description, SAID),
        "blocked_at": blocker.at,
        "ticket": blocker.ticket or None,
    }


def shown_values(values: Mapping[str, Json], max_bytes: int) -> Json:
    """Return values of a node, cut to so many bytes."""
    return fitted(dict(values), max_bytes)
