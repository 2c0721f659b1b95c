"""Phases that are handed over, and what became of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from counterpoint.core.model.journal import Submission, SubmissionStatus, Verdict

MARKER: Final = ".symphony-worktree"
"""The file in a worktree that says which issue it was opened for."""
Confidence = Literal["high", "medium", "low"]
Fate = Literal["passed", "rejected", "stale", "superseded", "waiting", "left"]
"""What became of a claim: `left` if another process took it first, `waiting` for a verdict."""
RESULTS: dict[SubmissionStatus, str] = {
    "open": "",
    "accepted": "passed",
    "rejected": "rejected",
    "superseded": "superseded",
    "stale": "stale",
}
"""What became of a phase that was handed over, in the words of the tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseReport:
    """What somebody says when a phase is finished; version 0 and empty texts where commits are.

    sha256: what the caller believes the text to be; the server measures it anew.
    """

    phase: str
    summary: str
    version: int = 0
    path: str = ""
    sha256: str = ""
    questions: tuple[str, ...] = ()
    confidence: Confidence = "medium"
    promote_to: str = ""
    next_phase: str = ""
    run: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A phase as it was handed over; `again` if the same was handed over before.

    renewed: whether something of the claim of before is new, such as the run. stray: paths that differ from the last commit and that the phase was not to write.
    """

    claim: Submission
    needs_verdict: tuple[str, ...]
    again: bool
    renewed: bool = False
    stray: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseVerdict:
    """A verdict on a phase, with what it is on and the one that took its place, if one did."""

    verdict: Verdict
    claim: Submission
    after: Verdict | None = None

    @property
    def result(self) -> str:
        """What became of it; empty until it is acted upon."""
        return "superseded" if self.after else RESULTS[self.claim.status]

    @property
    def processed_at(self) -> str:
        """When something became of it; empty until then."""
        if self.after:
            return self.after.created_at
        return self.claim.updated_at if self.result else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What became of one claim, verdict or label: words for whoever watches.

    phases: those that the item went through, the one it is in now last.
    """

    item: str
    fate: str
    claim: str = ""
    phases: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """What the marker in a working tree says, and where that lies."""

    path: str
    item: str
    identifier: str
    branch: str
    base: str
