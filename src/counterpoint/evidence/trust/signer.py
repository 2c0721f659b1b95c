"""The signer of this account: keys and heads in files of its own.

Layout, in a folder of the user's state (see folders.py):

    places            a line for each database and ledger that was signed in it, the latest last, canonical JSON:
                      {"database": SHA-256 of its place, "ledger", "origin"}; an empty ledger: it is gone on purpose
    <ledger>/ed25519  the key (see keys.py)
    <ledger>/permit   is there if the account of this signer permits the next epoch to who asks through a program
    <ledger>/ranges   what was signed for writers (see ranges.py)
    <ledger>/heads    a line for each head that was signed, canonical JSON:
                      {"epoch", "note", "root" in hex, "size", "time"}

1. A head is signed, written to `heads` and fsynced before its signature is given to anybody, under one
   lock: whatever was given away is remembered, and a process that is killed in between has given nothing.
2. What may be signed is decided by core/ledger/growth.py against the last whole line.
3. The key of a writer (see core/ledger/writers) is derived from the key of the ledger and kept nowhere; nothing is signed by it but
   ranges of entries.
4. A database in which another ledger of the name was signed before is refused like a fork: whoever takes the ledger
   away and begins another one in its place cannot have that signed without an epoch. Of those of other names whoever looks into the
   database is told (`placed`), for this signer cannot look: an epoch alone says which of them are gone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from counterpoint.core.ledger import checkpoint as checkpoints
from counterpoint.core.ledger.growth import (
    check_epoch,
    check_growth,
    checkpoint_of,
    is_head,
    place_fault,
)
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.ledger.writers.signature import is_of_writer
from counterpoint.core.model.trust.heads import FIRST_EPOCH, Growth, SignedHead
from counterpoint.core.model.trust.writers import WriterGrowth, WriterSignature
from counterpoint.evidence.keys import ProjectKey, Stamp, find_key, find_public, open_key, stamp_of
from counterpoint.evidence.trust.folders import (
    append_lines,
    check_private,
    locked,
    make_private,
    read_lines,
)
from counterpoint.evidence.trust.ranges import KeptRanges, KeyPair, Ranges
from counterpoint.evidence.trust.signer_lines import head_json, head_of
from counterpoint.kernel import canonical
from counterpoint.kernel.clock import Clock
from counterpoint.kernel.errors import Forbidden, InvalidInput, NotFound, SignerAway
from counterpoint.kernel.frozen import mutable
from counterpoint.kernel.matching.expressions import expression

_LEDGER = expression(r"[a-z0-9_]{1,64}")
_HEADS = "heads"
_RANGES = "ranges"
_PLACES = "places"
_PERMIT = "permit"
_TAIL = 65_536


@mutable
class FileSigner:
    """Keeps the keys of all ledgers of this account. place: the database that asks.

    find, open: take the key of a ledger out of its folder, or from elsewhere. find_public: the public half alone, where that is less work.
    """

    root: Path
    place: str
    clock: Clock
    find: Callable[[Path], ProjectKey | None] = find_key
    open: Callable[[Path], ProjectKey] = open_key
    find_public: Callable[[Path], bytes | None] = find_public
    _keys: dict[str, tuple[Stamp | None, ProjectKey]] = field(
        init=False, default_factory=dict[str, tuple[Stamp | None, ProjectKey]]
    )
    _ranges: dict[str, KeptRanges] = field(init=False, default_factory=dict[str, KeptRanges])

    def known_key(self, ledger: str) -> bytes | None:
        """Return the public key if there is one; makes nothing."""
        folder = self._find(ledger)
        if folder is None:
            return None
        key = self._kept_key(ledger)
        if key is None and (public_key := self.find_public(folder)):
            return public_key
        key = key or self.find(folder)
        if key is None:
            return None
        self._keys[ledger] = stamp_of(self._folder(ledger)), key
        return key.public_key

    def _kept_key(self, ledger: str) -> ProjectKey | None:
        """Return the key that was read before, unless there is another one in its place now."""
        stamp, key = self._keys.get(ledger, (None, None))
        return key if stamp and stamp == stamp_of(self._folder(ledger)) else None

    def last(self, ledger: str) -> SignedHead | None:
        """Return the head that was signed last; makes nothing."""
        folder = self._find(ledger)
        lines = read_lines(folder / _HEADS, tail=_TAIL) if folder else []
        return _load(lines[-1]) if lines else None

    def placed(self) -> dict[str, str]:
        """Return each ledger that was signed in this database by its name, and is not gone; makes nothing."""
        if not self.root.exists():
            return {}
        check_private(self.root)
        lines = map(_object, read_lines(self.root / _PLACES))
        own_lines = [line for line in lines if line.get("database") == self._database]
        ledgers = {str(line.get("origin")): str(line.get("ledger", "")) for line in own_lines}
        return {origin: ledger for origin, ledger in ledgers.items() if ledger}

    def signed(self, ledger: str, size: int) -> SignedHead | None:
        """Return a head of this size of the present epoch; makes nothing."""
        folder = self._find(ledger)
        last = None
        for line in reversed(read_lines(folder / _HEADS) if folder else []):
            head = _load(line)
            last = last or head
            if head.epoch != last.epoch or head.size < size:
                return None
            if head.size == size:
                return head
        return None

    def public_key(self, ledger: str) -> bytes:
        """Return the public key, made on first use."""
        return self._key(ledger).public_key

    def sign(self, ledger: str, statement: bytes) -> bytes:
        """Sign what is neither a head nor of a writer; Forbidden for these."""
        _refuse_other(statement)
        return self._key(ledger).sign(statement)

    def sign_ranges(
        self, ledger: str, origin: str, growths: Sequence[WriterGrowth]
    ) -> list[WriterSignature | None]:
        """Sign what writers wrote; None for what would be signed twice or backwards."""
        key = self._key(ledger)
        with locked(self.root):
            last = self.last(ledger)
            path = self._folder(ledger) / _RANGES
            ranges = self._ranges.setdefault(ledger, KeptRanges(path=path))
            return ranges.sign(key, origin, growths, last.epoch if last else FIRST_EPOCH)

    def sign_head(self, ledger: str, head: Growth) -> SignedHead:
        """Sign a head that extends the last one; ForkRefused, StaleVersion."""
        key = self._key(ledger)
        with locked(self.root):
            self._check_place(ledger, head)
            check_growth(self.last(ledger), head)
            return self._keep(ledger, key, head)

    def open_epoch(self, ledger: str, head: Growth) -> SignedHead:
        """Sign a head in an epoch above the last; ForkRefused."""
        key = self._key(ledger)
        with locked(self.root):
            check_epoch(self.last(ledger), head)
            signed = self._keep(ledger, key, head)
            self._place(dict.fromkeys(head.gone, ""))
            return signed

    def close(self) -> None:
        """Forget the keys."""
        self._keys.clear()

    def permit_epoch(self, ledger: str) -> None:
        """Permit the next epoch of a ledger, once, to who asks through a program; NotFound."""
        folder = self._find(ledger)
        if folder is None:
            raise NotFound(
                f"this signer has signed nothing of a ledger {ledger}",
                hint="Take the id from the refusal of `counterpoint audit epoch`.",
            )
        with locked(self.root):
            append_lines(folder / _PERMIT, [b""])

    def take_permit(self, ledger: str) -> bool:
        """Take the permit of a ledger away; return whether there was one."""
        folder = self._find(ledger)
        if folder is None:
            return False
        try:
            (folder / _PERMIT).unlink()
        except FileNotFoundError:
            return False
        return True

    def _keep(self, ledger: str, key: ProjectKey, head: Growth) -> SignedHead:
        signed_head = _seal(head, key, self.clock)
        append_lines(self._folder(ledger) / _HEADS, [canonical.dump(head_json(signed_head))])
        self._place({head.origin: ledger})
        return signed_head

    def _check_place(self, ledger: str, head: Growth) -> None:
        if fault := place_fault(self.placed().get(head.origin), ledger):
            raise fault

    @property
    def _database(self) -> str:
        return sha256(self.place.encode()).hexdigest()

    def _place(self, ledgers: Mapping[str, str]) -> None:
        """Remember which ledgers are in this database, by their names; an empty one: it is gone."""
        recorded = self.placed()
        lines = [
            canonical.dump({"database": self._database, "ledger": ledger, "origin": origin})
            for origin, ledger in ledgers.items()
            if recorded.get(origin, "") != ledger
        ]
        if lines:
            append_lines(self.root / _PLACES, lines)

    def _key(self, ledger: str) -> ProjectKey:
        key = self._kept_key(ledger)
        if key is None:
            make_private(self.root)
            make_private(self._folder(ledger))
            key = self.open(self._folder(ledger))
            self._keys[ledger] = stamp_of(self._folder(ledger)), key
        check_private(self.root)
        check_private(self._folder(ledger))
        return key

    def _find(self, ledger: str) -> Path | None:
        """Return the folder of a ledger if it is there."""
        folder = self._folder(ledger)
        if not folder.exists():
            return None
        check_private(self.root)
        check_private(folder)
        return folder

    def _folder(self, ledger: str) -> Path:
        if not _LEDGER.fullmatch(ledger):
            raise SignerAway(
                "this ledger has no id that a key could be kept under",
                hint="It was made by a program from before the first release; begin another one.",
            )
        return self.root / ledger


@mutable
class MemorySigner:
    """Signs for ledgers that pass away with the process. key: makes its key."""

    key: Callable[[], KeyPair]
    clock: Clock
    _heads: dict[str, list[SignedHead]] = field(
        init=False, default_factory=dict[str, list[SignedHead]]
    )
    _ranges: dict[str, Ranges] = field(init=False, default_factory=dict[str, Ranges])

    @cached_property
    def _key(self) -> KeyPair:
        return self.key()

    def known_key(self, ledger: str) -> bytes | None:
        """Return the public key."""
        return self.public_key(ledger)

    def last(self, ledger: str) -> SignedHead | None:
        """Return the head that was signed last."""
        return next(reversed(self._heads.get(ledger, [])), None)

    def placed(self) -> dict[str, str]:
        """Return nothing: what passes away with the process is in no place."""
        return {}

    def signed(self, ledger: str, size: int) -> SignedHead | None:
        """Return a head of this size."""
        last = self.last(ledger)
        own_heads = [
            head for head in self._heads.get(ledger, []) if last and head.epoch == last.epoch
        ]
        return next((head for head in own_heads if head.size == size), None)

    def public_key(self, ledger: str) -> bytes:
        """Return the public key, the same for every ledger."""
        del ledger
        return self._key.public_key

    def sign(self, ledger: str, statement: bytes) -> bytes:
        """Sign what is neither a head nor of a writer; Forbidden for these."""
        del ledger
        _refuse_other(statement)
        return self._key.sign(statement)

    def sign_ranges(
        self, ledger: str, origin: str, growths: Sequence[WriterGrowth]
    ) -> list[WriterSignature | None]:
        """Sign what writers wrote; None for what would be signed twice or backwards."""
        last = self.last(ledger)
        ranges = self._ranges.setdefault(ledger, Ranges())
        ranges.enter(last.epoch if last else FIRST_EPOCH)
        return ranges.sign(self._key, origin, growths)

    def sign_head(self, ledger: str, head: Growth) -> SignedHead:
        """Sign a head that extends the last one; ForkRefused, StaleVersion."""
        check_growth(self.last(ledger), head)
        return self._keep(ledger, head)

    def open_epoch(self, ledger: str, head: Growth) -> SignedHead:
        """Sign a head in an epoch above the last; ForkRefused."""
        check_epoch(self.last(ledger), head)
        return self._keep(ledger, head)

    def close(self) -> None:
        """Hold nothing: it passes away with the process."""

    def _keep(self, ledger: str, head: Growth) -> SignedHead:
        signed_head = _seal(head, self._key, self.clock)
        self._heads.setdefault(ledger, []).append(signed_head)
        return signed_head


def _refuse_other(statement: bytes) -> None:
    """Raise Forbidden for what is signed in ways of its own."""
    if is_head(statement):
        raise Forbidden(
            "the head of a ledger is not signed as a statement",
            hint="A head is signed with the proof that it extends the last one.",
        )
    if is_of_writer(statement):
        raise Forbidden(
            "what names a writer, or its entries, is not signed as a statement",
            hint="The signer words it itself, for entries after the last that it signed for this writer.",
        )


def _seal(head: Growth, key: KeyPair, clock: Clock) -> SignedHead:
    verifier = VerifierKey(name=head.origin, public_key=key.public_key)
    note = checkpoints.seal(checkpoint_of(head), key.sign, verifier)
    return SignedHead(size=head.size, root=head.root, epoch=head.epoch, time=clock.now(), note=note)


def _load(line: bytes) -> SignedHead:
    try:
        return head_of(_object(line))
    except (KeyError, ValueError, TypeError) as fault:
        raise _unreadable() from fault


def _object(line: bytes) -> dict[str, Any]:
    try:
        return canonical.object_of(canonical.load(line))
    except InvalidInput as fault:
        raise _unreadable() from fault


def _unreadable() -> SignerAway:
    return SignerAway(
        "what the signer remembers cannot be read",
        hint="Restore its folder from a backup, or move it away and open an epoch.",
    )
