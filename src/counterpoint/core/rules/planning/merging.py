"""Compares three sides of an imported item: before, the source now, and here.

    source since then    here since then    what happens
    the same             anything           nothing
    changed              the same           it is changed here
    changed              changed alike      nothing, and it is kept as what came last
    changed              changed otherwise  it stays as it is here, and is told at every import

Labels and needs are sets: what the source added is added, what it took away is taken away, and the rest is left alone. Long texts are
kept as digests. What came last is kept with the item as an attribute. Of checks, reviews and profiles an attribute without them means that there were none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from counterpoint.core.model.filters import Note
from counterpoint.core.model.foreign import ForeignItem, ForeignNote
from counterpoint.core.model.work import BODY_LIMIT
from counterpoint.kernel.canonical import Json, text_digest
from counterpoint.kernel.matching.expressions import expression

ATTRIBUTE: Final = "imported"
SCALARS: Final = ("title", "body", "state", "priority", "assignee", "parent", "acceptance", "areas")
SETS: Final = ("labels", "needs")
FLAGS: Final = ("approval", "review", "artifact")
GATES: Final = ("checks", *FLAGS, "profile")
"""What is asked of an item, and of who does it; only few sources say such things."""
_DIGEST: Final = 16
_HEAD: Final = expression(r"Written in \S+(?: by (.*?))?(?: on ([^\s:](?:.*\S)?))?:\n\n")


@dataclass(slots=True)
class ItemMerge:
    """What is to become of an item.

    fields: new values by their names. add, remove: of each set. conflicts: fields that both sides changed.
    last: what to keep now; is_stale: it is not what is kept.
    """

    fields: dict[str, Any] = field(default_factory=dict[str, Any])
    add: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    remove: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    conflicts: list[str] = field(default_factory=list[str])
    is_stale: bool = False
    last: dict[str, Json] = field(default_factory=dict[str, Json])

    def keep(self, name: str, last: Mapping[str, Json]) -> None:
        """Let a field count as it came last, for it was not taken over."""
        self.last.pop(name, None)
        if name in last:
            self.last[name] = last[name]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the fields that change."""
        return tuple(dict.fromkeys((*self.fields, *self.add, *self.remove)))


def last_of(item: ForeignItem) -> dict[str, Json]:
    """Return the values of an item as they are kept, to be compared with what comes next."""
    return {
        **{name: _kept(name, getattr(item, name)) for name in SCALARS},
        **{name: list(getattr(item, name)) for name in SETS},
        **{name: _kept(name, value) for name in GATES if (value := getattr(item, name))},
    }


def merge(last: Mapping[str, Json], theirs: ForeignItem, item: Mapping[str, Any]) -> ItemMerge:
    """Return what an import changes. last: what `last_of` gave; item: the values that the item has now, by field."""
    now = last_of(theirs)
    merged = ItemMerge(last=dict(now))
    for name in SCALARS:
        ours = _kept(name, item[name])
        before = last.get(name, ours)
        if now[name] in (before, ours):
            continue
        if ours == before:
            merged.fields[name] = getattr(theirs, name)
        else:
            merged.conflicts.append(name)
            merged.last[name] = before
    for name in GATES:
        theirs_now, ours = (
            _kept(name, getattr(theirs, name)) or None,
            _kept(name, item[name]) or None,
        )
        if theirs_now in (last.get(name), ours):
            continue
        if ours == last.get(name):
            merged.fields[name] = getattr(theirs, name)
        else:
            merged.conflicts.append(name)
            merged.keep(name, last)
    for name in SETS:
        ours, target = list(item[name]), list(getattr(theirs, name))
        before = cast("list[str]", last.get(name, ours))
        add = [each for each in target if each not in before and each not in ours]
        remove = [each for each in before if each not in target and each in ours]
        if add:
            merged.add[name] = tuple(add)
        if remove:
            merged.remove[name] = tuple(remove)
    merged.is_stale = merged.last != last
    return merged


def _kept(name: str, value: Any) -> Json:
    if name in {"title", "body"}:
        return text_digest(value)[:_DIGEST] if value else ""
    if name in {"acceptance", "areas"}:
        return text_digest("\n".join(value))[:_DIGEST] if value else ""
    if name == "checks":
        # In whichever order they stand there and here.
        return [list(argv) for argv in sorted(value)]
    return value


def notes_of(tool: str, item: ForeignItem, item_id: str) -> Iterator[Note]:
    """Return what is to be written down of an item: what is known of its past, and each thing that was said of it there.

    The last tag of a note is its own: what was written down under it is not written again. item_id: the item.
    """
    facts = "; ".join(f"{name} {value}" for name, value in sorted(item.facts.items()))
    history = ForeignNote(
        text=f"Imported from {tool}: {item.id}" + (f" ({facts})" if facts else "")
    )
    for note in (history, *item.notes):
        head = "" if note is history else _head(tool, note)
        body = f"{head}{note.text}"[:BODY_LIMIT]
        own = text_digest(f"{item.id}\n{note.author}\n{note.at}\n{note.text}")[:_DIGEST]
        yield Note(kind="comment", body=body, item=item_id, tags=(tool, f"imported:{own}"))


def _head(tool: str, note: ForeignNote) -> str:
    by, at = f" by {note.author}" if note.author else "", f" on {note.at}" if note.at else ""
    return f"Written in {tool}{by}{at}:\n\n"


def note_of(tags: Collection[str], text: str, author: str, at: str) -> ForeignNote:
    """Return a record as a note: one that was imported is as it was there."""
    head = _HEAD.match(text) if any(tag.startswith("imported:") for tag in tags) else None
    if head is None:
        return ForeignNote(text=text, author=author, at=at)
    return ForeignNote(text=text[head.end() :], author=head[1] or "", at=head[2] or "")


def is_told_again(tags: Collection[str], body: str) -> bool:
    """Return whether a record only says where an item came from, which whoever imports it again says anew."""
    return body.startswith("Imported from ") and any(tag.startswith("imported:") for tag in tags)
