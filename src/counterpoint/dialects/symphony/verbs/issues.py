"""Issues: made, taken up, divided into sub-tasks that hold them, reported on.

Rule 1: an issue that somebody makes waits in the backlog, in the first phase of the project; a sub-task
is there to be done, in the phase of what it is a part of.
Rule 2: making a sub-task gives the caller's claim of the issue back: it is blocked until all below it
is closed, and free again then.
Rule 3: who has claimed an issue reports on it once: handed in for review, given up, or blocked. No
report closes an issue.
Rule 4: only who judges, and did not work on it, may send an issue back from the review.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import ItemFilter, Note, Report
from counterpoint.core.model.journal import Record, RecordKind
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Item
from counterpoint.core.operations.claims import Claims, refuse_taken
from counterpoint.core.operations.journal import Journal
from counterpoint.core.operations.plans import Plans
from counterpoint.core.operations.readiness import judge_item
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.contributions import refuse_own
from counterpoint.core.operations.recording.facets import (
    attribute_object,
    labels_of,
    set_attributes,
)
from counterpoint.core.operations.recording.holders import Holders
from counterpoint.core.operations.recording.moves import move
from counterpoint.core.operations.recording.unit import recording, transaction
from counterpoint.core.operations.tasks import Tasks
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.symphony.nouns import (
    DEPTH,
    RUNS,
    IssueDetails,
    IssueDraft,
    IssueView,
    Reported,
)
from counterpoint.dialects.symphony.rules.issues import (
    may_send_back,
    most_issues,
    phase_of,
    with_phase,
)
from counterpoint.dialects.symphony.verbs import queries
from counterpoint.dialects.symphony.verbs.policies import policy_of
from counterpoint.kernel.errors import IllegalMove, InvalidInput, QuotaExceeded
from counterpoint.kernel.plurals import counted

T = TypeVar("T")

_MADE: Final = "issues made"
"""What is counted of a session, for those that may make only so many."""
_DEFAULT_REASON: Final[dict[Reported, str]] = {
    "review": "Handed in for review.",
    "open": "Given up; somebody else goes on.",
    "blocked": "Needs the input of a person.",
}


class Issues(Verbs):
    """Verbs for the issues of a board."""

    def named(self, name: str) -> Item:
        """Return the issue of an id, of the form people say (`SYM-001`), or of a former name; NotFound."""
        with self._context.reading() as view:
            return queries.find_issue(view, name)

    def list(
        self, item_filter: ItemFilter, after: int, limit: int, *, blocked: bool | None = None
    ) -> list[IssueView]:
        """Return issues by number, beyond a number; `blocked`: only those that are, or are not."""
        with self._context.reading() as view:
            return queries.views(view, item_filter, after, limit, blocked=blocked)

    def details(self, name: str) -> IssueDetails:
        """Return an issue, by any of its names, with everything small about it; NotFound."""
        with self._context.reading() as view:
            return queries.details_of(view, queries.find_issue(view, name))

    def blocked(self, items: Sequence[Item]) -> frozenset[str]:
        """Return the ids of those issues of some in whose way a blocker or a sub-task is."""
        if not items:
            return frozenset()
        with self._context.reading() as view:
            return queries.blocked(view, items)

    def records(
        self, item: str, kind: RecordKind, after: int, limit: int, *, last: bool = False
    ) -> list[Record]:
        """Return records about an issue by number, beyond a number; `last`: the latest ones first."""
        with self._context.reading() as view:
            return queries.records(view, item, kind, after, limit, last=last)

    def open(self, draft: IssueDraft) -> Item:
        """Make an issue in the backlog.

        Raises InvalidInput for labels, NotFound for what it needs, QuotaExceeded for one more than a
        session of the caller's profile may make.
        """
        most = most_issues(self._context.caller.actor.profile)
        with transaction(self._context):
            if most is not None:
                self._count(most)
            with self._context.reading() as view:
                phases = policy_of(view).phases
                needs = tuple(queries.find_issue(view, name).id for name in draft.needs)
            labels = with_phase(draft.labels, phases[0], phases)
            return Plans(self._context).create(_draft(draft, labels, "backlog", needs)).root

    def open_below(self, name: str, draft: IssueDraft) -> Item:
        """Make a sub-task of an issue, which is blocked until it is closed.

        Raises NotFound, InvalidInput beyond the depth, Conflict if the issue is closed, IllegalMove in
        review, AlreadyClaimed if somebody else is at it.
        """
        with transaction(self._context):
            with self._context.reading() as view:
                parent = queries.find_issue(view, name)
                above = phase_of(labels_of(view, parent.id))
                phases = policy_of(view).phases
                depth = queries.depth_of(view, parent)
                claim = view.find(Claim, parent.id)
            if depth >= DEPTH:
                raise InvalidInput(
                    f"{parent.id} is on level {depth} already; {DEPTH} levels are the most",
                    hint="Make an issue of its own.",
                )
            if parent.category == "review":
                raise IllegalMove(
                    f"{parent.id} is in review", hint="Make an issue of its own.", state="review"
                )
            usual = above if above in phases else phases[0]
            labels = with_phase(draft.labels, usual, phases)
            self._divide(parent, claim)
            return Plans(self._context).create(_draft(draft, labels, "open", ()), parent.id).root

    def _divide(self, parent: Item, claim: Claim | None) -> None:
        """Give back the caller's claim of what shall have sub-tasks; fetch it out of the backlog."""
        if parent.category == "active" and claim is not None and claim.is_held:
            token = self._token(claim)
            report = Report(outcome="partial", summary="Divided into sub-tasks.")
            Tasks(self._context).finish(parent.id, token, report)
        elif not parent.is_closed and parent.status != "open":
            with recording(self._context, "issue.divided", parent.id) as change:
                change.open_session()
                move(change, change.get(Item, parent.id), "open")

    def attended(self, name: str, run: Callable[[], T]) -> T:
        """Run a call that writes, having taken up an issue for the caller if it is free to be.

        Both land together, or neither does; an issue that cannot be taken up stays as it is.
        """
        with transaction(self._context):
            with self._context.reading() as view:
                item_id = self._find_free(view, name)
            if item_id:
                # What looked free may have been taken since: this is decided inside the transaction.
                with recording(self._context, "issue.sought") as change:
                    item_id = self._find_free(change.writing, name)
            if item_id:
                Claims(self._context).start(item_id)
            return run()

    def _find_free(self, view: Reading, name: str) -> str:
        """Return the id of an issue that the caller can take up now; empty if that cannot be."""
        holders = Holders(view, self._context)
        item = queries.find_issue(view, name)
        # What is held needs no taking up, whoever holds it: the write itself then judges the claim.
        if not holders.session or holders.is_held(view.find(Claim, item.id)):
            return ""
        return item.id if judge_item(view, item, holders).is_ready else ""

    def report(self, name: str, status: Reported, reason: str = "", run: str = "") -> Item:
        """Report on an issue that the caller has claimed: the claim ends, measured.

        run: that of the agent. A caller that judges may send back what is in review. Raises NotFound, IllegalMove if it is not in progress, AlreadyClaimed, Forbidden, GateClosed.
        """
        with transaction(self._context):
            with self._context.reading() as view:
                item = queries.find_issue(view, name)
                claim = view.find(Claim, item.id)
            judges = may_send_back(self._context.caller.actor.profile)
            if judges and item.category == "review" and status != "review":
                self._send_back(item)
            elif item.category != "active" or claim is None or not claim.is_held:
                raise IllegalMove(
                    f"{item.id} is not in progress: it is {item.status}",
                    hint="Read it with `get_issue`; only the one who works on an issue reports on it.",
                    state=item.status,
                )
            else:
                outcome = Report(
                    outcome="done" if status == "review" else "partial",
                    summary=reason or _DEFAULT_REASON[status],
                    hands_in=status == "review",
                )
                Tasks(self._context).finish(item.id, self._token(claim), outcome)
                if run:
                    self._name(item, claim, run)
            self._tell(item, status, reason)
            return self.named(item.id)

    def _name(self, item: Item, claim: Claim, run: str) -> None:
        with recording(self._context, "run.named", item.id) as change:
            names = attribute_object(change.writing, item.id, RUNS)
            set_attributes(
                change, change.get(Item, item.id), {RUNS: {**names, str(claim.token): run}}
            )

    def _token(self, claim: Claim) -> int:
        """Return the token of the caller's claim; AlreadyClaimed if it is another's."""
        if claim.session != self._context.caller.actor.session:
            with self._context.reading() as view:
                departure = Holders(view, self._context).departure(claim)
            refuse_taken(claim, departure=departure)
        return claim.token

    def _send_back(self, item: Item) -> None:
        with recording(self._context, "issue.sent_back", item.id) as change:
            change.open_session()
            refuse_own(change, item.id, "reopen")
            move(change, change.get(Item, item.id), "open")

    def _tell(self, item: Item, status: Reported, reason: str) -> None:
        """Write down why; what blocks an issue is a blocker, everything else is said if it was."""
        kind: RecordKind = "blocker" if status == "blocked" else "comment"
        if kind == "blocker" or reason:
            body = reason or _DEFAULT_REASON[status]
            note = Note(kind=kind, item=item.id, body=body, details={"status": status})
            Journal(self._context).append(note)

    def _count(self, most: int) -> None:
        """Count one more issue of the caller's session; QuotaExceeded."""
        session = self._context.caller.actor.session
        with recording(self._context, "issue.counted") as change:
            count = change.writing.meter(session, _MADE)
            if count >= most:
                raise QuotaExceeded(
                    f"this session has made {counted(count, 'issue')}, and may make no more",
                    hint="Put what is left into the description of one of them.",
                    most=most,
                )
            change.writing.use(session, _MADE, count + 1)


def _draft(
    draft: IssueDraft, labels: tuple[str, ...], status: str, needs: tuple[str, ...]
) -> Draft:
    return Draft(
        kind="issue",
        title=draft.title,
        body=draft.description,
        needs=needs,
        labels=labels,
        priority=draft.priority,
        status=status,
        attributes={"run": draft.run} if draft.run else {},
    )
