"""What a command wrote: all of it hashed, its two ends kept.

Up to the limit everything is kept. Beyond it the first and the last bytes are, with one line
between them that says how many bytes were left out; the three together stay within the limit,
unless that line alone is longer. A cut never leaves half a UTF-8 character behind.
"""

from __future__ import annotations

import hashlib

# RFC 3629, section 3: from these first bytes on, a character has one byte more; the bytes after
# the first all begin with the bits 10.
_LONGER_FROM = (0xC0, 0xE0, 0xF0)
_MASK, _CONTINUATION = 0xC0, 0x80


class Transcript:
    """Bytes as they came, in bounded memory."""

    def __init__(self, limit: int) -> None:
        """Start empty, to keep at most so many bytes."""
        self._limit = limit
        self._head = bytearray()
        self._head_room = limit // 2
        self._tail = bytearray()
        self._tail_room = limit - self._head_room
        self._state = hashlib.sha256()
        self.size = 0

    @property
    def sha256(self) -> str:
        """The digest of every byte taken, kept or not."""
        return self._state.hexdigest()

    def hear(self, chunk: bytes) -> None:
        """Take in the next bytes."""
        self._state.update(chunk)
        self.size += len(chunk)
        missing = self._head_room - len(self._head)
        self._head += chunk[:missing]
        self._tail += chunk[missing:]
        # Cut only when it is twice too long: cutting with each chunk would copy the tail each time.
        if len(self._tail) > 2 * self._tail_room:
            self._tail = self._last(self._tail_room)

    def text(self) -> str:
        """Return what was kept, with a replacement mark for what is not UTF-8."""
        if self.size <= self._limit:
            return (self._head + self._tail).decode("utf-8", "replace")
        # The marker names fewer bytes than this one, so it is never longer.
        bytes_left = max(0, self._limit - len(_marker(self.size)))
        head = _without_cut_end(self._head[: bytes_left // 2])
        tail = _without_cut_start(self._last(bytes_left - bytes_left // 2))
        left_out = self.size - len(head) - len(tail)
        return (head + _marker(left_out) + tail).decode("utf-8", "replace")

    def _last(self, count: int) -> bytearray:
        return self._tail[max(0, len(self._tail) - count) :]


def _marker(left_out: int) -> bytes:
    return f"\n[{left_out:,} bytes left out]\n".encode()


def _continues(byte: int) -> bool:
    return byte & _MASK == _CONTINUATION


def _without_cut_end(part: bytearray) -> bytearray:
    for back in range(1, min(4, len(part)) + 1):
        first = part[-back]
        if not _continues(first):
            length = 1 + sum(first >= lowest for lowest in _LONGER_FROM)
            return part[:-back] if length > back else part
    return part


def _without_cut_start(part: bytearray) -> bytearray:
    skip = 0
    while skip < min(3, len(part)) and _continues(part[skip]):
        skip += 1
    return part[skip:]
