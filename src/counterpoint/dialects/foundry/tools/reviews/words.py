"""The words of reviews: the types of arguments that their actions share."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from counterpoint.dialects.arguments import INTEGER, NUMBER, TEXT, TEXTS
from counterpoint.dialects.foundry.rules.reviews import forms
from counterpoint.dialects.foundry.verbs.reviews.panel import ReviewerChoice

_Name = Annotated[str, Field(max_length=200), TEXT]
RunId = Annotated[str, Field(min_length=1, max_length=200, description="Run"), TEXT]
StepId = Annotated[
    str, Field(min_length=1, max_length=200, description="Its step that is out"), TEXT
]
StepProof = Annotated[str, Field(max_length=200, description="Of that step"), TEXT]
Provider = Annotated[_Name, Field(description="Who reviews")]
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
ReviewType = Annotated[forms.ReviewType, Field(description="What to look for")]
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
