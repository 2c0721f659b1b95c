"""What the core asks of whoever holds the key of a ledger, and whether this account trusts it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from counterpoint.core.model.trust.heads import Growth, SignedHead
from counterpoint.core.model.trust.writers import WriterGrowth, WriterSignature
from counterpoint.core.model.work import Project


class Signer(Protocol):
    """Holds the Ed25519 key of each ledger, one for each writer in it, and remembers the heads that it signed.

    ledger: its id (`Project.ledger`). Every method may raise Unavailable: then nothing is signed, and
    what waits for a signature waits.
    """

    def known_key(self, ledger: str) -> bytes | None:
        """Return the 32 raw bytes of the public key; None if there is none yet. Makes nothing."""
        ...

    def last(self, ledger: str) -> SignedHead | None:
        """Return the head that was signed last. Makes nothing."""
        ...

    def placed(self) -> Mapping[str, str]:
        """Return each ledger that was signed in this place, the last by each name, unless an epoch said that it is gone. Makes nothing."""
        ...

    def signed(self, ledger: str, size: int) -> SignedHead | None:
        """Return a head of this size that was signed in the present epoch. Makes nothing."""
        ...

    def public_key(self, ledger: str) -> bytes:
        """Return the public key, made on first use."""
        ...

    def sign(self, ledger: str, statement: bytes) -> bytes:
        """Return the 64 bytes of a signature over what is neither a head nor of a writer; Forbidden for these."""
        ...

    def sign_ranges(
        self, ledger: str, origin: str, growths: Sequence[WriterGrowth]
    ) -> list[WriterSignature | None]:
        """Sign what connections and credentials wrote, each by its own key; None for what it may not sign (any more).

        origin: the ledger's name in checkpoints.
        """
        ...

    def sign_head(self, ledger: str, head: Growth) -> SignedHead:
        """Sign a head that extends the last one; ForkRefused, StaleVersion if another was faster."""
        ...

    def open_epoch(self, ledger: str, head: Growth) -> SignedHead:
        """Sign a head in an epoch above the last, whatever it extends; a person has said so."""
        ...

    def close(self) -> None:
        """Let go of what it holds; a later question opens it again."""
        ...


class TrustedHere(Protocol):
    """What this account has trusted of the ledgers in one place, as its own state has it: no row of a ledger says so."""

    def covers(self, ledger: str, digest: str) -> bool:
        """Return whether this account trusts a ledger here, and last with this digest of its configuration."""
        ...

    def is_trusted(self, ledger: str) -> bool:
        """Return whether it trusts a ledger here, whatever it thinks of the configuration: it began it, or a person said so."""
        ...

    def trust(self, project: Project, digest: str) -> None:
        """Trust a ledger here from now on, with this digest of its configuration; Unavailable."""
        ...


class EverythingTrusted:
    """For a ledger that passes away with the process, or that a program has made for itself."""

    def covers(self, ledger: str, digest: str) -> bool:
        """Return that it is so."""
        del ledger, digest
        return True

    def is_trusted(self, ledger: str) -> bool:
        """Return that it is so."""
        del ledger
        return True

    def trust(self, project: Project, digest: str) -> None:
        """Need nothing."""
