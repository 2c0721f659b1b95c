"""Reads work as the shape in which other programs' work comes in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from counterpoint.core.model.foreign import ForeignItem, ForeignNote, ForeignWork
from counterpoint.core.model.journal import Record
from counterpoint.core.model.work import Item, Project
from counterpoint.core.operations.foreign.comparing import ItemRows
from counterpoint.core.operations.recording.change import missing
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.facets import item_named
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.planning.merging import is_told_again, note_of
from counterpoint.kernel.canonical import Json, object_of

_ENDS = frozenset({"closed", "because"})
_CHUNK = 500
TOOL = "counterpoint"


class ForeignExports:
    """Verbs for work that goes to other programs."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def work(self, name: str = "") -> ForeignWork:
        """Return all work, or that below an item (itself, if nothing is below it); NotFound."""
        with self._context.reading() as view:
            top = item_named(view, name) if name else None
            if name and top is None:
                raise missing(Item, name)
            items = list(_below(view, top))
            project = view.find(Project)
            title = top.title if top else project.title if project else self._context.project
            work_items = [item for part in _chunks(items) for item in _items(view, part, top)]
        return ForeignWork(
            tool=TOOL,
            key=top.id if top else self._context.project,
            title=title,
            body=top.body if top else "",
            items=tuple(work_items),
        )


def _below(view: Reading, top: Item | None) -> Iterator[Item]:
    """Return what is to be written, what holds others before what it holds."""
    if top is None:
        level = view.select(Item, parent="", order="number")
    else:
        level = view.select(Item, parent=top.id, order="position,number") or [top]
    while level:
        yield from level
        if level == [top]:
            return
        below = [
            view.select(Item, parent=tuple(i.id for i in part), order="position,number")
            for part in _chunks(level)
        ]
        level = [item for part in below for item in part]


def _chunks(items: list[Item]) -> Iterator[list[Item]]:
    for start in range(0, len(items), _CHUNK):
        yield items[start : start + _CHUNK]


def _items(view: Reading, items: list[Item], top: Item | None) -> Iterator[ForeignItem]:
    names = tuple(item.id for item in items)
    around = ItemRows(view, names)
    notes: dict[str, list[ForeignNote]] = {}
    for record in view.select(Record, item=names, order="number"):
        if not is_told_again(record.tags, record.body):
            text = (
                record.body
                if record.kind == "comment"
                else f"{record.kind}: {record.title}\n\n{record.body}"
            )
            note = note_of(record.tags, text, record.agent, record.created_at)
            notes.setdefault(record.item, []).append(note)
    for item in items:
        is_top = top is not None and item.parent in {top.id, top.parent}
        yield ForeignItem(
            id=item.id,
            title=item.title,
            body=item.body,
            parent="" if is_top else item.parent,
            state=item.status,
            said=item.status,
            priority=item.priority,
            assignee=item.assignee,
            labels=tuple(around.labels[item.id]),
            needs=tuple(around.needs[item.id]),
            acceptance=tuple(around.criteria[item.id]),
            areas=tuple(around.areas[item.id]),
            is_phase=not item.is_workable,
            **around.asked(item.id),
            profile=item.profile,
            notes=tuple(notes.get(item.id, ())),
            facts=_facts(item, around.imported[item.id]),
        )


def _facts(item: Item, imported: Mapping[str, Json]) -> dict[str, str]:
    """Return the dates of an item and what else is known of it: of one that was imported, those of its source."""
    own = {"created": item.created_at, **({"closed": item.closed_at} if item.closed_at else {})}
    theirs = {name: str(value) for name, value in object_of(imported.get("facts")).items()}
    if str(object_of(imported.get("last")).get("state")) != item.status:
        # It came to its end here.
        theirs = {name: value for name, value in theirs.items() if name not in _ENDS}
    return own | theirs
