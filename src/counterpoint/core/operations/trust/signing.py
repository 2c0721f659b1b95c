"""Having the ledger's end signed, and telling what was signed last.

1. Only `sign`, `renew` and `open_epoch` ask the signer for a signature; everything else reads.
2. A head is asked for with the proof that it extends the last one (core.ledger.growth), made of what is
   committed: what a call that is still open has written is not signed.
3. The last head is kept beside the database too (the anchor), for those who cannot ask the signer. An anchor
   is replaced only by a head of the same or a later epoch that is not smaller, and not by that of a key that
   the ledger does not name.
4. A ledger names the keys that sign it: the first in its first entry, each later one in the entry of an epoch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256

from counterpoint.core.ledger import checkpoint as checkpoints
from counterpoint.core.ledger.checkpoint import Checkpoint
from counterpoint.core.ledger.entry import Entry
from counterpoint.core.ledger.growth import epoch_of, place_fault
from counterpoint.core.ledger.merkle import Frontier, consistency_proof, frontier_at
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.model.identity import Key, ProposedAct
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.trust.heads import (
    FIRST_EPOCH,
    Epoch,
    Growth,
    SignedHead,
    Unsigned,
)
from counterpoint.core.model.work import Project
from counterpoint.core.operations.recording.authority import refuse_agent, refuse_unsigned_act
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.store import Head, Reading
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import (
    CounterpointError,
    ForkRefused,
    InvalidInput,
    LedgerBroken,
    MalformedDocument,
    ProofMismatch,
    SignerAway,
    StaleVersion,
    Unavailable,
)

_ATTEMPTS = 3
_KEY = re.compile("[0-9a-f]{64}")
NO_KEY = VerifierKey(name="counterpoint", public_key=sha256(b"no key").digest())
"""What nobody can sign with: a ledger that was never signed has no seals either."""


class Signing:
    """Verbs for heads that are signed."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._signer = context.ports.signer
        self._origin = f"counterpoint/{context.project}"

    @property
    def key(self) -> VerifierKey:
        """The public key that signs the ledger: the signer's, else the last that the ledger names. SignerAway."""
        keys = self.keys()
        if not keys:
            raise SignerAway("no key has signed this ledger yet")
        return keys[0]

    def keys(self) -> tuple[VerifierKey, ...]:
        """Return that key, and then every other that the ledger names; none if it has none yet."""
        with self._context.reading() as view:
            project, keys = view.find(Project), named(view)
        try:
            mine = self._signer.known_key(project.ledger) if project else None
        except Unavailable:
            mine = None
        every = dict.fromkeys([mine.hex(), *keys] if mine else keys)
        return tuple(self._verifier(one) for one in every)

    def named_key(self) -> VerifierKey:
        """Return the key of the signer if it is the one that the ledger names now; SignerAway.

        Whatever stands in an entry under another key would count as forged.
        """
        with self._context.reading() as view:
            names = named(view)
        key = self.key
        if names and key.public_key.hex() != names[0]:
            raise SignerAway(
                "the key of the signer is another than the one that the ledger names",
                hint="If the signer's state was lost, `counterpoint audit epoch --reason TEXT` names the"
                " present key.",
            )
        return key

    def key_at(self, time: Timestamp) -> VerifierKey:
        """Return the key that the ledger named last at a time, or without one that of the signer."""
        with self._context.reading() as view:
            project = view.find(Project)
            found = [project.public_key] if project else []
            found += [
                one.public_key
                for one in view.select(Epoch, order="number")
                if one.opened_at <= time
            ]
        known = [one for one in found if _KEY.fullmatch(one)]
        return self._verifier(known[-1]) if known else self.key

    def _verifier(self, public_key: str) -> VerifierKey:
        return VerifierKey(name=self._origin, public_key=bytes.fromhex(public_key))

    def last(self) -> SignedHead | None:
        """Return the head that was signed last, from the signer or from beside the database."""
        with self._context.reading() as view:
            return self._last(view)

    def _last(self, view: Reading) -> SignedHead | None:
        project = view.find(Project)
        try:
            mine = self._signer.last(project.ledger) if project else None
        except Unavailable:
            mine = None
        kept = self._kept(view)
        return max(filter(None, (mine, kept)), key=lambda one: (one.epoch, one.size), default=None)

    def _kept(self, view: Reading) -> SignedHead | None:
        """Return the anchor if a key that the ledger names has signed it."""
        note = self._context.ports.anchors.last(self._context.project)
        keys = list(map(self._verifier, named(view)))
        return open_head(note, keys) if note else None

    def notes(self) -> tuple[str, ...]:
        """Return what vouches for the ledger from outside: the anchor, and the head signed last."""
        last = self.last()
        kept = self._context.ports.anchors.last(self._context.project)
        return tuple(filter(None, (kept, last.note if last else "")))

    def head(self) -> SignedHead:
        """Return the head that was signed last; SignerAway if none was."""
        found = self.last()
        if found is None:
            raise SignerAway("nothing of this ledger is signed yet")
        return found

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

    def sign(self) -> SignedHead | None:
        """Have the present end signed; None if there is no ledger. ForkRefused, Unavailable."""
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
            last = self._signer.last(project.ledger)
            asked = self._growth(view, last)
            kept = self._kept(view)
            if last is None and kept is not None:
                refuse_fork(view, kept)
            names = named(view)
        if last and (last.size, last.root, last.epoch) == (asked.size, asked.root, asked.epoch):
            made = last
        else:
            made = self._signer.sign_head(project.ledger, asked)
        self._keep(made, kept, names)
        return made

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

    def _keep(self, made: SignedHead, kept: SignedHead | None, names: list[str]) -> None:
        if kept and (kept.epoch, kept.size) >= (made.epoch, made.size):
            return
        keys = list(map(self._verifier, names))
        if not keys or open_head(made.note, keys):
            self._context.ports.anchors.keep(self._context.project, made.note)

    def open_epoch(self, reason: str) -> Epoch:
        """Let the signer go on from the present end, whatever it signed before; InvalidInput.

        It stands in the ledger for ever, with the head that was left.
        """
        with recording(self._context, "epoch.opened") as change:
            act = "open an epoch", "Ask a person: `counterpoint audit epoch`"
            refuse_agent(change, *act)
            actor = self._context.caller.actor
            signer = actor.principal.id if actor.principal and actor.is_signed else ""
            epoch = self.begin(change, reason, signer)
            # A ledger that the signer refuses is one to restore: no signature helps there.
            refuse_unsigned_act(change, *act)
        self.go_on(epoch)
        return epoch

    def begin(self, change: Change, reason: str, confirmed_by: str = "") -> Epoch:
        """Return an epoch that an entry opens; InvalidInput, Unavailable, ForkRefused.

        confirmed_by: the key of the person who signs that, and does not come in by it.
        """
        if not reason.strip():
            raise InvalidInput("an epoch has a reason", hint="Say why the ledger is another one.")
        project = change.get(Project)
        # Asked of the signer alone: what lies beside the database is of whoever can write there.
        left = self._signer.last(project.ledger)
        _refuse_recovered(change.writing, left)
        last = self._last(change.writing)
        epoch = Epoch(
            project=self._context.project,
            number=self._next_epoch(change.writing, last),
            public_key=self._signer.public_key(project.ledger).hex(),
            left_size=last.size if last else -1,
            left_root=last.root.hex() if last else "",
            reason=Prose(reason.strip()),
            confirmed_by=confirmed_by,
            agent=self._context.caller.actor.name,
            opened_at=change.now,
        )
        change.put(epoch)
        change.add_facts(
            epoch=epoch.number, confirmed=bool(confirmed_by), left=left.epoch if left else 0
        )
        return epoch

    def go_on(self, epoch: Epoch) -> None:
        """Have the signer sign the present end as that of an epoch; ForkRefused, Unavailable."""
        with self._context.ports.store.reading(self._context.project) as view:
            project, asked = view.find(Project), self._growth(view, None)
        if project is None or asked.epoch != epoch.number:
            raise ForkRefused(f"the ledger tells of epoch {asked.epoch}, and not of {epoch.number}")
        made = self._signer.open_epoch(project.ledger, asked)
        self._context.ports.anchors.keep(self._context.project, made.note)

    def proposed(self) -> ProposedAct:
        """Return what opening an epoch would decide now, for a person to sign."""
        with self._context.reading() as view:
            number = self._next_epoch(view, self._last(view))
        return ProposedAct(action="epoch.opened", decision={"epoch": number})

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
        )

    def faults(self, view: Reading) -> Iterator[CounterpointError]:
        """Say what is wrong between the ledger and its signer; Unavailable is what cannot be compared."""
        project = view.find(Project)
        try:
            seen = self._signer.seen(self._origin)
        except Unavailable as fault:
            yield fault
            return
        if fault := place_fault(seen, project.ledger if project else None):
            # The signer knows nothing else of this one.
            yield fault
            return
        if project is None:
            return
        try:
            last, known = self._signer.last(project.ledger), self._signer.known_key(project.ledger)
        except Unavailable as fault:
            yield fault
            return
        names = named(view)
        if known is None and names:
            yield SignerAway(
                "the signer of this account has no key of this ledger",
                hint="Nothing here remembers what was signed. On another machine that is so until its"
                " first signature; else restore the signer's state.",
            )
        if known is not None and names and known.hex() not in names:
            yield ProofMismatch(
                "the key of the signer is another than those that the ledger names",
                hint="The signer's state was lost, or is of another account or machine. If that is"
                " so, `counterpoint audit epoch --reason TEXT` names the present key.",
                key=known.hex(),
            )
        if last is not None:
            try:
                refuse_fork(view, last)
            except LedgerBroken as fault:
                yield fault


def named(view: Reading) -> list[str]:
    """Return the public keys that a ledger names as its own, in hex, the latest first."""
    project = view.find(Project)
    keys = [one.public_key for one in view.select(Epoch, order="number desc")]
    keys += [project.public_key] if project else []
    return [one for one in keys if _KEY.fullmatch(one)]


def _refuse_recovered(view: Reading, left: SignedHead | None) -> None:
    """Raise ForkRefused if a ledger tells of a recovered key in an epoch that the signer never opened."""
    for key in view.select(Key):
        if left is not None and key.recovered_in > left.epoch:
            raise ForkRefused(
                f"the ledger tells that the key {key.id} was recovered in epoch {key.recovered_in}, but"
                f" epoch {left.epoch} was signed",
                hint="Nobody had the signer do that: restore a backup.",
            )


def last_epoch(view: Reading) -> int:
    """Return the number of the last epoch that a ledger tells of."""
    found = view.select(Epoch, order="number desc", limit=1)
    return found[0].number if found else FIRST_EPOCH


def open_head(note: str, keys: list[VerifierKey]) -> SignedHead | None:
    """Return the head that a note says, if one of the keys has signed it."""
    for key in keys:
        try:
            found = checkpoints.verify(note, key)
        except (LedgerBroken, MalformedDocument):
            continue
        epoch = epoch_of(found.extensions)
        return SignedHead(size=found.size, root=found.root, epoch=epoch, time="", note=note)
    return None


def open_checkpoint(
    note: str, keys: tuple[VerifierKey, ...], faults: list[CounterpointError]
) -> Checkpoint | None:
    """Return the checkpoint that one of the keys has signed; else a fault, of the first key."""
    found: list[CounterpointError] = []
    for key in keys:
        try:
            return checkpoints.verify(note, key)
        except CounterpointError as fault:
            found.append(fault)
    faults += found[:1]
    return None


def refuse_fork(view: Reading, signed: SignedHead) -> None:
    """Pass if a ledger extends a head that was signed; ForkRefused."""
    head = view.head()
    if last_epoch(view) != signed.epoch:
        raise ForkRefused(
            f"the ledger tells of epoch {last_epoch(view)}, but epoch {signed.epoch} was signed"
        )
    if head.size < signed.size:
        raise ForkRefused(
            f"the ledger has {head.size} entries, but {signed.size} were signed: it was cut off, or"
            " an older copy is in its place",
            signed=signed.size,
        )
    if frontier_at(signed.size, view.node).root() != signed.root:
        raise ForkRefused(
            f"the first {signed.size} entries are not those that were signed",
            signed=signed.size,
        )


def _root(head: Head) -> bytes:
    return Frontier.from_bytes(head.frontier).root()
