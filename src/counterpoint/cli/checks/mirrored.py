"""Whether a project keeps files of its specs, and one synchronization of them."""

from __future__ import annotations

from typing import Final

from counterpoint.app import App
from counterpoint.core.coordinator import Core
from counterpoint.core.model.identity import Identity
from counterpoint.evidence.running.configuration import MIRRORED, read_checking
from counterpoint.kernel.errors import MalformedDocument

NAME: Final = "file"
"""The agent as which edits of files come in."""


def look(app: App, *, waits: bool = False) -> bool:
    """Keep the files of a project once, if it has any or asks for them; return whether new ones are left to the next look.

    waits: until whoever does so now has ended, and for all new ones.
    """
    if not has_files(app):
        return False
    from counterpoint.dialects.foundry.files.mirror import Mirroring

    return core_for_files(app).use(Mirroring).round(waits=waits).waiting > 0


def has_files(app: App) -> bool:
    """Return whether a project has a folder for files of specs, or asks for one."""
    specs_dir = app.settings.specs_dir
    folder = app.places.home / (specs_dir or MIRRORED)
    try:
        return folder.is_dir() or bool(read_checking(app.places.home).mirrors)
    except (MalformedDocument, OSError):
        # Of what cannot be read nothing is known, and nothing is kept there.
        return False


def core_for_files(app: App) -> Core:
    """Return the core for what files say: an agent that nothing attests, who may decide nothing."""
    return app.core(Identity(kind="agent", name=NAME))
