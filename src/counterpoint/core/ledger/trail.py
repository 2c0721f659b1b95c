"""Thoughts and seals as the entries of a ledger write them, checked on the way.

The tables `thoughts` and `seals` are folds of the ledger (see model/proofs.py). Read entry by entry,
their row images are sound if and only if

(1) each is whole and written once, under the key of its table: no thought and no seal is ever changed or deleted;
(2) a thought has the hash that it claims, and follows the chain of its task (see thoughts.py);
(3) the same entry writes the record of its id, whole and once: a `thought` about the same item, of the same
    session and time, whose text has the commitment that was hashed; no later entry writes, changes or deletes it;
(4) a seal has the size and the root of all thoughts of its session up to there, at least one;
(5) its checkpoint says the same, signed by the key of the ledger at that place (see writers/keys.py), for the
    origin NAME/SESSION where NAME is the name of the key;
(6) after the entry of a seal no entry writes a thought, a record or the row of that session, changes a
    record to be of that session, or deletes its row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from counterpoint.core.ledger import checkpoint as checkpoints
from counterpoint.core.ledger.derived import expand
from counterpoint.core.ledger.entry import origin_of_fields, refer
from counterpoint.core.ledger.faults import Faults
from counterpoint.core.ledger.merkle import root_of
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.ledger.thoughts import Chains, Link, link_of_row
from counterpoint.core.ledger.writers.keys import NAMING, NamedKeys
from counterpoint.core.model.journal import Record
from counterpoint.core.model.proofs import Seal, Thought
from counterpoint.core.model.rows import Noun
from counterpoint.core.model.sessions import Session
from counterpoint.core.model.trust.heads import NAMED
from counterpoint.kernel.errors import (
    ChainBroken,
    LedgerBroken,
    MalformedDocument,
    ProofMismatch,
)
from counterpoint.kernel.plurals import counted

_WATCHED: Final[Mapping[str, type[Noun]]] = {
    noun.table: noun for noun in (Thought, Seal, Record, Session)
}
_PROOFS = frozenset((Thought.table, Seal.table)) | NAMING
_BEARING = frozenset(_WATCHED) | NAMING
_LATE = "Entries were added after the seal: compare with a backup or an export."
_EDITED = "The entry was not written by the program: compare with a backup or an export."

Row = Mapping[str, Any]


class Trail:
    """One pass over the parsed entries of a ledger, from the first on."""

    def __init__(self, key: VerifierKey) -> None:
        """Begin before the first entry; key: the one that signs where the ledger names none."""
        self.keys = NamedKeys(key)
        self._chains = Chains()
        self._thoughts: set[str] = set()
        self._leaves: dict[str, list[bytes]] = {}
        self._sealed: set[str] = set()
        self.faults = Faults()

    @property
    def thoughts(self) -> int:
        """How many thoughts there are up to here."""
        return len(self._thoughts)

    @property
    def seals(self) -> int:
        """How many sessions are sealed up to here."""
        return len(self._sealed)

    def read(self, entry: Mapping[str, Any]) -> None:
        """Check one more entry, as its short keys; faults are kept, not raised."""
        written: list[Row] = entry.get("r", [])
        # Records and sessions bear on nothing but a thought beside them and a seal before them.
        bearing = _BEARING if self._thoughts else _PROOFS
        if bearing.isdisjoint([row["t"] for row in written]) and entry["a"] != NAMED:
            return
        if not self.keys.read(entry, written):
            self.faults.add(
                _wrong(entry["n"], "names a first key of the ledger as the program does not")
            )
        rows = [_whole(row, entry) for row in written if row["t"] in _WATCHED]
        for fault in self._entry_faults(entry["n"], rows):
            self.faults.add(fault)

    def _entry_faults(self, sequence: int, rows: list[Row]) -> Iterator[LedgerBroken]:
        seals: list[Row] = []
        for row in rows:
            record = row["k"].get("id")
            if row["t"] == "records" and record in self._thoughts:
                yield _wrong(sequence, f"changes the record of the thought {record}", record)
        for row in rows:
            if row["t"] == "thoughts":
                yield from self._thought_faults(sequence, row, rows)
            elif row["t"] == "seals":
                seals.append(row)
            elif self._sealed and _session_of(row) in self._sealed:
                yield _late(sequence, _session_of(row), row["t"])
        for row in seals:
            yield from self._seal_faults(sequence, row)

    def _thought_faults(self, sequence: int, row: Row, rows: list[Row]) -> Iterator[LedgerBroken]:
        record, values = row["k"].get("record"), row.get("v")
        is_key = type(record) is str and len(row["k"]) == 1
        if values is None or not is_key or record in self._thoughts:
            yield _wrong(sequence, f"changes the thought {record}", record)
            return
        self._thoughts.add(record)
        try:
            link = link_of_row(record, values)
        except MalformedDocument as fault:
            yield _wrong(sequence, f"writes {fault.message}", record)
            return
        leaf = link.leaf
        if leaf.hex() != values.get("hash"):
            yield _wrong(sequence, f"gives the thought {record} a hash that is not its own", record)
        records = [
            image for image in rows if image["t"] == "records" and image["k"].get("id") == record
        ]
        if len(records) != 1 or not _is_record_of(link, records[0]):
            yield _wrong(sequence, f"does not write the record of the thought {record}", record)
        yield from self._chains.follow(link, leaf.hex())
        if link.session in self._sealed:
            yield _late(sequence, link.session, "thoughts")
        self._leaves.setdefault(link.session, []).append(leaf)

    def _seal_faults(self, sequence: int, row: Row) -> Iterator[LedgerBroken]:
        session, values = row["k"].get("session"), row.get("v")
        is_key = type(session) is str and len(row["k"]) == 1
        if values is None or not is_key or session in self._sealed:
            yield _wrong(sequence, f"changes the seal of the session {session}")
            return
        self._sealed.add(session)
        leaves = self._leaves.get(session, [])
        seal = len(leaves), root_of(leaves).hex()
        if not leaves or (values.get("size"), values.get("root")) != seal:
            yield ProofMismatch(
                f"the seal of the session {session} in entry {sequence} is not of its "
                f"{counted(len(leaves), 'thought')}",
                hint=_EDITED,
                sequence=sequence,
                session=session,
            )
        try:
            check_seal(values, self.keys.present, session)
        except LedgerBroken as fault:
            yield fault


def _whole(row: Row, entry: Mapping[str, Any]) -> Row:
    """Return a row image with every column, if it is of a whole row."""
    if row.get("v") is None:
        return row
    columns = expand(_WATCHED[row["t"]], row["k"], row["v"], origin_of_fields(entry))
    return {"t": row["t"], "k": row["k"], "v": columns}


def origin_of(key: VerifierKey, session: str) -> str:
    """Return the origin that the checkpoint of a sealed session names."""
    return f"{key.name}/{session}"


def check_seal(values: Row, key: VerifierKey, session: str) -> None:
    """Pass if the row of a seal says what its checkpoint says, signed by the key; ProofMismatch."""
    note = values.get("checkpoint", "")
    try:
        signed = checkpoints.verify(note if type(note) is str else "", key, origin_of(key, session))
    except MalformedDocument as fault:
        raise _unsigned(session, fault.message) from fault
    if (values.get("size"), values.get("root")) != (signed.size, signed.root.hex()):
        raise _unsigned(session, "it says another size or root than the seal")


def _is_record_of(link: Link, row: Row) -> bool:
    """Return whether a row image is the whole record that a thought was hashed from."""
    values = row.get("v")
    if values is None or row["k"] != {"id": link.id}:
        return False
    columns = (
        values.get("kind"),
        values.get("item"),
        values.get("session", ""),
        values.get("created_at"),
        values.get("body"),
    )
    text = refer(link.content)
    return columns == ("thought", link.task, link.session, link.timestamp, text)


def _session_of(row: Row) -> str:
    """Return the session that the row image of a record or a session is of; empty if untold."""
    if row["t"] == "sessions":
        return str(row["k"].get("id", ""))
    values: Row = row.get("v") or row.get("c") or {}
    return str(values.get("session", ""))


def _unsigned(session: str, why: str) -> ProofMismatch:
    return ProofMismatch(
        f"the checkpoint of the session {session} does not hold: {why}",
        hint="The seal was changed after it was signed; do not trust it.",
        session=session,
    )


def _late(sequence: int, session: str, table: str) -> ChainBroken:
    return ChainBroken(
        f"entry {sequence} writes to {table} of the session {session}, which was sealed before",
        hint=_LATE,
        sequence=sequence,
        session=session,
    )


def _wrong(sequence: int, how: str, record: object = "") -> ChainBroken:
    return ChainBroken(
        f"entry {sequence} {how}", hint=_EDITED, sequence=sequence, thought=str(record)
    )
