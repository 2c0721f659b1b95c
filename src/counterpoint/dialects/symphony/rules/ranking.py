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
    query_words: Sequence[str],
    matches: Iterable[Match],
    stems_of: Callable[[Sequence[str]], Sequence[str]],
    *,
    min_quality: int = 0,
    limit: int = CANDIDATES,
) -> list[Ranked]:
    """Return found learnings in order; stems_of answers the database's stem of each word."""
    eligible = [match for match in matches if match.is_verified or match.quality >= min_quality]
    stems = dict(zip(query_words, stems_of(query_words), strict=True))
    near = nearness(stems.values())
    words = [
        {name: frozenset(near.findall(fold(text))) for name, text in match.texts.items()}
        for match in eligible
    ]
    every = sorted({word for fields in words for part in fields.values() for word in part})
    stems |= zip(every, stems_of(every), strict=True)
    candidates = [
        Candidate(
            key=match.key,
            relevance=match.relevance,
            fields=fields_with(fields, query_words, stems),
            quality=match.quality,
            is_verified=match.is_verified,
        )
        for match, fields in zip(eligible, words, strict=True)
    ]
    return rank(candidates, min_quality=min_quality, limit=limit)


def fields_with(
    fields: Mapping[str, Collection[str]], query_words: Iterable[str], stems: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the fields, best place first, in which an asked word is found.

    fields: words of each field, folded. stems: the stem of every one of these and of the asked ones.
    """
    whole = {stems[word] for word in query_words}
    begun = tuple(stems[word] for word in query_words if len(word) >= PREFIX_FROM)
    matching_fields = [
        name
        for name, words in fields.items()
        if any((stem := stems[word]) in whole or stem.startswith(begun) for word in words)
    ]
    return tuple(sorted(matching_fields, key=lambda name: -PLACES.get(name, 0)))


def rank(
    candidates: Sequence[Candidate], *, min_quality: int = 0, limit: int = CANDIDATES
) -> list[Ranked]:
    """Return the learnings in order, with the parts of each score."""
    eligible = [
        candidate
        for candidate in candidates
        if candidate.is_verified or candidate.quality >= min_quality
    ]
    measured = [_measures(candidate) for candidate in eligible]
    best = [max(values) or 1.0 for values in zip(*measured, strict=True)]
    ranked = [
        _rank_candidate(candidate, values, best)
        for candidate, values in zip(eligible, measured, strict=True)
    ]
    ranked.sort(key=lambda learning: (-learning.score, -learning.relevance))
    return ranked[:limit]


def _measures(candidate: Candidate) -> tuple[float, float, float]:
    field_weight = max((PLACES.get(name, 0) for name in candidate.fields), default=0)
    return max(candidate.relevance, 0.0), float(field_weight), float(max(candidate.quality, 0))


def _rank_candidate(candidate: Candidate, values: Sequence[float], best: Sequence[float]) -> Ranked:
    parts = [value / most for value, most in zip(values, best, strict=True)]
    score = sum(share * part for share, part in zip(SHARES.values(), parts, strict=True))
    relevance, field_weight, quality = (round(part, 4) for part in parts)
    return Ranked(
        key=candidate.key,
        score=round(score, 4),
        relevance=relevance,
        place=field_weight,
        quality=quality,
        fields=candidate.fields,
    )
