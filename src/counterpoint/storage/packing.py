"""How the bytes of an entry are packed to be stored, and unpacked to be read.

A ledger is mostly entries, and entries are mostly what others say too: names of columns, and, in each, the
project, the sequence and the hash of the entry before. Packing takes these out. It changes nothing that
is hashed, verified or exported: `unpack` returns the very bytes that `pack` was given.

    packed             meaning
    00 data            data, as it is
    01 deflate hashes  raw deflate (RFC 1951, a window of 4 KB) with the preset dictionary DICTIONARY, then
                       hashes of 32 bytes; in what comes out, the first byte 00, if there is one, stands
                       for `"h":"HASH","n":SEQUENCE,"p":PROJECT` as the row and the row before it tell
                       them, and each byte 01 for the next of the hashes, `"HASH"`

JSON has no such bytes, so that what stands for something cannot be anything else. Whatever cannot be
unpacked is returned as it is stored: no entry has such bytes, and whoever verifies says so.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

from counterpoint.core.ledger.entry import GENESIS
from counterpoint.core.ports.store import Kept
from counterpoint.kernel import canonical
from counterpoint.kernel.matching.expressions import expression

_PLAIN, _DEFLATED = b"\x00", b"\x01"
_PLACE, _HASH = b"\x00", b"\x01"
_IN_PLACE: Final = b'"h":"%b","n":%d,"p":%b'
_QUOTED = expression(rb'"([0-9a-f]{64})"')
_SIZE: Final = 32
_WINDOW: Final = -12
_MEMORY: Final = 6
_LEVEL: Final = 6

# Packed entries need these very bytes: another text gets a mark of its own.
DICTIONARY: Final = b"".join(
    (
        b'"checkpoint":"counterpoint/"sealed_at"thought.chained"thoughts","v":{"content":"previous":"',
        b'"hash":"type":"analysis"decision"reflection"plan","task":"seals"session.sealed"root":"size":',
        b'{"a":"plan.created","f":{"items":,"ready":{"a":"text.redacted","f":{"reason":"row":"sha256":["',
        b'"allowed_tools":"denied_tools":"instructions":"profiles"lines":"patterns":"prefix":"public_key":"',
        b'"argv":["command_sha256":"exit_code":1,"folder":"output":{"$text":"output_bytes":,"output_sha256":"',
        b'"signature":"timed_out":1"receipts","gate":"gates","v":{"holds":"start"finish","kind":"check"review"',
        b'"proof":"reason":{"$text":"passed"open"waived"submissions"verdicts"decision":"approve"reject"fixes":',
        b'"handoffs","v":{"action":"pause"end"resume"continue"next_steps":{"$text":"blockers":{"$text":"context":',
        b'"areas"criteria","v":{"met":1,"text":{"$text":"dependencies","k":{"item":","needs":"labels"aliases"',
        b'"scope":"slug"uuid"attributes","value":{"$text":"state.put"state","k":{"name":","scope":"project"},',
        b'{"a":"state.put","f":{"name":"key-","scope":"project","version":1},"v":{"value":{"$text":"',
        b'{"a":"note.recorded","f":{"record":"kind":"note"decision"learning"blocker"log"thought","number":',
        b'"records","v":{"body":{"$text":"details":{"$text":"files":["status":"open"resolved"tags":["title":"',
        b'"sessions","v":{"client":"continues":"started_at":"status":"active"},{"k":{"id":"ses_"},"t":"sessions',
        b'"replies","v":{"answer":{"$text":"request":"title":"task ","t":"items","v":{"body":{"$text":"',
        b'"blockers":1,"held":1,"kind":"task"phase"issue"workflow"spec"lifecycle":"task","number":,"parent":"',
        b'"position":1,"priority":2,"profile":"root":"status":"pending"},{"k":{"id":"category":"open"dropped"',
        b'"evidence":{"$text":"achievements":{"$text":"limitations":{"$text":"outcome":"done","remarks":{"$text":\x01}',
        b',"summary":{"$text":"task.moved"item.moved"cancelled"blocked"in_progress"completed"failed"skipped"',
        b'{"a":"session.opened","f":{"record":"","kind":"comment","number":1},',
        b'"r":[{"k":{"id":""},"t":"records","v":{"body":{"$text":\x01},"kind":"comment","item":""}},',
        b'{"c":{"answer":{"$text":\x01}},"k":{"agent":"","name":""},"t":"replies"},{"k":{"name":"","scope":"project"},"t":"state",',
        b'"v":{"value":{"$text":\x01}}}],"s":"project","t":"2026-',
        b'"v":{"kind":"task","lifecycle":"task","parent":"","position":1,"priority":2,"status":"open","title":"task 1"}},',
        b'{"k":{"id":""},"t":"items","v":{"category":"open",',
        b'{"a":"task.finished","f":{"commits":0,"files":0,"outcome":"done"},\x00,"r":[{"k":{"item":"',
        b'","token":1},"t":"outcomes","v":{"evidence":{"$text":\x01},"outcome":"done","remarks":{"$text":\x01},"summary":{"$text":\x01}}},',
        b'{"c":{"category":"done","closed_at":"2026-',
        b'Z","status":"done"},"k":{"id":"',
        b'"},"t":"items"},{"c":{"state":"released"},"k":{"item":"',
        b'"},"t":"claims"}],"s":"',
        b'{"a":"task.started","f":{"token":1,"until":"2026-01-01T00:00:00.000Z"},\x00,"r":[{"k":{"item":"',
        b'"},"t":"claims","v":{"leased_until":"2026-',
        b'Z","state":"live","token":1}},{"k":{"item":"',
        b'{"k":{"item":"","principal":"cn_"},"t":"contributions","v":{"how":"worked"}},',
        b'","token":1},"t":"start_points","v":{"branch":"main","commit":"","files":{"$text":\x01},"method":"git"',
        b'","token":1},"t":"start_points","v":{"method":"hash"}},{"c":{"assignee":"',
        b'","category":"active","status":"active"},"k":{"id":"',
        b'"},"t":"items"}],"s":"',
        b'","t":"2026-',
        b'Z","v":2,"w":{"k":"human","n":"',
        b'Z","v":2,"w":{"k":"agent","n":"',
        b'Z","v":2,"w":{"i":{"i":"cn_","k":"connection"},"k":"agent","n":"',
        b'","s":"ses_',
        b'"}}',
    )
)

_PACKER: Final = zlib.compressobj(
    _LEVEL, zlib.DEFLATED, _WINDOW, _MEMORY, zlib.Z_DEFAULT_STRATEGY, DICTIONARY
)
"""Knows the dictionary and is only copied, which takes half as long as to begin with the text."""


def pack(data: bytes, project: str, sequence: int, previous: str) -> bytes:
    """Return the bytes to be stored for an entry; previous: hash in hex of the entry before."""
    # No JSON has these bytes; what was damaged, and is moved here to be looked at, may have any.
    if _PLACE in data or _HASH in data:
        return _PLAIN + data
    shortened = data.replace(_IN_PLACE % (previous.encode(), sequence, _name(project)), _PLACE, 1)
    hashes = bytes.fromhex(b"".join(_QUOTED.findall(shortened)).decode())
    packer = _PACKER.copy()
    packed = packer.compress(_QUOTED.sub(_HASH, shortened)) + packer.flush() + hashes
    return _DEFLATED + packed if len(packed) < len(data) else _PLAIN + data


def unpack_rows(
    rows: Iterable[tuple[int, bytes, bytes]], project: str, start: int
) -> Iterator[bytes]:
    """Return the entries from a start on, of stored rows in order: sequence, packed bytes, leaf hash.

    The row before the start comes first, if there is one: an entry is packed without its hash.
    """
    before = GENESIS
    for sequence, packed, leaf in rows:
        if sequence >= start:
            yield unpack(packed, project, sequence, before)
        before = leaf.hex()


def unpack_kept(rows: Iterable[tuple[int, bytes, bytes, str, str]], project: str) -> Iterator[Kept]:
    """Return every entry with what stands beside its bytes, of all stored rows in order."""
    before = GENESIS
    for sequence, packed, leaf, subject, action in rows:
        yield Kept(sequence, unpack(packed, project, sequence, before), leaf, subject, action)
        before = leaf.hex()


def unpack(packed: bytes, project: str, sequence: int, previous: str) -> bytes:
    """Return the bytes of an entry as they were packed, or what is stored if that cannot be."""
    if packed[:1] == _PLAIN:
        return packed[1:]
    if packed[:1] != _DEFLATED:
        return packed
    unpacker = zlib.decompressobj(_WINDOW, DICTIONARY)
    try:
        parts = unpacker.decompress(packed[1:]).split(_HASH)
    except zlib.error:
        return packed
    hashes, many = unpacker.unused_data, len(parts) - 1
    if not unpacker.eof or len(hashes) != _SIZE * many:
        return packed
    if many:
        # Parts and hashes in turn: what joins them are the quotation marks of the hashes.
        pieces = [b""] * (2 * many + 1)
        pieces[::2] = parts
        pieces[1::2] = hashes.hex(",", _SIZE).encode().split(b",")
        parts = [b'"'.join(pieces)]
    header = _IN_PLACE % (previous.encode(), sequence, _name(project))
    return parts[0].replace(_PLACE, header, 1)


@cache
def _name(project: str) -> bytes:
    return canonical.dump(project)
