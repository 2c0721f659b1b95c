"""Whether the files of a database are still those that this process opened.

Who removes, renames or overwrites a file does not stop who has it open: SQLite would go on, and what it acknowledges
would be in a file that nobody finds, or among pages of another moment. So a process looks, and

1. the paths of the database, its log (`-wal`) and the index of that (`-shm`) lead to the files that were there when it was
   opened: same device, same number. As long as they are open, no other file gets their numbers;
2. the database itself is written by checkpoints alone, which end a commit in the turn of whoever writes (queue.py). So where
   nobody else has committed since the last look (`data_version`), and the log is too short for a checkpoint of one's
   own, its size and the time of its last change are what they were. Who only touches the file is taken for one who wrote;
3. the log holds what SQLite has written into it (log.py);
4. the first is looked at before each reading, the second before each COMMIT, so that nothing is written into what is not ours, the third
   before the first writing of a transaction, and all of them after it, before anybody is told that it is done;
5. what was found once stays: this process neither writes nor answers any more, and the next one opens what is there then. Into
   a database that was overwritten nothing is brought from the log any more.

Not seen is who writes into the database between the looks around a commit that ends with a checkpoint, or before a look while
another process commits: `audit verify` finds what he did.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

import apsw

from counterpoint.kernel.errors import CounterpointError, StoreBusy, StoreReplaced, Unavailable
from counterpoint.storage.sqlite.log import OpenedLog, count_frames

CHECKPOINT: Final = 2000
"""Pages in the log from which on a commit ends with a checkpoint."""
_PARTS: Final = ("", "-wal", "-shm")
_MEANWHILE: Final = "while this process had it open, so that nothing more is written or read here"
_HEADER: Final = 20
_FORMAT: Final = 18
_WITHOUT_LOG: Final = b"\x01\x01"
"""The two bytes in which SQLite says how a database is written and read."""
_OPEN: Final = Path("/proc/self/fd")


class FileId(NamedTuple):
    """Which file it is, whatever its name."""

    device: int
    number: int


class Written(NamedTuple):
    """What a writing of a file leaves changed: its size, and the time of the last change."""

    size: int
    changed: int


def id_of(path: Path) -> FileId | None:
    """Return which file is at a path; None without one."""
    try:
        status = path.stat()
    except OSError:
        return None
    return FileId(status.st_dev, status.st_ino)


class OpenedFiles:
    """The files of one database. Both commits are looked at in the turn of the writer alone."""

    def __init__(self, where: str, save: Callable[[FileId], str]) -> None:
        """Remember nothing yet. save: copies what this process still has open; answers the path, or nothing."""
        self._where = where
        self._save = save
        self._first: FileId | None = None
        self._known: list[tuple[str, FileId]] = []
        self._written = Written(0, 0)
        self._version: int = -1
        self._log: OpenedLog | None = None
        self.fault: CounterpointError | None = None
        self.is_overwritten = False
        self.is_closed = False

    def expect(self) -> None:
        """Look which file is about to be opened."""
        self._first = id_of(Path(self._where))

    def check_place(self) -> None:
        """Pass if the file in the place is the one that was about to be opened; StoreBusy."""
        if id_of(Path(self._where)) != self._first:
            raise StoreBusy(
                f"another file came into the place of {self._where} while it was opened",
                path=self._where,
            )

    def remember(self, connection: apsw.Connection) -> None:
        """Take the files as they are, just opened; StoreBusy if the database is another one by now."""
        paths = [Path(f"{self._where}{part}") for part in _PARTS]
        # A file that cannot be written has neither log nor index where its folder cannot be either.
        self._known = [(str(path), file) for path in paths if (file := id_of(path)) is not None]
        self.check_place()
        self._written, self._version = self.check(), connection.data_version()
        if len(self._known) == len(_PARTS):
            self._log = OpenedLog(paths[1], connection)
            # The log that was opened just now is the one that was there just before.
            self.check()

    def check(self) -> Written:
        """Return size and last change of the database, if all paths lead where they did; StoreReplaced."""
        if self.fault is not None:
            raise again(self.fault)
        written: Written | None = None
        for path, file in self._known:
            try:
                # Around every reading and every commit: a path would be put together anew each time.
                status = os.stat(path)  # noqa: PTH116 -- the text is at hand, and a path takes as long again
            except OSError:
                self._refuse_gone(self._missing(path, file))
            if (status.st_dev, status.st_ino) != file:
                self._refuse_gone(f"another file is in the place of {path}")
            # The database is the first of them.
            written = written or Written(status.st_size, status.st_mtime_ns)
        return written or self._written

    def before_writing(self, connection: apsw.Connection) -> None:
        """Pass if the log is what was left; first of all in a transaction that writes. StoreReplaced."""
        if self._log is not None and not self._log.is_sound(connection):
            self._overwritten_log()

    def before_commit(self, connection: apsw.Connection) -> None:
        """Pass if nobody but SQLite has written into the database since the last look; StoreReplaced."""
        current, version = self.check(), connection.data_version()
        if version != self._version:
            # Another process has committed, and may have made a checkpoint.
            self._written, self._version = current, version
        elif current != self._written:
            self._raise_overwritten(current)

    def after_commit(self, connection: apsw.Connection) -> None:
        """Pass if what was committed is where it will be looked for; StoreReplaced."""
        current, self._version = self.check(), connection.data_version()
        if current != self._written:
            if count_frames(connection) < CHECKPOINT:
                self._raise_overwritten(current)
            self._written = current
        if self._log is not None and not self._log.has_landed(connection):
            self._overwritten_log()

    def differs(self) -> bool:
        """Return whether the database or its log was written since the last look; StoreReplaced."""
        return self.check() != self._written or (self._log is not None and self._log.differs())

    def close(self) -> None:
        """Let go of the log; nobody looks any more."""
        if self._log is not None:
            self._log.close()
            self._log = None

    def note(self, fault: CounterpointError) -> None:
        """Keep what SQLite found wrong with the files: nothing more is read or written."""
        self.fault = self.fault or fault

    def part_from_log(self) -> None:
        """Let a log be no part of a backup that somebody copied over the database; only once all connections are closed.

        Else whoever opens it next would have pages of both. A backup is no database with a log, as its header says.
        """
        database, log, index = (Path(f"{self._where}{part}") for part in _PARTS)
        with suppress(OSError):
            with database.open("rb") as file:
                is_backup = file.read(_HEADER)[_FORMAT:] == _WITHOUT_LOG
            if is_backup:
                log.rename(log.with_name(f"{log.name}.replaced-{self._known[0][1].number}"))
                index.unlink()

    def _refuse_gone(self, what: str) -> NoReturn:
        """Keep a copy of what is still open, and raise what became of it; StoreReplaced, Unavailable once it was closed."""
        if self.is_closed:
            # With the last connection the log goes; whoever comes late is told as before.
            raise Unavailable(f"{self._where} was closed", path=self._where)
        saved = self._save(self._known[0][1])
        safe = f"in {saved}" if saved else "in the files that were there"
        self._raise_fault(
            f"{what} {_MEANWHILE}; all that was acknowledged until then is {safe}", saved
        )

    def _raise_fault(self, message: str, saved: str = "") -> NoReturn:
        """Raise this fault, now and at each later check; StoreReplaced."""
        fault = self.fault = self.fault or StoreReplaced(message, path=self._where, saved=saved)
        raise again(fault)

    def _missing(self, path: str, file: FileId) -> str:
        """Return what became of a file: it has another name now, or none."""
        with suppress(OSError):
            for link in _OPEN.iterdir():
                with suppress(OSError):
                    if id_of(link) == file and id_of(now := link.readlink()) == file:
                        return f"{path} was moved to {now}"
        return f"{path} was removed"

    def _raise_overwritten(self, current: Written) -> NoReturn:
        self.is_overwritten = True
        how = "cut off" if current.size < self._written.size else "overwritten"
        self._raise_fault(f"{self._where} was {how} by another program {_MEANWHILE}")

    def _overwritten_log(self) -> NoReturn:
        self.is_overwritten = True
        self._raise_fault(
            f"the log {self._where}-wal was cut off or overwritten by another program {_MEANWHILE}; what was"
            " acknowledged last may be gone with it"
        )


def again(fault: CounterpointError) -> CounterpointError:
    """Return an error of the same words: threads share none."""
    return type(fault)(fault.message, hint=fault.steps, **fault.facts)
