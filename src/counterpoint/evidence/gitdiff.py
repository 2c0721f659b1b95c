"""Asks git what differs between a commit and another, or the files on disk.

The answer has one line for each path (renames off) and, where anything was both added and deleted,
git's pairs of renamed paths from a second run; the rules decide which pairs hold. Files on disk
are compared through a copy of the index in a temporary folder, in which untracked files are
entered and conflicts closed. So untracked files take part in renames and line counts, and the
repository's own index is neither locked nor written. The copy keeps the time of the original, on
which git's test for changes within the same second rests.
"""

from __future__ import annotations

import shutil
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from counterpoint.core.model.evidence import ChangeKind
from counterpoint.evidence.gitcall import GitCall

EMPTY_TREES = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
_EMPTY_BLOBS = {
    40: "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    64: "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
}
_KINDS: dict[str, ChangeKind] = {"A": "added", "D": "deleted", "M": "modified", "T": "modified"}
_DIFF = (
    "diff",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--ignore-submodules=dirty",
    "--raw",
    "--numstat",
    "-z",
)
BELOW = (".", ":(exclude).counterpoint")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """How one path differs, in lines of text; 0 and 0 for binary content."""

    kind: ChangeKind
    insertions: int = 0
    deletions: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rename:
    """The previous name of a path, and how the content differs."""

    previous: str
    insertions: int = 0
    deletions: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Every differing path, and the pairs that git holds for renames, by their present name."""

    lines: dict[str, Line] = field(default_factory=dict[str, Line])
    renames: dict[str, Rename] = field(default_factory=dict[str, Rename])


def between(git: GitCall, older: str, newer: str, prefix: str) -> Difference:
    """Answer what differs from one commit to another, below the folder."""
    return _difference(git, (older, newer), prefix, {})


def on_disk(
    git: GitCall,
    older: str,
    prefix: str,
    index: Path,
    untracked: Iterable[str],
    conflicts: Iterable[str],
) -> Difference:
    """Answer what differs from a commit to the files on disk, below the folder."""
    paths = [prefix + path for path in (*untracked, *conflicts)]
    with _index(git, older, index, paths) as extra:
        return _difference(git, (older,), prefix, extra)


@contextmanager
def _index(
    git: GitCall, commit: str, original: Path, paths: Sequence[str]
) -> Generator[dict[str, str], None, None]:
    """Lend a copy of the index that has plain entries for the paths."""
    with TemporaryDirectory(prefix="counterpoint-index-") as folder:
        copy = Path(folder) / "index"
        if original.exists():
            shutil.copy2(original, copy)
        extra = {"GIT_INDEX_FILE": str(copy)}
        if paths:
            null, blob = "0" * len(commit), _EMPTY_BLOBS[len(commit)]
            entries = "".join(f"0 {null}\t{path}\x00100644 {blob}\t{path}\x00" for path in paths)
            git.ask(
                "update-index",
                "-z",
                "--index-info",
                told=entries.encode("utf-8", "surrogateescape"),
                extra=extra,
            )
        yield extra


def _difference(
    git: GitCall, commits: tuple[str, ...], prefix: str, extra: dict[str, str]
) -> Difference:
    lines: dict[str, Line] = {}
    plain = git.parts((*_DIFF, "--no-renames", *commits, "--", *BELOW), extra=extra)
    for letter, _, path, insertions, deletions in _read(plain):
        if letter in _KINDS:
            lines[path.removeprefix(prefix)] = Line(
                kind=_KINDS[letter], insertions=insertions, deletions=deletions
            )
    renames: dict[str, Rename] = {}
    if {"added", "deleted"} <= {line.kind for line in lines.values()}:
        paired = git.parts((*_DIFF, "-M", *commits, "--", *BELOW), extra=extra)
        for letter, previous, path, insertions, deletions in _read(paired):
            if letter == "R":
                renames[path.removeprefix(prefix)] = Rename(
                    previous=previous.removeprefix(prefix),
                    insertions=insertions,
                    deletions=deletions,
                )
    return Difference(lines=lines, renames=renames)


def _read(parts: list[str]) -> Iterator[tuple[str, str, str, int, int]]:
    """Join raw entries and counts: letter, previous name, name, insertions, deletions."""
    entries: dict[str, tuple[str, str]] = {}
    counts: dict[str, tuple[int, int]] = {}
    waiting = iter(parts)
    for part in waiting:
        if part.startswith(":"):
            letter = part.rpartition(" ")[2][0]
            previous = next(waiting)
            path = next(waiting) if letter == "R" else previous
            entries[path] = (letter, previous)
        else:
            insertions, deletions, path = part.split("\t", 2)
            if not path:
                next(waiting)
                path = next(waiting)
            counts[path] = (_count(insertions), _count(deletions))
    for path, (letter, previous) in entries.items():
        yield letter, previous, path, *counts.get(path, (0, 0))


def _count(text: str) -> int:
    return 0 if text == "-" else int(text)
