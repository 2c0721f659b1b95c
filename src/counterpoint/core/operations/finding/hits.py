"""Finding rows by their words and by their meaning.

Rule 1: of the few texts that have no vector yet, whoever searches makes one for the moment. Rule 2: without a model, or
where it has not come yet or does not answer, words alone find. Rule 3: a page goes on where the last one ended.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import mul
from typing import Final

from counterpoint.core.model.answers import Found
from counterpoint.core.operations.finding.embedders import ProviderEmbedder, embedder_of
from counterpoint.core.operations.recording.context import Context, Ports
from counterpoint.core.ports.models import Embedder
from counterpoint.core.ports.store import Hit, Reading, Unembedded
from counterpoint.core.rules.fitting import fit, rank_hits
from counterpoint.kernel.errors import CounterpointError, InvalidInput, MalformedDocument
from counterpoint.kernel.matching.expressions import expression

CANDIDATES: Final = 200
"""How many hits by words are ranked anew; those behind them come as they are."""
_NEAR: Final = 50
"""How many hits by meaning alone are looked at."""
_AT_ONCE: Final = 64
"""How many texts whoever searches embeds, before the answer."""
_WORD: Final = expression(r"\w+", re.UNICODE)
_MOST_WORDS: Final = 32
_ALONE: Final = 0.0
"""The weight of meaning where there is no model."""


@dataclass(slots=True)
class Searches:
    """Whether anybody has searched by meaning since this process began."""

    has_any: bool = False


class Meaning:
    """What a question means to the model that is set, beside what a reading sees."""

    def __init__(self, view: Reading, model: Embedder, vector: bytes) -> None:
        """Look with the vector of a question."""
        self._view = view
        self._vector = vector
        self.model = model
        self._fresh: dict[int, tuple[Hit, float]] = {}

    def look_at(self, waiting: Sequence[Unembedded]) -> None:
        """Take rows that have no vector yet into the search."""
        vectors = self.model.embed([row.text for row in waiting])
        for unembedded, vector in zip(waiting, vectors, strict=True):
            cosine = _cosine(self._vector, vector)
            self._fresh[unembedded.hit.number] = replace(unembedded.hit, score=cosine), cosine

    def nearest(self, kinds: Sequence[str] = (), item: str = "", limit: int = _NEAR) -> list[Hit]:
        """Return the rows that are nearest, with the cosine as score, best first."""
        hits = self._view.nearest(
            self.model.name, self._vector, kinds=kinds, item=item, limit=limit
        )
        fresh = [
            hit
            for hit, _ in self._fresh.values()
            if (not kinds or hit.kind in kinds) and (not item or hit.item == item)
            if hit.score >= self.model.least and _is_seen(self._view, hit)
        ]
        return sorted((*hits, *fresh), key=lambda hit: -hit.score)[:limit]

    def cosines(self, hits: Sequence[Hit]) -> dict[int, float]:
        """Return how near hits are, by their numbers; those of which it is known."""
        stored = self._view.cosines(self.model.name, self._vector, [hit.number for hit in hits])
        fresh = {
            hit.number: self._fresh[hit.number][1] for hit in hits if hit.number in self._fresh
        }
        return stored | fresh


def meaning_of(ports: Ports, view: Reading, query: str) -> Meaning | None:
    """Return what a question means; None without a model, or if it means nothing to it."""
    try:
        model = embedder_of(ports)
    except MalformedDocument:
        # What is wrong with the file is told by whatever needs it more, and by `doctor`.
        return None
    if model is None:
        return None
    if isinstance(model, ProviderEmbedder):
        return _asked_elsewhere(ports, view, model, query)
    (vector,) = model.embed([query])
    if not vector:
        return None
    ports.remember(Searches).has_any = True
    meaning = Meaning(view, model, vector)
    if waiting := view.unembedded(model.name, _AT_ONCE):
        meaning.look_at(waiting)
    return meaning


def _asked_elsewhere(
    ports: Ports, view: Reading, model: ProviderEmbedder, query: str
) -> Meaning | None:
    """Return what a question means to a provider's model; None where it does not answer: words find without it."""
    # What waits is embedded behind the answers, though a question of now fails.
    ports.remember(Searches).has_any = True
    try:
        return Meaning(view, model, model.question(query))
    except CounterpointError:
        return None


def find_hits(
    ports: Ports,
    view: Reading,
    query: str,
    words: Sequence[str],
    *,
    kinds: Sequence[str] = (),
    item: str = "",
    begun: bool = False,
    limit: int,
    offset: int = 0,
) -> list[Hit]:
    """Return the rows that fit a question, best first, with scores from 0 to 1."""
    hits = view.search(words, kinds=kinds, item=item, begun=begun, limit=CANDIDATES)
    most = view.most(words, begun=begun) or 1.0
    meaning = meaning_of(ports, view, query)
    near = meaning.nearest(kinds, item) if meaning else []
    cosines = meaning.cosines(hits) if meaning else {}
    by_number = {hit.number: hit for hit in (*near, *hits)}
    weight = meaning.model.weight if meaning else _ALONE
    order = rank_hits(
        {hit.number: hit.score / most for hit in hits},
        {hit.number: hit.score for hit in near} | cosines,
        weight=weight,
        least=meaning.model.least if meaning else _ALONE,
    )
    page = [
        replace(by_number[number], score=rank.score)
        for number, rank in order[offset : offset + limit]
    ]
    if len(page) < limit and len(hits) == CANDIDATES:
        seen = {hit.number for hit in near}
        start = max(0, offset - len(order))
        many = start + limit - len(page) + len(seen)
        more = view.search(
            words, kinds=kinds, item=item, begun=begun, limit=many, offset=CANDIDATES
        )
        behind = [hit for hit in more if hit.number not in seen][start:]
        page += [
            replace(hit, score=fit(hit.score / most, 0.0, weight).score)
            for hit in behind[: limit - len(page)]
        ]
    return page


def find_rows(
    context: Context, query: str, *, kinds: Sequence[str], item: str, limit: int, offset: int
) -> list[Found]:
    """Return the rows that fit a question, best first; InvalidInput without a word."""
    words = list(dict.fromkeys(_WORD.findall(query.lower())))[:_MOST_WORDS]
    if not words:
        raise InvalidInput("the query has no word in it", hint="Give letters or digits.")
    with context.reading() as view:
        hits = find_hits(
            context.ports, view, query, words, kinds=kinds, item=item, limit=limit, offset=offset
        )
        rows = [view.find(view.tables[hit.table], *hit.key.split("/")) for hit in hits]
        return [
            Found(kind=hit.kind, score=hit.score, item=hit.item, row=row)
            for hit, row in zip(hits, rows, strict=True)
            if row is not None
        ]


def _cosine(first: bytes, other: bytes) -> float:
    """Return how near two vectors of length 1 are; 0 if one of them is empty."""
    left_numbers, right_numbers = array("f", first), array("f", other)
    return (
        sum(map(mul, left_numbers, right_numbers))
        if len(left_numbers) == len(right_numbers)
        else 0.0
    )


def _is_seen(view: Reading, hit: Hit) -> bool:
    """Return whether a row is found by whoever reads: what is of a plan under way is not."""
    noun = view.tables.get(hit.table)
    return noun is not None and view.find(noun, *hit.key.split("/")) is not None
