"""How well something fits by its words and by its meaning together.

    score = weight · cosine + (1 - weight) · words^1.5          from 0 to 1, rounded to 4 digits

`words` is the search's own figure, divided by what a text would have that has every asked word often: so a rare
word counts more than a frequent one, and a text with all of them about 1. By its power a text that only happens
to have one of many words counts less, so that it does not hide what means the same in other words. `cosine` is how near the meaning is; below 0 it is 0.
What has none of the words is found only from a cosine on that the model says. Equal scores: more by words first, then the
order given. The sum keeps what one part knows for certain; ranks alone, as in reciprocal rank fusion, do not (docs/benchmarks.md).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Final, TypeVar

from counterpoint.core.model.documents import Fit

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
