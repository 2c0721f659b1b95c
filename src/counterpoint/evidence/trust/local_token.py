"""The token of this account for its own callers over HTTP, in a private file.

1. It has the form of every token, and is made by the first `up` of a project, or when it is asked for.
2. It lies in `tokens` in the user's state folder, outside of every repository, under a hash of database and project.
3. A file counts if and only if it is a plain file of this user that nobody else can read or write.
4. It is read anew for each request, so that one that was taken away opens nothing from then on.
5. No ledger knows it, and it is nobody's principal: it shows that its bearer can read files of this account.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from counterpoint.core.model.access import SECRET_PREFIX
from counterpoint.evidence.replacing import publish_file
from counterpoint.evidence.trust import folders
from counterpoint.kernel.errors import SignerAway, Unavailable
from counterpoint.kernel.places import state_folder

_BYTES: Final = 32
_LONGEST: Final = 256
_FOR_OTHERS: Final = 0o077


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalToken:
    """Where the token of one project of a database lies."""

    path: Path

    def read(self) -> str:
        """Return the token; empty without a file that counts."""
        try:
            # A pipe in its place must not make anybody wait.
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(self.path, flags)
        except OSError:
            return ""
        try:
            status = os.fstat(descriptor)
            is_mine = stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid()
            if not is_mine or status.st_mode & _FOR_OTHERS:
                return ""
            return os.read(descriptor, _LONGEST).decode("ascii", "replace").strip()
        finally:
            os.close(descriptor)

    def make(self) -> str:
        """Return the token, made unless it is there; Unavailable."""
        if token := self.read():
            return token
        if not self.path.is_absolute():
            raise Unavailable(
                "this account has no home for a token of its own",
                hint="Set XDG_STATE_HOME to a folder that only this account can write.",
            )
        try:
            folders.make_private(self.path.parent)
        except SignerAway as fault:
            raise Unavailable(fault.message, hint=fault.steps) from fault
        content = f"{SECRET_PREFIX}{secrets.token_hex(_BYTES)}\n"
        try:
            publish_file(self.path, content.encode(), mode=0o600)
        except OSError as fault:
            raise Unavailable(f"{self.path} cannot be written ({fault.strerror})") from fault
        token = self.read()
        if not token:
            raise Unavailable(
                f"{self.path} is no file that only this account reads",
                hint="Look who could have put it there, take it away, and start again.",
            )
        return token

    def remove(self) -> bool:
        """Take the token away; answer whether there was one."""
        was_there = os.path.lexists(self.path)
        self.path.unlink(missing_ok=True)
        return was_there


def local_token(environ: Mapping[str, str], location: str, project: str) -> LocalToken:
    """Return where the token for a project of a database lies, or would."""
    name = sha256(f"{location}\0{project}".encode("utf-8", "surrogateescape")).hexdigest()[:32]
    return LocalToken(path=Path(state_folder(environ), "tokens", name))
