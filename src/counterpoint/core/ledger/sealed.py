"""A sealed session in one file that anyone can check without a database.

Layout: lines as in lines.py.

    1        header, canonical JSON: {"checkpoint": signed checkpoint of the seal (a note, as one
             text), "format": "counterpoint-session", "ledger": {"checkpoint": signed checkpoint of
             the project's ledger, "entries": [{"entry": the bytes of an entry, as text, "path": hashes
             in hex}, …]}, "project": id, "session": id, "version": 1, "vkey": verifier key}
    next N   the thoughts of the session in the order of writing, the bytes that were hashed (see
             thoughts.py); N is the size in the checkpoint of the seal
    others   texts

A bundle is sound if and only if (1) the header is valid, (2) the checkpoint of the seal is signed by
the key, for the origin NAME/SESSION where NAME is the name of the key, (3) the N thoughts, at least one, are all of
the session, no two of one id, and each follows the chain of its task, in which links may be missing
in between, (4) the root of the N thoughts is that of the checkpoint, (5) the checkpoint of the ledger
is signed by the key for the origin NAME, and each path leads from its entry, which is of the project,
at its sequence to the root (RFC 9162, section 2.1.3.2), (6) the first entry writes the seal of the
session with this checkpoint, size and root, (7) each further line is a text whose commitment is right,
that a thought names, and whose commitment is above that of the line before, (8) each text that a thought
names is there, or one of the other entries tells that it was taken away.

Trust: as for the bundle of a ledger (see bundle.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, cast

from counterpoint.core.ledger import checkpoint as checkpoints
from counterpoint.core.ledger.checkpoint import Checkpoint
from counterpoint.core.ledger.entry import GENESIS, Parsed, is_digest, load_fields
from counterpoint.core.ledger.lines import (
    BundleReport,
    Texts,
    are_filled,
    dump_texts,
    key_faults,
    list_redacted,
    load_header,
    signature_faults,
    strip,
)
from counterpoint.core.ledger.merkle import leaf_hash, root_of, verify_inclusion
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.ledger.thoughts import Chains, Link
from counterpoint.core.ledger.trail import check_seal, origin_of
from counterpoint.kernel import canonical
from counterpoint.kernel.errors import (
    ChainBroken,
    CounterpointError,
    LedgerBroken,
    MalformedDocument,
    ProofMismatch,
)

FORMAT: Final = "counterpoint-session"
VERSION: Final = 1
_HEADER_KEYS = frozenset(
    ("checkpoint", "format", "ledger", "project", "session", "version", "vkey")
)
_LEDGER_KEYS = frozenset(("checkpoint", "entries"))
_TESTIMONY_KEYS = frozenset(("entry", "path"))
_EDITED = "Compare with another export of the session: a thought was changed, removed or added."


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryProof:
    """An entry of the project's ledger, and the path from there to the root, in hex."""

    entry: str
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedHeader:
    """The first line: whose session it is, the key, the seal, and what the ledger tells of it.

    checkpoint: of the seal; ledger: checkpoint of the project's ledger.
    testimonies: the entry that wrote the seal, then those that took texts away.
    """

    project: str
    session: str
    key: VerifierKey
    checkpoint: str
    ledger: str
    testimonies: tuple[EntryProof, ...]

    def to_bytes(self) -> bytes:
        """Return the canonical bytes, without the line feed."""
        return canonical.dump(
            {
                "checkpoint": self.checkpoint,
                "format": FORMAT,
                "ledger": {
                    "checkpoint": self.ledger,
                    "entries": [
                        {"entry": testimony.entry, "path": testimony.path}
                        for testimony in self.testimonies
                    ],
                },
                "project": self.project,
                "session": self.session,
                "version": VERSION,
                "vkey": self.key.to_text(),
            }
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> SealedHeader:
        """Return the header that the bytes are; MalformedDocument if they are none."""
        value = load_header(data, _HEADER_KEYS, FORMAT, VERSION)
        if not are_filled(value["checkpoint"], value["project"], value["session"], value["vkey"]):
            raise MalformedDocument("a field in the header of the bundle is empty or not a text")
        ledger, testimonies = _load_ledger(value["ledger"])
        return cls(
            project=value["project"],
            session=value["session"],
            key=VerifierKey.from_text(value["vkey"]),
            checkpoint=value["checkpoint"],
            ledger=ledger,
            testimonies=testimonies,
        )


def dump_sealed(
    header: SealedHeader, links: Iterable[bytes], texts: Iterable[tuple[bytes, str]]
) -> Iterator[bytes]:
    """Return the lines of the bundle of a session, one by one, each with its line feed."""
    yield header.to_bytes() + b"\n"
    for data in links:
        yield data + b"\n"
    yield from dump_texts(texts)


def verify_sealed(lines: Iterable[bytes], trusted_key: VerifierKey | None = None) -> BundleReport:
    """Return what the lines of a session's bundle prove; needs no database.

    MalformedDocument if the header cannot be read; every other fault is in the report.
    """
    stream = iter(lines)
    header = SealedHeader.from_bytes(strip(next(stream, b"")))
    checkpoint = checkpoints.open_checkpoint(header.checkpoint)
    key = trusted_key or header.key
    faults: list[CounterpointError] = [
        *key_faults(header.key, key),
        *signature_faults(header.checkpoint, key, origin_of(key, header.session)),
    ]
    redacted: set[str] = set()
    faults += _ledger_faults(header, key, redacted)
    # Taken here: what is found below is wrong with the thoughts, and not with the signature.
    signed = not faults
    leaves: list[bytes] = []
    referred: set[str] = set()
    faults += _thought_faults(islice(stream, checkpoint.size), header.session, leaves, referred)
    root = root_of(leaves)
    if (len(leaves), root) != (checkpoint.size, checkpoint.root):
        faults.append(_other_root(len(leaves), checkpoint.size))
    elif not leaves:
        faults.append(ChainBroken("a session is sealed without a thought", hint=_EDITED))
    texts = Texts(referred, redacted)
    faults += texts.faults(stream)
    return BundleReport(
        project=header.project,
        session=header.session,
        size=len(leaves),
        root=root.hex(),
        last=leaves[-1].hex() if leaves else GENESIS,
        key=key.to_text(),
        trusted=trusted_key is not None and signed,
        thoughts=len(leaves),
        seals=1,
        texts=texts.found,
        redacted=texts.redacted,
        faults=tuple(faults),
        fault_count=len(faults),
    )


def _load_ledger(value: Parsed) -> tuple[str, tuple[EntryProof, ...]]:
    """Return what the header holds of the ledger; MalformedDocument."""
    if type(value) is not dict or value.keys() != _LEDGER_KEYS:
        raise MalformedDocument("`ledger` in the header is not an object of checkpoint and entries")
    note, entries = value["checkpoint"], cast("Parsed", value["entries"])
    if not are_filled(note) or type(entries) is not list or not entries:
        raise MalformedDocument("`ledger` in the header has no checkpoint or no entry")
    return note, tuple(map(_load_testimony, entries))


def _load_testimony(value: Parsed) -> EntryProof:
    if type(value) is not dict or value.keys() != _TESTIMONY_KEYS:
        raise MalformedDocument("an entry in the header is not an object of entry and path")
    entry, path = value["entry"], cast("Parsed", value["path"])
    if not are_filled(entry) or type(path) is not list or not all(map(is_digest, path)):
        raise MalformedDocument("an entry in the header is empty, or its path is not hashes in hex")
    return EntryProof(entry=entry, path=tuple(path))


def _ledger_faults(
    header: SealedHeader, key: VerifierKey, redacted: set[str]
) -> Iterator[CounterpointError]:
    """Say what is wrong with what the ledger is said to tell; gathers the texts taken away."""
    try:
        checkpoint = checkpoints.verify(header.ledger, key)
        entries = [
            _present(testimony, checkpoint, header.project) for testimony in header.testimonies
        ]
        _check_writes_seal(entries[0], header, key)
    except (LedgerBroken, MalformedDocument) as fault:
        yield type(fault)(f"the ledger's part: {fault.message}", hint=fault.hint)
        return
    for entry in entries[1:]:
        redacted.update(list_redacted(entry))


def _present(testimony: EntryProof, checkpoint: Checkpoint, project: str) -> dict[str, Any]:
    """Return the entry that a testimony proves to be in the ledger; ProofMismatch."""
    data = testimony.entry.encode()
    entry = load_fields(data)
    path = [bytes.fromhex(part) for part in testimony.path]
    verify_inclusion(entry["n"], checkpoint.size, leaf_hash(data), path, checkpoint.root)
    if entry["p"] != project:
        raise ProofMismatch(f"an entry is of the project {entry['p']}, not of {project}")
    return entry


def _check_writes_seal(entry: dict[str, Any], header: SealedHeader, key: VerifierKey) -> None:
    """Pass if an entry writes the seal that the header has; ProofMismatch."""
    rows = (row for row in entry.get("r", ()) if row["t"] == "seals")
    values = next((row.get("v") for row in rows if row["k"] == {"session": header.session}), None)
    if not values or values.get("checkpoint") != header.checkpoint:
        raise ProofMismatch(
            f"the entry does not write this seal of the session {header.session}",
            hint="The header was put together from parts that do not belong together.",
        )
    check_seal(values, key, header.session)


def _thought_faults(
    lines: Iterable[bytes], session: str, leaves: list[bytes], referred: set[str]
) -> Iterator[CounterpointError]:
    """Check the thoughts; gathers their leaves and the commitments of their texts."""
    chains, seen = Chains(gaps=True), set[str]()
    for number, line in enumerate(lines):
        data = strip(line)
        leaf = leaf_hash(data)
        leaves.append(leaf)
        try:
            link = Link.from_bytes(data)
        except MalformedDocument as fault:
            yield ChainBroken(
                f"thought {number} of the bundle cannot be read: {fault.message}", hint=_EDITED
            )
            continue
        referred.add(link.content)
        if link.session != session or link.id in seen:
            yield ChainBroken(
                f"thought {link.id} is of another session, or it came before",
                hint=_EDITED,
                thought=link.id,
            )
        seen.add(link.id)
        yield from chains.follow(link, leaf.hex())


def _other_root(size: int, expected: int) -> ProofMismatch:
    return ProofMismatch(
        f"the root of the {size} thoughts is not the one of {expected} that was signed",
        hint=_EDITED,
    )
