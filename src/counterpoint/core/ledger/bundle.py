"""An exported ledger in one file that anyone can check without a database.

Layout: lines as in lines.py.

    1        header, canonical JSON: {"checkpoint": signed checkpoint (a note, as one text),
             "format": "counterpoint-bundle", "project": id, "version": 2, "vkey": verifier key}
    next N   the entries from sequence 0 on, their bytes as they are; N is the size in the checkpoint
    next     signatures of writers, canonical JSON: {"delegation": note, "n": place of the first entry, "sig":
             note}, by their places (see writers/signature.py)
    others   texts

A bundle is sound if and only if (1) the header is valid, (2) its checkpoint is signed by the key,
for the origin that is the key's name, (3) the N entries are a sound ledger of the project whose root
is the root of the checkpoint, (4) the thoughts and seals that the entries write are sound (see
trail.py), and so are the acts of people (see people/confirmed.py), (5) each signature of a writer holds, and its
place is above that of the one before, (6) each further line is a text whose commitment is right, that an entry
refers to, and whose commitment is above that of the line before, (7) each text that an entry refers to is there, or a later
entry tells that it was taken away, (8) as many of the witnesses that the entries name have cosigned the checkpoint as
they ask for (see witnesses/quorum.py).

Trust. The key in the header travels with what it signs: whoever changes the bundle can change the
key as well. With that key alone the bundle is only shown to agree with itself. It is proved only if
the caller gives the project's verifier key, obtained in another way; then the key in the header is
not used, and must be the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Final

from counterpoint.core.ledger import checkpoint as checkpoints
from counterpoint.core.ledger.chain import Verification
from counterpoint.core.ledger.entry import list_references
from counterpoint.core.ledger.growth import epoch_of
from counterpoint.core.ledger.lines import (
    BundleReport,
    Texts,
    are_filled,
    dump_texts,
    key_faults,
    list_redacted,
    load_header,
    load_object,
    signature_faults,
    strip,
)
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.ledger.people.confirmed import Confirmed
from counterpoint.core.ledger.trail import Trail
from counterpoint.core.ledger.witnesses.quorum import quorum_fault, signers_of
from counterpoint.core.ledger.writers.coverage import Coverage
from counterpoint.core.ledger.writers.keys import NamedKeys
from counterpoint.core.ledger.writers.signature import writer_of
from counterpoint.core.model.trust.writers import WriterSignature
from counterpoint.kernel import canonical
from counterpoint.kernel.errors import CounterpointError, InvalidInput, MalformedDocument

FORMAT: Final = "counterpoint-bundle"
VERSION: Final = 2
_HEADER_KEYS = frozenset(("checkpoint", "format", "project", "version", "vkey"))
_SIGNATURE_KEYS = frozenset(("delegation", "n", "sig"))
_SIGNATURE = b'{"delegation":'


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleHeader:
    """The first line: whose ledger it is, the key, and the signed checkpoint of its end."""

    project: str
    key: VerifierKey
    checkpoint: str

    def to_bytes(self) -> bytes:
        """Return the canonical bytes, without the line feed."""
        return canonical.dump(
            {
                "checkpoint": self.checkpoint,
                "format": FORMAT,
                "project": self.project,
                "version": VERSION,
                "vkey": self.key.to_text(),
            }
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> BundleHeader:
        """Return the header that the bytes are; MalformedDocument if they are none."""
        value = load_header(data, _HEADER_KEYS, FORMAT, VERSION)
        if not are_filled(value["checkpoint"], value["project"], value["vkey"]):
            raise MalformedDocument("a field in the header of the bundle is empty or not a text")
        return cls(
            project=value["project"],
            key=VerifierKey.from_text(value["vkey"]),
            checkpoint=value["checkpoint"],
        )


def dump_bundle(
    header: BundleHeader,
    entries: Iterable[bytes],
    texts: Iterable[tuple[bytes, str]],
    signatures: Iterable[WriterSignature] = (),
) -> Iterator[bytes]:
    """Return the lines of a bundle, one by one, each with its line feed.

    signatures: by the places of their first entries. InvalidInput, after the last entry, if there are not as many as the checkpoint says.
    """
    yield header.to_bytes() + b"\n"
    size = checkpoints.open_checkpoint(header.checkpoint).size
    written = 0
    for data in entries:
        yield data + b"\n"
        written += 1
    if written != size:
        raise InvalidInput(f"the checkpoint is of {size} entries, the bundle got {written}")
    for signature in signatures:
        line = {"delegation": signature.delegation, "n": signature.first, "sig": signature.note}
        yield canonical.dump(line) + b"\n"
    yield from dump_texts(texts)


def verify_bundle(lines: Iterable[bytes], trusted_key: VerifierKey | None = None) -> BundleReport:
    """Return what the lines of a bundle prove, line feeds included; needs no database.

    MalformedDocument if the header cannot be read; every other fault is in the report.
    """
    stream = iter(lines)
    header = BundleHeader.from_bytes(strip(next(stream, b"")))
    checkpoint = checkpoints.open_checkpoint(header.checkpoint)
    key = trusted_key or header.key
    faults: list[CounterpointError] = [
        *key_faults(header.key, key),
        *signature_faults(header.checkpoint, key),
    ]
    # Taken here: what is found below is wrong with the entries, and not with the signature.
    signed = not faults
    trail, people, coverage = Trail(key), Confirmed(), Coverage()
    # Where each text is referred to last, and where it was last taken away.
    referred: dict[str, int] = {}
    redacted: dict[str, int] = {}

    def watch(entry: Mapping[str, Any]) -> None:
        trail.read(entry)
        people.read(entry)
        coverage.read(entry, verification.place)
        for digest in list_redacted(entry):
            redacted[digest] = entry["n"]

    verification = Verification(
        header.project,
        checkpoints=[checkpoint],
        watch=watch,
        hashed=lambda leaves, _: coverage.hashed(leaves),
    )
    verification.read(_entries(islice(stream, checkpoint.size), referred))
    verification.close()
    people.close(epoch_of(checkpoint.extensions))
    stream, unread = _signatures(stream, coverage, trail.keys)
    # A text that is referred to again after it was taken away was written again.
    gone = {digest for digest, at in redacted.items() if referred.get(digest, -1) <= at}
    texts = Texts(set(referred), gone, people.text_faults)
    signers = signers_of(header.checkpoint, people.quorum.policy)
    few = quorum_fault(people.quorum.policy, signers, checkpoint.size)
    lost = [*filter(None, (few,)), *unread, *texts.faults(stream)]
    fault_lists = (verification.faults, trail.faults, people.faults, coverage.faults)
    return BundleReport(
        project=header.project,
        size=verification.size,
        root=verification.root.hex(),
        last=verification.last,
        key=key.to_text(),
        trusted=trusted_key is not None and signed,
        thoughts=trail.thoughts,
        seals=trail.seals,
        texts=texts.found,
        redacted=texts.redacted,
        confirmed=people.acts,
        self_judged=people.self_judged,
        signed=coverage.signed,
        unsigned=coverage.unsigned,
        unsigned_places=coverage.places,
        quorum=people.quorum.report(signers),
        **people.joint.report(),
        faults=(*faults, *chain.from_iterable(fault_lists), *lost),
        fault_count=len(faults) + sum(part.count for part in fault_lists) + len(lost),
    )


def _signatures(
    stream: Iterator[bytes], coverage: Coverage, keys: NamedKeys
) -> tuple[Iterator[bytes], list[CounterpointError]]:
    """Check the signatures of writers; answer the lines that follow, and what is wrong with those here."""
    faults: list[CounterpointError] = []
    before = -1
    for line in stream:
        if not line.startswith(_SIGNATURE):
            return chain((line,), stream), faults
        try:
            signature = _load_signature(strip(line), before)
        except MalformedDocument as fault:
            faults.append(fault)
            continue
        before = signature.first
        coverage.check((signature,), keys)
    return iter(()), faults


def _load_signature(data: bytes, before: int) -> WriterSignature:
    """Return what a line of a signature says, which must begin above a place; MalformedDocument."""
    value = load_object(data, _SIGNATURE_KEYS)
    first, delegation, note = value["n"], value["delegation"], value["sig"]
    if type(first) is not int or type(delegation) is not str or type(note) is not str:
        raise MalformedDocument("a field of a signature is of another sort")
    if first <= before:
        raise MalformedDocument("a signature stands before one of an earlier entry")
    return WriterSignature(writer=writer_of(note), first=first, delegation=delegation, note=note)


def _entries(lines: Iterable[bytes], referred: dict[str, int]) -> Iterator[bytes]:
    """Return entry bytes without line feeds; notes where the texts are that they refer to."""
    for sequence, line in enumerate(lines):
        data = strip(line)
        for digest in list_references(data):
            referred[digest] = sequence
        yield data
