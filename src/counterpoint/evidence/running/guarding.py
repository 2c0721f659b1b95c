"""What a command must not change: files by which git starts programs, outside of any sandbox.

1. Read-only are the hooks of a repository, wherever its settings say that they lie, the files of its settings and those of the user, the
   file that leads from a working tree to its repository, and the same of its submodules.
2. The repository, and each folder that it lies in, stays where it is: otherwise another could be laid in its place.
3. A folder of hooks that is not there is made, since nothing can be mounted over it.
Whatever else of the tree, or of the home, a command may write, it may write a program that a person starts.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from counterpoint.evidence.git.call import GitCall, GitRefused
from counterpoint.evidence.git.waiting import git_folder, read_plain
from counterpoint.kernel.errors import ProgramMissing

_WORKTREE: Final = re.compile(rb"^\s*worktree\s*=\s*\"?(.+?)\"?\s*$", re.MULTILINE)
_MOST_MODULES: Final = 1_000
_REFUSALS: Final = tuple(os.strerror(number) for number in (errno.EROFS, errno.EBUSY))
"""What programs say of a file that is read-only, and of one that is not to be replaced."""


class Guarded(NamedTuple):
    """Paths by their whole names. fixed: folders that cannot be moved, the outermost first. read_only: what cannot be written."""

    fixed: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()


def guarded_paths(tree: Path, environ: Mapping[str, str]) -> Guarded:
    """Return what a command in a tree must leave as it is; nothing where no repository is around. Unavailable."""
    top = next(
        (folder for folder in (tree, *tree.parents) if os.path.lexists(folder / ".git")), None
    )
    if top is None:
        return Guarded()
    mark = top / ".git"
    own = Path(os.path.realpath(git_folder(mark)))
    common = _common(own)
    read_only = {mark} if mark.is_file() else set[Path]()
    for folder in {own, common}:
        read_only |= {
            folder / "config",
            folder / "config.worktree",
            folder / "commondir",
            folder / "gitdir",
        }
    read_only |= {_hooks(common), *_settings(top, environ), *_of_modules(common / "modules")}
    existing = {os.path.realpath(path) for path in read_only if path.exists()}
    return Guarded(fixed=_in_place(top, own, common), read_only=tuple(sorted(existing)))


def refused_writes(output: str, read_only: tuple[str, ...], top: Path) -> tuple[str, ...]:
    """Return which of the read-only files an output says could not be written, as they are named from the top of the tree."""
    lines = [line for line in output.splitlines() if any(text in line for text in _REFUSALS)]
    named = [(path, os.path.relpath(path, top)) for path in read_only]
    return tuple(
        short if not short.startswith("..") else path
        for path, short in named
        if any(path in line or short in line for line in lines)
    )


def _common(own: Path) -> Path:
    """Return the folder that all working trees of a repository share."""
    with suppress(OSError):
        return Path(os.path.realpath(own / os.fsdecode(read_plain(own / "commondir")).strip()))
    return own


def _hooks(common: Path) -> Path:
    """Return the folder of hooks of a repository, which is made if it is not there."""
    hooks = common / "hooks"
    # Where it cannot be made here, a command of the same account cannot make it either.
    with suppress(OSError):
        hooks.mkdir(exist_ok=True)
    return hooks


def _settings(top: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Return the files that git reads its settings from, and the folder that these say its hooks are in."""
    with suppress(GitRefused, ProgramMissing):
        found = GitCall(folder=top, environ=environ).read_settings()
        for file in found.all_files:
            yield top / file
        if found.hooks:
            yield top / Path(found.hooks).expanduser()


def _of_modules(folder: Path, most: int = _MOST_MODULES) -> Iterator[Path]:
    """Return the same of the repositories of submodules, which lie below one another."""
    waiting = [folder]
    while waiting and most:
        most -= 1
        for entry in _folders(waiting.pop()):
            if (entry / "HEAD").exists():
                yield from (entry / "config", _hooks(entry), *_mark_of(entry))
                waiting.append(entry / "modules")
            else:
                # The name of a submodule may have slashes.
                waiting.append(entry)


def _mark_of(module: Path) -> Iterator[Path]:
    """Return the file that leads from the working tree of a submodule to its repository."""
    with suppress(OSError):
        if said := _WORKTREE.search(read_plain(module / "config")):
            yield module / os.fsdecode(said[1]) / ".git"


def _folders(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]
    except OSError:
        return []


def _in_place(top: Path, *repositories: Path) -> tuple[str, ...]:
    """Return the folders that must not be moved: repositories, and what they and the tree lie in as far as this account could move it."""
    found: set[str] = set()
    for folder in (top, *repositories):
        for path in (folder, *folder.parents):
            # What lies in a folder that cannot be written is moved by nobody.
            if path != path.parent and os.access(path.parent, os.W_OK):
                found.add(os.path.realpath(path))
    return tuple(sorted(found, key=lambda path: path.count("/")))
