"""Differences of PostgreSQL: statements, NULs, booleans.

A text may hold any character, but PostgreSQL keeps no NUL. So texts are kept folded:

    U+0000    U+0001 U+0001
    U+0001    U+0001 U+0002
    others    as they are

Rules: (1) folding has one way back; (2) two folded texts compare byte by byte as the texts do, so
that every order is that of the other stores; (3) every text that travels as a parameter is folded,
every text that comes back is unfolded, here and nowhere else.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from psycopg import Connection
from psycopg.abc import Buffer
from psycopg.adapt import Dumper, Loader

Row = tuple[Any, ...]
Link = Connection[Row]
"""A connection whose rows are tuples."""

_NUL, _MARK = "\x00", "\x01"
_FOLDED = re.compile("\x01([\x01\x02])")


def fold(text: str) -> str:
    """Return a text as it is kept."""
    if _NUL not in text and _MARK not in text:
        return text
    return text.replace(_MARK, "\x01\x02").replace(_NUL, "\x01\x01")


def unfold(text: str) -> str:
    """Return the text that is kept like this."""
    if _MARK not in text:
        return text
    return _FOLDED.sub(lambda match: _NUL if match[1] == _MARK else _MARK, text)


class _TextDumper(Dumper):
    """Sends texts folded; their type is left to the column."""

    def dump(self, obj: str) -> Buffer | None:
        """Return the bytes to send."""
        return fold(obj).encode()


class _TextLoader(Loader):
    """Reads folded texts."""

    def load(self, data: Buffer) -> str:
        """Return the text of the bytes that came."""
        return unfold(bytes(data).decode())


class _FlagDumper(Dumper):
    """Sends booleans as the numbers that they are kept as."""

    def dump(self, obj: bool) -> Buffer | None:
        """Return the bytes to send."""
        return b"1" if obj else b"0"


def adapt(link: Link) -> None:
    """Let a connection send and read values as they are kept."""
    link.adapters.register_dumper(str, _TextDumper)
    link.adapters.register_dumper(bool, _FlagDumper)
    link.adapters.register_loader("text", _TextLoader)


@cache
def spoken(statement: str) -> bytes:
    """Return a statement of statements.py as PostgreSQL wants it."""
    # SQLite takes an empty list. PostgreSQL takes none, but nothing equals NULL.
    return statement.replace(" IN ()", " IN (NULL)").replace("?", "%s").encode()
