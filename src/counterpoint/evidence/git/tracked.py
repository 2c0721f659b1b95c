"""Refuses a ledger that came with a repository, since somebody else made it.

1. Tracked in `.counterpoint` may be what people share: `templates`, `phases`, `batches` and `.gitignore`. In another folder only
   the database's own files are looked at.
2. Git is asked only where its index can have such a name. One of the versions 2 and 3 has names in full, so that a search of its bytes tells;
   any other one, and a part of another, are left to git. Where git does not answer, a ledger that it may track is refused.
3. A repository of its own in `.counterpoint` is refused: a submodule brings one, and what it has, the outer index does not name.
4. One that this account knows as its own is refused as well: a checkout writes over it, and what that lays there may be a stranger's. It is only
   to be taken out of git.
5. Names are compared without case, since there are file systems that have none.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from counterpoint.kernel.errors import Unavailable
from counterpoint.kernel.ownership import is_of_database
from counterpoint.kernel.places import FOLDER

_SHARED: Final = ("templates/", "phases/", "batches/")
_WHOLE: Final = (b"DIRC\0\0\0\2", b"DIRC\0\0\0\3")
_PARTS: Final = (b"link", b"sdir")
"""The extensions of an index that has names elsewhere, or folders for what lies in them (gitformat-index)."""


def refuse_tracked(database: Path, environ: Mapping[str, str]) -> None:
    """Raise Unavailable if git tracks a database or what lies beside it, or may track it and does not say."""
    folder = Path(os.path.realpath(database.parent))
    if not folder.is_dir():
        return
    is_own_repository = os.path.lexists(folder / ".git")
    if folder.name == FOLDER and is_own_repository:
        raise Unavailable(
            f"{folder} is a git repository of its own: this ledger came with it, and whoever made that wrote it",
            hint=f"Take {folder} away; `git rm --cached {folder}` if it is a submodule. Then a ledger of your own"
            f" begins. Only if you made it: take {folder / '.git'} away.",
        )
    folders = (folder, *folder.parents) if is_own_repository else folder.parents
    top = next((ancestor for ancestor in folders if os.path.lexists(ancestor / ".git")), None)
    if top is None or not _may_track(top, folder):
        return
    tracked = [name for name in _list_tracked(top, folder, environ) if _is_state(name, database)]
    if not tracked:
        return
    # Looked up only for a refusal.
    import shlex

    from counterpoint.evidence.trust.known import is_own

    names = sorted({name.partition("/")[0] for name in tracked})
    files = " ".join(shlex.quote(str(folder / name)) for name in names)
    if is_own(str(folder / database.name)):
        raise Unavailable(
            f"git tracks {folder / tracked[0]}, and would write over this ledger of yours with its next checkout",
            hint=f"`git rm -r --cached {files}` takes it out of git, and leaves it there; then commit that. A line in"
            " `.gitignore` keeps it out.",
        )
    raise Unavailable(
        f"git tracks {folder / tracked[0]}: this ledger came with the repository, and whoever made that wrote it",
        hint=f"`git rm -r --cached {files}`, and take that away: then a ledger of your own begins. Only if you"
        " know that it is yours, and want it here alone, leave it there.",
    )


def _list_tracked(top: Path, folder: Path, environ: Mapping[str, str]) -> list[str]:
    """Return what git tracks in a folder, as named from there; the empty name is the folder itself. Unavailable."""
    from counterpoint.evidence.git.call import GitCall, GitRefused

    within = "" if top == folder else str(folder.relative_to(top))
    pattern = f":(icase,literal){within}" if within else "."
    try:
        names = GitCall(folder=top, environ=environ).parts(["ls-files", "-z", "--", pattern])
    except GitRefused as fault:
        if not _has_index(top):
            # What is no repository tracks nothing; evidence says what is wrong with it.
            return []
        raise Unavailable(
            f"git does not say whether it tracks {folder}, and so whether this ledger came with the repository: {fault}",
            hint=f"Do what git asks for until `git -C {top} ls-files` answers, then try again.",
        ) from fault
    return [name[len(within) :].removeprefix("/") for name in names]


def _is_state(name: str, database: Path) -> bool:
    if not name:
        return True
    if database.parent.name == FOLDER:
        return not name.startswith(_SHARED) and name != ".gitignore"
    return is_of_database(name.partition("/")[0], database.name)


def _may_track(top: Path, folder: Path) -> bool:
    """Return whether the index of a repository can have a name in a folder; no is sure."""
    try:
        with open(_index(top), "rb", opener=_open_unwaiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return True
            index = file.read()
    except (OSError, ValueError):
        return _has_index(top)
    if not index or top == folder:
        # One that a lost power supply left empty has no name.
        return bool(index)
    if not index.startswith(_WHOLE) or any(part in index for part in _PARTS):
        return True
    if not folder.name.isascii():
        return True
    return os.fsencode(folder.name).lower() in index.lower()


def _open_unwaiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _has_index(top: Path) -> bool:
    """Return whether a repository has an index, or keeps it from being looked for."""
    try:
        os.lstat(_index(top))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        # A repository without an index tracks nothing.
        return False
    except OSError:
        pass
    return True


def _index(top: Path) -> Path:
    mark = top / ".git"
    if not mark.is_dir():
        # Loaded for linked trees and submodules.
        from counterpoint.evidence.git.waiting import git_folder

        mark = git_folder(mark)
    return mark / "index"
