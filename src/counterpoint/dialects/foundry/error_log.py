"""Keeps the refused calls of a project in a file beside its ledger.

A line of JSON for each, appended in one write, so that any number of processes may. Rules: (1) Who appends holds the file
shared, and only while it is the one of that name; who puts it aside holds it alone. So no line goes into a file that was read already.
(2) Of a file with more than `FULL` bytes the former one is let go and it takes its place: two of them hold more than is
shown. (3) A line that cannot be read, such as one cut off by a full disk, is passed over. (4) To append waits for nobody: what cannot be written at once is not written, for no call fails or waits because of it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, cast

import orjson

from counterpoint.dialects.foundry.nouns.errors import ErrorRecord
from counterpoint.kernel.canonical import sha256

Keep = Callable[[list[ErrorRecord]], list[ErrorRecord]]
"""(all that are kept) → those that stay."""

FOLDER: Final = "foundry"
FULL: Final = 4_000_000
"""Bytes of a file that is put aside: 10,000 lines have about 400 each."""
_TRIES: Final = 3
_NAME_LENGTH: Final = 16
_APPEND: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorLog:
    """The refused calls of the projects of a ledger.

    state: the folder of the ledger. full: bytes beyond which a file is put aside.
    """

    state: Path
    full: int = FULL

    def append(self, project: str, record: ErrorRecord) -> None:
        """Keep a refusal; OSError if that cannot be done at once."""
        path, size = self._path(project), 0
        line = _line(record)
        for _ in range(_TRIES):
            with _opened(path) as descriptor:
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
                if _is_named(descriptor, path):
                    os.write(descriptor, line)
                    size = os.fstat(descriptor).st_size
                    break
        if size > self.full:
            with _locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB):
                # Another process may have been faster.
                if path.stat().st_size > self.full:
                    _put_aside(path, _former(path))

    def read(self, project: str) -> list[ErrorRecord]:
        """Return what is kept, in the order in which it was written; OSError."""
        path = self._path(project)
        return [
            record
            for log_path in (_former(path), _aside(path), path)
            for record in _records(log_path)
        ]

    def clean(self, project: str, keep: Keep) -> tuple[int, int]:
        """Let go of all but what is to be kept; answer how many stay and how many go. OSError."""
        path = self._path(project)
        with _locked(path, fcntl.LOCK_EX):
            # One that ended in the middle of this has left what it put aside.
            remaining = list(_records(_aside(path)))
            _put_aside(path, _aside(path))
            seen = [*_records(_former(path)), *remaining, *_records(_aside(path))]
            recent = keep(seen)
            draft = path.with_suffix(".draft")
            draft.write_bytes(b"".join(map(_line, recent)))
            draft.replace(_former(path))
            _aside(path).unlink(missing_ok=True)
        return len(recent), len(seen) - len(recent)

    def _path(self, project: str) -> Path:
        name = sha256(project.encode())[:_NAME_LENGTH]
        return self.state / FOLDER / f"errors-{name}.jsonl"


def _line(record: ErrorRecord) -> bytes:
    return orjson.dumps(asdict(record)) + b"\n"


@contextmanager
def _opened(path: Path) -> Generator[int]:
    try:
        descriptor = os.open(path, _APPEND, 0o600)
    except FileNotFoundError:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, _APPEND, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _locked(path: Path, how: int) -> Generator[None]:
    """Be the only one that puts anything aside; OSError if another one does and `how` does not wait."""
    with _opened(path.with_suffix(".lock")) as descriptor:
        fcntl.flock(descriptor, how)
        yield


def _put_aside(path: Path, to: Path) -> None:
    """Give the file another name, once nobody appends to it any more."""
    with _opened(path) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        path.replace(to)


def _is_named(descriptor: int, path: Path) -> bool:
    """Return whether the open file is still the one of this name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _former(path: Path) -> Path:
    return path.with_suffix(".former")


def _aside(path: Path) -> Path:
    return path.with_suffix(".aside")


def _records(path: Path) -> Iterator[ErrorRecord]:
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        record = _record(line)
        if record is not None:
            yield record


def _record(line: bytes) -> ErrorRecord | None:
    """Return what a line says; None if it says nothing that can be read."""
    try:
        fields = cast("dict[str, str]", orjson.loads(line))
        return ErrorRecord(**fields)
    except (orjson.JSONDecodeError, TypeError):
        return None
