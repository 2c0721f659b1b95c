"""Tasks with nearly the same texts.

How alike two texts are is Dice's coefficient: twice the pieces they share, of all their pieces. A piece is a run of three
letters, in small letters, each counted as often as it is there. It is
1 for the same pieces and 0 for none in common.

Two texts that are alike enough share some of their rarest pieces: if a text has n pieces, any that is alike by t has at
least m = n·t/(2-t) of them, so at least k of its n-m+k rarest. Only pairs that share so many of these are compared.
Where a document is made so that this leaves too many, the search stops at a fixed amount of work and says that it did.
Verify nodes are not compared: every phase has the same ones.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from counterpoint.dialects.foundry.rules.numbering import natural_key
from counterpoint.dialects.foundry.rules.shape import (
    description_of,
    is_one_of,
    metadata_of,
    nodes_of,
    text_of,
)
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput

THRESHOLD: Final = 0.8
PAIRS: Final = 100
PAIRS_LIMIT: Final = 1_000
_COMPARED_TYPES: Final = frozenset({"task", "subtask", "research"})
_LETTERS: Final = 1_000
"""Letters of a text that are compared."""
_LETTERS_LIMIT: Final = 1_000_000
"""Letters of all texts that are compared."""
_WORK_LIMIT: Final = 20_000_000
"""Places looked up in the index, or as much other work, which takes about a second."""
_COMPARING: Final = 20
"""Places that are looked up in the time in which two texts are compared."""
_SHARED: Final = 8
"""Of how many rarest pieces two texts that are alike enough share all, if each shares so many at all."""
_PIECE: Final = 3
"""Letters of a piece."""


@dataclass(slots=True)
class _Search:
    """The state of a search: pairs found, and work left."""

    threshold: float
    max_pairs: int
    work: int = _WORK_LIMIT
    similarities: dict[tuple[int, int], float] = field(default_factory=dict[tuple[int, int], float])
    compared: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    is_cut: bool = False


def duplicates(
    document: Json,
    scope: str = "titles",
    threshold: float = THRESHOLD,
    max_pairs: int = PAIRS,
) -> dict[str, Json]:
    """Return the pairs of tasks that are alike by a threshold or more, the most alike first; InvalidInput.

    truncated is there if not all were looked for or told.
    """
    _refuse(scope, threshold, max_pairs)
    nodes = {
        name: node
        for name, node in nodes_of(document).items()
        if is_one_of(node.get("type"), _COMPARED_TYPES)
    }
    names = list(nodes)
    search = _Search(threshold, max_pairs)
    if scope != "descriptions":
        _compare([text_of(node.get("title")) for node in nodes.values()], search)
    if scope != "titles":
        texts = [description_of(metadata_of(node)) for node in nodes.values()]
        _compare(texts, search)
    pairs = sorted(
        search.similarities,
        key=lambda pair: (-search.similarities[pair], *map(natural_key, _of(names, pair))),
    )
    report: dict[str, Json] = {
        "duplicates": [
            {
                "node_a": names[first],
                "node_b": names[other],
                "similarity": math.floor(100 * search.similarities[first, other]) / 100,
                "scope": scope,
            }
            for first, other in pairs[:max_pairs]
        ],
        "duplicate_count": min(len(pairs), max_pairs),
        "scope": scope,
        "threshold": threshold,
        "nodes_checked": len(names),
        "pairs_compared": len(search.compared),
    }
    if search.is_cut or len(pairs) > max_pairs:
        report["truncated"] = True
    return report


def similarity(first: str, other: str) -> float:
    """Return how alike two texts are, from 0 to 1."""
    pieces, theirs = _pieces(first), _pieces(other)
    total = pieces.total() + theirs.total()
    return 2 * (pieces & theirs).total() / total if total else 0.0


def _refuse(scope: str, threshold: float, max_pairs: int) -> None:
    faults: list[str] = []
    if scope not in {"titles", "descriptions", "both"}:
        faults.append("scope is one of titles, descriptions, both")
    if not 0 < threshold <= 1:
        faults.append("threshold is above 0 and at most 1")
    if not 0 < max_pairs <= PAIRS_LIMIT:
        faults.append(f"max_pairs is from 1 to {PAIRS_LIMIT}")
    if faults:
        raise InvalidInput("; ".join(faults))


def _of(names: Sequence[str], pair: tuple[int, int]) -> tuple[str, str]:
    return names[pair[0]], names[pair[1]]


def _pieces(text: str) -> Counter[str]:
    plain = " ".join(text[:_LETTERS].lower().split())
    if not plain:
        return Counter()
    # A blank on both sides makes pieces of the first and the last letter, and of the shortest text.
    edged = f" {plain} ".ljust(_PIECE)
    return Counter(edged[start : start + _PIECE] for start in range(len(edged) - _PIECE + 1))


def _numbered(texts: Sequence[str], search: _Search) -> list[frozenset[int]]:
    """Return the pieces of each text as numbers, the rarest piece of all having the smallest."""
    ids: dict[tuple[str, int], int] = {}
    rows: list[list[int]] = []
    letters_left = _LETTERS_LIMIT
    for text in texts:
        letters_left -= min(len(text), _LETTERS)
        if letters_left < 0:
            search.is_cut = True
            break
        rows.append(
            [
                ids.setdefault((piece, number), len(ids))
                for piece, count in _pieces(text).items()
                for number in range(count)
            ]
        )
    often = Counter(piece for row in rows for piece in row)
    rank = {piece: position for position, (piece, _) in enumerate(reversed(often.most_common()))}
    return [frozenset(rank[piece] for piece in row) for row in rows]


def _compare(texts: Sequence[str], search: _Search) -> None:
    rows = _numbered(texts, search)
    share = search.threshold / (2 - search.threshold)
    least = [math.ceil(len(row) * share - 1e-9) for row in rows]
    index: dict[int, list[int]] = defaultdict(list)
    for own, row in enumerate(rows):
        rarest = sorted(row)[: len(row) - least[own] + min(least[own], _SHARED)]
        if search.work <= 0 or len(search.similarities) > search.max_pairs:
            search.is_cut = True
            return
        for other in _candidates(index, rarest, own, least, search):
            if not least[own] <= len(rows[other]) <= len(row) / share + 1e-9:
                continue  # too short or too long to share enough
            pair = other, own
            search.compared.add(pair)
            search.work -= _COMPARING + len(row)
            alike = _alike(row, rows[other])
            if alike >= search.threshold - 1e-9:
                search.similarities[pair] = max(alike, search.similarities.get(pair, 0.0))
        for piece in rarest:
            index[piece].append(own)


def _candidates(
    index: dict[int, list[int]],
    pieces: Sequence[int],
    own: int,
    least: Sequence[int],
    search: _Search,
) -> Iterator[int]:
    """Return the texts before this one that share enough of its rarest pieces."""
    shared: Counter[int] = Counter()
    for piece in pieces:
        others = index.get(piece, [])
        search.work -= len(others)
        shared.update(others)
        if search.work <= 0:
            return
    for other, count in shared.items():
        if count >= min(_SHARED, least[own], least[other]):
            yield other


def _alike(first: frozenset[int], other: frozenset[int]) -> float:
    return 2 * len(first & other) / (len(first) + len(other))
