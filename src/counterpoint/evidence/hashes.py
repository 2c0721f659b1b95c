"""Snapshots of a folder without git: one mark for every file.

A file counts if and only if (1) it is a plain file or a link, (2) no name on the way from the root
is `.git`, nor the first `.counterpoint`, (3) no folder on the way is a link, (4) neither it nor a
folder on the way is ignored. Ignored is what the last matching line of the deepest `.gitignore`
that says anything about it excludes, as git does it.

Comparing: a path only in the second is added, only in the first deleted, in both with different
marks modified. A deleted and an added path of equal, not empty content are one renamed path; among
several, those with the same last name first, then in the order of names. Lines are not counted.

A folder with too many files, or one that takes too long, has no marks: its snapshot is `UNKNOWN`, with a warning,
and nothing is said of what changed in it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from time import monotonic

from counterpoint.core.model.evidence import Comparison, FileChange, Snapshot
from counterpoint.evidence.ignores import MOST_WILD, IgnoreFile, read
from counterpoint.evidence.marks import EMPTY, mark_at, shown

_OWN_FOLDER = ".counterpoint"
_LARGEST_RULES = 1_000_000
MAX_FILES = 50_000
MAX_SECONDS = 20.0
UNKNOWN: Mapping[str, str] = {"": "unknown"}
"""The marks of a folder that was not measured; no file has an empty path."""
_UNKNOWN_START = (
    "what changed since the start is not known: the folder had too many files then, and no git"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    """The ignore files from the root down to one folder; deepest first."""

    files: tuple[tuple[str, IgnoreFile], ...] = ()

    def ignores(self, path: str, *, folder: bool) -> bool:
        for base, lines in self.files:
            is_ignored = lines.judge(path.removeprefix(base), folder=folder)
            if is_ignored is not None:
                return is_ignored
        return False


@dataclass(slots=True)
class _Walk:
    """One pass over a tree; collects what it could not read."""

    root: Path
    warnings: list[str] = field(default_factory=list[str])

    def names(self) -> Iterator[str]:
        waiting = [("", _Rules())]
        while waiting:
            folder, above = waiting.pop()
            entries = self._entries(folder)
            rules = self._rules(folder, entries, above)
            for entry in entries:
                path = folder + entry.name
                # Only the one at the root is ours; a folder of that name below may be anything.
                if entry.name == ".git" or path == _OWN_FOLDER:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if not rules.ignores(path, folder=True):
                        waiting.append((path + "/", rules))
                elif (entry.is_symlink() or entry.is_file()) and not rules.ignores(
                    path, folder=False
                ):
                    yield path

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self.root / folder) as entries:
                return list(entries)
        except OSError as fault:
            self.warnings.append(f"`{shown(folder)}` cannot be listed ({fault.strerror})")
            return []

    def _rules(self, folder: str, entries: Iterable[os.DirEntry[str]], above: _Rules) -> _Rules:
        # Git follows no link here either.
        if not any(
            entry.name == ".gitignore" and entry.is_file(follow_symlinks=False) for entry in entries
        ):
            return above
        try:
            with (self.root / folder / ".gitignore").open("rb") as file:
                lines = read(os.fsdecode(file.read(_LARGEST_RULES)))
        except OSError as fault:
            name = shown(folder + ".gitignore")
            self.warnings.append(f"`{name}` cannot be read ({fault.strerror})")
            return above
        if not lines.is_whole:
            name = shown(folder + ".gitignore")
            self.warnings.append(f"of `{name}` only {MOST_WILD} lines with wildcards are heard")
        return _Rules(files=((folder, lines), *above.files))


def snapshot(root: Path) -> Snapshot:
    """Return the marks of every file below the root that is not ignored; `UNKNOWN` beyond a limit of files or time."""
    walk = _Walk(root)
    files: dict[str, str] = {}
    ends_at = monotonic() + MAX_SECONDS
    for count, name in enumerate(walk.names(), start=1):
        if count > MAX_FILES or monotonic() > ends_at:
            return Snapshot(method="hash", files=UNKNOWN, warnings=(_limit_in_words(count),))
        mark = mark_at(f"{root}/{name}")
        if mark.digest:
            files[shown(name)] = mark.digest
        if mark.remark:
            walk.warnings.append(f"`{shown(name)}` {mark.remark}")
    ordered = dict(sorted(files.items()))
    return Snapshot(method="hash", files=ordered, warnings=tuple(sorted(walk.warnings)))


def _limit_in_words(count: int) -> str:
    reason = (
        f"it has more than {MAX_FILES:,} files"
        if count > MAX_FILES
        else f"to read it takes more than {MAX_SECONDS:.0f} seconds"
    )
    return (
        f"what changes in this folder is not recorded: there is no git repository, and {reason};"
        " run `git init` in the folder of the project"
    )


def compare(root: Path, start: Snapshot) -> Comparison:
    """Return what changed since a snapshot that was also made without git."""
    end = snapshot(root)
    if UNKNOWN in (start.files, end.files):
        # What is kept of a start has no warnings.
        warnings = end.warnings if end.files == UNKNOWN else (_UNKNOWN_START, *end.warnings)
        return Comparison(start=start, end=end, warnings=warnings)
    return Comparison(
        start=start,
        end=end,
        changes=differences(start.files, end.files),
        warnings=tuple(line for line in end.warnings if line not in start.warnings),
    )


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[FileChange, ...]:
    """Return the changes from one set of marks to another, in the order of paths."""
    deleted = {path: before[path] for path in before.keys() - after.keys()}
    added = {path: after[path] for path in after.keys() - before.keys()}
    pairs = renames(deleted, added)
    changes = [FileChange(path=path, kind="renamed", previous=pairs[path]) for path in pairs]
    moved = set(pairs.values())
    changes += [FileChange(path=path, kind="deleted") for path in deleted if path not in moved]
    changes += [FileChange(path=path, kind="added") for path in added if path not in pairs]
    changes += [
        FileChange(path=path, kind="modified")
        for path in before.keys() & after.keys()
        if before[path] != after[path]
    ]
    return tuple(sorted(changes, key=lambda change: change.path))


def renames(deleted: Mapping[str, str], added: Mapping[str, str]) -> dict[str, str]:
    """Return present path → previous path for deleted and added paths of equal content."""
    sources: dict[str, dict[str, None]] = {}
    sources_by_name: dict[tuple[str, str], dict[str, None]] = {}
    for path in sorted(deleted):
        # All empty files are equal: none of them is another one's former name.
        if deleted[path] not in ("", EMPTY):
            sources.setdefault(deleted[path], {})[path] = None
            sources_by_name.setdefault((deleted[path], PurePosixPath(path).name), {})[path] = None
    pairs: dict[str, str] = {}
    for path in sorted(added):
        _pair(pairs, path, sources_by_name.get((added[path], PurePosixPath(path).name)))
    for source in pairs.values():
        del sources[deleted[source]][source]
    for path in sorted(added.keys() - pairs.keys()):
        _pair(pairs, path, sources.get(added[path]))
    return pairs


def _pair(pairs: dict[str, str], path: str, candidates: dict[str, None] | None) -> None:
    """Give a path the first of those names that are left; nothing if there is none."""
    if candidates:
        pairs[path] = next(iter(candidates))
        del candidates[pairs[path]]
