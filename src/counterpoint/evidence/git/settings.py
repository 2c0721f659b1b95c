"""Settings of a repository that name a program, and what git uses instead.

1. The repository's are those that git reads in the scopes `local` and `worktree`, with what these include. Files of the user and the
   system are the user's: a filter for large files that is set up there runs on.
2. Each that git would start something by is put back to what the user's own files say, or to what starts nothing.
3. That is said by the environment (GIT_CONFIG_COUNT), where no name ends early as it does with `-c` at a `=`. A git that
   does not take it is refused: the list has to show that it did.
4. What was found is kept while `.git` and each file that git read of the repository are the same. Where it includes further files it is
   asked each time: one that is missing now may be there next time.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from counterpoint.evidence.git.waiting import git_folder

LISTING: Final = ("config", "--list", "--show-scope", "--show-origin", "-z")
MARK: Final = ("counterpoint.asked", "1")
"""A setting that only the environment of the question has."""

_TICK: Final = 20_000_000
"""Nanoseconds by which the times of files may lag behind (Linux takes them from a clock that ticks)."""
_OWN: Final = frozenset({"local", "worktree"})
_USERS: Final = frozenset({"system", "global"})
_INCLUDES: Final = re.compile(r"include(if\..*)?\.path")
_READS: Final = frozenset({"core.excludesfile", "core.attributesfile"})
_HELPERS: Final = re.compile(r"credential\.(.*\.)?helper", re.DOTALL)
_STARTS: Final = tuple(
    (re.compile(pattern, re.DOTALL), instead)
    for pattern, instead in (
        (r"filter\..*\.(clean|smudge|process)", ""),
        (r"filter\..*\.required", "false"),
        (r"diff\.(.*\.)?(command|textconv|external)", ""),
        (r"merge\..*\.driver", ""),
        (r"core\.(askpass|gitproxy|fsmonitor)", ""),
        (r"core\.alternaterefscommand|hook\..*\.command|trailer\..*\.(cmd|command)", "true"),
        (r"core\.(editor|pager)|sequence\.editor|pager\..*", ":"),
        (r"core\.sshcommand", "ssh"),
        (r"core\.hookspath", os.devnull),
        (r"gpg\.(.*\.)?(program|defaultkeycommand)", "false"),
        (r"submodule\..*\.update", "none"),
        (r"uploadpack\.packobjectshook|interactive\.difffilter|imap\.tunnel", ""),
    )
)
"""Settings that name something to start, as git lists their names, and what starts nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What git is told besides: names and values. files: where the repository's settings stand; None: to be asked each time.

    reads: files that the repository has git read besides. all_files: where settings stand, those of the user and the system too.
    hooks: the folder of hooks that they name, if they do.
    """

    told: tuple[tuple[str, str], ...] = ()
    files: tuple[str, ...] | None = ()
    reads: tuple[str, ...] = ()
    is_heard: bool = False
    all_files: tuple[str, ...] = ()
    hooks: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    scope: str
    file: str
    name: str
    value: str


@dataclass(slots=True, kw_only=True)
class Known:
    """What was found of a repository, and how its files were then."""

    found: Found
    trace: tuple[object, ...] = field(default=())


def read_listing(listed: bytes) -> Found:
    """Return what is found in the answer to `LISTING`."""
    settings = list(_settings(listed))
    own = [setting for setting in settings if setting.scope in _OWN]
    users = [setting for setting in settings if setting.scope in _USERS]
    overrides = dict(_override_settings(own, users))
    pairs = list(overrides.items())
    if any(_HELPERS.fullmatch(setting.name) for setting in own):
        # An empty one forgets all that were named before.
        pairs.append(("credential.helper", ""))
        pairs += [
            (setting.name, setting.value) for setting in users if _HELPERS.fullmatch(setting.name)
        ]
    includes = any(_INCLUDES.fullmatch(setting.name) for setting in own)
    return Found(
        told=tuple(pairs),
        files=None if includes else tuple(dict.fromkeys(setting.file for setting in own)),
        reads=tuple(setting.value for setting in own if setting.name in _READS),
        is_heard=any((setting.name, setting.value) == MARK for setting in settings),
        all_files=tuple(dict.fromkeys(setting.file for setting in (*users, *own))),
        hooks=next(
            (
                setting.value
                for setting in reversed((*users, *own))
                if setting.name == "core.hookspath"
            ),
            "",
        ),
    )


def _settings(listed: bytes) -> Iterator[_Setting]:
    parts = iter(os.fsdecode(listed).split("\0")[:-1])
    for scope, origin, entry in zip(parts, parts, parts, strict=False):
        name, _, value = entry.partition("\n")
        yield _Setting(scope=scope, file=origin.removeprefix("file:"), name=name, value=value)


def _override_settings(
    own: Sequence[_Setting], users: Sequence[_Setting]
) -> Iterator[tuple[str, str]]:
    user_values = {setting.name: setting.value for setting in users}
    for own_setting in own:
        for pattern, nothing in _STARTS:
            if pattern.fullmatch(own_setting.name):
                yield own_setting.name, user_values.get(own_setting.name, nothing)


def variables(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the environment that tells git settings."""
    environment = {"GIT_CONFIG_COUNT": str(len(pairs))}
    for number, (name, value) in enumerate(pairs):
        environment |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return environment


def trace(folder: Path, files: Sequence[str]) -> tuple[object, ...]:
    """Return what changes when the repository of a folder, or one of its files of settings, does."""
    top = next(
        (ancestor for ancestor in (folder, *folder.parents) if os.path.lexists(ancestor / ".git")),
        folder,
    )
    mark = top / ".git"
    own = git_folder(mark)
    # Git begins a path that does not begin at the root where the tree does.
    paths = [top / file for file in files]
    return (str(top), *(_state(path) for path in (mark, own / "config.worktree", *paths)))


def is_settled(seen: tuple[object, ...], began: int) -> bool:
    """Return whether no file of a trace was written while git was asked, nor a moment before (in nanoseconds)."""
    states = [state for state in seen if isinstance(state, _State)]
    return all(state.changed < began - _TICK for state in states)


class _State(NamedTuple):
    """What tells a file of settings from another."""

    device: int
    number: int
    size: int
    written: int
    changed: int


def _state(path: Path) -> _State | tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    if stat.S_ISDIR(status.st_mode):
        # What comes and goes in a folder says nothing of settings.
        return status.st_dev, status.st_ino
    return _State(
        status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    )


KNOWN: Final[dict[tuple[Path, tuple[str, ...]], Known]] = {}
"""What was found, by folder and by what decides for git."""
MOST: Final = 256


def remember(key: tuple[Path, tuple[str, ...]], entry: Known) -> None:
    """Keep what was found; of very many the first goes."""
    KNOWN[key] = entry
    if len(KNOWN) > MOST:
        KNOWN.pop(next(iter(KNOWN)), None)
