"""What a command must not change: files by which git starts programs, and logins of the home.

1. Read-only are the hooks of a repository, wherever its settings say that they lie, the files of its settings and those of the user, the
   file that leads from a working tree to its repository, and the same of its submodules.
2. The repository, and each folder that it lies in, stays where it is: otherwise another could be laid in its place.
3. A folder of hooks that is not there is made, since nothing can be mounted over it. A file of settings, or one that leads to another
   repository, that was not there is put aside when the command has ended; a link is made as it was. The receipt names it.
4. A login of the home that was not there is put aside in the same way. Those that are there are hidden (hidden.py), and the folders that they
   lie in stay where they are, so that no other login can be laid in their place. So do the folders of links that lead to a login.
Not closed: repositories that a command makes in the tree, or adds to the index; files that settings include and that are not there; and
whoever starts git while the command runs.
Whatever else of the tree, or of the home, a command may write, it may write a program that a person starts.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from counterpoint.core.model.evidence import Execution
from counterpoint.evidence.git.call import GitCall, GitRefused
from counterpoint.evidence.git.waiting import git_folder, read_plain
from counterpoint.evidence.running.hidden import homes_of
from counterpoint.evidence.running.restoring import Restored, restore
from counterpoint.kernel.errors import ProgramMissing

_WORKTREE: Final = re.compile(rb"^\s*worktree\s*=\s*\"?(.+?)\"?\s*$", re.MULTILINE)
_MOST_MODULES: Final = 1_000
_MOST_LINKS: Final = 40
"""As many as the system follows for one path."""
_REFUSALS: Final = tuple(os.strerror(number) for number in (errno.EROFS, errno.EBUSY))
"""What programs say of a file that is read-only, and of one that is not to be replaced."""


class Guarded(NamedTuple):
    """Paths by their whole names. fixed: folders that cannot be moved, the outermost first. read_only: what cannot be written.

    absent: what is not there, and is not to be there afterwards. links: what is a link, and to what.
    """

    fixed: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()


def guarded_paths(
    tree: Path,
    environ: Mapping[str, str],
    logins: Iterable[Path] = (),
    hidden: Iterable[str] = (),
) -> Guarded:
    """Return what a command in a tree must leave as it is: a repository that is around, and logins. Unavailable.

    hidden: what it sees empty, which must not be moved away with a folder that it lies in.
    """
    folders, names = _of_repository(tree, environ)
    present = {Path(os.path.realpath(path)) for path in names if path.exists()}
    resolved = [_resolve(path) for path in {*folders, *names, *logins}]
    folders |= {path.parent for path in (*names, *present)}
    folders |= {Path(path).parent for path in hidden}
    links = tuple(sorted({link for _, passed in resolved for link in passed}))
    folders |= {Path(path).parent for path, _ in links}
    return Guarded(
        fixed=_in_place(folder for folder in folders if folder.is_dir()),
        read_only=tuple(sorted(map(str, present))),
        absent=_outermost({path for path, _ in resolved if not os.path.lexists(path)}),
        links=links,
    )


def _of_repository(tree: Path, environ: Mapping[str, str]) -> tuple[set[Path], set[Path]]:
    """Return the folders of the repository around a tree, and the files by which git starts programs; none without one."""
    top = next(
        (folder for folder in (tree, *tree.parents) if os.path.lexists(folder / ".git")), None
    )
    if top is None:
        return set(), set()
    mark = top / ".git"
    own = Path(os.path.realpath(git_folder(mark)))
    common = _common(own)
    paths = {mark, *_of_folder(own), *_of_folder(common), _hooks(common)}
    paths |= {*_settings(top, environ), *_of_trees(common / "worktrees")}
    paths |= {*_of_modules(common / "modules"), *_of_modules(own / "modules")}
    # The repository itself is worked in.
    return {top, mark, own, common}, {path for path in paths if path != mark or path.is_file()}


def put_back(guarded: Guarded, users: Mapping[str, str]) -> Restored:
    """Put aside what was not there before a command, and make links as they were.

    users: programs that use some of it, by the path: that stays where it is, and is told.
    """
    restored = restore(guarded.links, (path for path in guarded.absent if path not in users))
    in_use = tuple(
        f"{path} ({user}, uses it and may have made it): look at what it says; the command may have written there too"
        for path, user in users.items()
    )
    return restored._replace(leftovers=(*restored.leftovers, *in_use))


def with_restored(
    execution: Execution, guarded: Guarded, restored: Restored, tree: Path
) -> Execution:
    """Return what came of a command with what it could not write, and what was put back after it."""
    refused = refused_writes(execution.output, guarded.read_only, tree)
    return replace(
        execution,
        protected=(*refused, *restored.paths),
        put_aside=restored.asides,
        leftovers=restored.leftovers,
    )


def _resolve(path: Path) -> tuple[str, list[tuple[str, str]]]:
    """Return where a path leads, by a path that has no link on its way, and the links that it goes by, with what they say."""
    links: list[tuple[str, str]] = []
    current, waiting = Path("/"), str(Path.cwd() / path).split("/")[::-1]
    while waiting and len(links) <= _MOST_LINKS:
        name = waiting.pop()
        inner = current.parent if name == ".." else current / name
        if name not in {"", ".", ".."} and inner.is_symlink():
            target = str(inner.readlink())
            links.append((str(inner), target))
            waiting += reversed(target.split("/"))
            inner = Path("/") if target.startswith("/") else current
        current = inner
    return str(current), links


def _outermost(names: set[str]) -> tuple[str, ...]:
    """Return paths without those that lie in another one of them, which is put aside whole."""
    return tuple(
        sorted(
            name for name in names if not any(str(folder) in names for folder in Path(name).parents)
        )
    )


def _of_folder(folder: Path) -> Iterator[Path]:
    """Return the files of a repository, or of the part of it that one tree has, that lead to others or hold settings."""
    yield from (folder / name for name in ("config", "config.worktree", "commondir", "gitdir"))


def _of_trees(folder: Path) -> Iterator[Path]:
    """Return the same of all linked trees of a repository, and the files by which these find it."""
    for entry in _folders(folder):
        yield from _of_folder(entry)
        with suppress(OSError):
            yield entry / os.fsdecode(read_plain(entry / "gitdir")).strip()


def refused_writes(output: str, read_only: tuple[str, ...], top: Path) -> tuple[str, ...]:
    """Return which of the read-only files an output says could not be written, as they are named from the top of the tree."""
    lines = [line for line in output.splitlines() if any(text in line for text in _REFUSALS)]
    labels = [(path, os.path.relpath(path, top)) for path in read_only]
    return tuple(
        short if not short.startswith("..") else path
        for path, short in labels
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
    # A server may have another home than the shell in which its person starts git.
    for home in homes_of((environ,)):
        yield from (Path(home, name) for name in (".gitconfig", ".config/git/config"))
    if folder := environ.get("XDG_CONFIG_HOME", ""):
        yield Path(folder, "git/config")
    with suppress(GitRefused, ProgramMissing):
        settings = GitCall(folder=top, environ=environ).read_settings()
        for file in settings.all_files:
            yield top / file
        if settings.hooks:
            yield top / Path(settings.hooks).expanduser()


def _of_modules(folder: Path, most: int = _MOST_MODULES) -> Iterator[Path]:
    """Return the same of the repositories of submodules, which lie below one another."""
    waiting = [folder]
    while waiting and most:
        most -= 1
        for entry in _folders(waiting.pop()):
            if (entry / "HEAD").exists():
                yield from (*_of_folder(entry), _hooks(entry), *_mark_of(entry))
                waiting.append(entry / "modules")
            else:
                # The name of a submodule may have slashes.
                waiting.append(entry)


def _mark_of(module: Path) -> Iterator[Path]:
    """Return the file that leads from the working tree of a submodule to its repository."""
    with suppress(OSError):
        if match := _WORKTREE.search(read_plain(module / "config")):
            mark = module / os.fsdecode(match[1]) / ".git"
            # One that leads anywhere else is none of this module's.
            if not mark.is_symlink() and mark.is_file():
                yield mark


def _folders(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]
    except OSError:
        return []


def _in_place(places: Iterable[Path]) -> tuple[str, ...]:
    """Return folders that must not be moved, and those that they lie in, as far as this account could move them."""
    folders: set[str] = set()
    for folder in places:
        for path in (folder, *folder.parents):
            # What lies in a folder that cannot be written is moved by nobody, but by who may let himself write.
            if path != path.parent and (os.access(path.parent, os.W_OK) or _is_own(path.parent)):
                folders.add(os.path.realpath(path))
    return tuple(sorted(folders, key=lambda path: path.count("/")))


def _is_own(folder: Path) -> bool:
    with suppress(OSError):
        return folder.stat().st_uid == os.geteuid()
    return False
