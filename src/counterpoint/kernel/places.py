"""Where the ledger of a folder lies, and where its server is met.

One rule for the relay and the server:

1. The tree is the nearest folder upwards that has a `.git`; without one, the nearest folder upwards that
has a `.counterpoint`, or else the starting folder itself.
2. The home, where `.counterpoint` lies, is the tree; for a linked worktree it is the main one, so that
all worktrees of a repository share one ledger.
3. The files of the meeting point lie beside the database, or, if that folder cannot be written, in a
folder of the user's own: `$XDG_RUNTIME_DIR/counterpoint`, else `counterpoint-<uid>` in the folder for
temporary files.

The relay imports this, so it is the standard library only, and little of that.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Final

FOLDER: Final = ".counterpoint"
DATABASE: Final = "ledger.db"
SOCKET: Final = "unix:"
"""What begins the name of a ledger whose server is of another account: the path of its socket follows."""


class ForeignFolder(Exception):
    """The folder that was to be the user's own is somebody else's; `hint` says what to do."""

    hint = "Set XDG_RUNTIME_DIR to a folder of your own."


def find_tree_and_home(folder: str) -> tuple[str, str]:
    """Return the working tree that a folder lies in, and the folder that has its `.counterpoint`."""
    here = os.path.realpath(folder)
    if tree := _upwards(here, ".git", os.path.exists):
        return tree, _main_tree(tree)
    home = _upwards(here, FOLDER, os.path.isdir) or here
    return home, home


def find_database(folder: str, db: str) -> str:
    """Return the path of the database of a folder. db: what was asked for: a path, a socket or nothing."""
    if db.startswith(SOCKET):
        return db
    if db:
        return os.path.realpath(os.path.expanduser(db))
    return os.path.join(find_tree_and_home(folder)[1], FOLDER, DATABASE)


def find_prefix(database: str) -> str:
    """Return the path that all files of a database's meeting point begin with; ForeignFolder."""
    there = os.path.dirname(database)
    while not os.path.exists(there) and there != os.path.dirname(there):
        there = os.path.dirname(there)
    if os.access(there, os.W_OK | os.X_OK):
        return f"{database}-server"
    return f"{open_private(own_folder())}/{short_name(database)}-server"


def own_folder() -> str:
    """Return the path of the user's own folder, for what cannot lie beside a database."""
    given = os.environ.get("XDG_RUNTIME_DIR")
    if given:
        return f"{given}/counterpoint"
    # Hardly any call needs it, and every start of a relay would pay for it.
    from tempfile import gettempdir

    return f"{gettempdir()}/counterpoint-{os.getuid()}"


def state_folder(environ: Mapping[str, str]) -> str:
    """Return where this program keeps state of the user; it does not begin with `/` for an account without a home."""
    given = environ.get("XDG_STATE_HOME", "")
    if given.startswith("/"):
        return f"{given}/counterpoint"
    home = environ.get("HOME") or os.path.expanduser("~")
    below = "Library/Application Support" if sys.platform == "darwin" else ".local/state"
    return f"{home}/{below}/counterpoint"


def open_private(folder: str) -> str:
    """Return the path of a folder, made unless it is there; ForeignFolder if it is another user's."""
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    # Anybody may have laid a folder or a link there before us, since many write to /tmp.
    if os.path.islink(folder) or os.stat(folder).st_uid != os.getuid():
        raise ForeignFolder(f"{folder} belongs to somebody else")
    return folder


def short_name(database: str) -> str:
    """Return a name of 24 characters that is no other database's."""
    from hashlib import sha256

    return sha256(os.fsencode(database)).hexdigest()[:24]


def _upwards(folder: str, name: str, holds: Callable[[str], bool]) -> str:
    """Return the nearest folder upwards that has the name; empty if none has."""
    while not holds(os.path.join(folder, name)):
        folder, below = os.path.dirname(folder), folder
        if folder == below:
            return ""
    return folder


def _main_tree(tree: str) -> str:
    """Return the main tree of a linked worktree; the tree itself if it is none."""
    mark = os.path.join(tree, ".git")
    if os.path.isdir(mark):
        return tree
    with open(mark, encoding="utf-8", errors="replace") as file:
        link = file.read().strip().removeprefix("gitdir:").strip()
    git = os.path.realpath(os.path.join(tree, link))
    try:
        with open(os.path.join(git, "commondir"), encoding="utf-8", errors="replace") as file:
            common = os.path.realpath(os.path.join(git, file.read().strip()))
    except OSError:
        # A submodule has such a link too, and is a tree of its own.
        return tree
    return os.path.dirname(common) if os.path.basename(common) == ".git" else tree
