"""Signatures of writers over the entries that were written for them.

A writer is a principal that a connection or a credential attests. What the server wrote for one is signed with a
key that the signer derives for that one alone, in two signed notes (see note.py), each line ended by a line feed:

    delegation  `counterpoint/delegation/v1`, NAME, the writer, base64 of the 32 bytes of its public key
    note        `counterpoint/writer/v1`, NAME, the writer, places of the first and last entry, how many, base64 of the root

NAME is the name of the ledger's key; the key of the writer is called NAME/WRITER. A signature holds if and only if

1. the delegation is signed by the key that the ledger names at the last place, or by one named after it (see keys.py), and the note by the key
   that the delegation names;
2. both are of this ledger and this writer, and have just these lines, numbers without leading zeros;
3. the first and the last place are of entries of this writer; between them, both counted, there are so many of its
   entries, and the RFC 6962 tree over their leaf hashes, in their order, has the root;
4. no other signature of this writer reaches into these places.

What is signed are ranges and no single entries, because whoever slips an entry of his own between two of a writer
makes rule 3 fail; and no heads of the ledger, because these vouch for whatever stands in it. A writer's entries that no
signature covers are not wrong: their process may have ended before it signed. They are counted and named.
"""

from __future__ import annotations

from collections.abc import Iterable

from counterpoint.core.ledger.merkle import HASH_SIZE
from counterpoint.core.ledger.note import (
    Sign,
    VerifierKey,
    from_base64,
    open_note,
    seal_note,
    to_base64,
    verify_note,
)
from counterpoint.kernel.errors import MalformedDocument, ProofMismatch
from counterpoint.kernel.frozen import frozen
from counterpoint.kernel.matching.expressions import expression

_DELEGATION = "counterpoint/delegation/v1"
_RANGE = "counterpoint/writer/v1"
_WRITER = 2
_LAST = 4
_OF_WRITER = expression(rb"counterpoint/(delegation|writer)/v[0-9]+\n")
_NUMBER = expression(r"0|[1-9][0-9]{0,18}")


@frozen
class Range:
    """Entries of one writer: all of its own from the first place to the last, and the root of their tree."""

    first: int
    last: int
    count: int
    root: bytes


def writer_key(origin: str, writer: str, public_key: bytes) -> VerifierKey:
    """Return the key of a writer under its name; MalformedDocument for a name that none can have."""
    return VerifierKey(name=f"{origin}/{writer}", public_key=public_key)


def seal_delegation(key: VerifierKey, writer: str, public_key: bytes, sign: Sign) -> str:
    """Return the note in which the key of a ledger names that of a writer."""
    return seal_note(_text(_DELEGATION, key.name, writer, to_base64(public_key)), sign, key)


def seal_range(key: VerifierKey, origin: str, writer: str, entries: Range, sign: Sign) -> str:
    """Return the note in which the key of a writer names its entries."""
    numbers = (str(entries.first), str(entries.last), str(entries.count))
    return seal_note(_text(_RANGE, origin, writer, *numbers, to_base64(entries.root)), sign, key)


def open_delegation(document: str, keys: Iterable[VerifierKey], writer: str) -> VerifierKey:
    """Return the key of a writer that one of a ledger's keys has named; MalformedDocument, ProofMismatch."""
    note = open_note(document)
    for key in keys:
        try:
            verify_note(note, key)
        except ProofMismatch:
            continue
        (public,) = _lines(note.text, _DELEGATION, key.name, writer, more=1)
        return writer_key(key.name, writer, from_base64(public))
    raise ProofMismatch("its key was not named by a key of this ledger")


def open_range(document: str, key: VerifierKey, origin: str, writer: str) -> Range:
    """Return the entries that a writer's key has signed; MalformedDocument, ProofMismatch."""
    note = open_note(document)
    verify_note(note, key)
    first, last, count, root = _lines(note.text, _RANGE, origin, writer, more=4)
    if not all(map(_NUMBER.fullmatch, (first, last, count))):
        raise MalformedDocument("a place or number in it is not decimal")
    entries = Range(first=int(first), last=int(last), count=int(count), root=from_base64(root))
    if len(entries.root) != HASH_SIZE:
        raise MalformedDocument("its root is no hash")
    return entries


def is_of_writer(statement: bytes) -> bool:
    """Tell whether a text that somebody wants signed could be read as the delegation or the range of a writer."""
    return _OF_WRITER.match(statement) is not None


def writer_of(document: str) -> str:
    """Return the writer that a note says to be of, unchecked; MalformedDocument if it says none."""
    return _line(document, _WRITER)


def last_of(document: str) -> int:
    """Return the place of the last entry that a note says to cover, unchecked; MalformedDocument."""
    last = _line(document, _LAST)
    if not _NUMBER.fullmatch(last):
        raise MalformedDocument("a place in it is not decimal")
    return int(last)


def _line(document: str, index: int) -> str:
    lines = open_note(document).text.split("\n")
    if lines[0] != _RANGE or len(lines) <= index:
        raise MalformedDocument("this is no signature of a writer")
    return lines[index]


def _text(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)


def _lines(text: str, *begin: str, more: int) -> list[str]:
    """Return the lines of a text after those that it must begin with, which are so many."""
    lines = text.split("\n")[:-1]
    if tuple(lines[: len(begin)]) != begin or len(lines) != len(begin) + more:
        raise ProofMismatch("it is of another ledger or writer, or no signature of a writer")
    return lines[len(begin) :]
