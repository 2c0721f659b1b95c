"""The order of found learnings: relevance, place of the match, quality.

    score = 50 % relevance + 30 % place + 20 % quality          each from 0 to 1

Relevance is the search's own figure (BM25), place the weight of the best field that has a searched
word (pattern 4, applies_to 3, context 2, type 1), quality the learning's own score. Each is divided
by its highest value among the candidates, so that the best one has 1 and ratios stay as they are.

A learning below the asked quality is no candidate, unless it is verified. Equal scores: the more
relevant first, then the order given.

A field has a searched word if and only if the stem of one of its words equals the stem of the searched
one, or begins with it if the searched word has at least 3 letters. Stems are the database's, so that
what is judged here is what was found there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from counterpoint.core.rules.fitting import PREFIX_FROM, fold, nearness

CANDIDATES = 200
"""How many of the most relevant learnings are ranked: twice the longest answer."""
SHARES = {"relevance": 0.5, "place": 0.3, "quality": 0.2}
PLACES = {"pattern": 4, "applies_to": 3, "context": 2, "type": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A found learning; `fields` are those that have a searched word, quality is 0 to 100."""

    key: str
    relevance: float
    fields: tuple[str, ...]
    quality: int
    is_verified: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A learning that the search found: its relevance there, the text of each field, its quality."""

    key: str
    relevance: float
    texts: Mapping[str, str]
    quality: int
    is_verified: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A learning in its place; score and parts are from 0 to 1, rounded to 4 digits."""

    key: str
    score: float
    relevance: float
    place: float
    quality: float
    fields: tuple[str, ...]


def order(
    asked: Sequence[str],
    matches: Iterable[Match],
    stems_of: Callable[[Sequence[str]], Sequence[str]],
    *,
    min_quality: int = 0,
    limit: int = CANDIDATES,
) -> list[Ranked]:
    """Return found learnings in order; stems_of answers the database's stem of each word."""
    kept = [one for one in matches if one.is_verified or one.quality >= min_quality]
    stems = dict(zip(asked, stems_of(asked), strict=True))
    near = nearness(stems.values())
    words = [
        {name: frozenset(near.findall(fold(text))) for name, text in one.texts.items()}
        for one in kept
    ]
    every = sorted({word for fields in words for part in fields.values() for word in part})
    stems |= zip(every, stems_of(every), strict=True)
    candidates = [
        Candidate(
            key=one.key,
            relevance=one.relevance,
            fields=fields_with(fields, asked, stems),
            quality=one.quality,
            is_verified=one.is_verified,
        )
        for one, fields in zip(kept, words, strict=True)
    ]
    return rank(candidates, min_quality=min_quality, limit=limit)


def fields_with(
    fields: Mapping[str, Collection[str]], asked: Iterable[str], stems: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the fields, best place first, in which an asked word is found.

    fields: words of each field, folded. stems: the stem of every one of these and of the asked ones.
    """
    whole = {stems[word] for word in asked}
    begun = tuple(stems[word] for word in asked if len(word) >= PREFIX_FROM)
    found = [
        name
        for name, words in fields.items()
        if any((stem := stems[word]) in whole or stem.startswith(begun) for word in words)
    ]
    return tuple(sorted(found, key=lambda name: -PLACES.get(name, 0)))


def rank(
    candidates: Sequence[Candidate], *, min_quality: int = 0, limit: int = CANDIDATES
) -> list[Ranked]:
    """Return the learnings in order, with the parts of each score."""
    kept = [one for one in candidates if one.is_verified or one.quality >= min_quality]
    measured = [_measures(one) for one in kept]
    best = [max(values) or 1.0 for values in zip(*measured, strict=True)]
    ranked = [_ranked(one, values, best) for one, values in zip(kept, measured, strict=True)]
    ranked.sort(key=lambda one: (-one.score, -one.relevance))
    return ranked[:limit]


def _measures(one: Candidate) -> tuple[float, float, float]:
    place = max((PLACES.get(name, 0) for name in one.fields), default=0)
    return max(one.relevance, 0.0), float(place), float(max(one.quality, 0))


def _ranked(one: Candidate, values: Sequence[float], best: Sequence[float]) -> Ranked:
    parts = [value / most for value, most in zip(values, best, strict=True)]
    score = sum(share * part for share, part in zip(SHARES.values(), parts, strict=True))
    relevance, place, quality = (round(part, 4) for part in parts)
    return Ranked(
        key=one.key,
        score=round(score, 4),
        relevance=relevance,
        place=place,
        quality=quality,
        fields=one.fields,
    )
