"""Phases handed over with their texts or commits, which a later step acts upon.

Rule 1: what is handed over is measured here, at once; what the caller says of it is only compared.
Rule 2: of each item one claim waits; a later one takes its place. The same one again is the claim that waits,
with the run and the tree that it comes from now.
Rule 3: who holds the item hands over. Rule 4: what was in doubt stays so in later claims until somebody has judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from counterpoint.core.model.drafts import SubmissionDraft
from counterpoint.core.model.journal import Submission, Verdict
from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.facets import (
    kept_object,
    labels_of,
    relabel,
    set_attributes,
)
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.operations.reviews import Reviews, hand_in
from counterpoint.core.ports.evidence import Watch
from counterpoint.core.rules.wording import spoken_of
from counterpoint.dialects.symphony.contract_files import ContractDirectory
from counterpoint.dialects.symphony.nouns.phases import Claimed, PhaseReport, PhaseVerdict, Step
from counterpoint.dialects.symphony.nouns.requests import DIFF_LIMIT
from counterpoint.dialects.symphony.rules.contracts import Contract
from counterpoint.dialects.symphony.rules.handing import (
    REVISE,
    details_of,
    needs_verdict,
    place_faults,
    promotion_faults,
    report_of,
    strays,
    text_faults,
    with_doubts,
    word_faults,
)
from counterpoint.dialects.symphony.rules.labels import phase_of
from counterpoint.dialects.symphony.verbs.authors import take_in_hand
from counterpoint.dialects.symphony.verbs.phase_progress import PhaseProgress
from counterpoint.kernel.canonical import sha256
from counterpoint.kernel.errors import (
    Conflict,
    InvalidInput,
    NotFound,
    NotReady,
)
from counterpoint.kernel.plurals import agree

TEXT_LIMIT: Final = 1_000_000
"""Bytes that a text that is handed over may have."""
_STRAYS_TOLD: Final = 50
_CLAIMS_READ: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    """What is handed over, as the server found it."""

    path: str = ""
    sha256: str = ""
    size: int = 0
    branch: str = ""
    base: str = ""
    commit: str = ""
    stray: tuple[str, ...] = ()


class Phases:
    """Verbs for phases."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def hand_over(
        self, item: str, report: PhaseReport, *, marker: str = "", base: str = ""
    ) -> Claimed:
        """Say that the phase an item is in is finished; nothing moves yet.

        marker: a file of the tree that does not count as a change. base: the branch it goes back to.
        Raises InvalidInput with all that is wrong with the text, Conflict, NotReady, NotFound, NotClaimHolder.
        """
        contract = self._context.ports.get(ContractDirectory).contract(report.phase)
        with self._context.reading() as view:
            _refuse_other_phase(view.find(Item, item), labels_of(view, item), report.phase)
        if contract.artifact:
            measured = self._measure_text(contract, item, report, marker)
        else:
            measured = self._measure_commits(report.phase, marker, base)
        with recording(self._context, "phase.claimed", item) as change:
            change.open_session()
            stored = change.get(Item, item)
            labels = labels_of(change.writing, item)
            _refuse_other_phase(stored, labels, report.phase)
            if not contract.artifact and stored.category not in {"active", "review"}:
                raise NotReady(
                    f"{spoken_of(item)} is not in progress: it is {stored.status}",
                    hint="Only work that somebody is at can be handed over.",
                )
            take_in_hand(change, stored)
            report = with_doubts(report, _list_unjudged(change, item, report.phase))
            why = needs_verdict(contract, labels, report.confidence, len(report.questions))
            for before in change.select(Submission, item=item, of="phase", status="open"):
                if _is_same(before, report, measured):
                    claim = _renew(change, before, self._draft(item, report, measured))
                    is_new = claim != before
                    return Claimed(claim=claim, needs_verdict=why, again=True, renewed=is_new)
            claim = hand_in(change, self._draft(item, report, measured))
            change.add_facts(phase=claim.phase, sha256=claim.sha256 or claim.commit)
            if measured.stray:
                change.add_facts(stray=list(measured.stray[:_STRAYS_TOLD]))
            relabel(change, item, drop=(REVISE,))
            _remember(change, stored, claim)
            return Claimed(claim=claim, needs_verdict=why, again=False, stray=measured.stray)

    def _measure_text(
        self, contract: Contract, item: str, report: PhaseReport, marker: str
    ) -> _Measured:
        """Return the text that is handed over; InvalidInput names everything that is wrong."""
        evidence, root = self._context.ports.evidence, self._context.caller.root
        faults = _word_faults(contract, report)
        path = evidence.contain(root, report.path) if report.path else ""
        if path:
            faults += place_faults(contract, spoken_of(item), path)
        if report.promote_to:
            faults += promotion_faults(evidence.contain(root, report.promote_to))
        content = evidence.load(root, path, TEXT_LIMIT) if path else b""
        actual = sha256(content)
        if path:
            faults += text_faults(contract, content)
        if report.promote_to and not faults:
            faults += self._find_collision(report.promote_to, content)
        if path and report.sha256 and report.sha256.lower() != actual:
            faults.append(f"artifact_hash is not that of {path}: its SHA-256 is {actual}")
        if faults:
            raise InvalidInput(
                "; ".join(faults),
                hint="Mend the artifact or the arguments, then hand it over again.",
                faults=faults,
                **({"actual_hash": actual} if path else {}),
            )
        snapshot = evidence.snapshot(root)
        own = {marker, report.promote_to, *self._promoted_paths(item)}
        written = [name for name in snapshot.files if name not in own]
        return _Measured(
            path=path,
            sha256=actual,
            size=len(content),
            branch=snapshot.branch,
            commit=snapshot.commit,
            stray=strays(contract, spoken_of(item), written),
        )

    def _promoted_paths(self, item: str) -> Iterator[str]:
        """Return the paths to which the server itself has copied texts of an item that are still these."""
        for claim in self.claims(item, _CLAIMS_READ):
            target = report_of(claim).promote_to
            if target and claim.status == "accepted":
                with suppress(NotFound):
                    content = self._context.ports.evidence.load(
                        self._context.caller.root, target, TEXT_LIMIT
                    )
                    if sha256(content) == claim.sha256:
                        yield target

    def _find_collision(self, target: str, content: bytes) -> list[str]:
        """Return a fault if another text exists at the path to copy to."""
        try:
            existing = self._context.ports.evidence.load(
                self._context.caller.root, target, TEXT_LIMIT
            )
        except NotFound:
            return []
        return [] if existing == content else [f"promote_to {target!r} is there with another text"]

    def _measure_commits(self, phase: str, marker: str, base: str) -> _Measured:
        """Return the commits that are handed over; Conflict if something is not committed."""
        branch = self._context.ports.evidence.branch(
            self._context.caller.root, "", base, DIFF_LIMIT
        )
        dirty = [path for path in branch.dirty if path != marker]
        if dirty:
            raise Conflict(
                f"{agree(len(dirty), 'path', 'is')} not committed: {', '.join(dirty[:5])}",
                hint="Commit what belongs to the work, remove what does not, then try again.",
                paths=dirty[:50],
            )
        if branch.head == branch.base_commit:
            raise Conflict(
                f"{branch.name} has no commit that {branch.base} does not have",
                hint=f"Commit the work of the phase {phase} first.",
            )
        return _Measured(branch=branch.name, base=branch.base, commit=branch.head)

    def _draft(self, item: str, report: PhaseReport, measured: _Measured) -> SubmissionDraft:
        return SubmissionDraft(
            of="phase",
            item=item,
            summary=report.summary,
            phase=report.phase,
            path=measured.path,
            sha256=measured.sha256,
            size=measured.size,
            commit=measured.commit,
            tree=str(self._context.caller.root),
            branch=measured.branch,
            base=measured.base,
            run=report.run,
            details=details_of(report),
        )

    def claims(self, item: str, limit: int = 20) -> list[Submission]:
        """Return the phases that were handed over of an item, the latest first."""
        return Reviews(self._context).submissions(item, "phase", limit)

    def verdicts(self, item: str, limit: int = 20) -> list[PhaseVerdict]:
        """Return the verdicts on an item's phases, the latest first."""
        with self._context.reading() as view:
            claims = {claim.id: claim for claim in view.select(Submission, item=item, of="phase")}
            verdicts = view.select(Verdict, item=item, order="number desc")
        phase_verdicts: list[PhaseVerdict] = []
        after: dict[str, Verdict] = {}
        for verdict in verdicts:
            if (claim := claims.get(verdict.submission)) is not None:
                phase_verdicts.append(
                    PhaseVerdict(verdict=verdict, claim=claim, after=after.get(claim.id))
                )
                after[claim.id] = verdict
        return phase_verdicts[:limit]

    def advance(self, watch: Watch | None = None) -> tuple[Step, ...]:
        """Act upon every claim and verdict that waits; answer what became of each.

        Each in a transaction of its own, so that several processes may do it at once.
        """
        return PhaseProgress(self._context).run(watch)


def _word_faults(contract: Contract, report: PhaseReport) -> list[str]:
    needed = {
        "contract_version": report.version,
        "artifact_path": report.path,
        "artifact_hash": report.sha256,
        "recommended_next_phase": report.next_phase or not contract.next_phase,
    }
    missing = [name for name, value in needed.items() if not value]
    if missing:
        return [f"{name} is needed for the phase {contract.phase}" for name in missing]
    return word_faults(contract, report.version, report.next_phase)


def _refuse_other_phase(item: Item | None, labels: tuple[str, ...], phase: str) -> None:
    if item is None:
        raise NotFound("there is no such issue in this project")
    current = phase_of(labels)
    if item.is_closed:
        raise NotReady(f"{item.id} is {item.status}", hint="Nothing can be handed over any more.")
    if current != phase and (current or phase != "ready"):
        raise NotReady(
            f"{spoken_of(item.id)} is in {f'the phase {current}' if current else 'no phase'},"
            f" not in {phase}",
            hint=f"Complete {current}." if current else "Hand over only what has a phase label.",
            phase=current,
        )


def _is_same(before: Submission, report: PhaseReport, measured: _Measured) -> bool:
    earlier = report_of(before)
    repeated = replace(
        earlier,
        phase=report.phase,
        summary=report.summary,
        version=report.version,
        path=measured.path,
        sha256=measured.sha256,
        promote_to=report.promote_to,
        next_phase=report.next_phase,
        confidence=report.confidence,
        questions=report.questions,
    )
    return earlier == repeated and (bool(before.path) or before.commit == measured.commit)


def _renew(change: Change, before: Submission, draft: SubmissionDraft) -> Submission:
    """Update the run and the place of the text of a repeated claim; return it."""
    draft_fields = {
        name: getattr(draft, name) for name in ("run", "tree", "branch", "base", "commit")
    }
    new_fields = {name: value for name, value in draft_fields.items() if value}
    after = replace(before, **new_fields)
    if after == before:
        return before
    after = change.masked(replace(after, updated_at=change.now))
    change.put(after)
    change.add_facts(submission=after.id, run=after.run)
    return after


def _list_unjudged(change: Change, item: str, phase: str) -> Iterator[PhaseReport]:
    """Return the reports of a phase since its last verdict or passing."""
    for submission in change.select(
        Submission, item=item, of="phase", phase=phase, order="number desc"
    ):
        if submission.status == "accepted" or change.writing.exists(
            Verdict, submission=submission.id
        ):
            return
        yield report_of(submission)


def _remember(change: Change, item: Item, claim: Submission) -> None:
    """Store the submitted text of a phase with the item, and end its revision."""
    revision = kept_object(change.writing, item.id, "revision")
    if revision:
        set_attributes(change, item, {"revision": None})
    if not claim.path:
        return
    texts = kept_object(change.writing, item.id, "artifacts")
    before = texts.get(claim.phase, {})
    texts[claim.phase] = {
        "path": claim.path,
        "sha256": claim.sha256,
        "status": "submitted",
        "revision": int(before.get("revision", 0)) + 1,
    }
    set_attributes(change, item, {"artifacts": texts})
