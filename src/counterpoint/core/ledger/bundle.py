"""An exported ledger in one file that anyone can check without a database.

Layout: lines in UTF-8, each ended by one line feed (0x0A), no empty line.

    1        header, canonical JSON: {"checkpoint": signed checkpoint (a note, as one text),
             "format": "counterpoint-bundle", "project": id, "version": 1, "vkey": verifier key}
    next N   the entries from sequence 0 on, their bytes as they are; N is the size in the checkpoint
    others   any number of texts, canonical JSON: {"body": the text, "text": its SHA-256 in hex}

A bundle is sound if and only if (1) the header is valid, (2) its checkpoint is signed by the key,
for the origin that is the key's name, (3) the N entries are a sound ledger of the project whose root
is the root of the checkpoint, (4) each further line is a text whose digest is right, that an entry
refers to, and that comes once.
A text that an entry refers to and that is not in the bundle counts as redacted; that is no fault.

Trust. The key in the header travels with what it signs: whoever changes the bundle can change the
key as well. With that key alone the bundle is only shown to agree with itself. It is proved only if
the caller gives the project's verifier key, obtained in another way; then the key in the header is
not used, and must be the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from counterpoint.core.ledger import checkpoint as checkpoints
from counterpoint.core.ledger.chain import Verification
from counterpoint.core.ledger.entry import Parsed, list_references
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.kernel import canonical
from counterpoint.kernel.errors import (
    CounterpointError,
    InvalidInput,
    LedgerBroken,
    MalformedDocument,
    ProofMismatch,
)

FORMAT: Final = "counterpoint-bundle"
VERSION: Final = 1
_HEADER_KEYS = frozenset(("checkpoint", "format", "project", "version", "vkey"))
_TEXT_KEYS = frozenset(("body", "text"))


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleHeader:
    """The first line: whose ledger it is, the key, and the signed checkpoint of its end."""

    project: str
    key: VerifierKey
    checkpoint: str

    def to_bytes(self) -> bytes:
        """Answer the canonical bytes, without the line feed."""
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
        """Answer the header that the bytes are; MalformedDocument if they are none."""
        value = _load_object(data, _HEADER_KEYS)
        version = value["version"]
        if value["format"] != FORMAT or type(version) is not int or version != VERSION:
            raise MalformedDocument(
                f"the first line is not the header of a {FORMAT} of version {VERSION}",
                hint="Read it with the version of the program that wrote it.",
            )
        texts = (value["checkpoint"], value["project"], value["vkey"])
        if not all(type(text) is str and text for text in texts):
            raise MalformedDocument("a field in the header of the bundle is empty or not a text")
        return cls(
            project=value["project"],
            key=VerifierKey.from_text(value["vkey"]),
            checkpoint=value["checkpoint"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleReport:
    """What a bundle was found to be.

    size, root, last: of the entries read; root and last in hex.
    key: the verifier key used; trusted: it came from outside, and the signature is right.
    texts, redacted: how many of the texts that entries refer to are here, and how many are not.
    faults: what is wrong, in the order found; fault_count counts also those left out.
    """

    project: str
    size: int
    root: str
    last: str
    key: str
    trusted: bool
    texts: int
    redacted: int
    faults: tuple[CounterpointError, ...]
    fault_count: int

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong; without a trusted key the bundle only agrees with itself."""
        return self.fault_count == 0


def dump_bundle(
    header: BundleHeader, entries: Iterable[bytes], texts: Iterable[str]
) -> Iterator[bytes]:
    """Answer the lines of a bundle, one by one, each with its line feed.

    InvalidInput, after the last entry, if there are not as many as the checkpoint says.
    """
    yield header.to_bytes() + b"\n"
    size = checkpoints.open_checkpoint(header.checkpoint).size
    written = 0
    for data in entries:
        yield data + b"\n"
        written += 1
    if written != size:
        raise InvalidInput(f"the checkpoint is of {size} entries, the bundle got {written}")
    for body in texts:
        yield canonical.dump({"body": body, "text": canonical.text_digest(body)}) + b"\n"


def verify_bundle(lines: Iterable[bytes], trusted_key: VerifierKey | None = None) -> BundleReport:
    """Answer what the lines of a bundle prove, line feeds included; needs no database.

    MalformedDocument if the header cannot be read; every other fault is in the report.
    """
    stream = iter(lines)
    header = BundleHeader.from_bytes(_strip(next(stream, b"")))
    checkpoint = checkpoints.open_checkpoint(header.checkpoint)
    key = trusted_key or header.key
    faults: list[CounterpointError] = list(_signature_faults(header, key))
    signed = not faults
    verification = Verification(header.project, checkpoints=[checkpoint])
    referred: set[str] = set()
    verification.read(_entries(islice(stream, checkpoint.size), referred))
    verification.close()
    found: set[str] = set()
    lost = list(_text_faults(stream, referred, found))
    return BundleReport(
        project=header.project,
        size=verification.size,
        root=verification.root.hex(),
        last=verification.last,
        key=key.to_text(),
        trusted=trusted_key is not None and signed,
        texts=len(found),
        redacted=len(referred - found),
        faults=(*faults, *verification.faults, *lost),
        fault_count=len(faults) + verification.fault_count + len(lost),
    )


def _signature_faults(header: BundleHeader, key: VerifierKey) -> Iterator[LedgerBroken]:
    if header.key != key:
        yield ProofMismatch(
            "the bundle names another key than the trusted one",
            hint="Ask the owner of the project which verifier key is right.",
            found=header.key.to_text(),
        )
    try:
        checkpoints.verify(header.checkpoint, key)
    except ProofMismatch as fault:
        yield fault


def _entries(lines: Iterable[bytes], referred: set[str]) -> Iterator[bytes]:
    """Answer entry bytes without line feeds; gathers the texts that they refer to."""
    for line in lines:
        data = _strip(line)
        referred.update(list_references(data))
        yield data


def _text_faults(
    lines: Iterable[bytes], referred: set[str], found: set[str]
) -> Iterator[CounterpointError]:
    """Check the text lines; gathers the digests of those that are right."""
    for number, line in enumerate(lines, start=1):
        try:
            digest = _check_text(_strip(line), referred - found)
        except (MalformedDocument, ProofMismatch) as fault:
            yield type(fault)(f"text line {number}: {fault.message}", hint=fault.hint, line=number)
        else:
            found.add(digest)


def _check_text(data: bytes, awaited: set[str]) -> str:
    """Answer the digest of a text line that is right and awaited."""
    value = _load_object(data, _TEXT_KEYS)
    if type(value["body"]) is not str or type(value["text"]) is not str:
        raise MalformedDocument("a text line has a field that is not a text")
    if canonical.text_digest(value["body"]) != value["text"]:
        raise ProofMismatch(
            "the text does not have the digest that it claims",
            hint="The text was changed after it was written; the entry still holds.",
            text=value["text"],
        )
    if value["text"] not in awaited:
        raise ProofMismatch(
            "no entry refers to the text, or it came before",
            hint="Leave this text out of account; the ledger does not speak of it.",
            text=value["text"],
        )
    return value["text"]


def _load_object(data: bytes, keys: frozenset[str]) -> dict[str, Any]:
    """Answer the object of a canonical line with just these keys; MalformedDocument else."""
    try:
        value: Parsed = canonical.load(data)
        exact = canonical.dump(value) == data
    except InvalidInput as fault:
        raise MalformedDocument(fault.message) from fault
    if not exact or type(value) is not dict or value.keys() != keys:
        raise MalformedDocument(
            f"a line is not a canonical JSON object with the keys {', '.join(sorted(keys))}"
        )
    return value


def _strip(line: bytes) -> bytes:
    """Answer a line without its line feed; without one it is left so that no line passes."""
    return line[:-1] if line.endswith(b"\n") else b""
