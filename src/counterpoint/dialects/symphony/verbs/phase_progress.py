"""Acting upon claims and verdicts: the step that brings items from phase to phase.

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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from counterpoint.core.model.journal import Submission, SubmissionStatus, Verdict
from counterpoint.core.model.work import Item, Label
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.facets import (
    kept_object,
    labels_of,
    relabel,
    set_attributes,
)
from counterpoint.core.operations.recording.moves import give_back, move
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.operations.reviews import Reviews, close
from counterpoint.core.ports.evidence import Watch
from counterpoint.core.rules.wording import spoken_of
from counterpoint.dialects.symphony.contract_files import ContractDirectory
from counterpoint.dialects.symphony.nouns.phases import RESULTS, Fate, Step
from counterpoint.dialects.symphony.nouns.requests import DIFF_LIMIT, Proposal
from counterpoint.dialects.symphony.rules.contracts import Contract, artifact_place
from counterpoint.dialects.symphony.rules.handing import (
    REVISE,
    REVISION_SECONDS,
    chain,
    needs_verdict,
    report_of,
    text_faults,
    word_faults,
)
from counterpoint.dialects.symphony.rules.labels import PHASE, SKIP, phase_of
from counterpoint.dialects.symphony.verbs.authors import (
    note,
)
from counterpoint.dialects.symphony.verbs.policies import policy_of
from counterpoint.dialects.symphony.verbs.requests import Measured, Requests
from counterpoint.kernel.canonical import sha256
from counterpoint.kernel.clock import Timestamp, later
from counterpoint.kernel.errors import CounterpointError, InvalidInput, NotFound
from counterpoint.kernel.plurals import counted

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
        counts = kept_object(change.writing, item.id, "rejections")
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
            revision = kept_object(change.writing, item, "revision")
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
    counts = kept_object(change.writing, item.id, "rejections")
    if counts.pop(phase, None) is not None:
        set_attributes(change, item, {"rejections": counts or None, "revision": None})


def _mark(change: Change, item: Item, phase: str, status: str) -> None:
    """Note with the item how its text of a phase was taken."""
    texts = kept_object(change.writing, item.id, "artifacts")
    if phase in texts:
        texts[phase] = {**texts[phase], "status": status}
        set_attributes(change, item, {"artifacts": texts})


def _ask_person(change: Change, item: str, reason: str) -> None:
    note(change, item, "blocker", f"{reason} A person has to look at it.")
    note(change, item, "comment", f"{reason} It is blocked until a person resolves that.")
