"""Giving heads to witnesses, and comparing the ledger with what they have.

1. A head is given to a witness if the ledger extends it, a key that the ledger names has signed it, and the
   witness has an older one that does not contradict the ledger: what it has is evidence, and stays.
2. A head that a witness has and the ledger does not begin with is a fault. So is one of another key.
3. A witness that cannot be read or reached, that has nothing though something was signed, or has a head of an
   epoch that was left is told in a remark. Whether an epoch was right is told by its entry, not by a witness.
4. Comparing changes nothing. Whoever waits for an answer asks no witness elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from counterpoint.core.ledger.merkle import consistency_proof
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.model.trust.heads import SignedHead, Witnessed, WitnessedHead
from counterpoint.core.model.work import Project
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.trust.signing import (
    Signing,
    last_epoch,
    named,
    open_head,
    refuse_fork,
)
from counterpoint.core.ports.store import Reading
from counterpoint.core.ports.witnesses import Witness
from counterpoint.kernel.errors import (
    ForkRefused,
    LedgerBroken,
    ProofMismatch,
    Unavailable,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What comparing with all witnesses found: what each has, faults, and what could not be compared."""

    witnesses: list[Witnessed] = field(default_factory=list[Witnessed])
    faults: list[LedgerBroken] = field(default_factory=list[LedgerBroken])
    remarks: list[Unavailable] = field(default_factory=list[Unavailable])

    def add(self, witness: str, found: LedgerBroken | Unavailable) -> None:
        """Add what is wrong with a witness, by its name."""
        told = type(found)(
            f"{witness}: {found.message}", hint=found.steps, **{**found.facts, "witness": witness}
        )
        if isinstance(told, LedgerBroken):
            self.faults.append(told)
        else:
            self.remarks.append(told)


class Witnessing:
    """Verbs for those who keep heads elsewhere."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def tell(self) -> Compared:
        """Give the head that was signed last to every witness that has an older one.

        Answers what kept it from whom.
        """
        found = Compared()
        ledger, head = self._signed()
        if head is None:
            return found
        for witness in self._context.ports.witnesses():
            try:
                has = witness.known(ledger)
                with self._context.reading() as view:
                    faults = [] if has is None else list(self._faults(view, has))
                if any(isinstance(one, LedgerBroken) for one in faults):
                    found.add(witness.name, faults[0])
                elif has is None or faults or has.size < head.size:
                    witness.keep(ledger, head, self._prove)
            except (LedgerBroken, Unavailable) as fault:
                found.add(witness.name, fault)
        return found

    def _signed(self) -> tuple[str, SignedHead | None]:
        """Return the id of the ledger, and the head signed last if the ledger vouches for it."""
        last = Signing(self._context).last()
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
        name = f"counterpoint/{self._context.project}"
        return [VerifierKey(name=name, public_key=bytes.fromhex(one)) for one in named(view)]

    def _prove(self, first: int, second: int) -> tuple[bytes, ...]:
        with self._context.reading() as view:
            if not first <= second <= view.head().size:
                raise Unavailable(
                    f"there is no proof that {second:,} entries begin with {first:,} of them"
                )
            return tuple(consistency_proof(first, second, view.node))

    def endorsed(self, note: str) -> str:
        """Return a signed head with the cosignatures that are kept of witnesses over the same text."""
        with self._context.reading() as view:
            (project,) = view.select(Project)
        lines = dict.fromkeys(_signatures(note))
        for witness in self._context.ports.witnesses():
            # One that cannot be read endorses nothing; comparing says why.
            with suppress(LedgerBroken, Unavailable):
                has = witness.known(project.ledger)
                if has is not None and _text(has.note) == _text(note):
                    lines |= dict.fromkeys(_signatures(has.note))
        return f"{_text(note)}\n\n" + "".join(lines)

    def compare(self, *, elsewhere: bool = True) -> Compared:
        """Compare the ledger with what every witness has. elsewhere: ask those who are not on this machine."""
        found = Compared()
        last = Signing(self._context).last()
        with self._context.reading() as view:
            project = view.find(Project)
        if project is None:
            return found
        for witness in self._context.ports.witnesses():
            before = len(found.remarks)
            try:
                has = self._has(witness, project.ledger, last if elsewhere else None, found)
            except (LedgerBroken, Unavailable) as fault:
                found.add(witness.name, fault)
                continue
            found.witnesses.append(
                Witnessed(
                    witness=witness.name,
                    size=has.size if has else -1,
                    time=has.time if has else "",
                )
            )
            # Who could not be asked, and of whom nothing is known, was named already.
            if has is not None or (last is not None and len(found.remarks) == before):
                with self._context.reading() as view:
                    for fault in self._faults(view, has):
                        found.add(witness.name, fault)
        return found

    def _has(
        self, witness: Witness, ledger: str, last: SignedHead | None, found: Compared
    ) -> WitnessedHead | None:
        """Return the last head of a witness: what it says, else what is known of it."""
        if last is None:
            return witness.known(ledger)
        try:
            return witness.ask(ledger, last, self._prove)
        except (LedgerBroken, Unavailable) as fault:
            has = witness.known(ledger)
            found.add(witness.name, fault)
            return has

    def _faults(
        self, view: Reading, has: WitnessedHead | None
    ) -> Iterator[LedgerBroken | Unavailable]:
        """Say what is wrong between the ledger and a head that a witness has; Unavailable is a remark."""
        size = view.head().size
        if has is None:
            yield Unavailable("it has no head of this ledger yet", hint=_LATER)
            return
        if not has.note:
            if has.size > size:
                yield ForkRefused(
                    f"it has the head of {has.size:,} entries, and the ledger has {size:,}",
                    witnessed=has.size,
                )
            else:
                yield Unavailable(f"what it has of {has.size:,} entries is not known here")
            return
        head = open_head(has.note, self._keys(view))
        if head is None:
            yield ProofMismatch(
                "its head is not signed by a key that the ledger names",
                hint="The ledger is another one, or somebody wrote to the witness. Keep both.",
            )
        elif head.epoch < last_epoch(view):
            yield Unavailable(
                f"its head of {head.size:,} entries is of epoch {head.epoch}, which was left",
                hint=_LATER,
            )
        else:
            try:
                refuse_fork(view, head)
            except LedgerBroken as fault:
                yield fault


_LATER = "A server that runs gives it the next head within a minute."


def _text(note: str) -> str:
    return note.rpartition("\n\n")[0]


def _signatures(note: str) -> list[str]:
    return note.rpartition("\n\n")[2].splitlines(keepends=True)
