"""Keeps the secret by which a client that was started again takes up its own work.

1. The secret is 256 random bits, made here; nobody else has it, and a ledger has only its hash.
2. Where the client says which session of its own it is in, the secret lies in a file of its own, of mode 0600, in
`sessions` in the user's state folder (kernel/places.py). The name of the file is a hash of that session, of the
database and of the flags that make connections different, so that a worker and a judge of one run are two.
3. The file is locked as long as the connection lives. Who finds it locked is beside somebody who lives, and gets
a secret of the moment; so does everybody whose client says nothing, or whose file cannot be used.
4. Behind the secret stands `PID PARENT`: who holds the file, and who had started that. One that has another parent now
has lost its client and is about to end: its end is waited for, a few seconds at most. Only Linux tells that.
5. What nobody has used for 30 days is removed when a file is made.

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
    from collections.abc import Mapping, Sequence
    from typing import Final

VARIABLES: Final = ("CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID")
"""Where clients say which session of their own they are in: the same after a restart of it."""
SECRET_BYTES: Final = 32
OLD: Final = 30 * 86_400.0
"""Seconds."""

ENDING: Final = 5.0
"""Seconds that one waits for the end of who has lost its client."""

_LONGEST: Final = 256
_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


def client_session(run: str, environ: Mapping[str, str]) -> str:
    """Return which session of its own a client is in; empty if it does not say. run: its run, if set."""
    if run:
        return f"run {run}"
    named = (f"{name} {environ[name]}" for name in VARIABLES if environ.get(name))
    return next(named, "")


def open_secret(words: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return the secret of a connection.

    words: what makes it this one, a client's session first; if that is empty nothing is kept.
    """
    fresh = os.urandom(SECRET_BYTES).hex()
    if not words[0]:
        return fresh
    with suppress(OSError):
        return _kept(f"{state_folder(environ)}/sessions", _name(words), fresh)
    return fresh


def _name(words: Sequence[str]) -> str:
    # `hashlib` loads all of OpenSSL, which would be felt in each agent's relay.
    from _blake2 import blake2b

    return blake2b("\0".join(words).encode("utf-8", "replace"), digest_size=16).hexdigest()


def _kept(folder: str, name: str, fresh: str) -> str:
    """Return the secret of a file, which stays locked until this process ends; OSError."""
    os.makedirs(folder, 0o700, exist_ok=True)
    path = f"{folder}/{name}"
    is_made = not os.path.exists(path)
    descriptor = os.open(path, _FLAGS, 0o600)
    try:
        if not _is_locked(descriptor):
            _await_orphan(descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid():
            raise PermissionError(path)
        os.fchmod(descriptor, 0o600)
        secret = os.pread(descriptor, _LONGEST, 0).decode("ascii", "replace").partition(" ")[0]
        if len(secret) != len(fresh) or not secret.isalnum():
            secret = fresh
        kept = f"{secret} {os.getpid()} {os.getppid()}".encode()
        # In this order a secret that was there is there at every moment.
        os.ftruncate(descriptor, os.pwrite(descriptor, kept, 0))
    except OSError:
        os.close(descriptor)
        raise
    if is_made:
        _remove_old(folder)
    return secret


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
