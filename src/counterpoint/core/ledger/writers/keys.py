"""Which key signs for a ledger at a place, as its entries tell it.

Rules: (1) the first entry names the first key, in the row of the project; where it names none, the key that the
reader was given is the first. (2) The entry of an epoch names the key from there on. (3) What signs at a place is the
key that was named last before it, or in the same entry; so a key that was left signs nothing that comes later.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.model.trust.heads import Epoch
from counterpoint.core.model.work import Project

NAMING: Final = frozenset((Project.table, Epoch.table))
"""The tables whose rows name keys."""
_KEY = re.compile("[0-9a-f]{64}")


class NamedKeys:
    """The keys that the entries of a ledger have named up to here."""

    def __init__(self, key: VerifierKey) -> None:
        """Begin before the first entry; key: the one that the reader was given."""
        self._given = key
        self._named: list[VerifierKey] = []

    @property
    def present(self) -> VerifierKey:
        """The key that signs here."""
        return self._named[-1] if self._named else self._given

    @property
    def every(self) -> tuple[VerifierKey, ...]:
        """Every key of the ledger, the one that was given first."""
        return tuple(dict.fromkeys((self._given, *self._named)))

    def read(self, entry: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> None:
        """Take in the rows of one more entry, as its short keys."""
        for row in rows:
            names = row["t"] == Epoch.table or (row["t"] == Project.table and entry["n"] == 0)
            public = row["v"].get("public_key") if names and row.get("v") else None
            if type(public) is str and _KEY.fullmatch(public):
                key = VerifierKey(name=self._given.name, public_key=bytes.fromhex(public))
                self._named.append(key)
