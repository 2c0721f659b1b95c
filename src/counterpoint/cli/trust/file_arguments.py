"""Plain files of a stated size that a command is given, and one that it writes.

What was sent may be anything: a device never ends, a pipe may never begin, and a file without an end of a line is one line.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from counterpoint.kernel.errors import InvalidInput, MalformedDocument, Unavailable

LARGEST_BUNDLE: Final = 4_000_000_000
"""Bytes of a bundle, as the small verifier takes them too (docs/verifier/verify.py)."""
LONGEST_LINE: Final = 64_000_000
LARGEST_TEXT: Final = 10_000_000


@contextmanager
def open_file(path: Path, most: int | None = None) -> Generator[BinaryIO]:
    """Lend a plain file of at most so many bytes (None: of any size); InvalidInput for anything else."""
    try:
        # A pipe would wait for somebody who writes.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as fault:
        raise InvalidInput(
            f"{path} cannot be read: {fault.strerror}", hint="Name a file that you may read."
        ) from fault
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise InvalidInput(
                f"{path} is no plain file",
                hint="Write what is to be read into a file, and name that.",
            )
        if most is not None and status.st_size > most:
            raise InvalidInput(
                f"{path} has {status.st_size:,} bytes, and {most:,} is the most",
                hint="Ask whoever sent it what it is.",
            )
        yield file


@contextmanager
def open_file_or_input(path: Path) -> Generator[BinaryIO]:
    """Lend a plain file of any size, or the input for `-`; InvalidInput."""
    if str(path) == "-":
        yield sys.stdin.buffer
        return
    with open_file(path) as file:
        yield file


def text_of(path: Path, most: int = LARGEST_TEXT) -> str:
    """Return the text of a plain file; InvalidInput."""
    with open_file(path, most) as file:
        read = file.read(most)
    try:
        # Some editors of Windows begin a file with a mark that is no part of its text.
        text = read.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = read.count(b"\n", 0, fault.start) + 1
        raise _not_readable(f"{path}, line {line}") from fault
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_input() -> str:
    """Return what is written to the input; InvalidInput if it does not end, or is no text."""
    try:
        text = sys.stdin.read(LARGEST_TEXT + 1)
        text.encode()
    except UnicodeError as fault:
        raise _not_readable("the input") from fault
    if len(text) > LARGEST_TEXT:
        raise InvalidInput(f"the input has more than {LARGEST_TEXT:,} characters")
    return text.removeprefix("\ufeff")


def _not_readable(where: str) -> InvalidInput:
    return InvalidInput(
        f"{where}: it is not UTF-8",
        hint="Write it in UTF-8, for example with `iconv -f ISO-8859-1 -t UTF-8`, and repeat it.",
    )


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """Return the lines of a file one by one; MalformedDocument for one that is too long."""
    while line := file.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise MalformedDocument(f"a line has more than {LONGEST_LINE:,} bytes")
        yield line


@contextmanager
def write_errors(path: Path) -> Generator[None]:
    """Raise Unavailable where a file cannot be written during the block."""
    try:
        yield
    except OSError as fault:
        raise Unavailable(
            f"{path} cannot be written: {fault.strerror}",
            hint="Name a file in a folder that is there and that you may write.",
        ) from fault
