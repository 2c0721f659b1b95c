"""Which witnesses the settings name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from counterpoint.core.ports.witnesses import Witness
from counterpoint.evidence.witnesses.gitref import open_git
from counterpoint.kernel.clock import Clock
from counterpoint.kernel.errors import InvalidInput

_SWITCH: Final = {"on": True, "off": False, "": True}


def open_witnesses(
    home: Path, environ: Mapping[str, str], clock: Clock, *, by_git: str, remote: str
) -> tuple[Witness, ...]:
    """Return every witness of the project in a folder; InvalidInput for a setting that names none.

    by_git: `on` or `off`. remote: the git remote that heads are pushed to; empty for none.
    """
    if by_git not in _SWITCH:
        raise InvalidInput(
            f"COUNTERPOINT_GIT_WITNESS is {by_git[:40]!r}", hint="Set it to `on` or `off`."
        )
    return open_git(home, environ, clock, remote) if _SWITCH[by_git] else ()
