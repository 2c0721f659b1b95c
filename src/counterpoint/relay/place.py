"""Where a database and its meeting point are, found without the package.

The rules are those of evidence/places.py, app.py and protocol/rendezvous.py; a test holds both sides
together.
"""

from __future__ import annotations

import os
from contextlib import suppress

TYPE_CHECKING = False  # the typing module would be a tenth of the relay's memory
if TYPE_CHECKING:
    from collections.abc import Callable


class Refused(Exception):
    """There is no server to speak to; `hint` says what to do."""

    def __init__(self, message: str, hint: str) -> None:
        """Say why."""
        super().__init__(message)
        self.message, self.hint = message, hint


def find_database(folder: str, db: str) -> str:
    """Return the path of the database, as evidence/places.py and app.py find it."""
    if db:
        return os.path.realpath(os.path.expanduser(db))
    here = os.path.realpath(folder)
    home = _repository(here) or _upwards(here, ".counterpoint", os.path.isdir) or here
    return os.path.join(home, ".counterpoint", "ledger.db")


def _upwards(folder: str, name: str, holds: Callable[[str], bool]) -> str:
    """Return the nearest folder upwards that has the name; empty if none has."""
    while not holds(os.path.join(folder, name)):
        folder, below = os.path.dirname(folder), folder
        if folder == below:
            return ""
    return folder


def _repository(folder: str) -> str:
    """Return the main tree of the repository the folder lies in; empty if it lies in none."""
    tree = _upwards(folder, ".git", lambda path: os.path.isdir(path) or os.path.isfile(path))
    mark = os.path.join(tree, ".git")
    if not tree or os.path.isdir(mark):
        return tree
    with open(mark, encoding="utf-8", errors="replace") as file:
        link = file.read().strip().removeprefix("gitdir:").strip()
    git = os.path.realpath(os.path.join(tree, link))
    try:
        with open(os.path.join(git, "commondir"), encoding="utf-8") as file:
            common = os.path.realpath(os.path.join(git, file.read().strip()))
    except OSError:
        return tree
    return os.path.dirname(common) if os.path.basename(common) == ".git" else tree


def find_prefix(database: str) -> str:
    """Return what the files of the meeting point begin with, as protocol/rendezvous.py says."""
    there = os.path.dirname(database)
    while not os.path.exists(there) and there != os.path.dirname(there):
        there = os.path.dirname(there)
    if os.access(there, os.W_OK | os.X_OK):
        return f"{database}-server"
    from hashlib import sha256
    from tempfile import gettempdir

    given = os.environ.get("XDG_RUNTIME_DIR")
    own = f"{given}/counterpoint" if given else f"{gettempdir()}/counterpoint-{os.getuid()}"
    with suppress(FileExistsError):
        os.mkdir(own, 0o700)
    if os.path.islink(own) or os.stat(own).st_uid != os.getuid():
        raise Refused(
            f"{own} belongs to somebody else", "Set XDG_RUNTIME_DIR to a folder of your own."
        )
    return f"{own}/{sha256(os.fsencode(database)).hexdigest()[:24]}-server"
