"""Giving heads to witnesses, and comparing the ledger with what they have.

1. A head is given to a witness if the ledger extends it, a key that the ledger names has signed it, and the
   witness has an older one that does not contradict the ledger: what it has is evidence, and stays.
2. A head that a witness has and the ledger does not begin with is a fault. So is one of another key.
3. A head of an epoch that was left is one that the ledger begins with, or one that an epoch after it tells to have been left, or
   smaller than that, or older; else it is a fault. Whether an epoch was right is told by its entry, not by a witness.
4. A witness that tells only a size above what was signed here, by the signer whose key the ledger names, is a fault: one of them was put
   back. One that cannot be read or reached, has nothing though something was signed, or has a head of an epoch that was left is told in a remark.
5. Comparing changes nothing. Whoever waits for an answer asks no witness elsewhere.
6. Heads in commits are all compared, each as that of a witness. Anybody can write a commit: one that no key of the ledger has signed
   accuses nobody, and none at all is nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from counterpoint.core.ledger.growth import origin_of
from counterpoint.core.ledger.merkle import consistency_proof
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.model.trust.heads import SignedHead, Witnessed, WitnessedHead
from counterpoint.core.model.work import Project
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.forks import last_epoch, refuse_fork
from counterpoint.core.operations.trust.heads import (
    describe_unaccounted,
    list_named_keys,
    open_head,
)
from counterpoint.core.operations.trust.signing import LedgerSigning
from counterpoint.core.ports.store import Reading
from counterpoint.core.ports.witnesses import Witness
from counterpoint.kernel.errors import (
    ForkRefused,
    LedgerBroken,
    ProofMismatch,
    Unavailable,
)
from counterpoint.kernel.plurals import agree, counted


@dataclass(frozen=True, slots=True, kw_only=True)
class WitnessComparison:
    """What comparing with all witnesses found: what each has, faults, and what could not be compared."""

    witnesses: list[Witnessed] = field(default_factory=list[Witnessed])
    faults: list[LedgerBroken] = field(default_factory=list[LedgerBroken])
    remarks: list[Unavailable] = field(default_factory=list[Unavailable])

    def add(self, witness: str, fault: LedgerBroken | Unavailable) -> None:
        """Add what is wrong with a witness, by its name."""
        message = type(fault)(
            f"{witness}: {fault.message}", hint=fault.steps, **{**fault.facts, "witness": witness}
        )
        if isinstance(message, LedgerBroken):
            self.faults.append(message)
        else:
            self.remarks.append(message)


class WitnessChecks(Verbs):
    """Verbs for those who keep heads elsewhere."""

    def tell(self) -> WitnessComparison:
        """Give the head that was signed last to every witness that has an older one.

        Answers what kept it from whom.
        """
        compared = WitnessComparison()
        ledger, head = self._signed()
        if head is None:
            return compared
        for witness in self._context.ports.witnesses():
            try:
                has = witness.known(ledger)
                with self._context.reading() as view:
                    faults = [] if has is None else list(self._faults(view, has))
                if any(isinstance(fault, LedgerBroken) for fault in faults):
                    compared.add(witness.name, faults[0])
                elif has is None or faults or has.size < head.size:
                    witness.keep(ledger, head, self.prove)
            except (LedgerBroken, Unavailable) as fault:
                compared.add(witness.name, fault)
        return compared

    def _signed(self) -> tuple[str, SignedHead | None]:
        """Return the id of the ledger, and the head signed last if the ledger vouches for it."""
        last = LedgerSigning(self._context).last()
        with self._context.reading() as view:
            project = view.find(Project)
            if project is None or last is None or open_head(last.note, self._keys(view)) is None:
                return "", None
            try:
                refuse_fork(view, last)
            except LedgerBroken:
                # It is the signer's to say so.
                return "", None
        return project.ledger, last

    def _keys(self, view: Reading) -> list[VerifierKey]:
        name = origin_of(self._context.project)
        return [
            VerifierKey(name=name, public_key=bytes.fromhex(public_key))
            for public_key in list_named_keys(view)
        ]

    def prove(self, first: int, second: int) -> tuple[bytes, ...]:
        """Return the proof that the ledger of one size begins with that of another; Unavailable."""
        with self._context.reading() as view:
            if not first <= second <= view.head().size:
                raise Unavailable(
                    f"there is no proof that {agree(second, 'entry', 'begins')} with {first:,} of them"
                )
            return tuple(consistency_proof(first, second, view.node))

    def endorsed(self, note: str) -> str:
        """Return a signed head with the cosignatures that are kept of witnesses over the same text."""
        with self._context.reading() as view:
            (project,) = view.select(Project)
        notes = list(self._context.ports.cosigned(project.ledger))
        for witness in self._context.ports.witnesses():
            # One that cannot be read endorses nothing; comparing says why.
            with suppress(LedgerBroken, Unavailable):
                has = witness.known(project.ledger)
                notes += [has.note] if has is not None else []
        same = (note, *(signed_note for signed_note in notes if _text(signed_note) == _text(note)))
        lines = dict.fromkeys(line for signed_note in same for line in _signatures(signed_note))
        return f"{_text(note)}\n\n" + "".join(lines)

    def compare(self, *, elsewhere: bool = True) -> WitnessComparison:
        """Compare the ledger with what every witness has. elsewhere: ask those who are not on this machine."""
        compared = WitnessComparison()
        last = LedgerSigning(self._context).last()
        with self._context.reading() as view:
            project, moved = view.find(Project), view.moved()
        if project is None or moved is not None:
            # They go on with the ledger where it is now, and have more than the copy that was left.
            return compared
        for witness in self._context.ports.witnesses():
            before = len(compared.remarks)
            try:
                has = self._has(witness, project.ledger, last if elsewhere else None, compared)
            except (LedgerBroken, Unavailable) as fault:
                compared.add(witness.name, fault)
                continue
            compared.witnesses.append(
                Witnessed(
                    witness=witness.name,
                    size=has.size if has else -1,
                    time=has.time if has else "",
                )
            )
            # Who could not be asked, and of whom nothing is known, was named already.
            if has is not None or (last is not None and len(compared.remarks) == before):
                with self._context.reading() as view:
                    for fault in self._faults(view, has):
                        compared.add(witness.name, fault)
        self._compare_commits(project.ledger, compared)
        return compared

    def _compare_commits(self, ledger: str, compared: WitnessComparison) -> None:
        """Compare the ledger with the heads that commits have; the first that contradicts it is told."""
        try:
            heads = self._context.ports.trailers(ledger)
        except Unavailable as fault:
            compared.add(COMMITS, fault)
            return
        with self._context.reading() as view:
            keys = self._keys(view)
            signed = [head for head in heads if open_head(head.note, keys) is not None]
            faults = [next(self._faults(view, head), None) for head in signed]
        if strange := len(heads) - len(signed):
            compared.add(
                COMMITS,
                Unavailable(f"{agree(strange, 'head', 'is')} signed by no key of this ledger"),
            )
        if not signed:
            return
        most = max(signed, key=lambda head: head.size)
        compared.witnesses.append(Witnessed(witness=COMMITS, size=most.size, time=most.time))
        broken = next((fault for fault in faults if isinstance(fault, LedgerBroken)), faults[0])
        if isinstance(broken, Unavailable):
            broken = Unavailable(broken.message, hint=_BY_A_COMMIT, **broken.facts)
        if broken is not None:
            compared.add(COMMITS, broken)

    def _has(
        self, witness: Witness, ledger: str, last: SignedHead | None, compared: WitnessComparison
    ) -> WitnessedHead | None:
        """Return the last head of a witness: what it says, else what is known of it."""
        if last is None:
            return witness.known(ledger)
        try:
            return witness.ask(ledger, last, self.prove)
        except (LedgerBroken, Unavailable) as fault:
            has = witness.known(ledger)
            compared.add(witness.name, fault)
            return has

    def _signed_here(self, view: Reading) -> int | None:
        """Return how many entries the signer here has signed; None if it is away, or not the one of the ledger."""
        project, names = view.find(Project), list_named_keys(view)
        signer = self._context.ports.signer
        try:
            key = signer.known_key(project.ledger) if project else None
            last = signer.last(project.ledger) if project else None
        except Unavailable:
            return None
        if key is None or names[:1] != [key.hex()]:
            return None
        return last.size if last else 0

    def _faults(
        self, view: Reading, has: WitnessedHead | None
    ) -> Iterator[LedgerBroken | Unavailable]:
        """Say what is wrong between the ledger and a head that a witness has; Unavailable is a remark."""
        size = view.head().size
        if has is None:
            yield Unavailable("it has no head of this ledger yet", hint=_LATER, has_none=True)
            return
        if not has.note:
            signed = self._signed_here(view)
            if has.size > size:
                yield ForkRefused(
                    f"it has the head of {counted(has.size, 'entry')}, and the ledger has {size:,}",
                    hint=_PUT_BACK,
                    witnessed=has.size,
                )
            elif signed is not None and has.size > signed:
                yield ForkRefused(
                    f"it has the head of {counted(has.size, 'entry')}, and only {signed:,} were signed here",
                    hint=_PUT_BACK,
                    witnessed=has.size,
                )
            else:
                yield Unavailable(f"what it has of {counted(has.size, 'entry')} is not known here")
            return
        head = open_head(has.note, self._keys(view))
        if head is None:
            yield ProofMismatch(
                "its head is not signed by a key that the ledger names",
                hint="The ledger is another one, or somebody wrote to the witness. Keep both.",
            )
        elif head.epoch < last_epoch(view):
            yield _left(view, head)
        else:
            try:
                refuse_fork(view, head)
            except LedgerBroken as fault:
                yield fault


COMMITS = "commit trailers"


def _left(view: Reading, head: SignedHead) -> ForkRefused | Unavailable:
    """Return what is to be said of a head of an epoch that was left."""
    statement = (
        f"its head of {counted(head.size, 'entry')} is of epoch {head.epoch}, which was left"
    )
    instead = describe_unaccounted(view, head)
    if not instead:
        return Unavailable(statement, hint=_LATER, left=head.epoch)
    return ForkRefused(f"{statement}, but {instead}", hint=_UNTOLD, witnessed=head.size)


_LATER = "A server that runs gives it the next head within a minute."
_BY_A_COMMIT = "The next commit with a trailer has the present head: `counterpoint audit trailer`."
_PUT_BACK = (
    "This ledger was cut off or put back, and its signer with it: restore what came later. If a person has put it"
    " there on purpose, `counterpoint audit epoch --reason TEXT` says so for ever; a witness elsewhere then begins anew by its operator."
)
_UNTOLD = (
    "Whoever opened the epoch told less than there was, or did not know of it: look for a copy of the ledger with these entries. Once a"
    " person has looked, `counterpoint audit epoch --reason TEXT` tells of them for ever."
)


def _text(note: str) -> str:
    return note.rpartition("\n\n")[0]


def _signatures(note: str) -> list[str]:
    return note.rpartition("\n\n")[2].splitlines(keepends=True)
