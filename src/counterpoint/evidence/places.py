"""Where a project's tree and its data folder are, found from any folder below."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from counterpoint.kernel.places import FOLDER, find_tree_and_home


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The working tree evidence is measured in, and the folder that has `.counterpoint`."""

    tree: Path
    home: Path

    @property
    def folder(self) -> Path:
        """The folder the data lies in."""
        return self.home / FOLDER


def find_places(start: Path) -> Places:
    """Return the places of a folder, as kernel/places.py says."""
    tree, home = find_tree_and_home(str(start))
    return Places(tree=Path(tree), home=Path(home))


def open_folder(folder: Path) -> None:
    """Make the data folder, hidden from git, unless it is there."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text(
            "# The ledger and its keys stay on this machine.\n"
            "*\n!templates/\n!templates/*\n!phases/\n!phases/*\n"
        )
