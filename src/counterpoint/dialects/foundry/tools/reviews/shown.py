"""How reviews by models are shown: who judged, what it took, and answers that fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from counterpoint.dialects.foundry.verbs.reviews.panel import Judged, Settled
from counterpoint.dialects.paging import clip
from counterpoint.kernel.canonical import Json

ROOM: Final = 6_500
"""The most bytes of what reviewers found in an answer; all of it stands in the file."""
_WHY: Final = 200
CUT: Final = "What was found is cut: the file in `review_path` has all of it."
DRY: Final = "Dry run: nobody was asked."
UNSAVED: Final = "No file was written: this server writes none for its callers."


def consensus_of(settled: Settled) -> dict[str, Json]:
    """Return who judged, and how they came to it."""
    judged = settled.judged[0]
    is_one = len(settled.judged) == 1
    return {
        "mode": "single_model" if is_one else "multi_model",
        "threshold": settled.least,
        "provider_id": judged.name.partition(":")[0] if is_one else None,
        "model_used": judged.model if is_one else None,
        "synthesis_performed": not is_one,
        "providers": [_reviewer(judged) for judged in settled.judged],
        **({"tie_breaker": settled.tie} if settled.tie else {}),
        **({"failed_providers": _failed(settled.faults)} if settled.faults else {}),
    }


def usage_of(settled: Settled) -> dict[str, Json]:
    """Return what a review took."""
    return {
        "tokens_used": sum(judged.tokens for judged in settled.judged),
        "cost_usd": sum(judged.cost_micros for judged in settled.judged) / 1_000_000,
    }


def is_cached(settled: Settled) -> bool:
    """Return whether nobody was asked for a review now."""
    return all(judged.is_kept for judged in settled.judged)


def _reviewer(judged: Judged) -> Json:
    fields: dict[str, Json] = {
        "provider_id": judged.name.partition(":")[0],
        "model_used": clip(judged.model, 100),
        "tokens_used": judged.tokens,
        "cached": judged.is_kept,
        "repaired": len(judged.answers) > 1,
    }
    return {**fields, "verdict": judged.verdict} if judged.verdict else fields


def _failed(faults: Mapping[str, str]) -> list[Json]:
    return [
        {"provider_id": name.partition(":")[0], "error": clip(why, _WHY)}
        for name, why in faults.items()
    ]
