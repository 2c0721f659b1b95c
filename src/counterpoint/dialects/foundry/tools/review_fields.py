"""Fields and answers that reviews of plans, specs and work have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import Field

from counterpoint.dialects.arguments import INTEGER, NUMBER, TEXT, TEXTS
from counterpoint.dialects.foundry.reviews.panel import Judged, ReviewerChoice, Settled
from counterpoint.dialects.foundry.reviews.rules import material
from counterpoint.dialects.paging import clip
from counterpoint.kernel.canonical import Json

_Name = Annotated[str, Field(max_length=200), TEXT]
RunId = Annotated[str, Field(min_length=1, max_length=200, description="Run"), TEXT]
StepId = Annotated[
    str, Field(min_length=1, max_length=200, description="Its step that is out"), TEXT
]
StepProof = Annotated[str, Field(max_length=200, description="Of that step"), TEXT]
ReviewProvider = Annotated[_Name, Field(description="Who reviews")]
Providers = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=200)]],
    TEXTS,
    Field(max_length=10, description="Several who review"),
]
Model = Annotated[_Name, Field(description="Other than its usual one")]
Seconds = Annotated[float, Field(ge=1, le=3_600, description="Seconds"), NUMBER]
Cache = Annotated[bool, Field(description="Kept answers count")]
Agreeing = Annotated[int, Field(ge=0, le=10, description="Who have to agree"), INTEGER]
Files = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=2_000)]],
    TEXTS,
    Field(max_length=100, description="Only these"),
]
Tests = Annotated[bool, Field(description="Tests too")]
Branch = Annotated[str, Field(min_length=1, max_length=200, description="Work began there"), TEXT]
Incremental = Annotated[bool, Field(description="What changed since the last review")]
ReviewType = Annotated[material.ReviewType, Field(description="What to look for")]
ReviewPath = Annotated[
    str, Field(min_length=1, max_length=2_000, description="From the folder of specs"), TEXT
]
PlanPath = Annotated[
    str, Field(min_length=1, max_length=2_000, description="As listed, or from the worktree"), TEXT
]


def consulted(
    provider: str,
    providers: list[str],
    model: str,
    seconds: float,
    threshold: int,
    *,
    caches: bool,
) -> ReviewerChoice:
    """Return whom a caller wants asked, and how; who is named twice is asked once."""
    names = (*((provider,) if provider else ()), *providers)
    return ReviewerChoice(
        providers=tuple(dict.fromkeys(names)),
        model=model,
        seconds=seconds,
        threshold=threshold,
        caches=caches,
    )


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
