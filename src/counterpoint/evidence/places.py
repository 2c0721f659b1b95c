"""Where a project's tree and its data folder are, found from any folder below.

1. The tree is the nearest folder upwards that has a `.git`; without one, the starting folder itself, or
the nearest folder upwards that has a `.counterpoint`.
2. The home, where `.counterpoint` lies, is the tree; for a linked worktree it is the main one, so that
all worktrees of a repository share one ledger.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = ".counterpoint"


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
    """Return the places of a folder."""
    here = start.resolve()
    for folder in (here, *here.parents):
        mark = folder / ".git"
        if mark.is_dir():
            return Places(tree=folder, home=folder)
        if mark.is_file():
            return Places(tree=folder, home=_main_tree(folder, mark))
    for folder in (here, *here.parents):
        if (folder / FOLDER).is_dir():
            return Places(tree=folder, home=folder)
    return Places(tree=here, home=here)


def _main_tree(tree: Path, mark: Path) -> Path:
    """Return the main tree of a linked worktree; the tree itself if it is another kind of link."""
    text = mark.read_text(errors="replace").strip()
    git = (tree / text.removeprefix("gitdir:").strip()).resolve()
    try:
        common = (git / (git / "commondir").read_text().strip()).resolve()
    except OSError:
        return tree  # a submodule is a tree of its own
    return common.parent if common.name == ".git" else tree


def open_folder(folder: Path) -> None:
    """Make the data folder, hidden from git, unless it is there."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text(
            "# The ledger and its keys stay on this machine.\n"
            "*\n!templates/\n!templates/*\n!phases/\n!phases/*\n"
        )
