"""The reviewer that needs no model: it compares promises with what is seen.

    finding               when                                                          weight
    task_open             a task is not completed                                       fail
    task_left             it was skipped, or ended in part                              warn
    criterion_unmet       somebody said that an acceptance criterion is not met         fail
    criterion_open        nobody has said whether it is met                             note
    file_missing          a file that a task names is not there, nor was it deleted     fail
    file_unchanged        it is there, and was not changed since the run began          warn
    verification_failed   a verification failed, or its command ended with another code fail
    verification_unproved its command was never run by this server                      fail
    verification_stale    files were changed after it ran                               warn
    verification_partial  it passed in part                                             warn
    verification_manual   it has no command, so that nobody can prove it                note
    promise_changed       since the run began a node was taken out, runs another
                          command, names another file or has lost a criterion           warn
    nothing_to_review     the phase has neither tasks nor verifications                 warn

The verdict is the heaviest of all; notes weigh nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from counterpoint.core.model.rows import REDACTED
from counterpoint.dialects.foundry.nouns.autonomy import Verdict
from counterpoint.dialects.foundry.rules.shape import Node, metadata_of, text_of, texts_of
from counterpoint.dialects.foundry.rules.tree import Tree
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.plurals import agree

Weight = Literal["fail", "warn", "note"]

_SHOWN: Final = 200
_LONGEST: Final = 500
FINDINGS_LIMIT: Final = 100
"""How many findings evidence keeps; what comes beyond is counted in the last."""
_PROMISES: Final = {
    "command": "runs another command than when the run began",
    "file_path": "names another file than when the run began",
}
_HEAVIEST: Final[Mapping[Weight, int]] = {"fail": 0, "warn": 1, "note": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class CriterionState:
    """An acceptance criterion; is_met: None if nobody has said."""

    text: str
    is_met: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedTask:
    """A task as a reviewer sees it.

    left: how it left work out on purpose, empty if it did not; then its criteria and files are no promise any more.
    files: those that it names, as paths of the worktree.
    """

    id: str
    title: str = ""
    is_completed: bool = True
    left: str = ""
    criteria: tuple[CriterionState, ...] = ()
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedVerification:
    """A verification as a reviewer sees it.

    left: how it was left out on purpose, empty if it was not. result: PASSED, FAILED or PARTIAL, empty if none was told.
    has_command: whether it can be executed. exit_code: of the last receipt that this server has of it, None without one.
    is_stale: whether files were changed since that.
    """

    id: str
    is_completed: bool = True
    left: str = ""
    result: str = ""
    has_command: bool = True
    exit_code: int | None = None
    is_stale: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedPromise:
    """What a node promised when the run began, and does not promise any more, in words."""

    about: str
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseWork:
    """What a phase promised, and what can be seen of it.

    promises: those that are others by now. changed: paths that were changed, added or deleted since the run began. present: those of the named files that are there.
    """

    phase: str
    tasks: tuple[ReviewedTask, ...] = ()
    verifications: tuple[ReviewedVerification, ...] = ()
    promises: tuple[ChangedPromise, ...] = ()
    changed: frozenset[str] = frozenset()
    present: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was found; about: the id of a node, empty for the whole phase."""

    type: str
    weight: Weight
    about: str
    description: str

    def told(self) -> dict[str, Json]:
        """Return it as an answer has it, and as evidence keeps it."""
        return {"type": self.type, "weight": self.weight, "description": self.description}


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """What a reviewer says of a phase."""

    verdict: Verdict
    findings: tuple[Finding, ...]


def review(work: PhaseWork) -> Review:
    """Return the verdict about a phase with everything that was found, in the order of its tasks."""
    findings = [*_of_phase(work)]
    findings += [
        _finding("promise_changed", "warn", promise.about, promise.said)
        for promise in work.promises
    ]
    for task in work.tasks:
        findings += _of_task(task, work)
    for verification in work.verifications:
        findings += _of_verification(verification)
    return Review(verdict=verdict_of(findings), findings=tuple(findings))


def changed_promises(before: Json, now: Json, phase: str) -> tuple[ChangedPromise, ...]:
    """Return what nodes of a phase promised in one document of a spec and do not in a later one.

    What was added is no loss, and what was redacted since cannot be compared.
    """
    was, present = Tree(before), Tree(now)
    if phase not in was.nodes or phase not in present.nodes:
        return ()
    present_names = frozenset(present.below(phase))
    changes: list[ChangedPromise] = []
    for name in was.below(phase):
        losses = (
            _losses(was.nodes[name], present.nodes[name])
            if name in present_names
            else ["was taken out of the phase since the run began"]
        )
        changes += [ChangedPromise(about=name, said=loss) for loss in losses]
    return tuple(changes)


def _losses(before: Node, now: Node) -> Iterator[str]:
    then, present = metadata_of(before), metadata_of(now)
    if before.get("type") == "verify" != now.get("type"):
        yield "is no verification any more"
    for name, loss in _PROMISES.items():
        value = text_of(then.get(name))
        if value not in {"", REDACTED, present.get(name)}:
            yield loss
    criteria = set(texts_of(then.get("acceptance_criteria"))) - {REDACTED}
    if criteria - set(texts_of(present.get("acceptance_criteria"))):
        yield "has lost an acceptance criterion since the run began"


def kept_findings(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings that evidence keeps, the heaviest first; one more says how many are left out."""
    ordered = sorted(findings, key=lambda finding: _HEAVIEST[finding.weight])
    omitted = ordered[FINDINGS_LIMIT:]
    if not omitted:
        return tuple(ordered)
    text = f"{agree(len(omitted), 'more finding', 'is')} left out"
    more = Finding(type="more_findings", weight=omitted[0].weight, about="", description=text)
    return (*ordered[:FINDINGS_LIMIT], more)


def verdict_of(findings: Sequence[Finding]) -> Verdict:
    """Return the verdict that findings amount to."""
    weights = {finding.weight for finding in findings}
    if "fail" in weights:
        return "fail"
    return "warn" if "warn" in weights else "pass"


def _of_phase(work: PhaseWork) -> Iterator[Finding]:
    if not work.tasks and not work.verifications:
        text = f"{work.phase} has neither tasks nor verifications"
        yield Finding(type="nothing_to_review", weight="warn", about="", description=text)


def _of_task(task: ReviewedTask, work: PhaseWork) -> Iterator[Finding]:
    if not task.is_completed:
        yield _finding("task_open", "fail", task.id, "is not completed")
    if task.left:
        yield _finding("task_left", "warn", task.id, f"is {task.left}")
        return
    for criterion in task.criteria:
        text = criterion.text[:_SHOWN]
        if criterion.is_met is None:
            yield _finding("criterion_open", "note", task.id, f"nobody has judged: {text}")
        elif not criterion.is_met:
            yield _finding("criterion_unmet", "fail", task.id, f"does not meet: {text}")
    for path in task.files:
        if path in work.changed:
            continue
        if path in work.present:
            yield _finding("file_unchanged", "warn", task.id, f"left {path} as it was")
        else:
            yield _finding("file_missing", "fail", task.id, f"names {path}, which is not there")


def _of_verification(verification: ReviewedVerification) -> Iterator[Finding]:
    if not verification.is_completed:
        yield _finding("task_open", "fail", verification.id, "is not completed")
    if verification.left:
        yield _finding("task_left", "warn", verification.id, f"is {verification.left}")
    if verification.result == "FAILED":
        yield _finding("verification_failed", "fail", verification.id, "failed")
    if verification.result == "PARTIAL":
        yield _finding("verification_partial", "warn", verification.id, "passed in part")
    if not verification.has_command:
        text = "has no command: it was judged by hand"
        yield _finding("verification_manual", "note", verification.id, text)
        return
    if verification.exit_code is None:
        yield _finding(
            "verification_unproved", "fail", verification.id, "was never run by this server"
        )
    elif verification.exit_code != 0:
        text = f"ended with exit code {verification.exit_code}"
        yield _finding("verification_failed", "fail", verification.id, text)
    if verification.exit_code is not None and verification.is_stale:
        yield _finding(
            "verification_stale", "warn", verification.id, "ran before files were changed"
        )


def _finding(kind: str, weight: Weight, about: str, text: str) -> Finding:
    return Finding(type=kind, weight=weight, about=about, description=f"{about} {text}"[:_LONGEST])
