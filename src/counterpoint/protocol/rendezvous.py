"""Where the one server of a database and those who look for it meet.

Files, all with the prefix `<database>-server` beside the database, or, if that folder cannot be
written, `<hash>-server` in a folder of the user's own (`$XDG_RUNTIME_DIR/counterpoint`, else
`counterpoint-<uid>` in the folder for temporary files):

    .lock      held exclusively by the server as long as it lives: there are never two; with it, in a folder that is only for
               one database, the folder, since a file may be removed under whoever holds it
    .starting  held while a server is started: many who look for one start one
    .json      {"protocol": 1, "version", "pid", "socket", "started_at"}, mode 0600
    .sock      the socket, mode 0600; in a folder of the user's own where the path would be too long
    .log       what a server that a relay started says on standard error

A server is there if and only if the socket of the `.json` takes a connection and answers its first
line. Whoever holds `.lock` may remove what a dead server left; of sockets in folders of the user's own
each server removes those of others too that nobody listens at any more. The relay has these rules too;
where the files lie is said once, in kernel/places.py.
"""

from __future__ import annotations

import fcntl
import os
import stat
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import orjson

from counterpoint import __version__
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Clock, SystemClock
from counterpoint.kernel.durable import NO_ROOM, file_fault
from counterpoint.kernel.errors import StoreBusy, Unavailable
from counterpoint.kernel.frozen import frozen
from counterpoint.kernel.ownership import Untrusted, check_peer
from counterpoint.kernel.places import (
    DATABASE,
    FOLDER,
    ForeignFolder,
    find_prefix,
    open_private,
    own_folder,
    short_name,
)

if TYPE_CHECKING:
    import socket

PROTOCOL: Final = 1
"""The number of the conversation between relay and server; another one is refused."""
LONGEST_PATH: Final = 100
"""Bytes that a socket's path may have: systems allow 104 or 108 with the final zero."""
_LONGEST_NOTE: Final = 65536
"""Bytes that what a server makes known may have: a file that has more is none of a server's."""
_SHORT: Final = Path(os.sep, "tmp", f"counterpoint-{os.getuid()}")
PATIENCE: Final = 10.0
"""Seconds that one waits for another server to leave, and for an answer to a question."""
_OLD: Final = 60.0
"""Seconds after which a socket that nobody listens at was left: between its making and that lie microseconds."""


@frozen
class Rendezvous:
    """The meeting point of one database; `at` is where its socket shall be, if that was said."""

    database: Path
    prefix: Path
    at: Path | None = None

    def file(self, ending: str) -> Path:
        """Return the path of one of the files."""
        return self.prefix.with_name(f"{self.prefix.name}.{ending}")

    @property
    def socket(self) -> Path:
        """Where a server listens."""
        if self.at is not None:
            return self.at
        beside = self.file("sock")
        if _is_short(beside):
            return beside
        apart = Path(own_folder()) / f"{short_name(str(self.database))}.sock"
        # The folder for temporary files may be set to a long path too.
        folder = apart.parent if _is_short(apart) else _SHORT
        with _refusing_foreign():
            return Path(open_private(str(folder))) / apart.name

    @contextmanager
    def turn(self, ending: str) -> Generator[None]:
        """Hold `.lock` or `.starting` during the block; StoreBusy if another process keeps it."""
        self.prefix.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with self._opened(self.file(ending), flags) as descriptor:
            self._take(descriptor)
            yield

    @contextmanager
    def alone(self) -> Generator[None]:
        """Hold the folder during the block, if it is for this database only; StoreBusy if another process keeps it."""
        folder = self.database.parent
        if (folder.name, self.database.name) != (FOLDER, DATABASE) or not folder.is_dir():
            yield
            return
        with self._opened(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) as descriptor:
            # A file system over the network may lock no folders: there the file alone keeps others away.
            with suppress(OSError):
                self._take(descriptor)
            yield

    def is_held(self) -> bool:
        """Return whether a process is the server, whether or not it can be found."""
        try:
            descriptor = os.open(self.file("lock"), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def _take(self, descriptor: int) -> None:
        if not _taken(descriptor):
            raise StoreBusy(
                f"another server has {self.database}",
                hint="Use that one, have `counterpoint up --replace` take its place, or end it with `counterpoint down`.",
            )

    @staticmethod
    @contextmanager
    def _opened(path: Path, flags: int) -> Generator[int]:
        """Open a file during the block; Unavailable."""
        try:
            descriptor = os.open(path, flags, 0o600)
        except OSError as fault:
            if fault.errno in NO_ROOM:
                raise file_fault(fault, str(path)) from fault
            raise Unavailable(
                f"{path} cannot be opened: {fault.strerror}",
                hint="See that this account may write there, and that it is no link.",
            ) from fault
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def listen(self, clock: Clock | None = None) -> socket.socket:
        """Return a socket that listens, made known; only for who holds the meeting point."""
        import socket

        self.clear()
        _remove_left()
        path = self.socket
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # The socket gets its rights from the umask when it is bound; a chmod would come a moment
        # late.
        before = os.umask(0o177)
        try:
            listener.bind(str(path))
        except OSError as fault:
            listener.close()
            if fault.errno in NO_ROOM:
                raise file_fault(fault, str(path)) from fault
            raise Unavailable(
                f"the socket {path} cannot be made: {fault.strerror or fault}",
                hint="Give `--socket` a short path in a folder that this account can write.",
            ) from fault
        finally:
            os.umask(before)
        # Before it is made known below: whoever finds it can connect.
        listener.listen(128)
        listener.setblocking(False)
        record = {
            "protocol": PROTOCOL,
            "version": __version__,
            "pid": os.getpid(),
            "socket": str(path),
            "started_at": (clock or SystemClock()).now(),
        }
        try:
            _write(self.file("json"), orjson.dumps(record))
        except OSError as fault:
            listener.close()
            path.unlink(missing_ok=True)
            raise file_fault(fault, str(self.file("json"))) from fault
        return listener

    def clear(self) -> None:
        """Remove the socket and what makes it known; only for who holds the meeting point."""
        for path in (self.file("json"), self.socket):
            path.unlink(missing_ok=True)

    def ask(self, question: str, **greeting: Json) -> dict[str, Json] | None:
        """Return what the server says to `status`, `agents`, `stop` or `board`; None if there is no server.

        greeting: who asks, for `board`, as a relay greets.
        Raises Unavailable if the one that is there does not answer.
        """
        record = self.known()
        if record is None:
            return None
        # Loaded only where there is a server to ask: most commands find none.
        import socket

        line = orjson.dumps({"counterpoint": PROTOCOL, "ask": question, **greeting}) + b"\n"
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as to:
                to.settimeout(PATIENCE)
                to.connect(str(self._known_socket(record["socket"])))
                check_peer(to, os.getuid())
                to.sendall(line)
                with to.makefile("rb") as answers:
                    answer = answers.readline()
                    if question == "stop":
                        answers.read()
        except (FileNotFoundError, ConnectionError):
            return None
        except Untrusted as fault:
            raise Unavailable(fault.message, hint=fault.hint) from fault
        except OSError as fault:
            raise Unavailable(f"the server {record['pid']} does not answer: {fault}") from fault
        return cast("dict[str, Json]", orjson.loads(answer)) if answer else None

    def _known_socket(self, path: str) -> Path:
        """Return where a socket is: one beside the database may have another path here than for its server."""
        beside = self.file("sock")
        return beside if Path(path).name == beside.name else Path(path)

    def known(self) -> Mapping[str, Any] | None:
        """Return what a server made known; None if none did, or in a way that nobody can read."""
        try:
            with self.file("json").open("rb") as file:
                record = orjson.loads(file.read(_LONGEST_NOTE))
        except (OSError, orjson.JSONDecodeError):
            return None
        if not isinstance(record, dict) or not {"socket", "pid"} <= record.keys():
            return None
        return cast("Mapping[str, Any]", record)


def find_rendezvous(database: Path) -> Rendezvous:
    """Return the meeting point of a database, which need not exist; Unavailable."""
    with _refusing_foreign():
        return Rendezvous(database=database, prefix=Path(find_prefix(str(database))))


@contextmanager
def _refusing_foreign() -> Generator[None]:
    try:
        yield
    except ForeignFolder as fault:
        raise Unavailable(str(fault), hint=fault.hint) from fault


def _remove_left() -> None:
    """Remove the sockets of servers that are gone from the folders of the user's own."""
    for folder in {own_folder(), str(_SHORT)}:
        # None is there, or it is somebody else's: then nothing of ours was left in it.
        with suppress(OSError):
            status = os.lstat(folder)
            if status.st_uid == os.getuid() and stat.S_ISDIR(status.st_mode):
                for path in filter(_is_left, list(Path(folder).glob("*.sock"))):
                    path.unlink(missing_ok=True)


def _is_left(path: Path) -> bool:
    """Return whether nobody listens at a socket any more; one that is busy only does not let in at once."""
    status = path.lstat()
    if not stat.S_ISSOCK(status.st_mode) or time.time() - status.st_mtime < _OLD:
        return False
    import socket

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as to:
        to.setblocking(False)
        try:
            to.connect(str(path))
        except ConnectionRefusedError:
            return True
        except OSError:
            return False
    return False


def _is_short(path: Path) -> bool:
    return len(os.fsencode(path)) <= LONGEST_PATH


def _taken(descriptor: int) -> bool:
    """Return whether the lock could be had in time; a server that leaves needs a moment."""
    # flock has no time limit: a thread waits for it, and is left behind if it takes too long.
    waiting = threading.Thread(
        target=fcntl.flock, args=(descriptor, fcntl.LOCK_EX), name="lock", daemon=True
    )
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        waiting.start()
        waiting.join(PATIENCE)
        return not waiting.is_alive()
    return True


def _write(path: Path, content: bytes) -> None:
    """Write a file that others read whole or not at all."""
    draft = path.with_name(f"{path.name}.draft")
    # Whoever holds the meeting point writes alone: what lies there is left by one that was killed.
    draft.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(draft, flags, 0o600)
    try:
        os.write(descriptor, content)
    finally:
        os.close(descriptor)
    draft.replace(path)
