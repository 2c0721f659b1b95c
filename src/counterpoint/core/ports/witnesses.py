"""What the core asks of those who keep heads where the ledger is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from counterpoint.core.model.trust.heads import SignedHead, WitnessedHead

Prove = Callable[[int, int], tuple[bytes, ...]]
"""Answers the proof that the ledger of one size begins with that of a smaller one."""

Trailers = Callable[[str], tuple[WitnessedHead, ...]]
"""Answers the heads of a ledger, by its id, that commits have, of the newest commit first; Unavailable."""


def no_trailers(ledger: str) -> tuple[WitnessedHead, ...]:
    """Return nothing: there are no commits."""
    del ledger
    return ()


Cosigned = Callable[[str], tuple[str, ...]]
"""Answers the checkpoints of a ledger, by its id, that are kept here with a cosignature, whoever made that."""


def none_cosigned(ledger: str) -> tuple[str, ...]:
    """Return nothing: no cosignature is kept."""
    del ledger
    return ()


class Witness(Protocol):
    """Keeps the last head that it was given of each ledger.

    ledger: its id (`Project.ledger`). Every method may raise Unavailable: the witness cannot be read or
    reached; and LedgerBroken: what it has contradicts what it is asked about.
    """

    @property
    def name(self) -> str:
        """What it is called in answers."""
        ...

    def known(self, ledger: str) -> WitnessedHead | None:
        """Return what is known here of the last head it has; asks nobody elsewhere, changes nothing."""
        ...

    def ask(self, ledger: str, head: SignedHead, prove: Prove) -> WitnessedHead | None:
        """Return the last head it has, after asking it about one that was signed. Keeps nothing here."""
        ...

    def keep(self, ledger: str, head: SignedHead, prove: Prove) -> None:
        """Give it a head that was signed."""
        ...

    def cosign(self, ledger: str, head: SignedHead, prove: Prove) -> str:
        """Return a head that was signed with its cosignature of now, and keep nothing here; empty if it signs none."""
        ...
