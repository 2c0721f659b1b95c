"""How good a learning is, and in which order learnings come.

Whether a learning says enough to be kept, and whether it was said before.
A learning is kept if and only if (1) its pattern, trimmed, has at least 50 characters, (2) its context,
if there is one, has at least 100, (3) its kind is known, (4) nothing alike is known of the same item.

Two patterns are alike if and only if their folded texts are equal, or their telling words are the same
and (a) they share 85 % of all their words, or (b) the later one, of at least 8 words, has no word that
the earlier one lacks. Folding: NFKC, small letters, every run of other signs than letters and digits
is one blank. Telling words are those with a digit, and negations.

85 %, because a pattern that passes the gates has about ten words: one changed word of ten shares 82 %
and may be another subject, so it is kept; refusing a good learning costs more than keeping a twin.

The order of found learnings: relevance, place of the match, quality.

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

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from counterpoint.core.rules.fitting import PREFIX_FROM, fold, nearness
from counterpoint.kernel.errors import InvalidInput
from counterpoint.kernel.plurals import counted

LearningKind = Literal["convention", "gotcha", "pattern"]
LEARNING_KINDS: tuple[LearningKind, ...] = get_args(LearningKind)
LEAST_PATTERN = 50
LEAST_CONTEXT = 100
FIRST_QUALITY = 50
ALIKE_FROM = 0.85
_WHOLE_FROM = 8
_BETWEEN = re.compile(r"[\W_]+")
_NEGATIONS = frozenset(
    {"no", "not", "never", "none", "without", "cannot", "don", "doesn", "isn", "shouldn", "mustn"}
)


def check(pattern: str, context: str | None = None, kind: str | None = None) -> None:
    """Raise InvalidInput with every fault of a learning; None is what was not given."""
    faults: list[str] = []
    if (length := len(pattern.strip())) < LEAST_PATTERN:
        faults.append(
            f"the pattern has {counted(length, 'character')}, but needs at least {LEAST_PATTERN}"
        )
    if context is not None and (length := len(context.strip())) < LEAST_CONTEXT:
        faults.append(
            f"the context has {counted(length, 'character')}, but needs at least {LEAST_CONTEXT}"
        )
    if kind is not None and kind not in LEARNING_KINDS:
        faults.append(f"{kind!r} is not one of {', '.join(LEARNING_KINDS)}")
    if faults:
        raise InvalidInput(
            "; ".join(faults),
            hint="Begin with the subject, say what is true of it and where; leave a context out "
            "rather than give a short one.",
        )


def folded(text: str) -> str:
    """Return a text as it is compared: letters and digits only, small, apart by single blanks."""
    return _BETWEEN.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def likeness(first: str, other: str) -> float:
    """Return the share of words that two texts have in common among all their words, 0 to 1."""
    first_words, other_words = _words(first), _words(other)
    every = first_words | other_words
    return (
        len(first_words & other_words) / len(every)
        if every
        else float(first.strip() == other.strip())
    )


def is_twin(later: str, earlier: str) -> bool:
    """Return whether a pattern repeats an earlier one."""
    later_text, earlier_text = folded(later), folded(earlier)
    if later_text == earlier_text:
        return bool(later_text) or later.strip() == earlier.strip()
    later_words, earlier_words = set(later_text.split()), set(earlier_text.split())
    if _telling(later_words) != _telling(earlier_words):
        return False
    is_inside = len(later_words) >= _WHOLE_FROM and later_words <= earlier_words
    return is_inside or likeness(later, earlier) >= ALIKE_FROM


def find_twin(pattern: str, patterns: Iterable[tuple[str, str]]) -> str | None:
    """Return the id of the first known pattern, given as (id, pattern), that is alike, or None."""
    return next((name for name, earlier in patterns if is_twin(pattern, earlier)), None)


def _words(text: str) -> set[str]:
    return set(folded(text).split())


def _telling(words: set[str]) -> set[str]:
    """Return the words that tell otherwise equal patterns apart: versions, ports, negations."""
    return {word for word in words if word in _NEGATIONS or any(map(str.isdigit, word))}


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
