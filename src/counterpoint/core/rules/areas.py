"""Whether areas of the tree overlap, and which paths they cover.

An area is a path below the root, in parts between `/`. In a part `*` stands for any characters and `?`
for one; the part `**` stands for any number of parts, also none. An area without wildcards is a file
or a folder with all that is in it: `src/api` covers `src/api` and `src/api/x.py`, never `src/apis`. `src/{api,web}` stands for
`src/api` and `src/web`; braces without a comma are letters.

Every comparison takes a time that grows with the texts and no faster (`kernel/matching/wildcards.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, cast

from counterpoint.kernel.matching.wildcards import MANY, ONE, Question, Row, Symbol, Wild

ANY = "**"
SPREAD_LIMIT: Final = 64
"""How many areas the braces of one may stand for."""
_WILD: Final = {"*": MANY, "?": ONE}


def parts_of(pattern: str) -> tuple[str, ...]:
    """Return the parts of an area; every area also covers what lies below it."""
    parts = tuple(part for part in pattern.strip().split("/") if part not in {"", "."})
    return parts if parts and parts[-1] == ANY else (*parts, ANY)


def leads_out(pattern: str) -> bool:
    """Return whether an area is not below the root: an absolute path, or one that goes up."""
    words = pattern.strip()
    return words.startswith(("/", "~")) or ".." in words.split("/")


def area_fault(patterns: Iterable[str]) -> str:
    """Say which area is not in the project, and what an area is; empty if all are."""
    outside_areas = [area for area in patterns if any(map(leads_out, expand_braces(area)))]
    definition = "areas are paths below its folder, such as src/api"
    return (
        f"the area {outside_areas[0][:80]!r} leads out of the project: {definition}"
        if outside_areas
        else ""
    )


def pattern_fault(patterns: Iterable[str]) -> str:
    """Say which area could match nothing, and how it is written; empty if all are right."""
    for area in patterns:
        if area.strip().startswith("!"):
            return f"the area {area[:80]!r} takes something away: areas name what is changed"
        if "\\" in area or "|" in area:
            return f"the area {area[:80]!r} matches nothing: write src/api, or src/{{api,web}} for one of several"
        if expand_braces(area) == (area,) and _first_group(area) is not None:
            return (
                f"the area {area[:80]!r} stands for more than {SPREAD_LIMIT}: write fewer in braces"
            )
    return ""


@lru_cache(maxsize=4096)
def expand_braces(pattern: str) -> tuple[str, ...]:
    """Return the areas that one with braces stands for; itself where there are none, or more than the limit."""
    waiting, areas = [pattern], list[str]()
    while waiting:
        some = waiting.pop()
        group = _first_group(some)
        if group is None:
            areas.append(some)
            continue
        begin, end, parts = group
        waiting += [f"{some[:begin]}{part}{some[end:]}" for part in reversed(parts)]
        if len(waiting) + len(areas) > SPREAD_LIMIT:
            return (pattern,)
    return tuple(dict.fromkeys(areas))


def _first_group(pattern: str) -> tuple[int, int, list[str]] | None:
    """Return where the first braces with a comma begin and end, and their parts; None if there are none."""
    opened: list[tuple[int, list[int]]] = []
    groups: list[tuple[int, int, list[int]]] = []
    for index, letter in enumerate(pattern):
        if letter == "{":
            opened.append((index, []))
        elif letter == "," and opened:
            opened[-1][1].append(index)
        elif letter == "}" and opened:
            begin, commas = opened.pop()
            if commas:
                groups.append((begin, index, commas))
    if not groups:
        return None
    begin, end, commas = min(groups)
    edges = [begin, *commas, end]
    parts = [pattern[cut + 1 : other] for cut, other in pairwise(edges)]
    return begin, end + 1, parts


def covers(pattern: str, path: str) -> bool:
    """Return whether a path lies in an area; a `*` in the path is only a letter of its name."""
    parts = [part for part in path.split("/") if part]
    return any(_way(area).fits(parts) for area in expand_braces(pattern))


def overlaps(first: str, other: str) -> bool:
    """Return whether there can be a path that lies in both areas.

    Both end with `**`, so that only what stands before the first one of each can keep them apart: behind
    it whatever the other asks for can come next.
    """
    return any(
        all(map(_parts_meet, _fixed(own), _fixed(theirs)))
        for own in expand_braces(first)
        for theirs in expand_braces(other)
    )


def list_overlaps(areas: Iterable[str], theirs: Sequence[str]) -> list[tuple[str, str]]:
    """Return every pair of areas that overlap."""
    return [(area, other) for area in areas for other in theirs if overlaps(area, other)]


def includes(areas: Iterable[str], pattern: str) -> bool:
    """Return whether every path of an area surely lies in another one; wildcards are compared as they stand."""
    spreads = [area for each in areas for area in expand_braces(each)]
    return all(_includes(spreads, part) for part in expand_braces(pattern))


def _includes(areas: Iterable[str], pattern: str) -> bool:
    parts = parts_of(pattern)
    for area in areas:
        *folder, _ = parts_of(area)
        is_wild = any(map(_is_wild, folder))
        if parts_of(area) == parts or (not is_wild and parts[: len(folder)] == tuple(folder)):
            return True
    return False


def outside(patterns: Sequence[str], paths: Iterable[str]) -> list[str]:
    """Return the paths that lie in none of the areas."""
    return [path for path in paths if not any(covers(area, path) for area in patterns)]


@lru_cache(maxsize=1024)
def _way(pattern: str) -> Row:
    """Return an area as a row of names."""
    return Row(MANY if part == ANY else _name(part) for part in parts_of(pattern))


def _name(part: str) -> str | Question:
    """Return a part without wildcards as it is, and else what is asked of a name."""
    return _row(part).fits if _is_wild(part) else part


@lru_cache(maxsize=4096)
def _fixed(pattern: str) -> tuple[str, ...]:
    """Return the parts of an area before its first `**`."""
    parts = parts_of(pattern)
    return parts[: parts.index(ANY)]


@lru_cache(maxsize=1024)
def _row(part: str) -> Row:
    return Row(_tokens(part))


def _tokens(part: str) -> list[str | Wild]:
    return [_WILD.get(letter, letter) for letter in part]


@lru_cache(maxsize=4096)
def _parts_meet(first: str, other: str) -> bool:
    """Return whether one text can match both parts, each with `*` and `?`.

    Where both have a `*`, only what stands before the first and behind the last one of each can keep them
    apart: between them there is room for what both ask for, one after the other.
    """
    if "*" not in first:
        return _row(other).fits(cast("list[Symbol]", _tokens(first)))
    if "*" not in other:
        return _row(first).fits(cast("list[Symbol]", _tokens(other)))
    begins = zip(first.partition("*")[0], other.partition("*")[0], strict=False)
    ends = zip(first.rpartition("*")[2][::-1], other.rpartition("*")[2][::-1], strict=False)
    return all(own == theirs or "?" in {own, theirs} for own, theirs in (*begins, *ends))


def _is_wild(part: str) -> bool:
    return "*" in part or "?" in part


def overlap_reasons(
    areas: Sequence[str], busy: Mapping[str, Sequence[str]], but: str = ""
) -> list[str]:
    """Return in words with which items that are worked on some areas overlap, each item once.

    busy: the areas of every such item. but: the item that is left out of the question.
    """
    return [
        f"area {own} overlaps {theirs} of {other}, which is being worked on"
        for other, others_areas in busy.items()
        if other != but
        for own, theirs in list_overlaps(areas, others_areas)[:1]
    ]
