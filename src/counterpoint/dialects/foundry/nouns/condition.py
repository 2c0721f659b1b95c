"""The health of a project's server: each thing it depends on, and the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from counterpoint.kernel.canonical import Json

Grade = Literal["healthy", "degraded", "unhealthy"]
_WORST: Final[tuple[Grade, ...]] = ("unhealthy", "degraded", "healthy")

LEAST_FREE_MB: Final = 100
"""Free disk below which the server is unhealthy."""
LOW_FREE_MB: Final = 500
"""Free disk below which it is degraded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """One thing that was looked at, in milliseconds."""

    name: str
    grade: Grade
    message: str
    latency_ms: float = 0.0
    details: Mapping[str, Json] = field(default_factory=dict[str, Json])


def overall(dependencies: Sequence[Dependency]) -> Grade:
    """Return the grade of the whole: that of the worst."""
    grades = {dependency.grade for dependency in dependencies}
    for grade in _WORST:
        if grade in grades:
            return grade
    return "healthy"


def grade_of_disk(free_mb: float) -> Grade:
    """Return how good so much free disk is."""
    if free_mb < LEAST_FREE_MB:
        return "unhealthy"
    return "degraded" if free_mb < LOW_FREE_MB else "healthy"
