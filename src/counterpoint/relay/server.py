"""Finds the server of a database, or starts it, and greets it.

A server that is missing is started by whoever holds `<prefix>.starting`; the others wait for that
lock and then find it. Sockets are those of `_socket`, which has all that is used here: `socket` around
it would take half a megabyte in each agent's relay.
"""

from __future__ import annotations

import _socket
import _thread
import fcntl
import json
import os
import select
import signal
from contextlib import suppress

from counterpoint import __version__
from counterpoint.kernel.client_session import CREDENTIAL
from counterpoint.kernel.ownership import (
    Untrusted,
    awaited_at,
    check_folder,
    check_peer,
    is_peer_alive,
)
from counterpoint.kernel.places import (
    FOLDER,
    SOCKET,
    TOO_LONG_HINT,
    ForeignFolder,
    find_prefix,
    too_long,
)
from counterpoint.kernel.releases import release
from counterpoint.kernel.starting.programs import own_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

PROTOCOL: Final = 1
PATIENCE: Final = 20.0
"""Seconds until a server must be there."""
LOG_LIMIT: Final = 1_000_000
_STARTS: Final = 2

CHILDREN: Final[list[int]] = []
"""The servers that this relay has started and that have not ended."""

_ASK: Final = "Ask whoever runs it to start it, and to let this account in with `--allow-user`."

_CHUNK: Final = 65536
_TAIL: Final = 4096


class Refused(Exception):
    """There is no server to speak to; `hint` says what to do."""

    def __init__(self, message: str, hint: str) -> None:
        """Say why."""
        super().__init__(message)
        self.message, self.hint = message, hint


def open_server(database: str, greeting: bytes) -> _socket.socket:
    """Return a connection that was greeted, to a server that was there or was started; Refused."""
    if database.startswith(SOCKET):
        return _of_another_account(database.removeprefix(SOCKET), greeting)
    try:
        if reason := too_long(database):
            raise Refused(reason, TOO_LONG_HINT)
        # Before anything there is believed: a folder can come with a repository, or be laid there by others.
        check_folder(database)
        prefix = find_prefix(database)
        to = _greeted(prefix, greeting)
        if to is not None:
            return to
        folder = os.path.dirname(database)
        if os.path.basename(folder) == FOLDER and not os.path.isdir(os.path.dirname(folder)):
            # A project that was moved is not begun again in its old place.
            raise Refused(
                f"{os.path.dirname(folder)} is not there any more",
                "Start this agent again in the folder where the project is now.",
            )
        os.makedirs(os.path.dirname(prefix), 0o700, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        turn = os.open(f"{prefix}.starting", flags, 0o600)
        try:
            # Of many relays that find no server one starts it; the others wait here, and then find
            # it.
            fcntl.flock(turn, fcntl.LOCK_EX)
            to = _greeted(prefix, greeting)
            # One that is told to end, or finds its files changed, as it lets nobody in yet is started once more: nothing was done.
            for _ in range(_STARTS):
                if to is None:
                    _start(database, f"{prefix}.log", turn)
                    to = _greeted(prefix, greeting)
        finally:
            os.close(turn)
    except (ForeignFolder, Untrusted) as fault:
        raise Refused(str(fault), fault.hint) from fault
    except OSError as fault:
        raise Refused(
            f"no server of {database} can be reached: {fault}",
            "Run `counterpoint doctor`, or start it with `--in-process`.",
        ) from fault
    if to is None:
        raise Refused(
            f"the server of {database} was started and is gone",
            f"Read {prefix}.log, or run `counterpoint doctor`.",
        )
    return to


def open_in_process(words: Sequence[str]) -> _socket.socket:
    """Return a connection to a process that serves it alone, as the command line does with these words of a call; Refused."""
    own, other = _socket.socketpair()
    command = own_command("mcp", *words, "--in-process")
    streams = [(os.POSIX_SPAWN_DUP2, other.fileno(), number) for number in (0, 1)]
    signals = (signal.SIGINT, signal.SIGTERM)
    try:
        pid = os.posix_spawn(
            command[0], command, os.environ, file_actions=streams, setsigdef=signals
        )
    except OSError as fault:
        own.close()
        raise Refused(f"no server can be started: {fault}", "Run `counterpoint doctor`.") from fault
    finally:
        other.close()
    await_end(pid)
    own.setblocking(False)
    return own


def goes_on(database: str, server: _socket.socket) -> bool:
    """Return whether the server at the other end goes on though it has ended this connection."""
    if not is_peer_alive(server):
        return False
    if database.startswith(SOCKET):
        return True
    # One that is about to end is not to be found any more before it ends its connections.
    with suppress(ForeignFolder):
        return os.path.exists(f"{find_prefix(database)}.json")
    return False


def _of_another_account(path: str, greeting: bytes) -> _socket.socket:
    """Return a connection to a server that only whoever runs it can start; Refused."""
    try:
        to = _greeted_at(path, greeting, awaited_at(path))
    except FileNotFoundError:
        to = None
    except Untrusted as fault:
        raise Refused(str(fault), fault.hint) from fault
    except OSError as fault:
        raise Refused(f"the server at {path} cannot be reached: {fault}", _ASK) from fault
    if to is None:
        raise Refused(f"no server listens at {path}", _ASK)
    return to


def _greeted(prefix: str, greeting: bytes) -> _socket.socket | None:
    """Return a connection to the server that is known; None if none is there; Refused by it."""
    try:
        with open(f"{prefix}.json", "rb") as file:
            # What a server makes known is short: a file that is not is none of a server's, however long.
            record = json.loads(file.read(_TAIL))
        path, number = record["socket"], record["protocol"]
        # One that lies beside the database may have another path here: a bind mount, a container.
        if os.path.basename(path) == os.path.basename(f"{prefix}.sock"):
            path = f"{prefix}.sock"
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
    if number != PROTOCOL:
        raise Refused(
            f"the server of this database is of version {record.get('version')}, which this"
            f" relay of version {__version__} cannot speak with",
            "Run `counterpoint down`, and connect again with the newest version.",
        )
    return _greeted_at(path, greeting, os.getuid())


def _greeted_at(path: str, greeting: bytes, awaited: int) -> _socket.socket | None:
    """Return a connection to the server of an account at a socket; None if none is there; Refused by it, Untrusted."""
    to = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    to.settimeout(PATIENCE)
    try:
        to.connect(path)
        check_peer(to, awaited)
        # Who may not come in is told so before anything is heard from him.
        with suppress(ConnectionError):
            to.sendall(greeting)
        answer = b""
        while not answer.endswith(b"\n"):
            piece = to.recv(_CHUNK)
            if not piece:
                to.close()
                return None
            answer += piece
    except (FileNotFoundError, ConnectionError):
        # The file outlives a server that was killed: nobody is there, and one may be started.
        to.close()
        return None
    except Untrusted:
        to.close()
        raise
    refused = _refusal(answer) or _of_other_release(answer)
    if refused is not None:
        to.close()
        raise refused
    to.setblocking(False)
    return to


def _refusal(answer: bytes) -> Refused | None:
    """Return what a server says against a relay; None if it lets it in."""
    try:
        reply = json.loads(answer)
        if reply["ok"]:
            return None
        return Refused(reply["error"]["message"], reply["error"]["hint"])
    except (ValueError, KeyError, TypeError):
        return Refused("what answers is no server of this product", "Run `counterpoint doctor`.")


def _of_other_release(answer: bytes) -> Refused | None:
    """Return what is to be said of a server that let this relay in and is of another release; None if it is of this one."""
    version = json.loads(answer).get("version", "")
    if release(version) == release(__version__):
        return None
    return Refused(
        f"a server of version {version or '?'} has this database, and this relay is of version {__version__}",
        "Run `counterpoint down`, and start this agent again.",
    )


def _start(database: str, log: str, turn: int) -> None:
    """Start a server and wait until it listens; Refused with its last words if it does not.

    It holds the lock too until then, so that nobody starts another one if this relay is killed.
    """
    # Nobody rotates this log: one that has grown too long is begun anew.
    too_long = os.path.exists(log) and os.path.getsize(log) > LOG_LIMIT
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    flags |= os.O_TRUNC if too_long else 0
    ready, listens = os.pipe()
    for descriptor in (listens, turn):
        # Python makes descriptors that no child gets; the server needs these two.
        os.set_inheritable(descriptor, True)
    words = own_command("serve", "--db", database)
    words += ["--ready-fd", str(listens), "--turn-fd", str(turn)]
    streams = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, log, flags, 0o600),
    ]
    try:
        pid = os.posix_spawn(
            words[0],
            words,
            # The server is there for all: what one agent was given is none of the others'.
            {name: text for name, text in os.environ.items() if name != CREDENTIAL},
            file_actions=streams,
            # In a session of its own, or closing the terminal of one agent would end it for all.
            setsid=True,
            # What this process was started to ignore, its child would ignore too.
            setsigdef=(signal.SIGINT, signal.SIGTERM),
        )
    finally:
        os.close(listens)
    try:
        output = os.read(ready, _TAIL) if select.select([ready], [], [], PATIENCE)[0] else b""
    finally:
        os.close(ready)
    await_end(pid)
    if output[:1] != b"+":
        reason = output[1:].decode("utf-8", "replace") or _last_words(log)
        raise Refused(
            f"the server of {database} does not start: {reason}",
            f"Read {log}; `counterpoint doctor` may find the cause.",
        )


def await_end(pid: int) -> None:
    """Wait for the end of a child, beside: one that nobody waits for would stay in the table of processes."""
    CHILDREN.append(pid)
    _thread.start_new_thread(_wait, (pid,))


def _wait(pid: int) -> None:
    with suppress(ChildProcessError):
        os.waitpid(pid, 0)
    CHILDREN.remove(pid)


def _last_words(log: str) -> str:
    try:
        with open(log, "rb") as file:
            file.seek(max(0, os.path.getsize(log) - _TAIL))
            lines = file.read().decode("utf-8", "replace").split("\n")
    except OSError:
        return "it said nothing"
    stripped = [line.strip() for line in lines if line.strip()]
    return stripped[-1][:300] if stripped else "it said nothing"
