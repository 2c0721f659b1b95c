"""How pages say things: spans of time, states, and what keeps an item waiting."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from markupsafe import Markup

from counterpoint.board.forms import TYPED
from counterpoint.core.model.answers import Obstacle
from counterpoint.core.model.journal import Record
from counterpoint.core.model.lifecycles import Category
from counterpoint.core.model.work import Gate, Item
from counterpoint.kernel.errors import InvalidInput
from counterpoint.kernel.plurals import counted
from counterpoint.kernel.visible import visible

MAX_CHARACTERS: Final = 20_000
"""Characters of one text that a page shows."""
MAX_TITLE: Final = 300
_UNITS: Final = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
CATEGORY_TITLES: Final = {
    "open": "Open",
    "active": "In work",
    "review": "In review",
    "done": "Done",
    "dropped": "Dropped",
}
STEP_WORDS: Final = {
    "submit": "to be handed in",
    "review": "to be reviewed",
    "mend": "sent back, to be mended",
}


def shown(value: object) -> object:
    """Return what a template puts out: of a text, with what would steer or hide made visible."""
    # What templates have escaped already is a subclass, and was seen before it was.
    return visible(value) if type(value) is str else value


def span(now: str, since: str) -> str:
    """Return how long ago a time was, in its largest unit; empty without one."""
    if not since:
        return ""
    seconds = abs((datetime.fromisoformat(now) - datetime.fromisoformat(since)).total_seconds())
    for unit, length in _UNITS:
        if seconds >= length:
            return f"{seconds // length:.0f} {unit}"
    return "0 s"


def time_of(now: str, time: str) -> Markup:
    """Return how long ago a time was, as an element whose text browsers keep up to date; empty without one."""
    if not time:
        return Markup()
    return Markup('<time data-span datetime="{}">{}</time>').format(time, span(now, time))


def body(text: str) -> str:
    """Return as much of a text as a page shows, with how much more there is."""
    if len(text) <= MAX_CHARACTERS:
        return text
    return f"{text[:MAX_CHARACTERS]}\n… {len(text) - MAX_CHARACTERS:,} more characters: `counterpoint show`"


def title(text: str) -> str:
    """Return a title on one line."""
    line = " ".join(text[: MAX_TITLE + 1].split())
    return line if len(text) <= MAX_TITLE else f"{line[:MAX_TITLE]} …"


def headline(record: Record) -> str:
    """Return the title of a record, or its first line."""
    return title(record.title or record.body.strip().partition("\n")[0])


def wait_chip(obstacle: Obstacle, item: Item) -> tuple[str, str]:
    """Return the class and the words of the chip for one thing in the way of an item."""
    above = "" if obstacle.item.id == item.id else f" (of {obstacle.item.id})"
    thing = obstacle.thing
    if obstacle.kind == "need" and isinstance(thing, Item):
        return "wait", f"after {thing.id}{above}"
    if obstacle.kind == "gate" and isinstance(thing, Gate):
        what = "approval" if thing.kind == "review" else thing.name
        return "gate", f"waits for {what}{above}"
    if obstacle.kind == "blocker" and isinstance(thing, Record):
        return "stop", f"blocked: {headline(thing)[:60]}{above}"
    return "wait", f"set aside{above}"


def moves_of(item: Item) -> list[tuple[Category, str]]:
    """Return the states that an item may be moved into by word, each with its category, as its table has them.

    Into a state of `active` nothing is moved: who works on it starts it. What else is in the way the core says when it is tried.
    """
    try:
        table = item.states
    except InvalidInput:
        # Its dialect is not installed.
        return []
    moves: list[tuple[Category, str]] = [
        (table.categories[status], status) for status in table.moves.get(item.status, ())
    ]
    return [move for move in moves if move[0] != "active"]


CALLED_BY_TEMPLATES: Final[Mapping[str, object]] = {
    "counted": counted,
    "span": span,
    "time_of": time_of,
    "moves_of": moves_of,
    "body": body,
    "title_of": title,
    "headline": headline,
    "wait_chip": wait_chip,
    "category_titles": CATEGORY_TITLES,
    "step_words": STEP_WORDS,
    "typed_words": TYPED,
}
