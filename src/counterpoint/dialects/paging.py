"""Answers that fit: texts clipped, lists cut to size, cursors for the rest.

An answer has at most `PAGE` bytes of JSON. What does not fit is never lost: a list goes on at a
cursor, which is signed and bound to the call it continues, and so does a long text. Several parts
of one answer share its room fairly: a small part is shown whole and leaves its rest to the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

import orjson

from counterpoint.core.rules import cursors
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.frozen import frozen

if TYPE_CHECKING:
    # The command line clips texts too, and has no arguments of tools to check, whose library takes long to load.
    from counterpoint.dialects.call import Call

T = TypeVar("T")

PAGE = 10_000
"""The most bytes of an answer."""
SHORT_PAGE = 4_000
"""The most bytes of a list that was asked for without a wish for more."""
RESERVE = 600
"""What is kept free for cursors and the names of parts."""

ENTRY = 6_000
"""The most bytes of an entry of a list, so that each fits on a page whatever stands above it."""
_SHARES = ((1_000, 100), (400, 100), (150, 50), (50, 20))
"""What is left of each text of an entry, in bytes, and of each list, one after the other, until it fits."""
_NUMBERS = (int, float)
_ELLIPSIS = "…"
_ELLIPSIS_BYTES = 3
_QUOTES = 2


def size_of(value: Json) -> int:
    """Return the bytes of a value as JSON."""
    return len(orjson.dumps(value))


def sparse(**parts: Json) -> dict[str, Json]:
    """Return an object without the parts that say nothing; 0 and false say something."""
    return {name: part for name, part in parts.items() if part or isinstance(part, _NUMBERS)}


def fitting(text: str, max_bytes: int) -> int:
    """Return how many characters of a text fit into so many bytes of JSON."""
    low, high = 0, min(len(text), max_bytes)
    if size_of(text[:high]) - _QUOTES <= max_bytes:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if size_of(text[:middle]) - _QUOTES <= max_bytes:
            low = middle
        else:
            high = middle - 1
    return low


def clip(text: str, max_bytes: int) -> str:
    """Return a text that fits into so many bytes; one that was cut ends in an ellipsis."""
    if fitting(text, max_bytes) == len(text):
        return text
    return text[: fitting(text, max_bytes - _ELLIPSIS_BYTES)].rstrip() + _ELLIPSIS


def fit_entry(entry: dict[str, Json]) -> dict[str, Json]:
    """Return an entry of a list that fits on a page: its texts and lists are cut as far as it needs."""
    cut_entry = entry
    for max_bytes, most in _SHARES:
        if size_of(cut_entry) <= ENTRY:
            break
        cut_entry = {name: _cut(value, max_bytes, most) for name, value in entry.items()}
    return cut_entry


def _cut(value: Json, max_bytes: int, most: int) -> Json:
    if isinstance(value, str):
        return clip(value, max_bytes)
    if isinstance(value, list):
        listed = cast("list[Json]", value)
        more = [f"… {len(listed) - most} more"] if len(listed) > most else []
        return [*(_cut(part, max_bytes, most) for part in listed[:most]), *more]
    return {name: _cut(part, max_bytes, most) for name, part in object_of(value).items()} or value


@frozen
class Part:
    """A list or a text of an answer, from `start` on.

    places: where to go on after each entry of a list. more: whether the store has still more.
    """

    content: Sequence[Json] | str
    start: Json = 0
    places: Sequence[Json] = ()
    more: bool = False

    def cut(self, bytes_left: int) -> tuple[Json, Json]:
        """Return what fits of it, and where to go on; None at its end."""
        if isinstance(self.content, str):
            count = fitting(self.content, bytes_left)
            return self.content[:count], (
                None if count == len(self.content) else self.start + count
            )
        entries: list[Json] = []
        for entry in self.content:
            bytes_left -= size_of(entry) + 1
            if bytes_left < 0:
                break
            entries.append(entry)
        if len(entries) == len(self.content) and not self.more:
            return entries, None
        return entries, self.places[len(entries) - 1] if entries else self.start


def part_of_text(text: str, at: int = 0) -> Part:
    """Return a text from a character on."""
    return Part(content=text[at:], start=at)


def part_of_list(entries: Sequence[Json], at: int = 0, limit: int = 1_000) -> Part:
    """Return a list that is known whole, from an entry on."""
    chosen = entries[at : at + limit]
    places = range(at + 1, at + len(chosen) + 1)
    return Part(content=chosen, start=at, places=places, more=at + len(chosen) < len(entries))


def part_of_rows(
    rows: Sequence[T],
    limit: int,
    present: Callable[[T], Json],
    position_of: Callable[[T], Json],
    at: Json,
) -> Part:
    """Return rows of the store, of which one more than the limit was asked for."""
    chosen = rows[:limit]
    return Part(
        content=[present(row) for row in chosen],
        start=at,
        places=[position_of(row) for row in chosen],
        more=len(rows) > limit,
    )


def fit_parts(
    parts: Mapping[str, Part], bytes_left: int
) -> tuple[dict[str, Json], dict[str, Json]]:
    """Return the parts as far as they fit together, and where those that were cut go on."""
    sizes = {name: size_of(part.content) + len(name) + 4 for name, part in parts.items()}
    contents: dict[str, Json] = {}
    next_starts: dict[str, Json] = {}
    for index, name in enumerate(sorted(parts, key=sizes.__getitem__)):
        share = bytes_left // (len(parts) - index)
        content, at = parts[name].cut(share - len(name) - 6)
        contents[name] = content
        bytes_left -= size_of(content) + len(name) + 4
        if at is not None:
            next_starts[name] = at
    return {
        name: contents[name] for name in parts if contents[name] or name in next_starts
    }, next_starts


@frozen
class Pages:
    """One call of a tool that answers in pages: where it begins, and the cursors that go on.

    query: the tool and what narrows its answer; a cursor is good for this very query alone.
    """

    call: Call
    query: Json
    at: Json

    def cursor(self, position: Json) -> str:
        """Return the cursor that goes on at a position; empty for None, which is the end."""
        return "" if position is None else cursors.seal(self.call.secret(), self.query, position)

    def rows(
        self,
        rows: Sequence[T],
        limit: int,
        present: Callable[[T], Json],
        position_of: Callable[[T], Json],
        budget: int = PAGE,
    ) -> tuple[list[Json], str]:
        """Return the rows that fit and the cursor for the rest, empty at the end.

        rows: one more than the limit, if there are so many.
        """
        entries: list[Json] = []
        bytes_left = budget - RESERVE
        for row in rows[:limit]:
            entry = present(row)
            bytes_left -= size_of(entry) + 1
            if bytes_left < 0 and entries:
                break
            entries.append(entry)
        if len(entries) == len(rows):
            return entries, ""
        return entries, self.cursor(position_of(rows[len(entries) - 1]))

    def text(self, text: str, max_bytes: int) -> tuple[str, str]:
        """Return what fits of a long text from here on, and the cursor for the rest."""
        page, end = part_of_text(text, self.at).cut(max_bytes)
        return page, self.cursor(end)


def pages_of(call: Call, cursor: str, *query: Json, first: Json = 0) -> Pages:
    """Return the pages of a query of this project, from a cursor or the first position; InvalidInput."""
    whole = [call.core.project, *query]
    at = cursors.unseal(call.secret(), whole, cursor) if cursor else first
    return Pages(call=call, query=whole, at=at)
