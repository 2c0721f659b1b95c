"""Whether the server is there, whether it can work, and what it depends on."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import Field

from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import PHRASES, present
from counterpoint.dialects.foundry.nouns.condition import Dependency, Grade, overall
from counterpoint.dialects.foundry.verbs.condition import Condition
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError
from counterpoint.protocol.actions import action, of_actions
from counterpoint.protocol.tools import Tool

_SAID: Final[dict[Grade, str]] = {
    "healthy": "All is well",
    "degraded": "It works, but not all of it",
    "unhealthy": "It cannot work",
}


@action(reads=True, plain=True)
def liveness(_call: Call) -> Json:
    """It answers."""
    return present(_condition("healthy", "The server is alive"))


@action(reads=True)
def readiness(call: Call) -> Json:
    """Ledger, specs folder, disk."""
    return present(_graded(call.core.use(Condition).readiness()))


@action(reads=True)
def check(
    call: Call,
    *,
    include_details: Annotated[bool, Field(description="With each dependency")] = True,
) -> Json:
    """Also git and AI providers."""
    dependencies = call.core.use(Condition).everything()
    return present(_counted(dependencies) if include_details else _shortly(dependencies))


health = of_actions("health", "Check the server's health.", (liveness, readiness, check))


def unopened(tool: Tool[Call], refusal: CounterpointError) -> Json:
    """Return the health of a server whose ledger cannot be opened; raise the refusal for any other tool."""
    if tool.name != health.name:
        raise refusal
    words = f"{refusal.message}. {refusal.hint_in(PHRASES)}"
    ledger = Dependency(name="ledger", grade="unhealthy", message=words)
    return present(_counted([ledger]))


def _counted(dependencies: Sequence[Dependency]) -> dict[str, Json]:
    counts = Counter(dependency.grade for dependency in dependencies)
    grades: tuple[Grade, ...] = ("unhealthy", "degraded", "healthy")
    return {
        **_graded(dependencies),
        "details": {f"{grade}_count": counts[grade] for grade in grades},
    }


def _graded(dependencies: Sequence[Dependency]) -> dict[str, Json]:
    return {
        **_shortly(dependencies),
        "dependencies": [_dependency(dependency) for dependency in dependencies],
    }


def _shortly(dependencies: Sequence[Dependency]) -> dict[str, Json]:
    grade = overall(dependencies)
    return _condition(grade, _SAID[grade])


def _condition(grade: Grade, message: str) -> dict[str, Json]:
    return {
        "status": grade,
        "is_healthy": grade != "unhealthy",
        "timestamp": round(time.time(), 3),
        "message": message,
    }


def _dependency(dependency: Dependency) -> Json:
    return {
        "name": dependency.name,
        "healthy": dependency.grade != "unhealthy",
        "status": dependency.grade,
        "message": dependency.message,
        "latency_ms": dependency.latency_ms,
        "details": dict(dependency.details),
    }
