"""Ending a claimed item: outcome, evidence, and what follows for the others."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from counterpoint.core.ledger.entry import load_fields
from counterpoint.core.ledger.people.trusting import TRUSTED
from counterpoint.core.model.answers import Finished, Measured
from counterpoint.core.model.evidence import Apart, Comparison
from counterpoint.core.model.filters import Report
from counterpoint.core.model.journal import Outcome, Outcomes, Receipt, StartPoint
from counterpoint.core.model.rows import Prose, Proses
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.trust.checking import CONFIGURATION
from counterpoint.core.model.work import Area, Criterion, Item
from counterpoint.core.operations.claims import prove_claim
from counterpoint.core.operations.gates import PassedChecks, passed_checks, refuse_stale
from counterpoint.core.operations.readiness import refuse_open_children
from counterpoint.core.operations.recording.change import Change, missing
from counterpoint.core.operations.recording.context import Context, Verbs
from counterpoint.core.operations.recording.contributions import contribute
from counterpoint.core.operations.recording.moves import (
    give_back,
    move,
    refuse_blocked,
    refuse_closed_gates,
    refuse_unguarded,
)
from counterpoint.core.operations.recording.shared_tree import compare_shared
from counterpoint.core.operations.recording.unallowed import find_trusted
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.operations.rejections import rejected_before, rejections
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.evidence import (
    drop_path,
    evidence_text,
    make_evidence,
    remarks_on,
    says_tests_pass,
)
from counterpoint.core.rules.secrets import mask
from counterpoint.core.rules.shared_tree import apart_json, apart_remarks
from counterpoint.core.rules.trust.commands import loosened
from counterpoint.kernel.errors import InvalidInput, MalformedDocument

_STATUS: dict[Outcomes, str] = {
    "done": "done",
    "partial": "open",
    "failed": "failed",
    "skipped": "skipped",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishBasis:
    """What was looked at before the end of a claim is written.

    comparison: how the tree differs since the work began, without what lies apart. since: when that was; empty if it
    begins now. passed: the checks that have passed. apart: files that do not count as this work.
    """

    comparison: Comparison
    since: str
    passed: PassedChecks
    apart: tuple[Apart, ...] = ()


class Tasks(Verbs):
    """Verbs for the end of work."""

    def finish(
        self,
        item: str,
        token: int | None,
        report: Report,
        *,
        looked: FinishBasis | None = None,
    ) -> Finished:
        """End the caller's claim of an item with an outcome and the measured evidence.

        looked: what the end rests on, where the caller has looked already: for him it is not the same call again.
        `done` goes to review if a review gate is closed; other closed gates and blockers refuse it
        (GateClosed). Any closed gate refuses what leaves work out: that is for others. The same call
        again answers as before. Raises ClaimLost, NotClaimHolder, IllegalMove.
        """
        # Before the transaction: git may take seconds, and every other writer would wait for it.
        before = looked or self._look(item, token, report)
        if isinstance(before, Finished):
            return before
        comparison = before.comparison
        if comparison.changes and self._is_by_person(comparison, before.since):
            comparison = drop_path(comparison, CONFIGURATION)
        if report.outcome == "done":
            refuse_stale(self._context, item, before.passed)
        with recording(self._context, f"task.{_verb(report.outcome)}", item) as change:
            change.open_session()
            # Asked again: others may have taken the item over while the tree was measured.
            claim = prove_claim(change.writing, self._context.caller, item, token)
            current = change.get(Item, item)
            # Whoever ends it has a part in it, whoever's claim that was.
            contribute(change, item)
            criteria = _marked(change, item, report.met)
            waits = report.hands_in
            if report.outcome == "done":
                if report.reason == "" and not (comparison.changes or comparison.commits):
                    _refuse_unchanged(change, current, comparison.end.commit)
                refuse_open_children(change.writing, current)
                refuse_blocked(change, current, but=report.open_at_end)
                waits |= bool(refuse_closed_gates(change, item, but="review"))
            elif report.ends or report.outcome == "skipped":
                refuse_closed_gates(change, item)
            # What is done in part goes back for others to take up, unless the report says that this is
            # all there will be: only then does the item close as partial.
            status = "partial" if report.ends else _STATUS[report.outcome]
            status = "review" if waits and status == "done" else status
            if report.reason:
                change.add_texts(reason=report.reason)
            ended = make_evidence(comparison, before.apart)
            return self._end(change, current, claim, report, comparison, ended, status, criteria)

    def compare(
        self, claim: Claim, point: StartPoint, root: Path
    ) -> tuple[Comparison, tuple[Apart, ...]]:
        """Return what has changed in a tree since a claim began, and what of that lies apart."""
        return compare_shared(self._context, claim, point, root)

    def _look(self, item: str, token: int | None, report: Report) -> FinishBasis | Finished:
        """Return what the end of a claim rests on, or what a retry must hear; refuse what would be refused later anyway."""
        with self._context.reading() as view:
            current = view.find(Item, item)
            if current is None:
                raise missing(Item, item)
            again = self._answered(view, current, token, report)
            if again is not None:
                return again
            claim = prove_claim(view, self._context.caller, item, token)
            point = view.find(StartPoint, item, claim.token)
            if point is None:
                raise missing(StartPoint, item, claim.token)
            passed = passed_checks(view, item)
        return look_at(self._context, claim, point, passed)

    def _answered(
        self, view: Reading, item: Item, token: int | None, report: Report
    ) -> Finished | None:
        """Return what a retry of a finish that landed already must hear."""
        before = None if token is None else view.find(Outcome, item.id, token)
        if before is None or before.session != self._context.caller.actor.session:
            return None
        summary = mask(report.summary, self._context.ports.secrets)
        if (before.outcome, before.summary) != (report.outcome, summary):
            return None
        above = view.find(Item, item.parent) if item.parent else None
        return Finished(item=item, outcome=before, measured=None, released=(), parent=above)

    def _is_by_person(self, comparison: Comparison, since: str) -> bool:
        """Return whether the configuration changed as a person trusted it while the work went on: that is his edit."""
        ports, caller = self._context.ports, self._context.caller
        is_changed = any(change.path == CONFIGURATION for change in comparison.changes)
        if not is_changed or caller.root != caller.main_tree or ports.checking is None:
            return False
        with self._context.reading() as view:
            trusted, search_path = find_trusted(self._context, view)
            places = view.sequences(action=TRUSTED, limit=1)
            last = [
                load_fields(next(view.entries(sequence, sequence + 1)))["t"] for sequence in places
            ]
        if not last or last[0] < since:
            return False
        with suppress(MalformedDocument):
            return loosened(ports.checking(), search_path) == trusted
        return False

    def _end(
        self,
        change: Change,
        item: Item,
        claim: Claim,
        report: Report,
        comparison: Comparison,
        evidence: Measured,
        status: str,
        criteria: Sequence[Criterion],
    ) -> Finished:
        outcome = self._outcome(change, item, claim, report, comparison, evidence, criteria)
        change.put(outcome)
        change.add_facts(
            outcome=report.outcome, files=evidence.file_count, commits=len(evidence.commits)
        )
        if status == "open":
            moved = give_back(change, item)
        else:
            refuse_unguarded(change, item, status, report.summary)
            moved = move(change, item, status, report.summary, but=report.open_at_end)
        above = change.find(Item, moved.parent) if moved.parent else None
        released = tuple(change.facts.get("released", ()))
        return Finished(
            item=moved,
            outcome=outcome,
            measured=evidence,
            released=released,
            parent=above,
            changes=comparison.changes,
        )

    def _outcome(
        self,
        change: Change,
        item: Item,
        claim: Claim,
        report: Report,
        comparison: Comparison,
        evidence: Measured,
        criteria: Sequence[Criterion],
    ) -> Outcome:
        unmet = [
            f"[{criterion.position}] {criterion.text}"
            for criterion in criteria
            if not criterion.met
        ]
        areas = [area.pattern for area in change.select(Area, item=item.id)]
        remarks = remarks_on(
            comparison,
            areas=areas,
            unmet=unmet if report.outcome == "done" else (),
            unproved=_unproved(change, item, report),
        )
        remarks += apart_remarks(apart_json(evidence.apart))
        return Outcome(
            project=item.project,
            item=item.id,
            token=claim.token,
            session=claim.session,
            agent=claim.agent,
            outcome=report.outcome,
            summary=Prose(report.summary),
            achievements=Proses(report.achievements),
            limitations=Proses(report.limitations),
            next_steps=Proses(report.next_steps),
            evidence=Prose(evidence_text(evidence)),
            remarks=Proses(tuple(remarks)),
            ended_at=change.now,
        )


def look_at(context: Context, claim: Claim, point: StartPoint, passed: PassedChecks) -> FinishBasis:
    """Return what the end of a claim rests on: what changed in its tree since a start, and what of that lies apart."""
    own, apart = compare_shared(context, claim, point, context.caller.root)
    return FinishBasis(comparison=own, since=point.taken_at, passed=passed, apart=apart)


def _refuse_unchanged(change: Change, item: Item, commit: str) -> None:
    """Raise Conflict if work that was rejected comes again at the same commit."""
    back = rejections(change.writing, (item,)).get(item.id) if commit else None
    if back is not None and back.subject == commit:
        raise rejected_before(item.id, commit)


def _marked(change: Change, item: str, met: Sequence[int]) -> list[Criterion]:
    """Return the acceptance sentences of an item in their order, those marked that are met; InvalidInput for what is none."""
    criteria = {
        criterion.position: criterion
        for criterion in change.select(Criterion, item=item, order="position")
    }
    for position in met:
        if position not in criteria:
            raise InvalidInput(
                f"{item} has no acceptance sentence {position}",
                hint="Number them from 0, in the order in which the item shows them.",
            )
        criteria[position] = replace(criteria[position], met=True)
        change.put(criteria[position])
    return list(criteria.values())


def _verb(outcome: Outcomes) -> str:
    return {"done": "finished", "partial": "put_back"}.get(outcome, outcome)


def _unproved(change: Change, item: Item, report: Report) -> list[str]:
    """Return a remark if the words speak of passing tests and no receipt shows them."""
    # Only remarked upon: the words may be true, but nothing here shows it.
    claims = any(map(says_tests_pass, (report.summary, *report.achievements)))
    if not claims or change.writing.exists(Receipt, item=item.id, exit_code=0):
        return []
    return ["the summary says that tests pass, but no receipt shows it"]
