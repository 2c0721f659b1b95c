"""Handing in and judging: one path for artifacts, phases and branches.

Rule 1: what is handed in was measured by the server; a later submission of the same kind takes the place
of the one that is open. Rule 2: nobody judges own work (`refuse_own`), and an approval counts only if it is
as independent as the project asks. Rule 3: a verdict is of what the
reviewer looked at; if that is no longer what counts, it is refused with StaleVersion. What counts is the file as it lies there, else the
commit at which the work ended, or that is there now: commits of others since do not touch what was looked at. An approval that names
nothing is of the submission that stands, and refused if that came after its author last looked.
Rule 4: a verdict on an artifact, or on work that was only finished, moves the item. One on a phase moves
nothing yet: the step from phase to phase acts upon it. One on a branch leaves an approved item in
review, because nothing is merged yet, and reopens a rejected one.
Rule 5: a rejected phase or branch is told in a comment too, for readers that look at nothing else.
Rule 6: what holds work and is rejected gets a task below it, with what to fix as its text and with the areas and checks of the whole, so that
somebody can take it up. Rule 7: the very commit and files that were rejected are handed in again only by who says why.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, get_args

from counterpoint.core.model.answers import Reviewed, Submitted
from counterpoint.core.model.drafts import Draft, SubmissionDraft
from counterpoint.core.model.filters import Judgment, Note
from counterpoint.core.model.identity import Contribution, ProposedAct
from counterpoint.core.model.journal import (
    Outcome,
    Submission,
    SubmissionKind,
    SubmissionStatus,
    Verdict,
)
from counterpoint.core.model.rows import REDACTED, Prose, Proses, shared_fields
from counterpoint.core.model.work import Area, Gate, Holds, Item
from counterpoint.core.operations.claims import prove_claim
from counterpoint.core.operations.gates import refuse_stale_word
from counterpoint.core.operations.journal import Journal
from counterpoint.core.operations.plans import Plans
from counterpoint.core.operations.readiness import has_open_children, refuse_open_children
from counterpoint.core.operations.recording.authority import without_signature
from counterpoint.core.operations.recording.change import Change, missing
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.contributions import (
    contribute,
    mark_relaxed,
    refuse_own,
)
from counterpoint.core.operations.recording.links import shift
from counterpoint.core.operations.recording.moves import (
    bump_version,
    closed_gates,
    follow,
    move,
    settle,
)
from counterpoint.core.operations.recording.unit import recording, transaction
from counterpoint.core.operations.rejections import rejected_before, rejections
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.drafting import TITLE_LIMIT
from counterpoint.core.rules.evidence import files_text
from counterpoint.core.rules.trust.callers import refuse_stale, refuse_unseen
from counterpoint.kernel import canonical
from counterpoint.kernel.acts import Act
from counterpoint.kernel.errors import (
    Conflict,
    NotFound,
    NotReady,
    PathOutside,
    StaleVersion,
)

_FILES: Final = "files_sha256"
"""Where a submission keeps the digest of what was not committed in its tree."""
_ACTIONS: Final[dict[str, str]] = {"artifact": "item", "phase": "phase", "branch": "change"}
"""What the entry of a verdict is named after."""


class Reviews(Verbs):
    """Verbs for handing in and judging."""

    def submissions(self, item: str, of: SubmissionKind, limit: int = 20) -> list[Submission]:
        """Return what was handed in of an item, the latest first."""
        with self._context.reading() as view:
            return view.select(Submission, item=item, of=of, order="number desc", limit=limit)

    def open(self, of: SubmissionKind) -> list[Submission]:
        """Return what nobody has judged or acted upon yet, in the order it was handed in."""
        with self._context.reading() as view:
            return view.select(Submission, of=of, status="open", order="number")

    def submit(
        self, item: str, path: str, summary: str, token: int | None = None, reason: str = ""
    ) -> Submitted:
        """Say that an item is finished, with the file that shows it.

        reason: why what was rejected is handed in as it was. All below it must be closed. It goes to review, or closes if
        nothing holds it back. Raises GateClosed, PathOutside, NotFound, Conflict.
        """
        if path:
            path = self._context.ports.evidence.contain(self._context.caller.root, path)
        refuse_stale_word(self._context, item, "review")
        # Before the transaction: nobody waits to write while files are hashed.
        sha256, size, commit, files = self._measure(path)
        with recording(self._context, "phase.submitted", item) as change:
            change.open_session()
            current_item = change.get(Item, item)
            self._refuse_unready(change, current_item, token)
            if not reason:
                _refuse_unchanged(change, current_item, (commit, sha256, files))
            submission = hand_in(
                change,
                SubmissionDraft(
                    of="artifact",
                    item=item,
                    summary=summary,
                    path=path,
                    sha256=sha256,
                    size=size,
                    commit=commit,
                    details={_FILES: files} if commit else {},
                ),
            )
            change.add_facts(path=path, sha256=sha256)
            change.add_texts(reason=reason)
            _meet(change, item, "artifact", submission.id)
            if not change.writing.exists(
                Gate, item=item, kind="review", holds="finish", status="closed"
            ):
                submission = close(change, submission, "accepted")
            after = self._advance(change, current_item)
            return Submitted(
                submission=submission, item=after, closed=tuple(closed_gates(change, item))
            )

    def _measure(self, path: str) -> tuple[str, int, str, str]:
        """Return SHA-256 and size of a file, the commit of the tree, and the SHA-256 of what is not committed in it."""
        evidence, root = self._context.ports.evidence, self._context.caller.root
        sha256, size = evidence.digest(root, path) if path else ("", 0)
        snapshot = evidence.snapshot(root)
        return sha256, size, snapshot.commit, canonical.sha256(files_text(snapshot).encode())

    def _refuse_unready(self, change: Change, item: Item, token: int | None) -> None:
        if item.is_closed:
            raise Conflict(f"{item.id} is {item.status}", hint=f"{Act.REOPEN} first.")
        if item.is_workable:
            prove_claim(change.writing, self._context.caller, item.id, token)
        refuse_open_children(change.writing, item)

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
        item with its fixes. Raises NotReady if what the judgment is of was not handed in.
        """
        with self._context.reading() as view:
            submission = _asked(view, item, judgment)
            ended = _ended_at(view, item, submission)
        # Before the transaction: nobody waits to write while git is asked.
        current = self._current(submission, ended, must_lie_there=judgment.approves)
        with transaction(self._context):
            if submission is None or submission.of == "artifact":
                self._make_repair(item, judgment)
            return self._judge(item, judgment, submission, current)

    def _make_repair(self, item: str, judgment: Judgment) -> None:
        """Make the task below a whole that is about to be rejected in which somebody mends it."""
        with self._context.reading() as view:
            whole = view.find(Item, item)
            if judgment.approves or whole is None or whole.is_workable or whole.is_closed:
                return
            # Of what stays open a dialect's own steps mend what was rejected.
            is_handed_in = whole.category == "review"
            is_takeable = whole.kind == "phase" or not has_open_children(view, whole)
            if not (is_handed_in and is_takeable) or _holds_start(view, item):
                return
            areas = tuple(area.pattern for area in view.select(Area, item=item))
            gates = view.select(Gate, item=item, kind="check", holds="finish", order="name")
        fixes = "".join(f"\n- {fix}" for fix in judgment.fixes)
        judge = self._context.caller.actor.name
        draft = Draft(
            kind="task",
            title=f"Mend {item}: {whole.title}"[:TITLE_LIMIT],
            body=f"{item} was rejected by {judge}: {judgment.reason}\n{fixes}".strip(),
            areas=areas,
            checks=tuple(gate.argv for gate in gates if gate.status != "waived"),
            priority=whole.priority,
        )
        # A person signs the verdict alone: what follows from it is written down as any other work.
        is_signed = self._context.caller.confirmation is not None
        context = without_signature(self._context) if is_signed else self._context
        Plans(context).create(draft, item)

    def _judge(
        self, item: str, judgment: Judgment, submission: Submission | None, current: tuple[str, ...]
    ) -> Reviewed:
        """Return a judgment of what was looked at, written down."""
        with recording(self._context, "item.judged", item) as change:
            session = change.open_session()
            current_item = change.get(Item, item)
            found_to_be = refuse_own(change, item, "judge", counts=judgment.approves)
            stage: Holds = "finish" if judgment.of else _stage(change, item)
            # What was looked at may have been replaced between the look and this transaction.
            if _asked(change.writing, item, judgment) != submission:
                raise StaleVersion(f"{item} was handed in anew while you judged it")
            on = submission if stage == "finish" else None
            kind = on.of if on is not None else "artifact"
            if kind != "artifact":
                _refuse_late(current_item, judgment)
            elif stage == "finish":
                self._refuse_early(change, current_item, on, judgment)
            if judgment.approves or kind == "phase":
                refuse_stale(judgment.subject or _bound(on), current, submission)
            if judgment.approves and on is not None and not judgment.subject:
                refuse_unseen(on, self._context.looked)
            drafted = self._verdict(change, item, session, judgment, current, on)
            verdict = change.masked(replace(drafted, independence=found_to_be))
            if on is not None and (before := _said_before(change, on, verdict)) is not None:
                return self._reviewed(change, before, on, current_item)
            change.put(verdict)
            change.action = _action(on, approves=judgment.approves)
            change.add_facts(
                verdict=verdict.id, subject=verdict.subject, independence=verdict.independence
            )
            if on is not None:
                change.add_facts(submission=on.id, **({"run": verdict.run} if verdict.run else {}))
            if judgment.approves:
                after = self._approve(change, current_item, verdict, stage, on)
            else:
                after = self._reject(change, current_item, verdict, on)
            if on is not None and kind != "phase":
                on = close(change, on, "accepted" if judgment.approves else "rejected")
            return self._reviewed(change, verdict, on, after)

    def proposed(self, item: str, judgment: Judgment) -> ProposedAct:
        """Return what a judgment would decide now, for a person to sign; NotFound, NotReady."""
        with self._context.reading() as view:
            submission = _asked(view, item, judgment)
            ended = _ended_at(view, item, submission)
            is_start = not judgment.of and _holds_start(view, item)
        current = self._current(submission, ended, must_lie_there=judgment.approves)
        on = None if is_start else submission
        return ProposedAct(
            action=_action(on, approves=judgment.approves),
            subject=item,
            decision={
                "subject": _subject(judgment, on, current),
                **({"submission": on.id} if on is not None else {}),
            },
        )

    def _reviewed(
        self, change: Change, verdict: Verdict, submission: Submission | None, item: Item
    ) -> Reviewed:
        closed = tuple(closed_gates(change, item.id))
        return Reviewed(verdict=verdict, submission=submission, item=item, closed=closed)

    def _current(
        self, submission: Submission | None, ended: str, *, must_lie_there: bool
    ) -> tuple[str, ...]:
        """Return what there is to look at: hash of the submitted file as it lies there, commits."""
        evidence, root = self._context.ports.evidence, self._context.caller.root
        if submission is not None and submission.of == "phase":
            # As it was handed in: the step compares it with what lies there when it is acted upon.
            return (submission.sha256 or submission.commit,)
        if submission is not None and submission.of == "branch":
            commit = submission.commit
            return (self._head(submission.branch, commit) if commit else "",)
        commit = self._head()
        if submission is None or not submission.path:
            return (ended, commit) if ended else (commit,)
        try:
            return (evidence.digest(root, submission.path)[0], commit)
        except (NotFound, PathOutside):
            if must_lie_there:
                raise
            return (submission.sha256, commit)

    def _head(self, branch: str = "", otherwise: str = "") -> str:
        """Return the commit of the caller's tree, or that a branch is on; without one what is said. No file is read."""
        try:
            return self._context.ports.evidence.head(self._context.caller.root, branch)
        except NotFound:
            return otherwise

    def _refuse_early(
        self, change: Change, item: Item, on: Submission | None, judgment: Judgment
    ) -> None:
        """Raise Conflict if an approval would open a gate for work that is still to be done; NotReady for what nobody began."""
        waits = bool(change.select(Gate, item=item.id, kind="review", status="closed"))
        is_early = item.category != "review" if item.is_workable else False
        if judgment.approves and waits and (is_early or has_open_children(change.writing, item)):
            raise Conflict(
                f"{item.id} is not handed in yet: it is {item.status}",
                hint="Approve it when its work is finished; you can reject it while it is in progress.",
            )
        if on is None:
            _refuse_unbegun(change, item)

    def _verdict(
        self,
        change: Change,
        item: str,
        session: str,
        judgment: Judgment,
        current: tuple[str, ...],
        submission: Submission | None,
    ) -> Verdict:
        number, its_id = change.next_id(Verdict)
        return Verdict(
            project=self._context.project,
            id=its_id,
            number=number,
            item=item,
            submission=submission.id if submission else "",
            session=session,
            agent=self._context.caller.actor.name,
            run=judgment.run,
            decision="approve" if judgment.approves else "reject",
            subject=_subject(judgment, submission, current),
            reason=Prose(judgment.reason),
            fixes=Proses(judgment.fixes),
            independence="",
            created_at=change.now,
        )

    def _approve(
        self, change: Change, item: Item, verdict: Verdict, stage: Holds, on: Submission | None
    ) -> Item:
        if on is not None and on.of == "phase":
            return item
        is_unmerged = on is not None and on.of == "branch"
        if item.is_closed and not is_unmerged:
            raise Conflict(f"{item.id} is {item.status} already", hint="Nothing is to be done.")
        _meet(change, item.id, "review", verdict.id, stage)
        if stage == "start":
            # Who lets work begin does not do it himself.
            mark_relaxed(change, item.id)
        return change.get(Item, item.id) if is_unmerged else settle(change, item.id)

    def _reject(self, change: Change, item: Item, verdict: Verdict, on: Submission | None) -> Item:
        if on is not None and on.of != "artifact":
            _comment(change, verdict, on)
            if on.of == "phase" or item.category != "review":
                return item
        for gate in change.select(Gate, item=item.id, kind="review", holds="finish", status="met"):
            change.put(gate.moved("closed", change.now, reason=f"rejected by {verdict.id}"))
        if item.category == "active" and item.is_workable:
            after = bump_version(change, item)
            change.put(after)
            return after
        back = "open" if item.is_workable else "active"
        return follow(change, item, back) if item.status != back else item


def _action(on: Submission | None, *, approves: bool) -> str:
    """Return the action of a verdict's entry."""
    kind = on.of if on is not None else "artifact"
    return f"{_ACTIONS[kind]}.{'approved' if approves else 'rejected'}"


def hand_in(change: Change, draft: SubmissionDraft) -> Submission:
    """Return a submission as a part of a change, in place of the one of its kind before it."""
    session = change.open_session()
    if not draft.agent:  # what somebody else made is put down to him by his claim
        contribute(change, draft.item)
    for before in change.select(Submission, item=draft.item, of=draft.of):
        if before.is_live:
            close(change, before, "superseded")
    number, its_id = change.next_id(Submission)
    copied = {name: getattr(draft, name) for name in shared_fields(SubmissionDraft, Submission)}
    settled: dict[str, Any] = {
        "session": draft.session or session,
        "agent": draft.agent or change.context.caller.actor.name,
        "details": Prose(canonical.dump_any(dict(draft.details)) if draft.details else ""),
    }
    submission = change.masked(
        Submission(
            **(copied | settled),
            project=change.context.project,
            id=its_id,
            number=number,
            status="open",
            reasons=Proses(()),
            created_at=change.now,
            updated_at=change.now,
        )
    )
    change.put(submission)
    change.add_facts(submission=submission.id)
    return submission


def close(
    change: Change,
    submission: Submission,
    status: SubmissionStatus,
    reasons: tuple[str, ...] = (),
) -> Submission:
    """Return a submission after something became of it, and why."""
    after = replace(submission, status=status, reasons=Proses(reasons), updated_at=change.now)
    change.put(after)
    return after


def _asked(view: Reading, item: str, judgment: Judgment) -> Submission | None:
    """Return the submission that a judgment is of, None if it is of the item alone; NotReady."""
    if view.find(Item, item) is None:
        raise missing(Item, item)
    kinds = judgment.of or get_args(SubmissionKind)
    submissions = [
        submission
        for submission in view.select(Submission, item=item, of=kinds, order="number desc")
        if judgment.phase in {"", submission.phase}
    ]
    if not judgment.of:
        return next(
            (
                submission
                for submission in submissions
                if submission.is_live or submission.of == "artifact"
            ),
            None,
        )
    last = next((submission for submission in submissions if submission.is_live), None)
    if last is None:
        what = f"{judgment.of} {judgment.phase}".strip()
        raise NotReady(
            f"no {what} of {item} waits for a verdict"
            + (f": the last one is {submissions[0].status}" if submissions else ""),
            hint="Look at it again: somebody may have acted upon it, or nothing was handed in.",
        )
    return last


def _ended_at(view: Reading, item: str, submission: Submission | None) -> str:
    """Return the commit at which work in review ended, or was handed in; empty where none says so, or a file does."""
    current = view.find(Item, item)
    has_file = submission is not None and (submission.of != "artifact" or submission.path)
    if has_file or current is None or current.category != "review":
        return ""
    for last in view.select(Outcome, item=item, order="token desc", limit=1):
        if last.evidence not in {"", REDACTED}:
            return str(canonical.load(last.evidence)["end_commit"])
    return submission.commit if submission is not None else ""


def _said_before(change: Change, on: Submission, verdict: Verdict) -> Verdict | None:
    """Return the verdict that says this already, so that a repetition changes nothing."""
    if on.of == "artifact" or not (
        verdicts := change.select(Verdict, submission=on.id, order="number")
    ):
        return None
    before = verdicts[-1]
    if on.of == "branch":
        return before if on.status == "accepted" and verdict.decision == "approve" else None
    signed = change.context.caller.confirmation
    if signed is not None:
        # What a person signs is said for the first time.
        return None
    # A name is a label: two judges may have one, and in a session nobody writes but its own.
    said_then, says = (
        (each.decision, each.reason, each.fixes, each.agent, each.session)
        for each in (before, verdict)
    )
    return before if said_then == says else None


def _bound(on: Submission | None) -> str:
    """Return the hash of what a verdict is of that names none; empty where no file was handed in."""
    return on.sha256 if on is not None and on.status == "open" else ""


def _subject(judgment: Judgment, on: Submission | None, current: tuple[str, ...]) -> str:
    """Return the hash or commit that a verdict is kept of: what was named, else what was handed in."""
    if on is not None and on.of != "artifact":
        return current[0]
    handed = _bound(on) if judgment.approves else ""
    return judgment.subject or handed or current[0]


def _refuse_late(item: Item, judgment: Judgment) -> None:
    """Raise Conflict if a phase or branch of an item is judged that has ended, or one approved that is at work."""
    is_idle = judgment.approves and judgment.of == "branch" and item.category != "review"
    if item.is_closed or is_idle:
        raise Conflict(
            f"{item.id} is not in review: it is {item.status}",
            hint="Look at it again: what was handed in may have been acted upon.",
            state=item.status,
        )


def _refuse_unchanged(change: Change, item: Item, measured: tuple[str, str, str]) -> None:
    """Raise Conflict if what is handed in is what was rejected: commit, file, and what is not committed."""
    commit = measured[0]
    back = rejections(change.writing, (item,)).get(item.id) if commit else None
    before = change.find(Submission, back.submission) if back and back.submission else None
    if before is None:
        return
    files = canonical.load(before.details).get(_FILES) if before.details else None
    if (before.commit, before.sha256, files) == measured:
        raise rejected_before(item.id, commit)


def _stage(change: Change, item: str) -> Holds:
    """Return what a verdict is about now: the start as long as a gate holds that, then the end."""
    return "start" if _holds_start(change.writing, item) else "finish"


def _refuse_unbegun(change: Change, item: Item) -> None:
    """Raise NotReady if there is nothing to judge: nobody ever worked on an item, nor said that it is done."""
    if item.category == "open" and not change.writing.exists(
        Contribution, item=item.id, how="worked"
    ):
        raise NotReady(
            f"nobody has begun {item.id} yet, so that there is nothing to judge",
            hint="Say what is missing in a note, or change what is asked for.",
        )


def _holds_start(view: Reading, item: str) -> bool:
    return view.exists(Gate, item=item, kind="review", holds="start", status="closed")


def _comment(change: Change, verdict: Verdict, on: Submission) -> None:
    what = f"phase {on.phase}" if on.of == "phase" else "change"
    fixes = "".join(f"\n\nWhat to do: {fix}" for fix in verdict.fixes)
    body = f"The {what} was rejected: {verdict.reason or 'no reason was given'}{fixes}"
    note = Note(kind="comment", item=on.item, body=body, details={"verdict": verdict.id})
    change.put(Journal(change.context).draft(change, note, verdict.session, ()))


def _meet(change: Change, item: str, kind: str, proof: str, stage: Holds = "finish") -> None:
    for gate in change.select(Gate, item=item, kind=kind, holds=stage):
        if gate.status == "waived":
            continue
        change.put(replace(gate.moved("met", change.now), proof=proof))
        if stage == "start" and gate.status == "closed":
            shift(change, change.get(Item, item), -1)
