"""Lines of bundles: how they are read, and the texts at the end of each.

A bundle is lines in UTF-8, each ended by one line feed (0x0A), no empty line. The first is its
header; then come the lines that are proved, and signatures of them; the others are texts, by their commitments, each once,
canonical JSON:

    {"body": the text, "salt": 32 hex digits, "text": its commitment in hex}

The commitment is SHA-256(0x02 || salt || UTF-8 bytes of the text). A text that a proved line refers to may
be left out if and only if an entry of the ledger tells that it was taken away: its action is
`text.redacted`, and its fact `texts` is an array that has the commitment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any, Final

import orjson

from counterpoint.core.ledger import checkpoint as checkpoints
from counterpoint.core.ledger.entry import Parsed
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.model.trust.heads import QuorumReport
from counterpoint.kernel import canonical
from counterpoint.kernel.errors import (
    CounterpointError,
    InvalidInput,
    LedgerBroken,
    MalformedDocument,
    ProofMismatch,
)
from counterpoint.kernel.frozen import frozen
from counterpoint.kernel.matching.expressions import expression

REDACTION: Final = "text.redacted"
"""What the ledger calls the taking away of texts."""
GONE: Final = "texts"
"""The fact that names them, by their commitments."""

_TEXT_KEYS = frozenset(("body", "salt", "text"))
_SALT = expression("[0-9a-f]{32}")
_NAMED = 20


@frozen
class BundleReport:
    """What a bundle was found to be.

    session: whose thoughts they are; empty for a whole ledger.
    size, root, last: of the entries (thoughts) read; root and last in hex.
    key: the verifier key used; trusted: it came from outside, and the signatures are right.
    thoughts, seals: how many of them are in it.
    texts, redacted: how many of the texts that are referred to are here, and how many were taken away.
    confirmed: how many acts people signed. self_judged: how many entries say that people judged their own work.
    signed, unsigned: how many entries of connections and credentials are signed by them, and how many are not;
    unsigned_places: where the first of these are.
    quorum: what is asked of witnesses, and who of them has signed. signers: how many people must sign.
    fewer_signers: the entries that made it fewer.
    faults: what is wrong, in the order found; fault_count counts also those left out.
    """

    project: str
    session: str = ""
    size: int
    root: str
    last: str
    key: str
    trusted: bool
    thoughts: int
    seals: int
    texts: int
    redacted: int
    faults: tuple[CounterpointError, ...]
    fault_count: int
    confirmed: int = 0
    self_judged: int = 0
    signed: int = 0
    unsigned: int = 0
    unsigned_places: tuple[int, ...] = ()
    quorum: QuorumReport = field(default_factory=QuorumReport)
    signers: int = 1
    fewer_signers: tuple[int, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong; without a trusted key the bundle only agrees with itself."""
        return self.fault_count == 0


def dump_texts(texts: Iterable[tuple[bytes, str]]) -> Iterator[bytes]:
    """Return the line of each salt and text, with its line feed; they come by their commitments."""
    for salt, body in texts:
        commitment = canonical.commitment(salt, body)
        yield canonical.dump({"body": body, "salt": salt.hex(), "text": commitment}) + b"\n"


def load_object(data: bytes, keys: frozenset[str]) -> dict[str, Any]:
    """Return the object of a canonical line with just these keys; MalformedDocument else."""
    try:
        value: Parsed = canonical.load(data)
        exact = canonical.dump(value) == data
    except InvalidInput as fault:
        raise MalformedDocument(fault.message) from fault
    if not exact or type(value) is not dict or value.keys() != keys:
        raise _no_object(keys)
    return value


def _no_object(keys: frozenset[str]) -> MalformedDocument:
    return MalformedDocument(
        f"a line is not a canonical JSON object with the keys {', '.join(sorted(keys))}"
    )


def load_header(data: bytes, keys: frozenset[str], sort: str, version: int) -> dict[str, Any]:
    """Return the object of the first line of a bundle of a sort and version; MalformedDocument."""
    value = load_object(data, keys)
    stored_version = value["version"]
    if value["format"] != sort or type(stored_version) is not int or stored_version != version:
        raise MalformedDocument(
            f"the first line is not the header of a {sort} of version {version}",
            hint="Read it with the version of the program that wrote it.",
        )
    return value


def list_redacted(entry: Mapping[str, Any]) -> list[str]:
    """List the commitments of texts that an entry, as its short keys, tells were taken away."""
    digests: Parsed = entry["f"].get(GONE) if entry["a"] == REDACTION and "f" in entry else None
    return [digest for digest in digests if type(digest) is str] if type(digests) is list else []


def are_filled(*texts: Parsed) -> bool:
    """Return whether values of a line are texts with at least one letter."""
    return all(type(text) is str and text for text in texts)


def strip(line: bytes) -> bytes:
    """Return a line without its line feed; without one it is left so that no line passes."""
    return line[:-1] if line.endswith(b"\n") else b""


def key_faults(in_header: VerifierKey, used: VerifierKey) -> Iterator[LedgerBroken]:
    """Say if the key in a header is not the one that is trusted."""
    if in_header != used:
        yield ProofMismatch(
            "the bundle names another key than the trusted one",
            hint="Ask the owner of the project which verifier key is right.",
            found=in_header.to_text(),
        )


def signature_faults(note: str, key: VerifierKey, origin: str = "") -> Iterator[LedgerBroken]:
    """Say if a checkpoint is not signed by a key for an origin."""
    try:
        checkpoints.verify(note, key, origin)
    except ProofMismatch as fault:
        yield fault


class Texts:
    """The texts at the end of a bundle, held against what refers to them."""

    def __init__(
        self,
        referred: set[str],
        redacted: set[str],
        look: Callable[[str, str], Iterable[LedgerBroken]] | None = None,
    ) -> None:
        """Await the texts with some commitments, of which some were taken away.

        look: says what else is wrong with a text, by its commitment and what it says.
        """
        self._referred = referred
        self._look = look
        self._redacted = redacted
        self._found: set[str] = set()
        self._last = ""

    @property
    def found(self) -> int:
        """How many texts were there and right."""
        return len(self._found)

    @property
    def redacted(self) -> int:
        """How many texts were taken away."""
        return len((self._referred - self._found) & self._redacted)

    def faults(self, lines: Iterable[bytes]) -> Iterator[CounterpointError]:
        """Check the text lines to the end, and say what is wrong and what is missing."""
        for number, line in enumerate(lines, start=1):
            try:
                self._check(strip(line))
            except (MalformedDocument, ProofMismatch) as fault:
                message = f"text line {number}: {fault.message}"
                yield type(fault)(message, hint=fault.hint, line=number)
        missing = sorted(self._referred - self._found - self._redacted)
        if missing:
            yield ProofMismatch(
                f"{len(missing)} texts are missing, and nothing tells that they were taken away",
                hint="Ask for the whole bundle; what names the texts still holds.",
                texts=missing[:_NAMED],
                count=len(missing),
            )

    def _check(self, data: bytes) -> None:
        """Take in a text line that is right and awaited."""
        value = _load_text(data)
        if canonical.commitment(bytes.fromhex(value["salt"]), value["body"]) != value["text"]:
            raise ProofMismatch(
                "the text does not have the commitment that it claims",
                hint="The text was changed after it was written; what names it still holds.",
                text=value["text"],
            )
        if value["text"] not in self._referred or value["text"] <= self._last:
            raise ProofMismatch(
                "nothing refers to the text, or its place is before another one",
                hint="Leave this text out of account; the bundle does not speak of it.",
                text=value["text"],
            )
        self._last = value["text"]
        self._found.add(value["text"])
        for fault in self._look(value["text"], value["body"]) if self._look is not None else ():
            raise fault


def _load_text(data: bytes) -> dict[str, str]:
    """Return what a text line holds; MalformedDocument.

    Half of the lines of a bundle are such: three texts are inside the profile without another look.
    """
    try:
        value: Parsed = orjson.loads(data)
        exact = orjson.dumps(value, option=orjson.OPT_SORT_KEYS) == data
    except (TypeError, ValueError) as fault:
        raise MalformedDocument(f"a text line is not JSON: {fault}") from fault
    if not exact or type(value) is not dict or value.keys() != _TEXT_KEYS:
        raise _no_object(_TEXT_KEYS)
    if not all(type(value[name]) is str for name in _TEXT_KEYS):
        raise MalformedDocument("a text line has a field that is not a text")
    if not _SALT.fullmatch(value["salt"]):
        raise MalformedDocument("the salt of a text line is not 32 hex digits in lower case")
    return value
