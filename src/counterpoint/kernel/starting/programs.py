"""Which programs this one starts, and from where.

The folder that is worked in belongs to agents: nothing in it is started unless a person has trusted that. So
1. this program starts itself with `-P`, which leaves the current folder out of where modules are loaded from;
2. of `PATH` only those entries count that are absolute and lie outside of the tree; `.` and an empty entry are the tree;
3. a program whose file lies below the tree, behind links too, is passed over, and the next of that name is taken.

The tree is the outermost folder above the current one that holds a repository or a ledger, with the main tree of a linked
one; both that of the folder that a program is started for, and that which this process is in. The home folder is none, nor what is above it: programs of the account lie there; then only the folder itself counts.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    # The relay loads this, and holds little.
    from typing import Final

_MARKS: Final = (".git", ".counterpoint")
_LINKED: Final = f"{os.sep}.git{os.sep}"
_NOWHERE: Final = "/nonexistent"
"""An entry that holds no program; an empty `PATH` would be the current folder."""

RUNNER: Final = (
    "import sys; sys.path.append(sys.argv.pop()); from counterpoint.runner.main import main; main()"
)
"""What an interpreter is given that runs a command: isolated, and without what is installed beside us, the standard library and this package."""


def own_command(*words: str) -> list[str]:
    """Return the command line that starts this program with words."""
    return [sys.executable, "-P", "-m", "counterpoint", *words]


def find_program(name: str, path: str | None = None, folder: str | None = None) -> str | None:
    """Return the file of a program outside of the tree; None without one. A relative path is none.

    path: the folders it is searched in; those of this process if left out. folder: one of the tree.
    """
    trees = find_trees(folder) | find_trees()
    if os.sep in name:
        directories = [""] if os.path.isabs(name) else []
    else:
        directories = _outside(_entries(path), trees, _real_folder(folder))
    for directory in directories:
        file = os.path.join(directory, name)
        is_startable = os.path.isfile(file) and os.access(file, os.X_OK)
        # Whoever names a file by its whole path has chosen that one.
        if is_startable and not (directory and _is_below(os.path.realpath(file), trees)):
            return file
    return None


def search_path(path: str | None = None, folder: str | None = None) -> str:
    """Return the entries of a `PATH` outside of the tree, for a program that searches on its own."""
    trees = find_trees(folder) | find_trees()
    directories = _outside(_entries(path), trees, _real_folder(folder))
    return os.pathsep.join(directories) or _NOWHERE


def is_in_tree(file: str) -> bool:
    """Return whether a path lies in the current tree, as it is written or behind its links."""
    trees = find_trees()
    folder = os.path.realpath(os.path.dirname(file))
    return _is_below(folder, trees) or _is_below(os.path.realpath(file), trees)


def find_trees(folder: str | None = None) -> frozenset[str]:
    """Return the folders whose files are the agents', by one in the tree; the current one if left out."""
    directory, trees = _real_folder(folder), set[str]()
    while directory and not _is_home_or_above(directory):
        is_marked = any(os.path.lexists(os.path.join(directory, mark)) for mark in _MARKS)
        if is_marked or not trees:
            trees |= {directory, *_main_tree(os.path.join(directory, ".git"))}
        directory = os.path.dirname(directory)
    return frozenset(trees)


def _is_home_or_above(directory: str) -> bool:
    home = os.path.realpath(os.path.expanduser("~"))
    return directory == os.sep or _is_below(home, frozenset((directory,)))


def _real_folder(folder: str | None) -> str:
    try:
        return os.path.realpath(folder or os.getcwd())
    except OSError:
        # The current folder has been removed: nothing is in it.
        return ""


def _main_tree(link: str) -> list[str]:
    """Return the main tree of a linked one; none if this is no link."""
    try:
        with open(link, "rb") as file:
            target = os.fsdecode(file.read(4096)).removeprefix("gitdir:").strip()
    except OSError:
        return []
    main, is_linked, _ = os.path.realpath(target).partition(_LINKED)
    return [main] if is_linked else []


def _entries(path: str | None) -> list[str]:
    # What `PATH` names if nobody has set it; some systems would search the current folder too.
    text = os.environ.get("PATH", os.defpath) if path is None else path
    return text.split(os.pathsep)


def _outside(entries: list[str], trees: frozenset[str], folder: str) -> list[str]:
    real = {entry: os.path.realpath(entry) for entry in entries if os.path.isabs(entry)}
    return [entry for entry, path in real.items() if path != folder and not _is_below(path, trees)]


def _is_below(path: str, trees: frozenset[str]) -> bool:
    return any(path == tree or path.startswith(f"{tree.rstrip(os.sep)}{os.sep}") for tree in trees)
