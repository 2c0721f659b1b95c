"""Who judges phases of unattended runs: a port, and one that needs no model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Protocol

from counterpoint.dialects.foundry.rules.autonomy import reviewer
from counterpoint.dialects.foundry.rules.autonomy.reviewer import PhaseWork, Review

DETERMINISTIC: Final = "deterministic"


class Reviewer(Protocol):
    """Judges what was done in a phase; it is asked while no transaction is open, so it may take its time."""

    @property
    def name(self) -> str:
        """What evidence calls it."""
        ...

    def review(self, work: PhaseWork) -> Review:
        """Return what it says of a phase; Unavailable if it cannot be asked."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DeterministicReviewer:
    """Compares what nodes promise with what the server knows: the same work is always judged alike."""

    name: str = DETERMINISTIC

    def review(self, work: PhaseWork) -> Review:
        """Return what the rules say of a phase."""
        return reviewer.review(work)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewers:
    """The reviewers of a project. phases: who judges gates."""

    phases: Reviewer = field(default_factory=DeterministicReviewer)
