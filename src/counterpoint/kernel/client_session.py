"""Keeps the secret by which a client that was started again takes up its own work.

1. The secret is 256 random bits, made here; nobody else has it, and a ledger has only its hash.
2. Where the client says which session of its own it is in, the secret lies in a file of its own, of mode 0600, in
`$XDG_STATE_HOME/counterpoint/sessions` (else `~/.local/state/…`). The name of the file is a hash of that session, of the
database and of the flags that make connections different, so that a worker and a judge of one run are two.
3. The file is locked as long as the connection lives. Who finds it locked is beside somebody who lives, and gets
a secret of the moment; so does everybody whose client says nothing, or whose file cannot be used.
4. What nobody has used for 30 days is removed when a file is made.

The relay imports this, so it is the standard library only, and little of that.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Final

VARIABLES: Final = ("CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID")
"""Where clients say which session of their own they are in: the same after a restart of it."""
SECRET_BYTES: Final = 32
OLD: Final = 30 * 86_400.0
"""Seconds."""

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
        return _kept(_folder(environ), _name(words), fresh)
    return fresh


def _folder(environ: Mapping[str, str]) -> str:
    home = environ.get("XDG_STATE_HOME") or f"{os.path.expanduser('~')}/.local/state"
    return f"{home}/counterpoint/sessions"


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
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid():
            raise PermissionError(path)
        os.fchmod(descriptor, 0o600)
        secret = os.read(descriptor, 2 * SECRET_BYTES + 1).decode("ascii", "replace")
        if len(secret) != len(fresh) or not secret.isalnum():
            secret = fresh
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, secret.encode(), 0)
        os.utime(descriptor)
    except OSError:
        os.close(descriptor)
        raise
    if is_made:
        _remove_old(folder)
    return secret


def _remove_old(folder: str) -> None:
    now = time.time()
    with os.scandir(folder) as files:
        for file in files:
            with suppress(OSError):
                if now - file.stat(follow_symlinks=False).st_mtime > OLD:
                    os.unlink(file.path)
