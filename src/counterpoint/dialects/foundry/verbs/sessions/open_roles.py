"""The least role of each process with connections, told to the others (seam).

A process that has a connection with a narrow role keeps a file beside the ledger under a lock, so that it counts for as long as
the process lives; one whose lock is free was left behind, and is taken away.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Final

from counterpoint.dialects.foundry.nouns.autonomy import Role
from counterpoint.dialects.foundry.rules.autonomy.roles import WIDENING, role_named

_WIDTH: Final = 32
"""Bytes of the word in a file, blanks included: it is written over at once."""
_FLAGS: Final = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(slots=True)
class OpenRoles:
    """What this process has told, by folder and project: the descriptor that has the lock, and the role."""

    _told: dict[tuple[Path, str], tuple[int, Role]] = field(
        default_factory=dict[tuple[Path, str], tuple[int, Role]]
    )
    _guard: Lock = field(default_factory=Lock)

    def publish(self, state: Path, project: str, role: Role) -> None:
        """Tell the least role of this process; nothing is written until one is narrow."""
        key = state, project
        with self._guard:
            published = self._told.get(key)
            if role == (published[1] if published else WIDENING[-1]):
                return
            # Where nothing can be written no files of specs are kept either.
            with suppress(OSError):
                descriptor = published[0] if published else _locked(state, project)
                os.pwrite(descriptor, role.ljust(_WIDTH).encode(), 0)
                self._told[key] = descriptor, role


def published_roles(state: Path, project: str) -> Iterator[Role]:
    """Return the least role of each process of a folder that has told one."""
    for path in state.glob("roles-*.lock"):
        # The name of one project can begin with that of another.
        if path.name.rpartition("-")[0] != f"roles-{project}":
            continue
        with suppress(FileNotFoundError):
            descriptor = os.open(path, _FLAGS)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
                path.unlink()
            except BlockingIOError:
                yield role_named(os.pread(descriptor, _WIDTH, 0).decode(errors="replace"))
            finally:
                os.close(descriptor)


def _locked(state: Path, project: str) -> int:
    """Return a file of this process alone; nobody finds it before its lock is held and its word written."""
    passing = state / f".roles-{os.urandom(8).hex()}.part"
    descriptor = os.open(passing, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.pwrite(descriptor, WIDENING[0].ljust(_WIDTH).encode(), 0)
    passing.rename(state / f"roles-{project}-{os.urandom(8).hex()}.lock")
    return descriptor
