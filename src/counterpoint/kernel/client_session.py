"""Keeps the secret by which a client that was started again takes up its own work.

1. The secret is 256 random bits, made here; nobody else has it, and a ledger has only its hash.
2. It lies in a file of its own, of mode 0600, in `sessions` in the user's state folder (kernel/places.py). The name of
the file is a hash of the run that the connection is of, of the database and of the flags that make connections
different, so that a worker and a judge of one run are two. A run is known by what says it first: whoever launches the client
(`--run`), the client's session of its own, the credential that it was given; else by the process that has started this
one, which starts it again if it dies. A process is known by its number, its start and the boot; only Linux tells these. One that
many have in common, as what takes up orphans, is nobody's.
3. The file is locked as long as the connection lives. Who finds it locked is beside somebody who lives, and gets
a secret of the moment; so does everybody of whose run nothing is known, or whose file cannot be used. What is known by a process alone
is forgotten when the connection ends in order: whoever comes then is not who died. So one process may have several connections beside
each other: each has a file of its own, and the one that was killed is taken up while the others live.
A client that goes on with a session of before may say another one here, for it starts us before it has found that: Claude Code
does. So its own words count, `--resume ID`, or `--continue`, which is the last session of this folder; that is written down too.
4. Behind the secret stands `PID PARENT`: who holds the file, and who had started that. One that has another parent now
has lost its client and is about to end: its end is waited for, a few seconds at most. Only Linux tells that.
5. What nobody has used for 30 days is removed when a file is made. In the mode READONLY nothing is read or written here.

The relay imports this, so it is the standard library only, and little of that.
"""

from __future__ import annotations

import fcntl
import os
import select
import stat
import time
from contextlib import suppress

from counterpoint.kernel.places import state_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Final

VARIABLES: Final = ("CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID")
"""Where clients say which session of their own they are in: the same after a restart of it."""
SECRET_BYTES: Final = 32
OLD: Final = 30 * 86_400.0
"""Seconds."""

ENDING: Final = 5.0
"""Seconds that one waits for the end of who has lost its client."""

CLAUDE, CODEX = VARIABLES
_PROGRAM: Final = "claude"
"""What the name of that client's program, or of the script that it is, holds."""
CONTINUE: Final = "--continue"
RESUME: Final = ("--resume", "-r")
FORK: Final = "--fork-session"
CREDENTIAL: Final = "COUNTERPOINT_CREDENTIAL"
"""The variable that holds what one agent was given to be known by."""
PROBE: Final = "COUNTERPOINT_PROBE"
"""The variable by which `counterpoint doctor` asks what a client hands on to its server."""
_REFERENCES: Final = ("${}", "${{{}}}", "${{{}:-}}", "${{env:{}}}", "%{}%")
"""How configurations of clients name a variable; some clients hand an unset one on so, word for word."""

_LONGEST: Final = 256
_PROCESS: Final = "process"
_BESIDE: Final = 16
"""How many connections of one process have a file each."""
_STARTERS: Final = (b"uv", b"uvx")
"""What only stands between a client and this process, and is another one after each start."""
_COMMON: Final = (b"systemd", b"init", b"launchd", b"tini", b"dumb-init", b"docker-init")
_MOST_STARTERS: Final = 4
_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


def is_reference(name: str, text: str) -> bool:
    """Return whether the text of a variable is only its own name, as a client's configuration writes it."""
    return text in (form.format(name) for form in _REFERENCES)


def find_credential(environ: Mapping[str, str]) -> str:
    """Return the credential that an agent was started with; empty if it was not, or its client left the reference as it was."""
    text = environ.get(CREDENTIAL, "").strip()
    return "" if is_reference(CREDENTIAL, text) else text


def client_session(run: str, environ: Mapping[str, str], location: Sequence[str] = ()) -> str:
    """Return which session of its own a client is in; empty if it does not say.

    run: its run, if set. location: what makes its connection this one beside that, if the last session there is to be known.
    """
    if run:
        return f"run {run}"
    values = {name: environ.get(name, "") for name in VARIABLES}
    values[CREDENTIAL] = find_credential(environ)
    session = next((f"{name} {text}" for name, text in values.items() if text), "")
    return (
        _gone_on(session, environ, location) if location and session.startswith(CLAUDE) else session
    )


def _gone_on(session: str, environ: Mapping[str, str], location: Sequence[str]) -> str:
    """Return the session that Claude Code goes on with by its own words, or else the one that it says."""
    path = f"{state_folder(environ)}/sessions/{_name(('last', os.getcwd(), *location))}"
    option = _asked(os.getppid())
    with suppress(OSError):
        if option == CONTINUE:
            with open(path, encoding="utf-8") as file:
                session = file.read(_LONGEST) or session
        elif option:
            session = f"{CLAUDE} {option}"
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        descriptor = os.open(path, _FLAGS | os.O_TRUNC, 0o600)
        try:
            os.write(descriptor, session.encode())
        finally:
            os.close(descriptor)
    return session


def _asked(client: int) -> str:
    """Return which session a process of Claude Code was started to go on with: its id, `--continue`, or nothing."""
    try:
        with open(f"/proc/{client}/cmdline", "rb") as file:
            words = file.read().decode("utf-8", "replace").split("\0")
    except OSError:
        return ""
    # Other programs have a `-c` of another meaning.
    if FORK in words or not any(_PROGRAM in word.lower() for word in words[:2]):
        return ""
    for word, after in zip(words, (*words[1:], ""), strict=True):
        if word in RESUME and after and not after.startswith("-"):
            return after
        if word in (CONTINUE, "-c"):
            return CONTINUE
    return ""


def starter() -> str:
    """Return which process has started this one, as no other is told; empty if nobody can tell, or many have it."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
    except OSError:
        return ""
    pid, started = _find_starter()
    return f"{_PROCESS} {pid} {started} {boot}" if pid else ""


def open_client() -> int:
    """Return a descriptor that can be read once the process has ended that started this one; -1 without such a one."""
    pid, started = _find_starter()
    if not (pid and hasattr(os, "pidfd_open")):
        return -1
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return -1
    # Its number may be another's by now.
    if _find_starter() == (pid, started):
        return descriptor
    os.close(descriptor)
    return -1


def _find_starter() -> tuple[int, str]:
    """Return number and start of the process that has started this one, past what only stands between; 0 if many have it."""
    pid = os.getppid()
    try:
        for _ in range(_MOST_STARTERS):
            with open(f"/proc/{pid}/stat", "rb") as file:
                name_part, _, field_part = file.read().rpartition(b") ")
            name, fields = name_part.partition(b"(")[2], field_part.split()
            if name not in _STARTERS:
                is_common = pid <= 1 or name in _COMMON
                return (0, "") if is_common else (pid, fields[19].decode())
            pid = int(fields[1])
    except OSError:
        pass
    return 0, ""


def forget_secret(secret: str, words: Sequence[str], environ: Mapping[str, str]) -> None:
    """Remove what is kept of a connection that ends in order, unless it is another's. words: as it was opened with."""
    for name in _names(words):
        with suppress(OSError):
            path = f"{state_folder(environ)}/sessions/{name}"
            with open(path, "rb") as file:
                is_own = file.read(_LONGEST).split(b" ")[0] == secret.encode()
            if is_own:
                os.unlink(path)
                return


def open_secret(words: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return the secret of a connection.

    words: what makes it this one, a client's session first; if that is empty nothing is kept.
    """
    return open_locked_secret(words, environ)[0]


def open_locked_secret(words: Sequence[str], environ: Mapping[str, str]) -> tuple[str, int]:
    """Return the secret of a connection, and the descriptor that keeps its file locked; -1 without a file. words: as of `open_secret`."""
    fresh = os.urandom(SECRET_BYTES).hex()
    if not words[0]:
        return fresh, -1
    for name in _names(words):
        try:
            return _kept(f"{state_folder(environ)}/sessions", name, fresh)
        except BlockingIOError:
            # Somebody has it who lives.
            continue
        except OSError:
            break
    return fresh, -1


def find_secret(words: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return the secret that is kept of a connection, whoever holds it now; empty if none is. words: as of `open_secret`."""
    with suppress(OSError):
        path = f"{state_folder(environ)}/sessions/{_name(words)}"
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            is_own = os.fstat(descriptor).st_uid == os.getuid()
            text = os.pread(descriptor, _LONGEST, 0).decode("ascii", "replace")
            return text.partition(" ")[0] if is_own else ""
        finally:
            os.close(descriptor)
    return ""


def _names(words: Sequence[str]) -> Iterator[str]:
    """Give the files that a connection may have: beside others only where the process that started them is all one knows."""
    yield _name(words)
    if words[0].startswith(_PROCESS):
        for number in range(2, _BESIDE + 1):
            yield _name((*words, str(number)))


def _name(words: Sequence[str]) -> str:
    # `hashlib` loads all of OpenSSL, which would be felt in each agent's relay.
    from _blake2 import blake2b

    return blake2b("\0".join(words).encode("utf-8", "replace"), digest_size=16).hexdigest()


def _kept(folder: str, name: str, fresh: str) -> tuple[str, int]:
    """Return the secret of a file, and the descriptor by which it stays locked until this process ends; OSError."""
    os.makedirs(folder, 0o700, exist_ok=True)
    path = f"{folder}/{name}"
    is_made = not os.path.exists(path)
    descriptor = os.open(path, _FLAGS, 0o600)
    try:
        if not _is_locked(descriptor):
            _await_orphan(descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid():
            raise PermissionError(path)
        os.fchmod(descriptor, 0o600)
        secret = os.pread(descriptor, _LONGEST, 0).decode("ascii", "replace").partition(" ")[0]
        if len(secret) != len(fresh) or not secret.isalnum():
            secret = fresh
        content = f"{secret} {os.getpid()} {os.getppid()}".encode()
        # In this order a secret that was there is there at every moment.
        os.ftruncate(descriptor, os.pwrite(descriptor, content, 0))
    except OSError:
        os.close(descriptor)
        raise
    if is_made:
        _remove_old(folder)
    return secret, descriptor


def _is_locked(descriptor: int) -> bool:
    """Return whether this process holds the file now."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _await_orphan(descriptor: int) -> None:
    """Wait until who holds a file has ended, if whoever had started that is gone; OSError."""
    words = os.pread(descriptor, _LONGEST, 0).split()[1:]
    if not hasattr(os, "pidfd_open") or not all(word.isdigit() for word in words) or not words:
        return
    holder, parent = int(words[0]), int(words[-1])
    process = os.pidfd_open(holder)
    try:
        with open(f"/proc/{holder}/stat", "rb") as file:
            now = int(file.read().rpartition(b")")[2].split()[1])
        if now != parent:
            poll = select.poll()
            poll.register(process, select.POLLIN)
            poll.poll(ENDING * 1000)
    finally:
        os.close(process)


def _remove_old(folder: str) -> None:
    now = time.time()
    with os.scandir(folder) as files:
        for file in files:
            with suppress(OSError):
                if now - file.stat(follow_symlinks=False).st_mtime > OLD:
                    os.unlink(file.path)
