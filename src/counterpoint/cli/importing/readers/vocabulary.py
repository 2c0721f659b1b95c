"""What statuses, priorities and fields mean that a tool's own table does not name."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from counterpoint.core.model.foreign import Remark
from counterpoint.core.model.work import PRIORITIES
from counterpoint.kernel.canonical import Json

_STATES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("todo", "open", "new", "pending", "ready", "planned", "notstarted"), "open"),
    **dict.fromkeys(
        ("inprogress", "progress", "active", "doing", "started", "wip", "inreview", "review"),
        "active",
    ),
    **dict.fromkeys(("done", "complete", "completed", "closed", "finished", "resolved"), "done"),
    **dict.fromkeys(("draft", "backlog", "deferred", "onhold", "paused", "icebox"), "backlog"),
    **dict.fromkeys(
        ("cancelled", "canceled", "wontfix", "wontdo", "abandoned", "obsolete", "rejected"),
        "cancelled",
    ),
}
_PRIORITIES: Final[Mapping[str, int]] = {
    **dict.fromkeys(("critical", "urgent", "highest", "blocker"), 0),
    **dict.fromkeys(("high", "major"), 1),
    **dict.fromkeys(("medium", "normal", "none", ""), 2),
    **dict.fromkeys(("low", "minor"), 3),
    **dict.fromkeys(("lowest", "trivial"), 4),
}
_LETTERS: Final = re.compile(r"[^a-z]")
_NUMBER: Final = re.compile(r"p?([0-9])")


def state_of(status: str, states: Mapping[str, str] = _STATES) -> str | None:
    """Return the state of a status by a tool's table, else by what its letters mean elsewhere; None where nobody knows."""
    if status in states:
        return states[status]
    word = _LETTERS.sub("", status.lower())
    return next((states[each] for each in states if _LETTERS.sub("", each) == word), None) or (
        _STATES.get(word)
    )


def priority_of(
    priority: str, name: str, where: str, remarks: list[Remark], *, is_scale: bool = False
) -> int:
    """Return a priority from 0 to 4, and a remark on one that nobody knows.

    is_scale: whether numbers of the tool mean what ours do.
    """
    word = priority.strip().lower()
    number = _NUMBER.fullmatch(word)
    if number and (is_scale or word.startswith("p")) and int(number[1]) in PRIORITIES:
        return int(number[1])
    if word not in _PRIORITIES:
        remarks.append(Remark(f"{name}: the priority {priority!r} means medium here", where))
    return _PRIORITIES.get(word, 2)


def remark_unread(
    values: Mapping[str, Json], fields: Collection[str], where: str
) -> Iterator[Remark]:
    """Return a remark for each field with a value that a reader has no use for."""
    for field, value in values.items():
        if field not in fields and value not in (None, "", False, 0, [], {}):
            yield Remark(f"field {field[:80]!r} has no place here", where, "trifle")
