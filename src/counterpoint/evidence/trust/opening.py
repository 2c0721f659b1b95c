"""Which signer a setting names, and the secret of cursors, which needs none."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from counterpoint.evidence.trust.folders import state_folder
from counterpoint.kernel.clock import Clock
from counterpoint.kernel.errors import InvalidInput

if TYPE_CHECKING:
    from counterpoint.core.ports.signer import Signer
    from counterpoint.evidence.trust.signer import FileSigner

_SECRET = "cursors"  # noqa: S105 -- the name of a file
_LENGTH = 32


def open_signer(setting: str, location: str, clock: Clock) -> Signer:
    """Return the signer that a setting names; it opens its key when it is asked. InvalidInput.

    location: the database; empty for one that passes away with this process.
    """
    # Loaded here: whoever only lists and reads asks for no signature.
    from counterpoint.evidence.keys import fresh_key
    from counterpoint.evidence.trust.signer import MemorySigner

    if not location:
        return MemorySigner(key=fresh_key, clock=clock)
    sort, _, arguments = setting.partition(":")
    if setting in {"file", "keyring"}:
        return own_signer(setting, location, clock)
    if sort == "command" and (words := _words(arguments)):
        from counterpoint.evidence.trust.program import CommandSigner

        return CommandSigner(words=words, place=location)
    raise InvalidInput(
        f"{setting!r} is no signer",
        hint="Set COUNTERPOINT_SIGNER to `file`, `keyring` or `command:PROGRAM WORDS`, or leave it out.",
    )


def own_signer(setting: str, location: str, clock: Clock) -> FileSigner:
    """Return the signer of this account; its keys lie in files, or in the keyring if that is set."""
    from counterpoint.evidence.trust.signer import FileSigner

    root = state_folder(os.environ) / "signer"
    if setting != "keyring":
        return FileSigner(root=root, place=location, clock=clock)
    from counterpoint.evidence.trust import system_keys as keyring

    return FileSigner(
        root=root,
        place=location,
        clock=clock,
        find=keyring.find_key,
        open=keyring.open_key,
        find_public=keyring.find_public,
    )


def own_places(location: str, clock: Clock) -> dict[str, str]:
    """Return each ledger that this account's own signer signed in a database by its name; SignerAway."""
    return own_signer("file", location, clock).placed()


def _words(text: str) -> list[str]:
    """Return the words of a command as a shell would part them; none if it cannot."""
    # Few signers are commands, and it compiles an expression.
    import shlex

    try:
        return shlex.split(text)
    except ValueError:
        return []


def cursor_secret(folder: Path, *, make: bool = True) -> bytes:
    """Return the secret that cursors of a database are signed with, from a file beside it.

    Without a file, and where none may or can be made, it is a passing one: cursors then end with this
    process. A cursor only says where a list goes on, so whoever reads the file wins nothing.
    """
    path, fresh = folder / _SECRET, secrets.token_bytes(_LENGTH)
    if make:
        draft = folder / f".{_SECRET}.{secrets.token_hex(8)}"
        with suppress(OSError):
            if not path.exists():
                _write(draft, fresh)
                with suppress(FileExistsError):
                    os.link(draft, path)
                draft.unlink()
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            secret = file.read(_LENGTH)
        if len(secret) == _LENGTH:
            return secret
    return fresh


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
