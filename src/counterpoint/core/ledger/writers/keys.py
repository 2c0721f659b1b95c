"""Which key signs for a ledger at a place, according to its entries.

Rules: (1) the row of the project names the first key, once: whole in the first entry, or changed where no key was named before, by an entry
`signer.named` in nobody's name that does nothing else. Up to there the key that the reader was given is the one that signs. (2) The entry of an epoch names the key from there on. (3) What signs at a place is the
key that was named last before it, or in the same entry; so a key that was left signs nothing that comes later. (4) What is signed later, and is
of entries up to a place, is signed by the key of that place or by one that was named after it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeGuard

from counterpoint.core.ledger.note import VerifierKey, is_public_key
from counterpoint.core.model.trust.heads import NAMED, Epoch
from counterpoint.core.model.work import Project

NAMING: Final = frozenset((Project.table, Epoch.table))
"""The tables whose rows name keys."""


class NamedKeys:
    """The keys that the entries of a ledger have named up to here."""

    def __init__(self, key: VerifierKey) -> None:
        """Begin before the first entry; key: the one that the reader was given."""
        self._given = key
        self._places: list[int] = []
        self._named: list[VerifierKey] = []

    @property
    def present(self) -> VerifierKey:
        """The key that signs here."""
        return self._named[-1] if self._named else self._given

    def since(self, sequence: int) -> tuple[VerifierKey, ...]:
        """Return the key that signs at a place, and those that were named after it."""
        at = bisect_right(self._places, sequence)
        return tuple(dict.fromkeys((self._named[at - 1] if at else self._given, *self._named[at:])))

    def read(self, entry: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> bool:
        """Take in the rows of one more entry, as its short keys; tell whether they may name what they name."""
        key: VerifierKey | None = None
        is_first = is_first_naming(entry)
        is_sound = is_first or entry["a"] != NAMED
        for row in rows:
            if row["t"] not in NAMING:
                continue
            columns: Mapping[str, Any] = row.get("v") or {}
            if row["t"] == Project.table:
                columns = columns or row.get("c") or {}
                may_name = (is_first or entry["n"] == 0) and not (self._named or key)
                if "public_key" in columns and not may_name:
                    is_sound = False
                    continue
            public = columns.get("public_key")
            if _is_key(public):
                key = VerifierKey(name=self._given.name, public_key=bytes.fromhex(public))
        if key is not None:
            self._places.append(entry["n"])
            self._named.append(key)
        return is_sound


def is_first_naming(entry: Mapping[str, Any]) -> bool:
    """Return whether an entry, as its short keys, is one by which the program names a first key and nothing else."""
    if entry["a"] != NAMED or "i" in entry["w"] or len(entry.get("r", ())) != 1:
        return False
    row: Mapping[str, Any] = entry["r"][0]
    columns: Mapping[str, Any] = row.get("c") or {}
    is_row = row["t"] == Project.table and "v" not in row
    return is_row and list(columns) == ["public_key"] and _is_key(columns["public_key"])


def _is_key(public: object) -> TypeGuard[str]:
    return type(public) is str and is_public_key(public)
