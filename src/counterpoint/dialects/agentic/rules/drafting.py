"""How names in the lists of a plan become titles, and which phase of it they mean."""

from __future__ import annotations

from collections.abc import Sequence

from counterpoint.core.model.work import TITLE_LIMIT

PHASE_LIMIT = 500
"""How many phases a plan may be made with."""


def order_in(titles: Sequence[str], place: int | str) -> int:
    """Return the order of a phase that is told by order or name; 0 if there is none, or several."""
    if isinstance(place, int):
        return place if 0 < place <= len(titles) else 0
    if titles.count(place) == 1:
        return titles.index(place) + 1
    number = int(place) if place.isascii() and place.isdecimal() and len(place) < len("1000") else 0
    return number if number <= len(titles) else 0


def titled(name: str, description: str) -> tuple[str, str]:
    """Return a title of one line, and a body; what does not fit into the title begins the body."""
    line = name.strip().split("\n")[0].strip()
    if line == name.strip() and len(line) <= TITLE_LIMIT:
        return line, description
    short = line if len(line) <= TITLE_LIMIT else line[: TITLE_LIMIT - 1] + "…"
    return short, "\n\n".join(part for part in (name.strip(), description) if part)
