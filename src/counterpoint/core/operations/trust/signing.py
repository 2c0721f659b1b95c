"""Having the ledger's end signed, and telling what was signed last.

1. Only `sign`, `renew` and `open_epoch` ask the signer for a signature; everything else reads.
2. A head is asked for with the proof that it extends the last one (core.ledger.growth), made of what is
   committed: what a call that is still open has written is not signed.
3. The last head is kept beside the database too (the anchor), for those who cannot ask the signer. An anchor
   is replaced only by a head of the same or a later epoch that is not smaller, and not by that of a key that
   the ledger does not name.
4. A ledger names the keys that sign it: the first in an entry of its own before anything is signed, each later one in the entry of an epoch.
   So nobody waits for a signer, or for what makes a key, to write a first entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final

from counterpoint.core.ledger.entry import Entry
from counterpoint.core.ledger.growth import gone_fault, origin_of, place_fault
from counterpoint.core.ledger.merkle import Frontier, consistency_proof
from counterpoint.core.ledger.note import VerifierKey, is_public_key
from counterpoint.core.model.access import Actor
from counterpoint.core.model.identity import ProposedAct
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.trust.heads import (
    FIRST_EPOCH,
    NAMED,
    OPENED,
    Epoch,
    Growth,
    Left,
    SignedHead,
    Unsigned,
)
from counterpoint.core.model.work import Project
from counterpoint.core.operations.recording.authority import (
    refuse_agent,
    refuse_others,
    refuse_unsigned_act,
)
from counterpoint.core.operations.recording.change import Change, missing
from counterpoint.core.operations.recording.context import Caller, Context
from counterpoint.core.operations.recording.forks import last_epoch, refuse_fork
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.operations.trust.heads import (
    describe_unaccounted,
    list_named_keys,
    open_head,
    refuse_recovered,
    refuse_unnamed,
)
from counterpoint.core.ports.store import Head, Reading
from counterpoint.core.rules.trust.moved import moved_fault
from counterpoint.kernel.acts import Act
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import (
    CounterpointError,
    ForkRefused,
    InvalidInput,
    LedgerBroken,
    ProofMismatch,
    SignerAway,
    StaleVersion,
    Unavailable,
)

_ATTEMPTS = 3
_OPEN: Final = "open an epoch", Act.BY_PERSON
_NEVER: Final = (
    "The first signature names the key: a server makes it soon after the first call, and"
    " `counterpoint audit prove --checkpoint` at once. `counterpoint doctor` says what keeps the signer."
)


class LedgerSigning:
    """Verbs for heads that are signed."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._signer = context.ports.signer
        self._origin = origin_of(context.project)

    @property
    def key(self) -> VerifierKey:
        """The public key that signs the ledger: the signer's, else the last that the ledger names. SignerAway."""
        keys = self.keys()
        if not keys:
            raise SignerAway("no key has signed this ledger yet", hint=_NEVER)
        return keys[0]

    def keys(self) -> tuple[VerifierKey, ...]:
        """Return that key, and then every other that the ledger names; none if it has none yet."""
        with self._context.reading() as view:
            project, keys = view.find(Project), list_named_keys(view)
        try:
            own_key = self._signer.known_key(project.ledger) if project else None
        except Unavailable:
            own_key = None
        every = dict.fromkeys([own_key.hex(), *keys] if own_key else keys)
        return tuple(self._verifier(public_key) for public_key in every)

    def named_key(self) -> VerifierKey:
        """Return the key of the signer if it is the one that the ledger names now; SignerAway.

        Whatever stands in an entry under another key would count as forged.
        """
        with self._context.reading() as view:
            names = list_named_keys(view)
        key = self.key
        refuse_unnamed(key, names)
        return key

    def key_at(self, time: Timestamp) -> VerifierKey:
        """Return the key that the ledger named last at a time, or without one that of the signer."""
        with self._context.reading() as view:
            project = view.find(Project)
            public_keys = [project.public_key] if project else []
            public_keys += [
                epoch.public_key
                for epoch in view.select(Epoch, order="number")
                if epoch.opened_at <= time
            ]
        valid = [public_key for public_key in public_keys if is_public_key(public_key)]
        return self._verifier(valid[-1]) if valid else self.key

    def _verifier(self, public_key: str) -> VerifierKey:
        return VerifierKey(name=self._origin, public_key=bytes.fromhex(public_key))

    def last(self) -> SignedHead | None:
        """Return the head that was signed last, from the signer or from beside the database."""
        with self._context.reading() as view:
            return self._last(view)

    def _last(self, view: Reading) -> SignedHead | None:
        project = view.find(Project)
        try:
            own_head = self._signer.last(project.ledger) if project else None
        except Unavailable:
            own_head = None
        if own_head and own_head.note == self._context.ports.anchors.last(self._context.project):
            # What lies beside the database is what the signer itself keeps: no signature says more than he does.
            return own_head
        return _higher(own_head, self._kept(view))

    def _kept(self, view: Reading) -> SignedHead | None:
        """Return the anchor if a key that the ledger names has signed it."""
        note = self._context.ports.anchors.last(self._context.project)
        keys = list(map(self._verifier, list_named_keys(view)))
        return open_head(note, keys) if note else None

    def notes(self) -> tuple[str, ...]:
        """Return what vouches for the ledger from outside: the anchor, and the head signed last.

        Of a copy that was left the anchor alone: the head is that of the ledger where it is now.
        """
        with self._context.reading() as view:
            last = None if view.moved() else self._last(view)
        anchor = self._context.ports.anchors.last(self._context.project)
        return tuple(filter(None, (anchor, last.note if last else "")))

    def head(self) -> SignedHead:
        """Return the head that was signed last; SignerAway if none was."""
        head = self.last()
        if head is None:
            raise SignerAway("nothing of this ledger is signed yet", hint=_NEVER)
        return head

    def renew(self) -> None:
        """Have the present end signed if that may be and can be; ForkRefused.

        A command says so before it proves anything; a tool that reads has nothing signed.
        """
        if self._context.ports.may_sign:
            with suppress(Unavailable):
                self.sign()

    def at(self, size: int) -> SignedHead | None:
        """Return a head of this size that was signed, if the signer can tell."""
        with self._context.reading() as view:
            project = view.find(Project)
        try:
            return self._signer.signed(project.ledger, size) if project else None
        except Unavailable:
            return None

    def name_key(self) -> None:
        """Let the ledger name the signer's key if it names none yet; ForkRefused, Unavailable. Nothing where a transaction is open."""
        unit = self._context.unit
        if unit is not None and unit.writing is not None:
            return
        with self._context.reading() as view:
            project = view.find(Project)
            if project is None or list_named_keys(view):
                return
            last = self._signer.last(project.ledger)
            if last is not None:
                # Put back to before its key was named: nothing is written until a person says so.
                refuse_fork(view, last)
        public_key = self._signer.public_key(project.ledger).hex()
        caller = Caller(
            actor=Actor(kind="system", name="counterpoint"), root=self._context.caller.root
        )
        with recording(Context(ports=self._context.ports, caller=caller), NAMED) as change:
            # Another process may have named one since the look above.
            if not list_named_keys(change.writing):
                change.put(replace(change.get(Project), public_key=public_key))

    def sign(self) -> SignedHead | None:
        """Have the present end signed; None if there is no ledger. ForkRefused, Unavailable."""
        self.name_key()
        for _ in range(_ATTEMPTS):
            try:
                return self._sign()
            except StaleVersion:
                # Another process had a head signed meanwhile.
                continue
        raise SignerAway("others have heads of this ledger signed all the time")

    def _sign(self) -> SignedHead | None:
        with self._context.ports.store.reading(self._context.project) as view:
            project = view.find(Project)
            if project is None:
                return None
            if moved := view.moved():
                raise moved_fault(self._context.project, moved)
            last = self._signer.last(project.ledger)
            growth = self._growth(view, last)
            anchor = self._kept(view)
            if last is None and anchor is not None:
                refuse_fork(view, anchor)
            names = list_named_keys(view)
        if last and (last.size, last.root, last.epoch) == (growth.size, growth.root, growth.epoch):
            head = last
        else:
            head = self._signer.sign_head(project.ledger, growth)
        self._keep(head, anchor, names)
        return head

    def _growth(self, view: Reading, last: SignedHead | None) -> Growth:
        head = view.head()
        before = min(last.size, head.size) if last else 0
        return Growth(
            origin=self._origin,
            size=head.size,
            root=_root(head),
            before=before,
            proof=tuple(consistency_proof(before, head.size, view.node)),
            epoch=last_epoch(view),
        )

    def _keep(self, head: SignedHead, anchor: SignedHead | None, names: list[str]) -> None:
        if anchor and (anchor.epoch, anchor.size) >= (head.epoch, head.size):
            return
        keys = list(map(self._verifier, names))
        if not keys or open_head(head.note, keys):
            self._context.ports.anchors.keep(self._context.project, head.note)

    def open_epoch(self, reason: str) -> Epoch:
        """Let the signer go on from the present end, whatever it signed before; InvalidInput.

        It stands in the ledger for ever, with the head that was left.
        """
        with self._context.reading() as view:
            # Asked again in the transaction: here, so that nobody else has the signer make a key.
            refuse_others(view, self._context, *_OPEN)
        departure = self.asked(reason)
        with recording(self._context, OPENED) as change:
            refuse_agent(change, *_OPEN)
            actor = self._context.caller.actor
            signer = actor.principal.id if actor.principal and actor.is_signed else ""
            epoch = self.begin(change, reason, departure, signer)
            # A ledger that the signer refuses is one to restore: no signature helps there.
            refuse_unsigned_act(change, *_OPEN)
        self.go_on(epoch)
        return epoch

    def refuse_opening(self) -> None:
        """Raise Forbidden unless whoever asks may open an epoch, as far as no signer has to be asked."""
        with recording(self._context, OPENED) as change:
            refuse_unsigned_act(change, *_OPEN)

    def begin(self, change: Change, reason: str, departure: Left, confirmed_by: str = "") -> Epoch:
        """Return an epoch that an entry opens; ForkRefused.

        departure: what `asked` answered before the transaction, in which nobody waits for a signer.
        confirmed_by: the key of the person who signs that, and does not come in by it.
        """
        refuse_recovered(change.writing, departure.signed)
        # Whatever was signed since it was asked is kept beside the database.
        last = _higher(self._kept(change.writing), departure.head)
        former = departure.untold if last and _extends(change.writing, last) else None
        former = former or last
        epoch = Epoch(
            project=self._context.project,
            number=self._next_epoch(change.writing, last),
            public_key=departure.public_key,
            left_epoch=former.epoch if former else 0,
            left_size=former.size if former else -1,
            left_root=former.root.hex() if former else "",
            gone=departure.gone,
            reason=Prose(reason.strip()),
            confirmed_by=confirmed_by,
            agent=self._context.caller.actor.name,
            opened_at=change.now,
        )
        change.put(epoch)
        change.add_facts(
            epoch=epoch.number,
            confirmed=bool(confirmed_by),
            left=departure.signed.epoch if departure.signed else 0,
        )
        if departure.gone:
            change.add_facts(gone=list(departure.gone))
        return epoch

    def asked(self, reason: str) -> Left:
        """Return what an epoch is opened with, as the signer and all witnesses say; InvalidInput, Unavailable."""
        if not reason.strip():
            raise InvalidInput("an epoch has a reason", hint="Say why the ledger is another one.")
        departure = self.leaving()
        with self._context.reading() as view:
            project = view.find(Project)
        if project is None:
            raise missing(Project)
        # Of the signer alone: what lies beside the database is of whoever can write there.
        signed = self._signer.last(project.ledger)
        key = self._signer.public_key(project.ledger).hex()
        return replace(
            departure, head=_higher(signed, departure.head), signed=signed, public_key=key
        )

    def leaving(self) -> Left:
        """Return what an epoch would leave if it were opened now; asks the signer and all witnesses."""
        heads, gone = list(self._heads()), sorted(self._gone(self._placed()))
        with self._context.reading() as view:
            older = (head for head in heads if head.epoch < last_epoch(view))
            missed = [head for head in older if describe_unaccounted(view, head)]
        return Left(head=_highest(heads), untold=_highest(missed), gone=tuple(gone))

    def _placed(self) -> Mapping[str, str]:
        try:
            return self._signer.placed()
        except Unavailable:
            return {}

    def _gone(self, placed: Mapping[str, str]) -> dict[str, str]:
        """Return those of other ledgers that were signed in this database which are not there any more, by their names."""
        others = {name: ledger for name, ledger in placed.items() if name != self._origin}
        if not others:
            return {}
        projects = self._context.ports.store.projects()
        ledgers = {origin_of(project.project): project.ledger for project in projects}
        return {name: ledger for name, ledger in others.items() if ledgers.get(name) != ledger}

    def _heads(self) -> Iterator[SignedHead]:
        """Return the heads that the signer, the checkpoint beside the ledger, witnesses and commits have; asks them all.

        Whoever put older copies of ledger and signer in their places leaves what a witness has seen.
        """
        last = self.last()
        if last is not None:
            yield last
        with self._context.reading() as view:
            project, keys = view.find(Project), list(map(self._verifier, list_named_keys(view)))
        if project is None:
            return
        notes: list[str] = []
        for witness in self._context.ports.witnesses():
            looks = [partial(witness.known, project.ledger)]
            if last is not None:
                looks.append(partial(witness.ask, project.ledger, last, _no_proof))
            for look in looks:
                with suppress(LedgerBroken, Unavailable):
                    has = look()
                    notes += [has.note] if has else []
        with suppress(Unavailable):
            notes += [trailer.note for trailer in self._context.ports.trailers(project.ledger)]
        for note in notes:
            head = open_head(note, keys)
            if head is not None:
                yield head

    def go_on(self, epoch: Epoch) -> None:
        """Have the signer sign the present end as that of an epoch; ForkRefused, Unavailable."""
        with self._context.ports.store.reading(self._context.project) as view:
            project = view.find(Project)
            growth = replace(self._growth(view, None), gone=epoch.gone)
        if project is None or growth.epoch != epoch.number:
            raise ForkRefused(
                f"the ledger tells of epoch {growth.epoch}, and not of {epoch.number}"
            )
        head = self._signer.open_epoch(project.ledger, growth)
        self._context.ports.anchors.keep(self._context.project, head.note)

    def proposed(self) -> ProposedAct:
        """Return what opening an epoch would decide now, for a person to sign."""
        departure = self.leaving()
        with self._context.reading() as view:
            number = self._next_epoch(view, departure.head)
        gone = {"gone": list(departure.gone)} if departure.gone else {}
        return ProposedAct(action=OPENED, decision={"epoch": number, **gone})

    def _next_epoch(self, view: Reading, last: SignedHead | None) -> int:
        return max(last_epoch(view), last.epoch if last else FIRST_EPOCH) + 1

    def epochs(self) -> list[Epoch]:
        """Return every epoch that a person has opened, in order."""
        with self._context.reading() as view:
            return view.select(Epoch, order="number")

    def statement(self, statement: bytes) -> bytes:
        """Return the signature over what is no head; Unavailable."""
        with self._context.reading() as view:
            project = view.find(Project)
        if project is None:
            raise SignerAway("this ledger has no first entry yet")
        return self._signer.sign(project.ledger, statement)

    def unsigned(self) -> Unsigned:
        """Return how many entries wait for a signature, since when, and what keeps it."""
        with self._context.reading() as view:
            last, head = self._last(view), view.head()
            fault = next(self.faults(view), None)
            signed = last.size if last else 0
            since = ""
            if signed < head.size:
                since = Entry.from_bytes(next(view.entries(signed, signed + 1))).time
        return Unsigned(
            signed=signed,
            waiting=max(0, head.size - signed),
            since=since,
            why=fault.message if fault else "",
            broken=isinstance(fault, LedgerBroken),
            away=isinstance(fault, SignerAway),
        )

    def faults(self, view: Reading) -> Iterator[CounterpointError]:
        """Say what is wrong between the ledger and its signer; Unavailable is what cannot be compared."""
        if moved := view.moved():
            # What was signed since is of the ledger where it is now.
            yield moved_fault(self._context.project, moved)
            return
        project = view.find(Project)
        try:
            placed = self._signer.placed()
        except Unavailable as fault:
            yield fault
            return
        yield from (gone_fault(*gone_ledger) for gone_ledger in sorted(self._gone(placed).items()))
        seen = placed.get(self._origin)
        if fault := place_fault(seen, project.ledger if project else None):
            # The signer knows nothing else of this one.
            yield fault
            return
        if project is None:
            return
        try:
            last, known_key = (
                self._signer.last(project.ledger),
                self._signer.known_key(project.ledger),
            )
        except Unavailable as fault:
            yield fault
            return
        names = list_named_keys(view)
        if known_key is None and names:
            yield SignerAway(
                "the signer of this account has no key of this ledger",
                hint="Nothing here remembers what was signed. On another machine that is so until its"
                " first signature; else restore the signer's state.",
            )
        if known_key is not None and names and known_key.hex() != names[0]:
            yield ProofMismatch(
                "the key of the signer is another than the one that the ledger names",
                hint="If this is another account or machine, have it use the signer of the first:"
                " COUNTERPOINT_SIGNER (docs/service.md). If the signer's state was lost,"
                " `counterpoint audit epoch --reason TEXT` names the present key in the place of the one before.",
                key=known_key.hex(),
            )
        if last is not None:
            try:
                refuse_fork(view, last)
            except LedgerBroken as fault:
                yield fault


def _higher(first: SignedHead | None, other: SignedHead | None) -> SignedHead | None:
    return _highest([head for head in (first, other) if head is not None])


def _highest(heads: Iterable[SignedHead]) -> SignedHead | None:
    return max(heads, key=lambda head: (head.epoch, head.size), default=None)


def _extends(view: Reading, signed: SignedHead) -> bool:
    try:
        refuse_fork(view, signed)
    except ForkRefused:
        return False
    return True


def _no_proof(first: int, second: int) -> tuple[bytes, ...]:
    """Refuse a proof: a witness is only asked what it has, and cosigns nothing."""
    raise Unavailable(f"no proof is made from {first} to {second}")


def _root(head: Head) -> bytes:
    return Frontier.from_bytes(head.frontier).root()
