"""Issues, phases, change requests, policies and learnings, as answers tell of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from counterpoint.core.model.answers import ItemView
from counterpoint.core.model.journal import (
    Changeset,
    Outcome,
    Record,
    Submission,
    SubmissionStatus,
    Verdict,
)
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import DEFAULT_PRIORITY, Item
from counterpoint.kernel.clock import Timestamp

Size = Literal["small", "medium", "large"]
Reported = Literal["review", "open", "blocked"]
"""What somebody who works on an issue may say of it: handed in, given up, in need of a person."""

RUNS = "runs"
"""The attribute of an issue that names the run of each of its claims that ended, by token."""
DEPTH: int = 3
"""How many levels of issues there may be below each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueDraft:
    """An issue to be made; `needs` are ids or other names of issues that must be done first."""

    title: str
    description: str = ""
    priority: int = DEFAULT_PRIORITY
    labels: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    run: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueView(ItemView):
    """An issue in a list; `is_blocked` if a blocker is open or a sub-task is."""

    is_blocked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueDetails(IssueView):
    """An issue with what stands about it; runs: how its last claims ended, the last first."""

    parent: Item | None
    children: tuple[IssueView, ...]
    runs: tuple[Outcome, ...]
    claim: Claim | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferredIssue:
    """An issue in the project it was moved to; origin is the id it had before.

    artifacts: the paths of the files that were copied. warnings: what did not go with it, in words.
    """

    item: Item
    origin: str
    labels: tuple[str, ...]
    artifacts: tuple[str, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningDraft:
    """A learning to be kept; context and kind are None where they were not given."""

    item: str
    pattern: str
    context: str | None = None
    applies_to: tuple[str, ...] = ()
    kind: str | None = None
    run: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """A learning as it stands; quality is from 0 to 100."""

    record: Record
    project: str
    pattern: str
    context: str
    applies_to: tuple[str, ...]
    kind: str
    quality: int
    is_verified: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedLearning:
    """A learning that was kept, and those of other items that say nearly the same."""

    learning: Learning
    near: tuple[Learning, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningHit:
    """A learning in its place, with the parts of its score; all from 0 to 1."""

    learning: Learning
    score: float
    relevance: float
    place: float
    quality: float
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningQuery:
    """What is searched for among learnings; `elsewhere`: in the other projects in place of this."""

    query: str
    limit: int = 50
    min_quality: int = 0
    elsewhere: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """A file that was looked through with one question in mind."""

    path: str
    concept: str
    status: Literal["covered", "has_issues"]
    item: str = ""
    notes: str = ""
    run: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """A coverage as it stands; `before` is what it was before this time, empty the first time."""

    coverage: Coverage
    agent: str
    at: Timestamp
    before: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRun:
    """How a run of the tests came out, in numbers; None is what was not told."""

    __test__ = False

    tests: int
    added: int | None = None
    removed: int | None = None
    files: int | None = None
    milliseconds: int | None = None
    run: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestTrend:
    """How the numbers of tests moved: `runs` from the first to the last, and the differences.

    Differences are those of the last run to the one before it, and to the first that is shown.
    """

    __test__ = False

    runs: tuple[TestRun, ...]
    since_last: int
    since_first: int
    slower_ms: int | None


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


PHASES: tuple[str, ...] = ("research", "architecture", "grooming", "ready")
"""The phases an issue goes through if the project does not say."""
INSTRUCTIONS_LIMIT = 20_000
GATES_LIMIT = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class GateCommand:
    """A command that is run on every change; a required one must pass."""

    command: str
    label: str
    required: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What a project asks of work.

    thresholds: names and values as the rules of risk know them; the others keep their defaults.
    instructions: role → what it is told beside its own instructions.
    """

    gates: tuple[GateCommand, ...] = ()
    sensitive_paths: tuple[str, ...] = ()
    thresholds: Mapping[str, int] = field(default_factory=dict[str, int])
    instructions: Mapping[str, str] = field(default_factory=dict[str, str])
    phases: tuple[str, ...] = PHASES


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyEdit:
    """What is to be different; None leaves a part as it is. instructions: only the roles named."""

    gates: tuple[GateCommand, ...] | None = None
    sensitive_paths: tuple[str, ...] | None = None
    thresholds: Mapping[str, int] | None = None
    instructions: Mapping[str, str] = field(default_factory=dict[str, str])
    phases: tuple[str, ...] | None = None


DIFF_LIMIT = 5_000_000
"""Bytes that the text of a difference may have."""
GATE_OUTPUT = 4_000
"""Characters of the output of a gate that was run here which are kept with a request; its receipt has all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRequest:
    """A branch that was handed in, what it changes, and the verdict that counts, if there is one."""

    submission: Submission
    changes: Changeset
    verdict: Verdict | None = None

    @property
    def status(self) -> str:
        """What became of it, in the words of the tools."""
        status = self.submission.status
        return "approved" if status == "accepted" else status


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedGate:
    """How a command ended, as an agent says."""

    command: str
    label: str
    exit_code: int
    output: str
    required: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A change as somebody hands it in; without a diff the server's own must do."""

    item: str
    branch: str = ""
    base: str = ""
    diff: str = ""
    gates: Sequence[ClaimedGate] = ()
    summary: str = ""
    run: str = ""
    tree: str = ""
