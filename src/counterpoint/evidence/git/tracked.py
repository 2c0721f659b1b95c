"""Refuses a ledger that came with a repository, since somebody else made it.

1. Tracked in `.counterpoint` may be what people share: `templates`, `phases`, `batches` and `.gitignore`. In another folder only
   what lies beside the database under its name is looked at.
2. Git is asked only where its index can have such a name. One of the versions 2 and 3 has names in full, so that a search of its bytes tells;
   any other one, a part of another, and one that is not at the usual place are left to git.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from counterpoint.kernel.errors import Unavailable
from counterpoint.kernel.places import FOLDER

_SHARED: Final = ("templates/", "phases/", "batches/")
_HEADER: Final = b"DIRC\0\0\0"
_WHOLE: Final = (2, 3)
_PART: Final = b"link"
"""The extension of an index that has its names elsewhere (gitformat-index)."""


def refuse_tracked(database: Path, environ: Mapping[str, str]) -> None:
    """Raise Unavailable if git tracks a database or what lies beside it."""
    folder = database.parent
    top = next(
        (ancestor for ancestor in folder.parents if os.path.lexists(ancestor / ".git")), None
    )
    if top is None or not folder.is_dir() or not _may_track(top, folder):
        return
    from counterpoint.evidence.git.call import GitCall, GitRefused

    try:
        listed = GitCall(folder=folder, environ=environ).parts(["ls-files", "-z", "--", "."])
    except GitRefused:
        # Whom git does not trust with the repository it tells nothing of it; evidence says so.
        return
    tracked = [name for name in listed if _is_state(name, database)]
    if tracked:
        raise Unavailable(
            f"git tracks {folder / tracked[0]}: this ledger came with the repository, and whoever made"
            " that wrote it",
            hint=f"Take {folder} away, and a ledger of your own begins. Only if you know that it is yours, and want"
            f" it here alone: `git rm -r --cached {folder}`.",
        )


def _unwaiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _is_state(name: str, database: Path) -> bool:
    if database.parent.name == FOLDER:
        return not name.startswith(_SHARED) and name != ".gitignore"
    return name.startswith(database.name)


def _may_track(top: Path, folder: Path) -> bool:
    """Return whether the index of a repository can have a name in a folder; no is sure."""
    # Loaded for where there is an index to read.
    import mmap

    try:
        with (
            open(top / ".git" / "index", "rb", opener=_unwaiting) as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as index,
        ):
            is_whole = index[:7] == _HEADER and index[7] in _WHOLE and index.find(_PART) < 0
            within = os.fsencode(f"{folder.relative_to(top)}{os.sep}")
            return not is_whole or index.find(within) >= 0
    except FileNotFoundError:
        # A repository without an index tracks nothing; in a linked tree it lies elsewhere.
        return not (top / ".git").is_dir()
    except (OSError, ValueError):
        return True
