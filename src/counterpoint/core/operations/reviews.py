"""Handing in and judging: submissions, verdicts, and what they open."""

from __future__ import annotations

from dataclasses import replace

from counterpoint.core.model.answers import Reviewed, Submitted
from counterpoint.core.model.filters import Judgment
from counterpoint.core.model.journal import Submission, Verdict
from counterpoint.core.model.rows import Prose, Proses
from counterpoint.core.model.work import Gate, Holds, Item
from counterpoint.core.operations.claims import held, refuse_own
from counterpoint.core.operations.readiness import has_open_children
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.links import shift
from counterpoint.core.operations.recording.moves import (
    closed_gates,
    move,
    settle,
    touched,
)
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.store import Reading
from counterpoint.kernel.errors import (
    Conflict,
    GateClosed,
    InvalidInput,
    NotFound,
    PathOutside,
    StaleVersion,
)

_SHORTEST_SUBJECT = 7


class Reviews:
    """Verbs for handing in and judging."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def submit(self, item: str, path: str, summary: str, token: int | None = None) -> Submitted:
        """Say that an item is finished, with the file that shows it.

        All below it must be closed. It goes to review, or closes if nothing holds it back.
        Raises GateClosed, PathOutside, NotFound, Conflict.
        """
        if path:
            path = self._context.ports.evidence.contain(self._context.caller.root, path)
        sha256, size, commit = self._measure(path)
        with recording(self._context, "phase.submitted", item) as change:
            session = change.open_session()
            found = change.get(Item, item)
            self._refuse_unready(change, found, token)
            number = change.next_number(Submission)
            submission = Submission(
                project=self._context.project,
                id=change.id_of(Submission, number),
                number=number,
                item=item,
                session=session,
                agent=self._context.caller.actor.name,
                path=path,
                sha256=sha256,
                size=size,
                commit=commit,
                summary=Prose(summary),
                created_at=change.now,
            )
            change.put(submission)
            change.add_facts(submission=submission.id, path=path, sha256=sha256)
            _meet(change, item, "artifact", submission.id)
            after = self._advance(change, found)
            return Submitted(
                submission=submission, item=after, closed=tuple(closed_gates(change, item))
            )

    def _measure(self, path: str) -> tuple[str, int, str]:
        evidence, root = self._context.ports.evidence, self._context.caller.root
        sha256, size = evidence.digest(root, path) if path else ("", 0)
        return sha256, size, evidence.snapshot(root).commit

    def _refuse_unready(self, change: Change, item: Item, token: int | None) -> None:
        if item.is_closed:
            raise Conflict(f"{item.id} is {item.status}", hint="Reopen it with `edit` first.")
        if item.is_workable:
            held(change.writing, self._context.caller.actor.session, item.id, token)
        if has_open_children(change.writing, item):
            raise GateClosed(
                f"{item.id} still has unfinished work below it",
                hint="Finish or cancel it first; `list` with `parent` shows it.",
            )

    def _advance(self, change: Change, item: Item) -> Item:
        """Move a submitted item on: to review, or to done if nothing holds it back."""
        if item.is_workable:
            return change.get(Item, item.id)
        if closed_gates(change, item.id):
            if item.states.allows(item.status, "review"):
                return move(change, item, "review")
            return change.get(Item, item.id)
        return move(change, item, "done")

    def review(self, item: str, judgment: Judgment) -> Reviewed:
        """Approve or reject an item: its start if a gate holds that, else what was handed in.

        Who did the work or has it in hand cannot judge it. An approval names what was looked at; if
        that is no longer what lies there, it is refused with StaleVersion. A rejection reopens the
        item with its fixes.
        """
        with self._context.reading() as view:
            latest = _latest(view, item)
        current = self._current(latest, must_lie_there=judgment.approves)
        with recording(self._context, "item.judged", item) as change:
            session = change.open_session()
            found = change.get(Item, item)
            refuse_own(change, item, "judge")
            stage = _stage(change, item)
            if _latest(change.writing, item) != latest:
                raise StaleVersion(f"{item} was handed in anew while you judged it")
            if judgment.approves:
                if stage == "finish":
                    self._refuse_early(change, found)
                _refuse_stale(judgment.subject, current)
            verdict = self._verdict(change, item, session, judgment, current)
            change.put(verdict)
            change.action = "item.approved" if judgment.approves else "item.rejected"
            change.add_facts(verdict=verdict.id, subject=verdict.subject)
            if judgment.approves:
                after = self._approve(change, found, verdict, stage)
            else:
                after = self._reject(change, found, verdict)
            return Reviewed(verdict=verdict, item=after, closed=tuple(closed_gates(change, item)))

    def _current(self, latest: Submission | None, *, must_lie_there: bool) -> tuple[str, ...]:
        """Return what there is to look at: hash of the submitted file as it lies there, commit."""
        evidence, root = self._context.ports.evidence, self._context.caller.root
        commit = evidence.snapshot(root).commit
        if latest is None or not latest.path:
            return (commit,)
        try:
            return (evidence.digest(root, latest.path)[0], commit)
        except (NotFound, PathOutside):
            if must_lie_there:
                raise
            return (latest.sha256, commit)

    def _refuse_early(self, change: Change, item: Item) -> None:
        """Raise Conflict if an approval would open a gate for work that is still to be done."""
        if not change.select(Gate, item=item.id, kind="review", status="closed"):
            return
        is_early = item.category != "review" if item.is_workable else False
        if is_early or has_open_children(change.writing, item):
            raise Conflict(
                f"{item.id} is not handed in yet: it is {item.status}",
                hint="Approve it when its work is finished; a rejection is heard at any time.",
            )

    def _verdict(
        self,
        change: Change,
        item: str,
        session: str,
        judgment: Judgment,
        current: tuple[str, ...],
    ) -> Verdict:
        number = change.next_number(Verdict)
        return Verdict(
            project=self._context.project,
            id=change.id_of(Verdict, number),
            number=number,
            item=item,
            session=session,
            agent=self._context.caller.actor.name,
            decision="approve" if judgment.approves else "reject",
            subject=judgment.subject or current[0],
            reason=Prose(judgment.reason),
            fixes=Proses(judgment.fixes),
            created_at=change.now,
        )

    def _approve(self, change: Change, item: Item, verdict: Verdict, stage: Holds) -> Item:
        if item.is_closed:
            raise Conflict(f"{item.id} is {item.status} already", hint="Nothing is to be done.")
        _meet(change, item.id, "review", verdict.id, stage)
        return settle(change, item.id)

    def _reject(self, change: Change, item: Item, verdict: Verdict) -> Item:
        for gate in change.select(Gate, item=item.id, kind="review", holds="finish", status="met"):
            change.put(gate.moved("closed", change.now, reason=f"rejected by {verdict.id}"))
        if item.category == "active" and item.is_workable:
            after = touched(change, item)
            change.put(after)
            return after
        back = "open" if item.is_workable else "active"
        return move(change, item, back) if item.status != back else item


def _latest(view: Reading, item: str) -> Submission | None:
    found = view.select(Submission, item=item, order="number desc", limit=1)
    return found[0] if found else None


def _refuse_stale(subject: str, current: tuple[str, ...]) -> None:
    """Refuse an approval of something else than what lies there now."""
    if subject and len(subject) < _SHORTEST_SUBJECT:
        raise InvalidInput(f"{subject!r} is too short to name a hash or a commit")
    shown = [mark for mark in current if mark]
    if subject and not any(mark.startswith(subject) for mark in shown):
        raise StaleVersion(
            f"you reviewed {subject[:12]}, but now there is {' and '.join(m[:12] for m in shown)}",
            hint="Look at it again and pass the hash or commit that is there now.",
            current=shown,
        )


def _stage(change: Change, item: str) -> Holds:
    """Return what a verdict is about now: the start as long as a gate holds that, then the end."""
    held = change.writing.exists(Gate, item=item, kind="review", holds="start", status="closed")
    return "start" if held else "finish"


def _meet(change: Change, item: str, kind: str, proof: str, stage: Holds = "finish") -> None:
    for gate in change.select(Gate, item=item, kind=kind, holds=stage):
        if gate.status == "waived":
            continue
        change.put(replace(gate.moved("met", change.now), proof=proof))
        if stage == "start" and gate.status == "closed":
            shift(change, change.get(Item, item), -1)
