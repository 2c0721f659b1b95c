"""Claims: one session holds an item for a while, and proves it with a token.

Rule 1: an item has at most one live claim; who takes it is decided inside one transaction.
Rule 2: the token rises with every claim of the item. A write under a claim carries the token; an older
token, another session, or a lease that has run out and was taken over is refused with ClaimLost.
Rule 3: a lease that has run out stays good until somebody takes the item over; then never again.
Rule 4: a claim is a part in the item for ever: see recording/contributions.py for what follows. Who loosened
the item, or something above it, is offered other work.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, NoReturn

from counterpoint.core.model.access import Actor
from counterpoint.core.model.answers import (
    Live,
    News,
    Readiness,
    ReadyItem,
    Release,
    Started,
)
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.evidence import Snapshot
from counterpoint.core.model.filters import ReadyFilter
from counterpoint.core.model.identity import Connection, ProposedAct
from counterpoint.core.model.journal import StartPoint
from counterpoint.core.model.presence import Departure
from counterpoint.core.model.sessions import Claim, Session
from counterpoint.core.model.work import Dependency, Item
from counterpoint.core.operations.readiness import exclude_relaxed, judge_item, offers
from counterpoint.core.operations.recording.authority import caller_authority, refusal
from counterpoint.core.operations.recording.change import Change, missing
from counterpoint.core.operations.recording.connection_sessions import (
    live_claims,
    may_have,
    take_parts,
)
from counterpoint.core.operations.recording.context import Caller, Verbs
from counterpoint.core.operations.recording.contributions import note_part
from counterpoint.core.operations.recording.facets import items_by_id
from counterpoint.core.operations.recording.handover import (
    GIVEN_UP,
    RELEASED,
    TAKEN_OVER,
    ending_of,
    list_news,
    make_claim,
    make_start_point,
    release_at,
    take_over,
    tree_of,
)
from counterpoint.core.operations.recording.holders import Holders
from counterpoint.core.operations.recording.leases import due_at, extend_lease
from counterpoint.core.operations.recording.moves import bump_version, follow, give_back
from counterpoint.core.operations.recording.unit import recording, transaction
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.claims import held_until, holder_of, prove
from counterpoint.core.rules.identity import may_be_one
from counterpoint.core.rules.trust.callers import ENTITLED, PEOPLE
from counterpoint.core.rules.trust.succession import SAME_WORKER, Reason
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp, later
from counterpoint.kernel.errors import (
    AlreadyClaimed,
    ClaimLost,
    Conflict,
    CounterpointError,
    InvalidInput,
    NotClaimHolder,
    NotReady,
)


class Claims(Verbs):
    """Verbs for taking and giving back."""

    def start(
        self,
        item: str,
        minutes: int | None = None,
        *,
        snapshot: Snapshot | None = None,
        reason: str = "",
    ) -> Started:
        """Claim an item and remember the tree as it is; a second call renews the lease.

        snapshot: the tree, where it was looked at already. reason: why it is taken over, in words that the entry keeps. A lease of one's own that has run out is renewed only if the item is still ready. Raises NotFound, NotReady, AlreadyClaimed, SessionEnded.
        """
        self._refuse_no_session()
        if snapshot is None:
            snapshot = self._context.ports.evidence.snapshot(self._context.caller.root)
        # The tree was looked at before, so that nobody waits to write while git is asked.
        with recording(self._context, "task.started", item) as change:
            session = change.open_session()
            current = change.get(Item, item)
            before = change.find(Claim, item)
            is_own = before is not None and before.is_held_by(session)
            if before is None or not is_own or not before.is_live(change.clock):
                judgment = judge_item(
                    change.writing, current, Holders(change.writing, change.context)
                )
                # Whoever succeeds a holder goes on with what was begun, whatever is in the way of others.
                if not (judgment.is_ready or judgment.held_by):
                    _refuse_unready(change.writing, item, judgment)
            is_begun = current.category == "active"
            started = self._take(change, current, before, minutes, snapshot, is_begun=is_begun)
            if started.taken_over_from:
                change.add_texts(reason=reason)
            return started

    def take(self, change: Change, item: Item, snapshot: Snapshot) -> Started:
        """Claim an item that a word has begun, as a part of that change; AlreadyClaimed.

        snapshot: the tree as it was before. Whether it is ready is not asked: see rules/readiness.py.
        """
        change.open_session()
        before = change.find(Claim, item.id)
        # The word may have begun it just now; a claim in force says that it was begun before.
        is_begun = before is not None and before.is_held
        return self._take(change, item, before, None, snapshot, is_begun=is_begun)

    def begin(self, draft: Draft, parent: str, minutes: int | None = None) -> Started:
        """Make an item below another and claim it, in one transaction; the refusals of making it.

        Whether it is ready is not asked: see rules/readiness.py.
        """
        # Every call renews what it holds, and few make a plan.
        from counterpoint.core.operations.plans import Plans

        self._refuse_no_session()
        snapshot = self._context.ports.evidence.snapshot(self._context.caller.root)
        with transaction(self._context):
            item_id = Plans(self._context).create(draft, parent).root.id
            with recording(self._context, "task.started", item_id) as change:
                change.open_session()
                change.add_facts(made=item_id)
                current = change.get(Item, item_id)
                return self._take(
                    change,
                    current,
                    None,
                    minutes,
                    snapshot,
                    is_begun=False,
                    assignee=draft.assignee,
                )

    def take_next(
        self, ready_filter: ReadyFilter, minutes: int | None = None
    ) -> tuple[Started, ReadyItem] | None:
        """Claim the first ready item, chosen and taken in one transaction; None if there is none."""
        self._refuse_no_session()
        snapshot = self._context.ports.evidence.snapshot(self._context.caller.root)
        with recording(self._context, "task.started") as change:
            current = offers(change.writing, ready_filter, Holders(change.writing, change.context))
            offer = next(exclude_relaxed(change.writing, current, self._context.caller), None)
            if offer is None:
                # Nothing is written where there is nothing to take, not even that somebody asked.
                return None
            change.open_session()
            change.subject = offer.item.id
            current = change.get(Item, offer.item.id)
            before, is_begun = change.find(Claim, current.id), current.category == "active"
            taken = self._take(change, current, before, minutes, snapshot, is_begun=is_begun)
            return taken, offer

    def keep(self) -> None:
        """Renew the leases of what the caller's sessions hold that are half over; see recording/leases.py.

        What is in the way of that, such as a full disk, is for the call itself to meet.
        """
        caller, ports = self._context.caller, self._context.ports
        seat, now, usual = caller.own_seat, ports.clock.now(), ports.lease_seconds
        if not caller.capability or not ports.leases.is_due(seat, now):
            return
        with suppress(CounterpointError):
            # Not as a look of the caller's, which counts when he judges.
            with ports.store.reading(ports.project) as view:
                running = _running(view, caller.capability, now)
            due = [claim for claim in running if due_at(claim, usual) <= now or claim.is_ahead(now)]
            for session in dict.fromkeys(claim.session for claim in due):
                self._extend(session, [claim.item for claim in due if claim.session == session])
            due_times = [due_at(claim, usual) for claim in running if claim not in due]
            # What was just renewed is looked for anew with the next call.
            ahead = now if due else min(due_times, default=later(now, usual))
            ports.leases.expect(seat, ahead, now, usual)

    def _extend(self, session: str, items: Sequence[str]) -> None:
        with recording(self._context.in_session(session), "claim.renewed", items[0]) as change:
            change.enter(change.get(Session, session))
            for item in items:
                claim = change.get(Claim, item)
                # Others may have taken it over since it was looked at.
                if claim.is_held_by(session) and _runs(claim, change.clock):
                    usual = change.context.ports.lease_seconds
                    change.put(
                        replace(claim, leased_until=extend_lease(claim, change.clock, usual))
                    )

    def proposed_release(self, name: str) -> ProposedAct:
        """Return what freeing an item, or all that a session holds, would decide now, for a person to sign."""
        with self._context.reading() as view:
            claims = _held_in(view, name)
            decision = _released(claims) if claims else {}
        return ProposedAct(action=RELEASED, subject=name, decision=decision)

    def succeed(self, item: str) -> Claim:
        """Return the claim of an item as the caller's, with what its holder began with.

        Raises NotFound, AlreadyClaimed unless the caller succeeds the holder.
        """
        with recording(self._context, TAKEN_OVER, item) as change:
            change.open_session()
            claim = change.get(Claim, item)
            change.add_facts(taken_over_from=self._take_parts(change, claim)[0])
            taken = take_over(change, claim)
            change.add_facts(token=taken.token, until=taken.leased_until)
            return taken

    def release(self, name: str, reason: str = "") -> tuple[tuple[Item, Claim], ...]:
        """End the claim of an item, or all those of a session, and give back what they held for others to take.

        Only a person may, or a maintainer: an agent gives back what it holds itself when it finishes or
        hands over. reason: why, in words that the entry keeps. What is answered is as it was held. Raises Conflict if nothing is held.
        """
        with recording(self._context, RELEASED, name) as change:
            if caller_authority(change) not in ENTITLED:
                raise refusal(
                    change.writing, self._context, "end the claim of another", Act.RELEASE
                )
            claims = _held_in(change.writing, name)
            if not claims:
                raise Conflict(f"nobody holds {name}", hint="Nothing is to be done.")
            change.add_facts(**_released(claims))
            change.add_texts(reason=reason)
            return tuple(
                (give_back(change, change.get(Item, claim.item)), claim) for claim in claims
            )

    def freed(self) -> tuple[Release, ...]:
        """Return which of the last claims that people freed were the caller's, and are nobody's since."""
        session = self._context.caller.actor.session
        with self._context.reading() as view:
            releases = [
                release_at(view, sequence)
                for sequence in view.sequences(action=RELEASED, limit=_FEW)
            ]
            flat = [release for some in releases for release in some]
            claims = {release.item: view.find(Claim, release.item) for release in flat}
        return tuple(
            release
            for release in flat
            if (claim := claims[release.item]) is not None
            and (claim.session, claim.token, claim.is_held) == (session, release.token, False)
        )

    def news(self, live: Iterable[Live], *, with_lost: bool = True) -> list[News]:
        """Return what others did with what the caller's session holds, and with_lost what it held until then. live: what it holds."""
        live = list(live)
        if not (with_lost or live):
            return []
        with self._context.reading() as view:
            return list_news(view, self._context, live, with_lost=with_lost)

    def _take_parts(self, change: Change, claim: Claim) -> tuple[str, Reason | None]:
        """Return from whom an item and its parts in work are taken over, and why that is allowed; AlreadyClaimed."""
        if not claim.is_held:
            return "", None
        caller = change.context.caller
        if (
            caller.is_shared
            and claim.session == caller.actor.session
            and claim.is_live(change.clock)
        ):
            # Who began it cannot be told from the others who write in the same session.
            refuse_taken(claim, f"If it is yours, {Act.PROVE_CLAIM}; else {Act.TAKE_OTHER_WORK}.")
        session = change.get(Session, claim.session)
        reason = may_have(change, session, claim.ends(change.clock))
        if reason is None:
            departure = Holders(change.writing, change.context).departure(claim)
            refuse_taken(claim, departure=departure)
        take_parts(change, session, reason)
        return holder_of(claim), reason

    def _refuse_no_session(self) -> None:
        if not self._context.caller.actor.session:
            raise InvalidInput(
                "a claim belongs to a session", hint="Start the server with an agent's name."
            )

    def _is_untold(self, change: Change) -> bool:
        """Return whether the caller is an agent whom nothing tells from others, and claims for the first time."""
        caller = self._context.caller
        actor, own = caller.actor, caller.connection
        is_unattested = actor.principal is None and caller.origin.doubt is not None
        is_left = own is not None and bool(own.held_since)
        if actor.kind != "agent" or not (is_unattested or is_left) or _has_credential(actor):
            return False
        if change.writing.exists(Claim, session=actor.session):
            return False
        if own is None or is_unattested:
            return True
        others = change.select(Connection, boot=own.boot)
        return any(connection.id != own.id and may_be_one(own, connection) for connection in others)

    def _seconds(self, minutes: int | None) -> int:
        """Return how long a lease is given for; without minutes as the settings say."""
        return self._context.ports.lease_seconds if minutes is None else minutes * 60

    def _renew(self, change: Change, item: Item, claim: Claim, minutes: int | None) -> Started:
        """Extend the caller's own lease; the start point stays the first one."""
        change.subject = item.id
        change.action = "claim.renewed"
        # To renew a lease never shortens it.
        seconds = self._seconds(minutes)
        until = max(claim.ends(change.clock), later(change.clock, seconds))
        longest = max(claim.seconds, seconds)
        renewed = replace(claim, leased_until=until, seconds=longest, state="live")
        change.put(renewed)
        note_part(change, item.id)
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
        *,
        is_begun: bool,
        assignee: str = "",
    ) -> Started:
        actor = self._context.caller.actor
        is_untold = self._is_untold(change)
        is_own = before is not None and before.is_held_by(actor.session)
        if before is not None and is_own and not self._context.caller.is_shared:
            return self._renew(change, item, before, minutes)
        lost, reason = self._take_parts(change, before) if before else ("", None)
        goes_on = is_begun and (reason is None or reason in SAME_WORKER)
        first = make_start_point(change, item, before, snapshot, is_begun=goes_on)
        claim, point = make_claim(change, item.id, before, self._seconds(minutes), first)
        change.add_facts(token=claim.token, until=claim.leased_until)
        if lost:
            change.action = TAKEN_OVER
            change.add_facts(taken_over_from=lost)
        taken = replace(item, assignee=assignee or actor.name)
        if taken.category == "open":
            taken = follow(change, taken, "active")
        else:
            taken = bump_version(change, taken)
            change.put(taken)
        return Started(
            item=taken,
            claim=claim,
            snapshot=point,
            warnings=(*snapshot.warnings, *([_UNTOLD] if is_untold else ())),
            renewed=False,
            taken_over_from=lost,
        )


def _held_in(view: Reading, name: str) -> list[Claim]:
    """Return the claim of an item, or those of a session, as far as they are held; NotFound."""
    if view.find(Session, name) is not None:
        return live_claims(view, name)
    if view.find(Item, name) is None:
        raise missing(Item, name)
    claim = view.find(Claim, name)
    return [claim] if claim is not None and claim.is_held else []


def _released(claims: Sequence[Claim]) -> dict[str, Json]:
    """Return what is told of claims that are freed: their numbers, by item, and who held them."""
    holders = dict.fromkeys(holder_of(claim) for claim in claims)
    return {"tokens": {claim.item: claim.token for claim in claims}, "holder": ", ".join(holders)}


def _running(view: Reading, capability: str, now: Timestamp) -> list[Claim]:
    """Return the claims, with leases that run or were stamped ahead, of the active sessions of a connection."""
    sessions = view.select(Session, capability=capability, status="active")
    claims = (
        view.select(Claim, session=tuple(session.id for session in sessions), state="live")
        if sessions
        else []
    )
    return [claim for claim in claims if _runs(claim, now)]


def _runs(claim: Claim, now: Timestamp) -> bool:
    return claim.is_live(now) or claim.is_ahead(now)


def _refuse_unready(view: Reading, item: str, judgment: Readiness) -> NoReturn:
    ending = ending_of(view, item)
    hint = f"{Act.UNBLOCK}, or {Act.TAKE_OTHER_WORK}." if judgment.is_blocked else ""
    edges = view.select(Dependency, item=item)
    for needed in items_by_id(view, (edge.needs for edge in edges)).values():
        if needed.category == "dropped":
            hint = f"{needed.id} is {needed.status}: {Act.REOPEN}, or {Act.NOT_AFTER}."
    raise NotReady(
        f"{item} is not ready: {'; '.join([*judgment.reasons, *([ending] if ending else [])])}",
        hint=GIVEN_UP if ending else hint,
        reasons=list(judgment.reasons),
    )


def prove_claim(view: Reading, caller: Caller, item: str, token: int | None) -> Claim:
    """Return the claim of an item by the caller's session, proved by its token.

    Raises NotClaimHolder without a claim, ClaimLost if somebody else took it over.
    """
    claim = view.find(Claim, item)
    proof = prove(claim, caller.actor.session, token, is_shared=caller.is_shared)
    if claim is None or proof == "not_held":
        raise NotClaimHolder(f"{item} is not claimed by this session")
    if proof == "lost":
        raise ClaimLost(
            f"{item} is now held by {holder_of(claim)}; its token rose to {claim.token}",
            holder=claim.agent,
            token=token,
        )
    if proof == "ended":
        raise _ended(view, claim)
    if proof == "no_token":
        raise NotClaimHolder(
            f"a write under the claim of {item} must carry its token",
            hint=f"{Act.PROVE_CLAIM}.",
        )
    if proof == "wrong_token":
        raise InvalidInput(f"{token} is no token of {item}", hint=f"{Act.PROVE_CLAIM}.")
    return claim


def _has_credential(actor: Actor) -> bool:
    return actor.principal is not None and actor.principal.strength == "credential"


_UNTOLD: Final = (
    "nothing tells you from other agents of this machine, so only a person who signs can judge this; from now on give each agent a"
    " credential before it starts: a person runs `counterpoint agent create NAME`"
)
"""What an agent hears at its first claim whose work no other agent may judge."""
_FEW: Final = 5
"""How many of the last releases a brief looks at."""
_LATEST: Final = 50
"""Among how many of the last releases that of a claim is looked for."""


def _ended(view: Reading, claim: Claim) -> NotClaimHolder:
    """Return the refusal of a write under a claim that has ended; a person who freed it is named."""
    places = view.sequences(action=RELEASED, limit=_LATEST)
    freed = [release for sequence in places for release in release_at(view, sequence)]
    by = next(
        (
            release
            for release in freed
            if (release.item, release.token) == (claim.item, claim.token)
        ),
        None,
    )
    if by is None:
        ending = ending_of(view, claim.item)
        return NotClaimHolder(
            ending or f"the claim of {claim.item} has ended", hint=GIVEN_UP if ending else ""
        )
    return NotClaimHolder(
        f"{by.by} released {claim.item} at {by.at}: it is yours no more",
        hint=f"{Act.START}, or {Act.TAKE_OTHER_WORK}.",
    )


def refuse_strangers(change: Change, item: str, token: int | None) -> None:
    """Pass without a token, and with one that proves the caller's claim of the item.

    Raises what `prove_claim` raises: ClaimLost, NotClaimHolder, and InvalidInput for no token of the item.
    """
    if token is not None:
        prove_claim(change.writing, change.context.caller, item, token)


def refuse_uncounted(view: Reading, caller: Caller, item: str, token: int | None) -> None:
    """Pass if a check counts for whoever holds an item: it comes with the token of the claim, from the tree of it.

    Of an item that nobody holds any check counts. Raises what `prove_claim` raises, and Conflict in another tree.
    """
    if token is None:
        claim = view.find(Claim, item)
        if claim is not None and claim.is_held:
            raise NotClaimHolder(
                f"{item} is {held_until(claim)}, and its checks count with the token of that claim",
                hint=f"{Act.PROVE_CLAIM}.",
            )
        return
    claim = prove_claim(view, caller, item, token)
    point, tree = view.find(StartPoint, item, claim.token), tree_of(caller)
    if point is not None and point.tree != tree:
        raise Conflict(
            f"{item} was begun in the tree `{point.tree}`, and this is `{tree}`",
            hint="Run its checks from there.",
        )


def refuse_held(change: Change, item: Item) -> None:
    """Raise AlreadyClaimed unless a person would move what another session holds at this moment."""
    holders = Holders(change.writing, change.context)
    other = holders.other(change.find(Claim, item.id))
    if other is not None and caller_authority(change) not in PEOPLE:
        refuse_taken(other, departure=holders.departure(other))


def refuse_taken(claim: Claim, hint: str = "", *, departure: Departure | None = None) -> NoReturn:
    """Raise AlreadyClaimed: who holds the item of a claim, and until when; departure: that the holder is gone."""
    until = claim.leased_until
    if departure is not None:
        until = min(until, departure.free_at)
        hint = hint or f"{Act.TAKE_OTHER_WORK}, or repeat this at {until}."
    raise AlreadyClaimed(
        f"{claim.item} is {held_until(claim, departure)}",
        hint=hint,
        holder=claim.agent,
        until=until,
    )
