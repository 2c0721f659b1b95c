"""How hits are ranked together, and how many fit an answer.

How well something fits by its words and by its meaning together.

    score = weight · cosine + (1 - weight) · words^1.5          from 0 to 1, rounded to 4 digits

`words` is the search's own figure, divided by what a text would have that has every asked word often: so a rare
word counts more than a frequent one, and a text with all of them about 1. By its power a text that only happens
to have one of many words counts less, so that it does not hide what means the same in other words. `cosine` is how near the meaning is; below 0 it is 0.
What has none of the words is found only from a cosine on that the model says. Equal scores: more by words first, then the
order given. The sum keeps what one part knows for certain; ranks alone, as in reciprocal rank fusion, do not (docs/benchmarks.md).

How well a passage fits a question, by its words.

    score = coverage · (½ + ½ · relevance)          from 0 to 1, rounded to 4 digits

Coverage is the share of the asked words that the passage or the headings above it have; relevance is the
search's own figure, divided by the highest among the candidates. So a passage with every asked word has
at least ½, and one with a third of them at most ⅓. Equal scores: the order given.

A passage has an asked word if and only if one of its words has the same stem, or a stem that begins with
that of an asked word of at least 3 letters. Stems are the database's. Words that are in nearly every text
are not asked for if there are others.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

from counterpoint.core.model.documents import Fit
from counterpoint.kernel.errors import InvalidInput
from counterpoint.kernel.frozen import frozen
from counterpoint.kernel.matching.expressions import expression

K = TypeVar("K", bound=Hashable)


_POWER: Final = 1.5


def share(words: float, weight: float) -> float:
    """Return what words, from 0 to 1, give to a score."""
    return (1 - weight) * words**_POWER


def fit(words: float, cosine: float, weight: float) -> Fit:
    """Return how well something fits."""
    by_words, by_meaning = min(max(words, 0.0), 1.0), min(max(cosine, 0.0), 1.0)
    return Fit(
        round(share(by_words, weight) + weight * by_meaning, 4),
        round(by_words, 4),
        round(by_meaning, 4),
    )


def rank_hits(
    words: Mapping[K, float], cosines: Mapping[K, float], *, weight: float, least: float
) -> list[tuple[K, Fit]]:
    """Return everything that was found, best first.

    words: what has any of the words. cosines: what is known to be near or not, of these and of others.
    """
    alone = [near for near, cosine in cosines.items() if near not in words and cosine >= least]
    fits = [
        (key, fit(words.get(key, 0.0), cosines.get(key, 0.0), weight)) for key in (*words, *alone)
    ]
    return sorted(fits, key=lambda pair: (-pair[1].score, -pair[1].words))


PREFIX_FROM = 3
"""How many letters a word needs, to be found as the beginning of another."""
WORD_LIMIT = 32
CANDIDATES = 100
"""How many of the most relevant passages are looked at."""
_COMMON_WORDS = """
a an and are as at be by do for from has have how i in is it its of on or that the this to was what
when where which who why will with you
"""
_COMMON = frozenset(_COMMON_WORDS.split())
_WORD = expression(r"[^\W_]+")


@frozen
class Excerpt:
    """A found passage: its text with its headings, and how relevant the search holds it."""

    text: str
    relevance: float


def asked_words(query: str) -> list[str]:
    """Return the words of a query, folded, each once; InvalidInput if it has none.

    Everything else in it, a `*` too, is no syntax: words are found by their beginnings anyway.
    """
    words = list(dict.fromkeys(_WORD.findall(fold(query))))[:WORD_LIMIT]
    if not words:
        raise InvalidInput("the query has no word in it", hint="Give letters or digits.")
    return words


def fold(text: str) -> str:
    """Return a text in small letters and without accents, as the search reads it."""
    small = text.lower()
    if small.isascii():
        return small
    apart = unicodedata.normalize("NFD", small)
    return unicodedata.normalize("NFC", "".join(c for c in apart if not unicodedata.combining(c)))


def nearness(stems: Iterable[str]) -> re.Pattern[str]:
    """Return what finds the words of a folded text that can have a stem, or one that begins with it.

    A stemmer of English changes at most the last two letters of what it keeps (die, dying).
    """
    begins = sorted({re.escape(stem[: max(1, len(stem) - 2)]) for stem in stems})
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(begins)})[^\W_]*")


def drop_common_words(words: Sequence[str]) -> list[str]:
    """Return the asked words that say something; all of them if none does."""
    return [word for word in words if word not in _COMMON] or list(words)


def score_excerpts(
    query: Sequence[str],
    excerpts: Sequence[Excerpt],
    stems_of: Callable[[Sequence[str]], Sequence[str]],
) -> list[float]:
    """Return the score of each excerpt, in their order."""
    stems_by_word = dict(zip(query, stems_of(query), strict=True))
    near = nearness(stems_by_word.values())
    words = [frozenset(near.findall(fold(excerpt.text))) for excerpt in excerpts]
    every = sorted({word for part in words for word in part})
    stems = dict(zip(every, stems_of(every), strict=True))
    best = max((excerpt.relevance for excerpt in excerpts), default=0.0) or 1.0
    return [
        round(
            _coverage(stems_by_word, {stems[word] for word in part})
            * (1 + excerpt.relevance / best)
            / 2,
            4,
        )
        for excerpt, part in zip(excerpts, words, strict=True)
    ]


def _coverage(stems_by_word: dict[str, str], stems: Collection[str]) -> float:
    met = sum(
        stem in stems
        or (len(word) >= PREFIX_FROM and any(candidate.startswith(stem) for candidate in stems))
        for word, stem in stems_by_word.items()
    )
    return met / len(stems_by_word)
