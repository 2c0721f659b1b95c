"""Compares a ledger with checkpoints, its signer and witnesses.

Rules: (1) a checkpoint that no key of the ledger has signed is a fault; the others are compared with the entries. (2) What
cannot be asked is a remark. (3) Each part is compared whatever came of the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from counterpoint.core.ledger.checkpoint import Checkpoint
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.model.trust.heads import Epoch, Witnessed
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.trust.heads import no_key, open_checkpoint
from counterpoint.core.operations.trust.signing import LedgerSigning
from counterpoint.core.operations.trust.witnessing import WitnessChecks
from counterpoint.kernel.damage import add_once, fault_of
from counterpoint.kernel.errors import CounterpointError, SignerAway, Unavailable


@dataclass(slots=True, kw_only=True)
class Comparison:
    """What was found: the keys that a ledger names, its epochs, checkpoints to compare it with, and what is wrong.

    remarks: what could not be compared, in words.
    """

    project: str
    keys: tuple[VerifierKey, ...] = ()
    epochs: tuple[Epoch, ...] = ()
    checkpoints: list[Checkpoint] = field(default_factory=list[Checkpoint])
    witnesses: tuple[Witnessed, ...] = ()
    faults: list[CounterpointError] = field(default_factory=list[CounterpointError])
    remarks: list[str] = field(default_factory=list[str])

    @property
    def key(self) -> VerifierKey:
        """The key that signs; one that nobody can sign with where there is none."""
        return self.keys[0] if self.keys else no_key(self.project)

    def part(self, look: Callable[[], None]) -> None:
        """Look at one part; what keeps it from being looked at is a fault, unless only the signer is away."""
        if (fault := fault_of(look)) is not None:
            self.add(fault, is_away=isinstance(fault, SignerAway))

    def add(self, fault: CounterpointError, *, is_away: bool) -> None:
        """Add a fault, or in words what could not be compared."""
        if is_away:
            self.remarks.append(fault.message)
        else:
            add_once(self.faults, fault)


def compare(
    context: Context, notes: tuple[str, ...], *, alone: bool, elsewhere: bool
) -> Comparison:
    """Compare a ledger with checkpoints that were given, and, unless alone, with all that vouches for it.

    elsewhere: witnesses that are not on this machine are asked, too.
    """
    comparison, signing = Comparison(project=context.project), LedgerSigning(context)
    all_notes = list(notes)

    def keys() -> None:
        comparison.keys = signing.keys()

    def epochs() -> None:
        comparison.epochs = tuple(signing.epochs())

    def signer() -> None:
        all_notes.extend(signing.notes())
        with context.reading() as view:
            for fault in signing.faults(view):
                comparison.add(fault, is_away=isinstance(fault, Unavailable))

    def witnesses() -> None:
        compared = WitnessChecks(context).compare(elsewhere=elsewhere)
        comparison.witnesses = tuple(compared.witnesses)
        for fault in (*compared.faults, *compared.remarks):
            comparison.add(fault, is_away=isinstance(fault, Unavailable))

    for part in (keys, epochs, *(() if alone else (signer, witnesses))):
        comparison.part(part)
    trusted = comparison.keys or (comparison.key,)
    for note in dict.fromkeys(all_notes):
        if (checkpoint := open_checkpoint(note, trusted, comparison.faults)) is not None:
            comparison.checkpoints.append(checkpoint)
    return comparison
