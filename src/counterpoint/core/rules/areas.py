"""Whether areas of the tree overlap, and which paths they cover.

An area is a path below the root, in parts between `/`. In a part `*` stands for any characters and `?`
for one; the part `**` stands for any number of parts, also none. An area without wildcards is a file
or a folder with all that is in it: `src/api` covers `src/api` and `src/api/x.py`, never `src/apis`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

ANY = "**"
_PLAIN = str.maketrans("*?", "\0\1")


def parts_of(pattern: str) -> tuple[str, ...]:
    """Return the parts of an area; every area also covers what lies below it."""
    parts = tuple(part for part in pattern.strip().split("/") if part not in {"", "."})
    return parts if parts and parts[-1] == ANY else (*parts, ANY)


def covers(pattern: str, path: str) -> bool:
    """Return whether a path lies in an area; a `*` in the path is only a letter of its name."""
    # What is a wildcard in an area may be a letter in the name of a file.
    plain = path.translate(_PLAIN)
    return _meet(parts_of(pattern), tuple(part for part in plain.split("/") if part))


def overlaps(one: str, other: str) -> bool:
    """Return whether there can be a path that lies in both areas."""
    return _meet(parts_of(one), parts_of(other))


def overlapping(mine: Iterable[str], theirs: Sequence[str]) -> list[tuple[str, str]]:
    """Return every pair of areas that overlap."""
    return [(one, other) for one in mine for other in theirs if overlaps(one, other)]


def includes(areas: Iterable[str], pattern: str) -> bool:
    """Return whether every path of an area surely lies in another one; wildcards are compared as they stand."""
    asked = parts_of(pattern)
    for area in areas:
        *folder, _ = parts_of(area)
        is_wild = any(map(_is_wild, folder))
        if parts_of(area) == asked or (not is_wild and asked[: len(folder)] == tuple(folder)):
            return True
    return False


def outside(patterns: Sequence[str], paths: Iterable[str]) -> list[str]:
    """Return the paths that lie in none of the areas."""
    return [path for path in paths if not any(covers(area, path) for area in patterns)]


@lru_cache(maxsize=4096)
def _meet(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Return whether two sequences of parts have a path in common.

    Walks the grid of (parts of one used, parts of other used) from the end: a cell is true if the
    rests can meet.
    """
    rows, places = len(one), len(other)
    below = [False] * (places + 1)
    for row in range(rows, -1, -1):
        line = [False] * (places + 1)
        for place in range(places, -1, -1):
            line[place] = _rest_meets(one, other, row, place, line, below)
        below = line
    return below[0]


def _rest_meets(
    one: tuple[str, ...],
    other: tuple[str, ...],
    row: int,
    place: int,
    line: list[bool],
    below: list[bool],
) -> bool:
    if row == len(one) and place == len(other):
        return True
    if row < len(one) and one[row] == ANY:
        return below[place] or (place < len(other) and line[place + 1])
    if place < len(other) and other[place] == ANY:
        return line[place + 1] or (row < len(one) and below[place])
    if row == len(one) or place == len(other):
        return False
    return _parts_meet(one[row], other[place]) and below[place + 1]


@lru_cache(maxsize=4096)
def _parts_meet(one: str, other: str) -> bool:
    """Return whether one text can match both parts, each with `*` and `?`."""
    if not _is_wild(one) and not _is_wild(other):
        return one == other
    reach = {(0, 0)}
    seen = set(reach)
    while reach:
        row, place = reach.pop()
        if row == len(one) and place == len(other):
            return True
        for step in _steps(one, other, row, place):
            if step not in seen:
                seen.add(step)
                reach.add(step)
    return False


def _steps(one: str, other: str, row: int, place: int) -> list[tuple[int, int]]:
    """Return where one more character, or the end of a `*`, leads from a pair of positions."""
    mine = one[row] if row < len(one) else ""
    theirs = other[place] if place < len(other) else ""
    steps: list[tuple[int, int]] = []
    if mine == "*":
        steps.append((row + 1, place))
        if theirs:
            steps.append((row, place + 1))
    if theirs == "*":
        steps.append((row, place + 1))
        if mine:
            steps.append((row + 1, place))
    if mine and theirs and "*" not in {mine, theirs} and (mine == theirs or "?" in {mine, theirs}):
        steps.append((row + 1, place + 1))
    return steps


def _is_wild(part: str) -> bool:
    return "*" in part or "?" in part


def overlap_reasons(
    areas: Sequence[str], busy: Mapping[str, Sequence[str]], but: str = ""
) -> list[str]:
    """Return in words with which items that are worked on some areas overlap, each item once.

    busy: the areas of every such item. but: the item that is left out of the question.
    """
    return [
        f"area {mine} overlaps {theirs} of {other}, which is being worked on"
        for other, held in busy.items()
        if other != but
        for mine, theirs in overlapping(areas, held)[:1]
    ]
