"""What a signer has signed for writers, and the making of these signatures.

Layout of the file `ranges` in the folder of a ledger: a line for each range that was signed, canonical JSON {"count", "epoch", "first",
"last", "root" in hex, "writer"}, the latest of a writer last; and {"epoch", "floor"}, the last place of any writer that was forgotten.

1. What is signed is on the disk before its signature is given to anybody. The caller holds the lock of the signer.
2. What may be signed is decided by core/ledger/writers/growth.py, against what was signed in the present epoch.
3. A file that has grown is written anew with the `MOST` writers that were signed for last. The floor stands for all others.
4. The signer makes the delegation itself, and derives the key of a writer for it alone: nobody can have a text of his own signed by either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Final, Protocol

from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.ledger.writers.growth import may_sign
from counterpoint.core.ledger.writers.signature import (
    Range,
    seal_delegation,
    seal_range,
    writer_key,
)
from counterpoint.core.model.trust.heads import FIRST_EPOCH
from counterpoint.core.model.trust.writers import SignedRange, WriterGrowth, WriterSignature
from counterpoint.evidence.replacing import replace_file
from counterpoint.evidence.trust.folders import append_lines, read_lines
from counterpoint.kernel import canonical
from counterpoint.kernel.errors import InvalidInput, SignerAway
from counterpoint.kernel.frozen import mutable

MOST: Final = 1_000
"""Writers that are remembered each for itself."""
LARGEST: Final = 1_000_000
"""Bytes of the file from which on it is written anew."""


class KeyPair(Protocol):
    """An Ed25519 key that can sign."""

    @property
    def public_key(self) -> bytes:
        """The 32 raw bytes of the public half."""
        ...

    def sign(self, message: bytes) -> bytes:
        """Return the 64 bytes of the signature."""
        ...

    def derived(self, purpose: str) -> KeyPair:
        """Return the key for a purpose, always the same."""
        ...


@mutable
class Ranges:
    """What was signed last for each writer of a ledger. floor: the last place of any that was forgotten."""

    epoch: int = FIRST_EPOCH
    floor: int = -1
    last: dict[str, SignedRange] = field(default_factory=dict[str, SignedRange])

    def sign(
        self, key: KeyPair, origin: str, growths: Sequence[WriterGrowth]
    ) -> list[WriterSignature | None]:
        """Sign what goes on from what was signed, and remember it; InvalidInput for a name that no key has."""
        return [self._sign(key, origin, growth) for growth in growths]

    def _sign(self, key: KeyPair, origin: str, growth: WriterGrowth) -> WriterSignature | None:
        if not may_sign(self.last.get(growth.writer), self.floor, growth):
            return None
        pair = key.derived(f"counterpoint/writer/v1\n{growth.writer}")
        named_by = VerifierKey(name=origin, public_key=key.public_key)
        its = writer_key(origin, growth.writer, pair.public_key)
        signed_range = Range(
            first=growth.first, last=growth.last, count=growth.count, root=growth.root
        )
        signature = WriterSignature(
            writer=growth.writer,
            first=growth.first,
            delegation=seal_delegation(named_by, growth.writer, pair.public_key, key.sign),
            note=seal_range(its, origin, growth.writer, signed_range, pair.sign),
        )
        self.last[growth.writer] = SignedRange(
            first=growth.first, last=growth.last, count=growth.count, root=growth.root
        )
        return signature

    def enter(self, epoch: int) -> None:
        """Forget what was signed in another epoch than this."""
        if epoch != self.epoch:
            self.epoch, self.floor = epoch, -1
            self.last.clear()

    def shorten(self) -> None:
        """Forget all but the writers that were signed for last."""
        by_place = sorted(self.last.items(), key=lambda pair: pair[1].last)
        for writer, gone in by_place[:-MOST]:
            self.floor = max(self.floor, gone.last)
            del self.last[writer]

    def read(self, line: bytes) -> None:
        """Take in a line; SignerAway for one that cannot be read."""
        try:
            value: Any = canonical.object_of(canonical.load(line))
            self.enter(int(value["epoch"]))
            if "floor" in value:
                self.floor = int(value["floor"])
                return
            self.last[str(value["writer"])] = SignedRange(
                first=int(value["first"]),
                last=int(value["last"]),
                count=int(value["count"]),
                root=bytes.fromhex(value["root"]),
            )
        except (InvalidInput, KeyError, TypeError, ValueError) as fault:
            raise SignerAway(
                "what the signer remembers of writers cannot be read",
                hint="Restore its folder from a backup.",
            ) from fault

    def lines(self, writers: Sequence[str] | None = None) -> Iterator[bytes]:
        """Return the lines of some writers, or of all that is remembered."""
        if writers is None:
            yield canonical.dump({"epoch": self.epoch, "floor": self.floor})
        for writer in self.last if writers is None else writers:
            signed = self.last[writer]
            yield canonical.dump(
                {
                    "count": signed.count,
                    "epoch": self.epoch,
                    "first": signed.first,
                    "last": signed.last,
                    "root": signed.root.hex(),
                    "writer": writer,
                }
            )


@mutable
class KeptRanges:
    """The same in a file, which other processes write too."""

    path: Path
    _stamp: tuple[int, ...] | None = field(init=False, default=None)
    _ranges: Ranges = field(init=False, default_factory=Ranges)

    def sign(
        self, key: KeyPair, origin: str, growths: Sequence[WriterGrowth], epoch: int
    ) -> list[WriterSignature | None]:
        """Sign what goes on from what was signed in an epoch. The caller holds the lock; InvalidInput, SignerAway."""
        ranges = self._read()
        ranges.enter(epoch)
        # Not known any more if what follows fails half way.
        self._stamp = None
        signatures = ranges.sign(key, origin, growths)
        writers = list(
            dict.fromkeys(signature.writer for signature in signatures if signature is not None)
        )
        if writers:
            append_lines(self.path, list(ranges.lines(writers)))
            if self.path.stat().st_size > LARGEST:
                ranges.shorten()
                replace_file(self.path, b"".join(line + b"\n" for line in ranges.lines()))
        self._stamp = _stamp_of(self.path)
        return signatures

    def _read(self) -> Ranges:
        stamp = _stamp_of(self.path)
        if stamp is None or stamp != self._stamp:
            self._ranges = Ranges()
            for line in read_lines(self.path):
                self._ranges.read(line)
        return self._ranges


def _stamp_of(path: Path) -> tuple[int, ...] | None:
    """Return what tells a file from what it was before; None without one."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
