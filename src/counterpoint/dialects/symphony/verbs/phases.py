"""Phases of issues: begun, handed in, judged, and how far they are.

Acting upon claims and verdicts: the step that brings items from phase to phase.
Of each claim that waits, in one transaction, the first that is so:
1. another process acted upon it: nothing. 2. the item has closed or is in another phase: stale.
3. the text is not there, is not what was claimed, lacks its form, or the contract has another version or
another next phase: refused. 4. a verdict is needed and there is none: it waits. 5. the last verdict
rejects: refused. 6. commits were handed over: they become a change request, the item goes to review.
7. it has passed: the text is copied to where it was promised, unless another one lies there; the item
gets the label of the next phase, past those that need not be gone through, and is open.

A refusal gives the item the label `needs-revision`, counts for the phase, is told in a comment, and
gives the item back. At the contract's number of refusals, or when an item has waited for its revision for
24 hours, a blocker asks for a person. What is read or run is read and run before the transaction.

Phases handed over with their texts or commits, which a later step acts upon.
Rule 1: what is handed over is measured here, at once; what the caller says of it is only compared.
Rule 2: of each item one claim waits; a later one takes its place. The same one again is the claim that waits,
with the run and the tree that it comes from now.
Rule 3: who holds the item hands over. Rule 4: what was in doubt stays so in later claims until somebody has judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from counterpoint.core.model.drafts import SubmissionDraft
from counterpoint.core.model.journal import Submission, SubmissionStatus, Verdict
from counterpoint.core.model.work import Item, Label
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context, Verbs
from counterpoint.core.operations.recording.facets import (
    attribute_object,
    labels_of,
    relabel,
    set_attributes,
)
from counterpoint.core.operations.recording.moves import give_back, move
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.operations.reviews import Reviews, close, hand_in
from counterpoint.core.ports.evidence import Watch
from counterpoint.core.rules.wording import spoken_of
from counterpoint.dialects.symphony.contract_files import ContractDirectory
from counterpoint.dialects.symphony.nouns import (
    DIFF_LIMIT,
    RESULTS,
    Claimed,
    Fate,
    PhaseReport,
    PhaseVerdict,
    Proposal,
    Step,
)
from counterpoint.dialects.symphony.rules.contracts import (
    REVISE,
    REVISION_SECONDS,
    Contract,
    artifact_place,
    chain,
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
from counterpoint.dialects.symphony.rules.issues import PHASE, SKIP, phase_of
from counterpoint.dialects.symphony.verbs.policies import policy_of
from counterpoint.dialects.symphony.verbs.queries import note, take_in_hand
from counterpoint.dialects.symphony.verbs.requests import Measured, Requests
from counterpoint.kernel.canonical import sha256
from counterpoint.kernel.clock import Timestamp, later
from counterpoint.kernel.errors import Conflict, CounterpointError, InvalidInput, NotFound, NotReady
from counterpoint.kernel.plurals import agree, counted

_TEXT_LIMIT: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Assessment:
    """A claim as things are now: its contract, what is wrong, what it would become.

    tree, content: where its text lies and what it is. onward: the phases from the next one on.
    """

    contract: Contract
    faults: tuple[str, ...] = ()
    tree: Path | None = None
    content: bytes = b""
    onward: tuple[str, ...] = ()
    change: Measured | None = None


class PhaseProgress:
    """One pass over all open phase claims."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._requests = Requests(context)

    def run(self, watch: Watch | None = None) -> tuple[Step, ...]:
        """Process all open claims and requests; return a step for each."""
        waiting = Reviews(self._context).open("phase")
        steps = [self._step(claim, watch) for claim in waiting]
        steps += self._expire_all()
        steps += [
            Step(
                item=submission.item,
                fate="renewed",
                reasons=(f"{submission.branch} is at {submission.commit[:12]}",),
            )
            for submission in self._requests.renew(watch)
        ]
        return tuple(steps)

    def _step(self, claim: Submission, watch: Watch | None) -> Step:
        with self._context.reading() as view:
            item = view.find(Item, claim.item)
            current = phase_of(labels_of(view, claim.item))
        is_stale = item is None or item.is_closed or current not in {claim.phase, ""}
        try:
            assessment = None if is_stale else self._assess(claim, watch)
        except CounterpointError as fault:
            return _present(claim, "waiting", (fault.message,))
        with recording(self._context, "phase.advanced", claim.item) as change:
            change.open_session()
            fresh = change.get(Submission, claim.id)
            if fresh.status != "open":
                return _present(claim, "left")
            fresh_item = change.get(Item, claim.item)
            labels = labels_of(change.writing, claim.item)
            if (
                assessment is None
                or fresh_item.is_closed
                or phase_of(labels) not in {claim.phase, ""}
            ):
                change.action = "phase.stale"
                _close(change, fresh, "stale")
                return _present(claim, "stale")
            return self._decide(change, fresh, fresh_item, labels, assessment)

    def _decide(
        self,
        change: Change,
        claim: Submission,
        item: Item,
        labels: Sequence[str],
        assessment: _Assessment,
    ) -> Step:
        if assessment.faults:
            return self._refuse(change, claim, item, assessment.contract, assessment.faults)
        if assessment.change is not None:
            request = self._requests.put(change, assessment.change, claim)
            change.action = "phase.passed"
            why = (f"handed in as {request.submission.id}",)
            _close(change, claim, "accepted", why)
            _clear(change, item, claim.phase)
            return _present(claim, "passed", why)
        report = report_of(claim)
        needed = needs_verdict(
            assessment.contract, labels, report.confidence, len(report.questions)
        )
        verdicts = change.select(Verdict, submission=claim.id, order="number")
        latest = verdicts[-1] if verdicts else None
        if latest is not None and latest.decision == "reject":
            return self._refuse(
                change,
                claim,
                item,
                assessment.contract,
                (latest.reason, *latest.fixes),
                is_told=True,
            )
        if needed and latest is None:
            return _present(claim, "waiting", needed)
        return self._pass(change, claim, item, assessment)

    def _pass(self, change: Change, claim: Submission, item: Item, assessment: _Assessment) -> Step:
        change.action = "phase.passed"
        remarks = self._promote(claim, assessment)
        target = assessment.onward[-1] if assessment.onward else ""
        passed = [f"{SKIP}{phase}" for phase in assessment.onward if phase != target]
        relabel(
            change,
            item.id,
            drop=(*passed, f"{PHASE}{claim.phase}", REVISE),
            add=(f"{PHASE}{target}",) if target else (),
        )
        _clear(change, item, claim.phase)
        _mark(change, item, claim.phase, "approved")
        fresh_item = change.get(Item, item.id)
        if fresh_item.category == "active":
            give_back(change, fresh_item)
        elif (
            fresh_item.status in fresh_item.states.parked
            and target
            and not self._phase_after(target)
        ):
            move(change, fresh_item, fresh_item.states.first)
        if remarks:
            note(change, item.id, "comment", "\n".join(remarks), claim=claim.id)
        change.add_facts(phase=claim.phase, next=target)
        _close(change, claim, "accepted", remarks)
        return _present(claim, "passed", remarks, assessment.onward)

    def _phase_after(self, phase: str) -> str:
        """Return the phase after one; empty after the last, or if it has no contract."""
        try:
            return self._context.ports.get(ContractDirectory).contract(phase).next_phase
        except CounterpointError:
            return ""

    def _promote(self, claim: Submission, assessment: _Assessment) -> tuple[str, ...]:
        """Copy the text to its `promote_to` path; return a remark if another text exists there."""
        target = report_of(claim).promote_to
        if not target or assessment.tree is None:
            return ()
        evidence = self._context.ports.evidence
        try:
            existing = evidence.load(assessment.tree, target, _TEXT_LIMIT)
        except NotFound:
            evidence.save(assessment.tree, target, assessment.content)
            return ()
        if existing == assessment.content:
            return ()
        return (f"{target} was not written: another text lies there already",)

    def _refuse(
        self,
        change: Change,
        claim: Submission,
        item: Item,
        contract: Contract,
        reasons: Sequence[str],
        *,
        is_told: bool = False,
    ) -> Step:
        """Send an item back for its revision; a person is asked if that came too often."""
        change.action = "phase.refused"
        counts = attribute_object(change.writing, item.id, "rejections")
        counts[claim.phase] = count = int(counts.get(claim.phase, 0)) + 1
        is_enough = count >= contract.most_revisions
        revision = {"phase": claim.phase, "since": change.now, "asked": is_enough}
        set_attributes(change, item, {"rejections": counts, "revision": revision})
        relabel(change, item.id, add=(REVISE,))
        _mark(change, item, claim.phase, "rejected")
        if not is_told:
            words = "\n".join(f"- {reason}" for reason in reasons)
            body = f"The claim of the phase {claim.phase} was refused:\n{words}"
            note(change, item.id, "comment", body, claim=claim.id)
        fresh_item = change.get(Item, item.id)
        if fresh_item.category == "active":
            give_back(change, fresh_item)
        if is_enough:
            _ask_person(
                change,
                item.id,
                f"The phase {claim.phase} was refused {counted(count, 'time')}: {reasons[0]}",
            )
        change.add_facts(phase=claim.phase, refusals=count)
        _close(change, claim, "rejected", reasons)
        return _present(claim, "rejected", tuple(reasons))

    def _assess(self, claim: Submission, watch: Watch | None) -> _Assessment:
        """Return the current assessment of a claim; CounterpointError if the contract cannot be read."""
        contract = self._context.ports.get(ContractDirectory).contract(claim.phase)
        if not contract.artifact:
            return self._assess_commits(claim, contract, watch)
        report = report_of(claim)
        faults = word_faults(contract, report.version, report.next_phase)
        tree, content = self._load_text(claim)
        if tree is None:
            faults.append(f"{claim.path} is not there")
        elif sha256(content) != claim.sha256:
            faults.append(f"{claim.path} is not what was claimed: it has another SHA-256")
        else:
            faults += text_faults(contract, content)
        onward = self._onward(contract, claim) if not faults else ()
        return _Assessment(
            contract=contract, faults=tuple(faults), tree=tree, content=content, onward=onward
        )

    def _assess_commits(
        self, claim: Submission, contract: Contract, watch: Watch | None
    ) -> _Assessment:
        evidence = self._context.ports.evidence
        tree = self._tree_of(claim)
        proposal = Proposal(
            item=claim.item,
            branch=claim.branch,
            base=claim.base,
            summary=claim.summary,
            run=claim.run,
            tree=str(tree),
        )
        try:
            branch = evidence.branch(tree, claim.branch, claim.base, DIFF_LIMIT)
            measured = self._requests.measure(proposal, branch, (), watch)
        except (InvalidInput, NotFound) as fault:
            return _Assessment(contract=contract, faults=(fault.message,))
        return _Assessment(contract=contract, change=measured)

    def _tree_of(self, claim: Submission) -> Path:
        """Return the tree a claim was made in, or the project's own if that is gone."""
        tree = Path(claim.tree)
        try:
            self._context.ports.evidence.snapshot(tree)
        except NotFound:
            return self._context.caller.main_tree
        return tree

    def _load_text(self, claim: Submission) -> tuple[Path | None, bytes]:
        """Return the tree that has the text of a claim, and the text; (None, b"") without one."""
        for tree in (Path(claim.tree), self._context.caller.main_tree):
            try:
                return tree, self._context.ports.evidence.load(tree, claim.path, _TEXT_LIMIT)
            except (NotFound, InvalidInput):
                continue
        return None, b""

    def _onward(self, contract: Contract, claim: Submission) -> tuple[str, ...]:
        """Return the phases from the next one on, past those that need not be gone through."""
        if not contract.next_phase:
            return ()
        with self._context.reading() as view:
            labels = labels_of(view, claim.item)
            phases = policy_of(view).phases
        contracts = self._context.ports.get(ContractDirectory)
        following = {phase: self._phase_after(phase) for phase in contracts.phases()}
        passed = [phase for phase in following if phase not in phases]
        for label in labels:
            phase = label.removeprefix(SKIP)
            if label.startswith(SKIP) and phase in following and self._has_text(claim, phase):
                passed.append(phase)
        return chain(contract.next_phase, following, passed)

    def _has_text(self, claim: Submission, phase: str) -> bool:
        """Return whether the text of a phase that may be skipped is there and has its form."""
        contract = self._context.ports.get(ContractDirectory).contract(phase)
        path = artifact_place(contract, spoken_of(claim.item))
        if not path:
            return False
        _, content = self._load_text(replace(claim, path=path))
        return bool(content) and not text_faults(contract, content)

    def _expire_all(self) -> list[Step]:
        """Ask a person about every item that has waited too long for its revision."""
        with self._context.reading() as view:
            items = [label.item for label in view.select(Label, name=REVISE)]
        return [step for item in items if (step := self._expire(item)) is not None]

    def _expire(self, item: str) -> Step | None:
        with recording(self._context, "revision.expired", item) as change:
            revision = attribute_object(change.writing, item, "revision")
            stored = change.get(Item, item)
            since = str(revision.get("since", ""))
            if not since or revision.get("asked") or stored.is_closed:
                return None
            if later(Timestamp(since), REVISION_SECONDS) > change.now:
                return None
            change.open_session()
            set_attributes(change, stored, {"revision": {**revision, "asked": True}})
            reason = f"Nobody revised the phase {revision['phase']} for 24 hours."
            _ask_person(change, item, reason)
            return Step(item=item, fate="expired", reasons=(reason,))


def _present(
    claim: Submission, fate: Fate, reasons: Sequence[str] = (), phases: Sequence[str] = ()
) -> Step:
    return Step(
        item=claim.item, fate=fate, claim=claim.id, phases=tuple(phases), reasons=tuple(reasons)
    )


def _close(
    change: Change, claim: Submission, status: SubmissionStatus, reasons: Sequence[str] = ()
) -> None:
    close(change, claim, status, tuple(reasons))
    change.add_facts(claim=claim.id, fate=RESULTS[status])


def _clear(change: Change, item: Item, phase: str) -> None:
    """Forget the refusals of a phase that has passed."""
    counts = attribute_object(change.writing, item.id, "rejections")
    if counts.pop(phase, None) is not None:
        set_attributes(change, item, {"rejections": counts or None, "revision": None})


def _mark(change: Change, item: Item, phase: str, status: str) -> None:
    """Note with the item how its text of a phase was taken."""
    texts = attribute_object(change.writing, item.id, "artifacts")
    if phase in texts:
        texts[phase] = {**texts[phase], "status": status}
        set_attributes(change, item, {"artifacts": texts})


def _ask_person(change: Change, item: str, reason: str) -> None:
    note(change, item, "blocker", f"{reason} A person has to look at it.")
    note(change, item, "comment", f"{reason} It is blocked until a person resolves that.")


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


class Phases(Verbs):
    """Verbs for phases."""

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
    revision = attribute_object(change.writing, item.id, "revision")
    if revision:
        set_attributes(change, item, {"revision": None})
    if not claim.path:
        return
    texts = attribute_object(change.writing, item.id, "artifacts")
    before = texts.get(claim.phase, {})
    texts[claim.phase] = {
        "path": claim.path,
        "sha256": claim.sha256,
        "status": "submitted",
        "revision": int(before.get("revision", 0)) + 1,
    }
    set_attributes(change, item, {"artifacts": texts})
