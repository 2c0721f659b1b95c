"""Agents of other accounts, whom a server of an account of its own serves.

Rule 1: who comes in is decided by the user that the kernel names for the socket. Rule 2: of what such a
caller says only what labels or narrows it counts, and the credential that it brings; a setting that names
a file, a folder, a database or a variable is refused, never ignored, because the caller relies on it.
Rule 3: nothing is read, written or run for it (evidence/absent.py).
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Final

from counterpoint.app import App
from counterpoint.evidence.absent import NoTrees
from counterpoint.kernel.client_session import CREDENTIAL
from counterpoint.kernel.errors import Forbidden, InvalidInput, Unavailable
from counterpoint.kernel.places import SOCKET
from counterpoint.protocol.sockets import Greeting
from counterpoint.settings import Settings, load_settings

ALLOWED: Final = frozenset(
    ["surface", "item", "agent", "profile", "session", "run", "mode", "proofs", "lease_seconds"]
)
"""Settings that a caller of another account may bring."""
_IGNORED: Final = frozenset(["idle_minutes"])
"""What only concerns servers that a relay starts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSocket:
    """Where a server listens for other accounts, and the users that may come in."""

    path: Path
    users: frozenset[int]

    def open(self) -> None:
        """Let every account reach the socket: who comes in is decided by rule 1; Unavailable."""
        try:
            self.path.chmod(0o666)
        except OSError as fault:
            raise Unavailable(
                f"the socket {self.path} cannot be opened for others: {fault.strerror}"
            ) from fault


def open_socket(path: Path, names: Collection[str]) -> OpenSocket:
    """Return where to listen and for whom; InvalidInput for a user that there is not, Unavailable without a folder."""
    if not path.parent.is_dir():
        raise Unavailable(
            f"the socket {path} has no folder to lie in",
            hint=f"Make it, so that those accounts can come in: `mkdir -m 0755 {path.parent}`.",
        )
    if path.exists() and not path.is_socket():
        raise Unavailable(
            f"{path} is no socket, and would be taken away for one",
            hint="Give `--socket` a path that nothing has.",
        )
    return OpenSocket(path=path, users=frozenset(map(_user, names)) | {os.getuid()})


def _user(name: str) -> int:
    if name.isdecimal():
        return int(name)
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        raise InvalidInput(
            f"there is no user {name!r}",
            hint="Give `--allow-user` a name or a number of this machine.",
        ) from None


def app_for(greeting: Greeting, host: App) -> App:
    """Return the app of a caller of another account; Forbidden, InvalidInput."""
    settings_given = load_settings(greeting.environ, **greeting.flags)
    plain = Settings()
    changed = {
        setting.name: getattr(settings_given, setting.name)
        for setting in fields(Settings)
        if setting.name not in _IGNORED
        and getattr(settings_given, setting.name) != getattr(plain, setting.name)
    }
    if not str(changed.pop("db", SOCKET)).startswith(SOCKET):
        raise InvalidInput(
            "this server has one ledger", hint=f"Give `--db` its socket: `{SOCKET}PATH`."
        )
    project = changed.pop("project", host.project)
    if project != host.project:
        raise Forbidden(f"this server serves the project {host.project!r} only")
    wrong = sorted(changed.keys() - ALLOWED)
    if wrong:
        raise Forbidden(
            f"a server of another account takes no {', '.join(wrong)} from its callers",
            hint="Leave it out, or start an agent of your own account on a ledger of your own.",
        )
    environ = {name: text for name, text in greeting.environ.items() if name == CREDENTIAL}
    settings = replace(
        host.settings,
        project=host.project,
        # What the caller leaves out stays as the server was told.
        **{name: changed[name] for name in ALLOWED & changed.keys()},
    )
    return replace(host, settings=settings, environ=environ, evidence=NoTrees(folder=host.folder))
