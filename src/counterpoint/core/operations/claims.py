"""Claims: one session holds an item for a while, and proves it with a token.

Rule 1: an item has at most one live claim; who takes it is decided inside one transaction.
Rule 2: the token rises with every claim of the item. A write under a claim carries the token; an older
token, another session, or a lease that has run out and was taken over is refused with ClaimLost.
Rule 3: a lease that has run out stays good until somebody takes the item over; then never again.
Rule 4: a claim is a part in the item for ever: see recording/contributions.py for what follows. Who loosened
the item, or something above it, is offered other work.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

from counterpoint.core.model.answers import Readiness, ReadyItem, Started
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.evidence import Snapshot
from counterpoint.core.model.filters import ReadyFilter
from counterpoint.core.model.identity import ProposedAct
from counterpoint.core.model.journal import StartPoint
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.sessions import Claim, Session
from counterpoint.core.model.work import Item
from counterpoint.core.operations.plans import Plans
from counterpoint.core.operations.readiness import judged, offers
from counterpoint.core.operations.recording.authority import acting, refusal
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.contributions import (
    has_loosened,
    take_up,
)
from counterpoint.core.operations.recording.handover import take_over
from counterpoint.core.operations.recording.moves import follow, give_back, touched
from counterpoint.core.operations.recording.seats import may_have, take_parts
from counterpoint.core.operations.recording.unit import joined, recording
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.claims import held_until, holder_of, other_claim, prove
from counterpoint.core.rules.evidence import files_text
from counterpoint.core.rules.trust.callers import ENTITLED, PEOPLE
from counterpoint.kernel.acts import Act
from counterpoint.kernel.clock import Timestamp, later
from counterpoint.kernel.errors import (
    AlreadyClaimed,
    ClaimLost,
    Conflict,
    InvalidInput,
    NotClaimHolder,
    NotReady,
)


class Claims:
    """Verbs for taking and giving back."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def start(self, item: str, minutes: int | None = None) -> Started:
        """Claim an item and remember the tree as it is; a second call renews the lease.

        A lease of one's own that has run out is renewed only if the item is still ready. Raises NotFound, NotReady, AlreadyClaimed, SessionEnded.
        """
        self._refuse_no_session()
        snapshot = self._context.ports.evidence.snapshot(self._context.caller.root)
        # The tree was looked at before, so that nobody waits to write while git is asked.
        with recording(self._context, "task.started", item) as change:
            session = change.open_session()
            found = change.get(Item, item)
            before = change.find(Claim, item)
            is_own = before is not None and before.is_held_by(session)
            if before is None or not is_own or not before.is_live(change.now):
                judgment = judged(change.writing, found, session, change.now)
                # Whoever succeeds a holder goes on with what was begun, whatever is in the way of others.
                if not (judgment.is_ready or judgment.held_by):
                    _refuse_unready(item, judgment)
            return self._take(change, found, before, minutes, snapshot)

    def begin(self, draft: Draft, parent: str, minutes: int | None = None) -> Started:
        """Make an item below another and claim it, in one transaction; the refusals of making it.

        Whether it is ready is not asked: see rules/readiness.py.
        """
        self._refuse_no_session()
        snapshot = self._context.ports.evidence.snapshot(self._context.caller.root)
        with joined(self._context):
            made = Plans(self._context).create(draft, parent).root.id
            with recording(self._context, "task.started", made) as change:
                change.open_session()
                change.add_facts(made=made)
                found = change.get(Item, made)
                return self._take(change, found, None, minutes, snapshot, draft.assignee)

    def take_next(
        self, wanted: ReadyFilter, minutes: int | None = None
    ) -> tuple[Started, ReadyItem] | None:
        """Claim the first ready item, chosen and taken in one transaction; None if there is none."""
        self._refuse_no_session()
        snapshot = self._context.ports.evidence.snapshot(self._context.caller.root)
        with recording(self._context, "task.started") as change:
            session = change.open_session()
            found = offers(change.writing, wanted, session, change.now)
            offer = next((one for one in found if not has_loosened(change, one.item.id)), None)
            if offer is None:
                return None
            change.subject = offer.item.id
            found = change.get(Item, offer.item.id)
            before = change.find(Claim, found.id)
            return self._take(change, found, before, minutes, snapshot), offer

    def proposed_release(self, item: str) -> ProposedAct:
        """Return what ending the claim of an item would decide now, for a person to sign."""
        with self._context.reading() as view:
            claim = view.find(Claim, item)
        told = {"token": claim.token, "holder": claim.agent} if claim is not None else {}
        return ProposedAct(action="claim.released", subject=item, decision=told)

    def take_up(self, item: str) -> Claim:
        """Return the claim of an item as the caller's, with what its holder began with.

        Raises NotFound, AlreadyClaimed unless the caller succeeds the holder.
        """
        with recording(self._context, "task.taken_over", item) as change:
            session = change.get(Session, change.open_session())
            claim = change.get(Claim, item)
            change.add_facts(taken_over_from=self._succeed(change, claim))
            taken = take_over(change, session, claim)
            change.add_facts(token=taken.token, until=taken.leased_until)
            return taken

    def release(self, item: str) -> tuple[Item, Claim]:
        """End the claim that a session holds, and give the item back for others to take.

        Only a person may, or a maintainer: an agent gives back what it holds itself when it finishes or
        hands over. Raises Conflict if nobody holds the item.
        """
        with recording(self._context, "claim.released", item) as change:
            if acting(change) not in ENTITLED:
                raise refusal(
                    change.writing, self._context.caller, "end the claim of another", Act.RELEASE
                )
            found, claim = change.get(Item, item), change.find(Claim, item)
            if claim is None or not claim.is_held:
                raise Conflict(f"nobody holds {item}", hint="Nothing is to be done.")
            change.add_facts(token=claim.token, holder=claim.agent)
            after = give_back(change, found)
            return after, change.get(Claim, item)

    def _succeed(self, change: Change, claim: Claim) -> str:
        """Answer from whom an item is taken over, with his parts in work; AlreadyClaimed."""
        if not claim.is_held:
            return ""
        session = change.get(Session, claim.session)
        reason = may_have(change, session, claim.leased_until)
        if reason is None:
            refuse_taken(claim)
        take_parts(change, session, reason)
        return holder_of(claim)

    def _refuse_no_session(self) -> None:
        if not self._context.caller.actor.session:
            raise InvalidInput(
                "a claim belongs to a session", hint="Start the server with an agent's name."
            )

    def _until(self, change: Change, minutes: int | None) -> Timestamp:
        """Return when a claim made now runs out; without minutes as the settings say."""
        seconds = self._context.ports.lease_seconds if minutes is None else minutes * 60
        return later(change.now, seconds)

    def _renew(self, change: Change, item: Item, claim: Claim, minutes: int | None) -> Started:
        """Extend the caller's own lease; the start point stays the first one."""
        change.subject = item.id
        change.action = "claim.renewed"
        # To renew a lease never shortens it.
        until = max(claim.leased_until, self._until(change, minutes))
        renewed = replace(claim, leased_until=until, state="live")
        change.put(renewed)
        take_up(change, item.id)
        point = change.get(StartPoint, item.id, claim.token)
        return Started(
            item=item, claim=renewed, snapshot=point, warnings=(), renewed=True, taken_over_from=""
        )

    def _take(
        self,
        change: Change,
        item: Item,
        before: Claim | None,
        minutes: int | None,
        snapshot: Snapshot,
        assignee: str = "",
    ) -> Started:
        actor = self._context.caller.actor
        if before is not None and before.is_held_by(actor.session):
            return self._renew(change, item, before, minutes)
        lost = self._succeed(change, before) if before else ""
        claim = Claim(
            project=item.project,
            item=item.id,
            # The row stays when a claim ends, so that no two claims of an item have the same token.
            token=before.token + 1 if before else 1,
            session=actor.session,
            agent=actor.name,
            state="live",
            claimed_at=change.now,
            leased_until=self._until(change, minutes),
        )
        change.put(claim)
        take_up(change, item.id)
        point = _point(change, claim, snapshot)
        change.put(point)
        change.add_facts(token=claim.token, until=claim.leased_until)
        if lost:
            change.action = "task.taken_over"
            change.add_facts(taken_over_from=lost)
        held = replace(item, assignee=assignee or actor.name)
        if held.category == "open":
            held = follow(change, held, "active")
        else:
            held = touched(change, held)
            change.put(held)
        return Started(
            item=held,
            claim=claim,
            snapshot=point,
            warnings=snapshot.warnings,
            renewed=False,
            taken_over_from=lost,
        )


def _point(change: Change, claim: Claim, snapshot: Snapshot) -> StartPoint:
    return StartPoint(
        project=claim.project,
        item=claim.item,
        token=claim.token,
        method=snapshot.method,
        commit=snapshot.commit,
        branch=snapshot.branch,
        files=Prose(files_text(snapshot)),
        taken_at=change.now,
    )


def _refuse_unready(item: str, judgment: Readiness) -> NoReturn:
    raise NotReady(
        f"{item} is not ready: {'; '.join(judgment.reasons)}",
        hint=f"{Act.UNBLOCK}, or {Act.TAKE_OTHER_WORK}." if judgment.is_blocked else "",
        reasons=list(judgment.reasons),
    )


def held(view: Reading, session: str, item: str, token: int | None) -> Claim:
    """Return a session's claim of an item, proved by its token.

    Raises NotClaimHolder without a claim, ClaimLost if somebody else took it over.
    """
    claim = view.find(Claim, item)
    proof = prove(claim, session, token)
    if claim is None or proof == "not_held":
        raise NotClaimHolder(f"{item} is not claimed by this session")
    if proof == "lost":
        raise ClaimLost(
            f"{item} is now held by {holder_of(claim)}; its token rose to {claim.token}",
            holder=claim.agent,
            token=token,
        )
    if proof == "ended":
        raise NotClaimHolder(f"the claim of {item} has ended")
    if proof == "no_token":
        raise NotClaimHolder(
            f"a write under the claim of {item} must carry its token",
            hint=f"{Act.PROVE_CLAIM}.",
        )
    if proof == "wrong_token":
        raise InvalidInput(f"{token} is no token of {item}", hint=f"{Act.PROVE_CLAIM}.")
    return claim


def refuse_strangers(change: Change, item: str, token: int | None) -> None:
    """Pass without a token, and with one that proves the caller's claim of the item.

    Raises what `held` raises: ClaimLost, NotClaimHolder, and InvalidInput for no token of the item.
    """
    if token is not None:
        held(change.writing, change.context.caller.actor.session, item, token)


def refuse_held(change: Change, item: Item) -> None:
    """Raise AlreadyClaimed unless a person would move what another session holds at this moment."""
    session = change.context.caller.actor.session
    other = other_claim(change.find(Claim, item.id), session, change.now)
    if other is not None and acting(change) not in PEOPLE:
        refuse_taken(other)


def refuse_taken(claim: Claim, hint: str = "") -> NoReturn:
    """Raise AlreadyClaimed: who holds the item of a claim, and until when."""
    raise AlreadyClaimed(
        f"{claim.item} is {held_until(claim)}",
        hint=hint,
        holder=claim.agent,
        until=claim.leased_until,
    )
