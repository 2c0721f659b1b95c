"""What people and sandboxes leave in files for unattended runs.

`signals/<spec id>.stop` below `.autonomy` in the folder of specs asks the run of a spec to stop; what is in it is not read.
`context/context.json` says how much of its context an agent has used: what wraps the agent writes it, and it counts where
the server was started in such a sandbox (`FOUNDRY_SANDBOX`). No link is
followed from the folder of specs on, so that nothing is looked at or taken away elsewhere.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from counterpoint.dialects.foundry.nodes.rules.shape import is_safe_id
from counterpoint.dialects.foundry.places import SpecsPlaces
from counterpoint.dialects.foundry.runs.rules.commands import Sidecar, sidecar_of
from counterpoint.kernel.clock import stamp
from counterpoint.kernel.errors import PathOutside

AUTONOMY: Final = ".autonomy"
SIGNALS: Final = "signals"
CONTEXT: Final = "context"
SANDBOX: Final = "FOUNDRY_SANDBOX"
"""The variable that says that an agent works in a sandbox."""
_SIDECAR: Final = "context.json"
_LARGEST: Final = 10_000
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_DOWN: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class AutonomyFiles:
    """The files of runs, in the folder of specs of a project. is_sandboxed: whether agents work in a sandbox."""

    places: SpecsPlaces
    is_sandboxed: bool = False

    def is_stop_asked(self, spec: str) -> bool:
        """Return whether somebody asks the run of a spec to stop."""
        with suppress(OSError, PathOutside), self._folder(SIGNALS) as folder:
            status = os.stat(_name(spec), dir_fd=folder, follow_symlinks=False)
            return stat.S_ISREG(status.st_mode)
        return False

    def clear_stop(self, spec: str) -> None:
        """Take that away, once it was done."""
        if self.is_stop_asked(spec):
            with suppress(OSError, PathOutside), self._folder(SIGNALS) as folder:
                os.unlink(_name(spec), dir_fd=folder)

    def sidecar(self) -> Sidecar | None:
        """Return what the file beside the sandbox says; None without one, and for one that says nothing."""
        if not self.is_sandboxed:
            return None
        with suppress(OSError, PathOutside), self._folder(CONTEXT) as folder:
            descriptor = os.open(_SIDECAR, _READ, dir_fd=folder)
            with os.fdopen(descriptor, "rb") as file:
                status = os.fstat(descriptor)
                if stat.S_ISREG(status.st_mode):
                    content = file.read(_LARGEST)
                    written = stamp(datetime.fromtimestamp(status.st_mtime, UTC))
                    return sidecar_of(content, written)
        return None

    @contextmanager
    def _folder(self, name: str) -> Generator[int]:
        """Open a folder below that of autonomy; OSError, PathOutside."""
        top = os.open(self.places.specs, _DOWN)
        try:
            own = os.open(AUTONOMY, _DOWN, dir_fd=top)
        finally:
            os.close(top)
        try:
            folder = os.open(name, _DOWN, dir_fd=own)
        finally:
            os.close(own)
        try:
            yield folder
        finally:
            os.close(folder)


def _name(spec: str) -> str:
    """Return the name of the file; FileNotFoundError for an id that no file is named for."""
    if not is_safe_id(spec):
        raise FileNotFoundError(spec)
    return f"{spec}.stop"


def says_yes(word: str) -> bool:
    """Whether a variable is set to what means yes."""
    return word.strip().lower() in {"1", "true", "yes"}
