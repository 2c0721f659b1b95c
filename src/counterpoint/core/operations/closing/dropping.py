"""Dropping work, with what closes with it and what waited for its issues."""

from __future__ import annotations

from counterpoint.core.model.filters import Note
from counterpoint.core.model.lifecycles import UNCLOSED
from counterpoint.core.model.work import Dependency, Item
from counterpoint.core.operations.journal import Journal
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.links import undepend
from counterpoint.core.operations.recording.moves import move
from counterpoint.core.rules.wording import spoken_of


def drop(change: Change, item: Item, status: str, reason: str) -> None:
    """Move an item, on somebody's word, to a state in which it is dropped, with all that follows."""
    # Asked before the move, which closes them.
    dropped = _open_issues(change, item)
    move(change, item, status, reason)
    gone = [issue for issue in dropped if change.get(Item, issue).status == "cancelled"]
    if gone:
        why = "it was cancelled"
        change.add_facts(
            let_go=[issue for name in gone for issue in let_go(change, change.get(Item, name), why)]
        )


def let_go(change: Change, issue: Item, why: str) -> list[str]:
    """Let nothing wait for an issue any more; each that waited hears why. Answer their ids."""
    waiting = change.select(Dependency, needs=issue.id)
    journal = Journal(change.context)
    for edge in waiting:
        undepend(change, change.get(Item, edge.item), issue.id)
        text = f"This does not wait for {spoken_of(issue.id)} any more: {why}"
        note = Note(kind="comment", item=edge.item, body=text, tags=("warning",))
        change.put(journal.draft(change, note, change.open_session(), ()))
    return [edge.item for edge in waiting]


def _open_issues(change: Change, top: Item) -> list[str]:
    """Return the ids of an item and all below it that are issues and not closed."""
    if not change.writing.exists(Item, root=top.root, kind="issue", category=UNCLOSED):
        return []
    below = change.select(Item, parent=top.id, category=UNCLOSED)
    issues = [top.id] if top.kind == "issue" else []
    return issues + [name for child in below for name in _open_issues(change, child)]
