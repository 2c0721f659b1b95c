"""Asks git what differs between a commit and another, or the files on disk.

The answer has git's pairs of renamed paths and one line for each path as if there were no pairs, from
a second run if one may not hold; the rules decide which pairs hold. Files on disk
are compared through a copy of the index in a temporary folder, in which untracked and hidden files
are entered, conflicts closed, and files passed over that git could not read. So untracked files take
part in renames and line counts, no single file can fail the whole, and the repository's own index is
neither locked nor written. The copy keeps the time of the original, on
which git's test for changes within the same second rests.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from counterpoint.core.model.evidence import ChangeKind
from counterpoint.evidence.git.call import GitCall
from counterpoint.evidence.passing import passing_folder

# Git knows these objects in every repository, also where nobody ever wrote them.
EMPTY_TREES = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
_EMPTY_BLOBS = {
    40: "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    64: "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
}
_KINDS: dict[str, ChangeKind] = {"A": "added", "D": "deleted", "M": "modified", "T": "modified"}
_AS_IT_IS = "diff.autoRefreshIndex=false"
"""So git takes a file for changed that the index does not know as it is, and does not read it."""
_DIFF = (
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--ignore-submodules=dirty",
    "--raw",
    "-z",
)
BELOW = (".", ":(exclude).counterpoint")
_MOST_NAMED = 16_000
"""So many characters of names are given to git at most: with more it had rather look at all."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """What must be otherwise in the copy of the index than in the index.

    looked_at: paths git would not look at on disk, or not as one; it shall. passed_over: paths it
    would look at and must not. no_files: paths at which lies what git cannot compare.
    """

    looked_at: Sequence[str] = ()
    passed_over: Sequence[str] = ()
    no_files: Sequence[str] = ()


_Entry = tuple[str, str, str, int, int]
"""Letter, previous name, name, insertions, deletions."""


def between(git: GitCall, older: str, newer: str, prefix: str, *, is_counted: bool) -> Difference:
    """Return what differs from one commit to another, below the folder.

    is_counted: whether git reads the contents, for lines and renames.
    """
    return _difference(git, (older, newer), prefix, BELOW, {}, is_counted=is_counted)


def on_disk(
    git: GitCall,
    older: str,
    prefix: str,
    index: Path,
    entries: Entries,
    among: Collection[str] | None,
    *,
    doubted: Collection[str],
    is_counted: bool,
) -> Difference:
    """Return what differs from a commit to the files on disk, below the folder.

    doubted: paths whose pairs the rules may not let stand. among: the only paths that can differ, where they are known: git need not look at the others.
    is_counted: whether git reads the files, for lines and renames.
    """
    paths: tuple[str, ...] = BELOW
    if among is not None and sum(map(len, among)) <= _MOST_NAMED:
        paths = tuple(f":(literal){path}" for path in among)
        if not paths:
            return Difference()
    with _index(git, older, prefix, index, entries) as extra:
        return _difference(
            git, (older,), prefix, paths, extra, doubted=doubted, is_counted=is_counted
        )


@contextmanager
def _index(
    git: GitCall, commit: str, prefix: str, original: Path, entries: Entries
) -> Generator[dict[str, str], None, None]:
    """Lend a copy of the index with the entries as they must be."""
    # Whoever works in the tree uses the index meanwhile: it is read, and never written.
    space_bytes = 2 * original.stat().st_size if original.exists() else 0
    with passing_folder("counterpoint-index-", space_bytes) as folder:
        copy = folder / "index"
        if original.exists():
            # With its times: by them git tells whether a file may have changed within the same
            # second.
            shutil.copy2(original, copy)
        extra = {"GIT_INDEX_FILE": str(copy)}
        null, blob = "0" * len(commit), _EMPTY_BLOBS[len(commit)]
        # Mode 0 takes an entry out; one of an empty file makes git compare it with what lies on disk.
        lines = [f"0 {null}\t{prefix}{path}\0" for path in (*entries.looked_at, *entries.no_files)]
        lines += [f"100644 {blob}\t{prefix}{path}\0" for path in entries.looked_at]
        if lines:
            listed = "".join(lines).encode("utf-8", "surrogateescape")
            git.ask("update-index", "-z", "--index-info", stdin=listed, extra=extra)
        if entries.passed_over:
            listed = "".join(f"{path}\0" for path in entries.passed_over).encode(
                "utf-8", "surrogateescape"
            )
            git.ask(
                "update-index", "--assume-unchanged", "-z", "--stdin", stdin=listed, extra=extra
            )
        yield extra


def _difference(
    git: GitCall,
    commits: tuple[str, ...],
    prefix: str,
    paths: tuple[str, ...],
    extra: dict[str, str],
    *,
    doubted: Collection[str] | None = None,
    is_counted: bool,
) -> Difference:
    how = ("diff", *_DIFF, "--numstat") if is_counted else ("-c", _AS_IT_IS, "diff", *_DIFF)

    def found(renames: str) -> list[_Entry]:
        return list(_read(git.parts((*how, renames, *commits, "--", *paths), extra=extra)))

    # Git pairs what looks alike. A pair that the rules may not let stand is asked for by halves too.
    paired = found("-M" if is_counted else "--no-renames")
    pairs = [entry for entry in paired if entry[0] == "R"]
    ends = {name.removeprefix(prefix) for entry in pairs for name in entry[1:3]}
    is_sure = doubted is not None and ends.isdisjoint(doubted)
    plain = paired if is_sure or not pairs else found("--no-renames")
    return Difference(
        lines={
            path.removeprefix(prefix): Line(
                kind=_KINDS[letter], insertions=insertions, deletions=deletions
            )
            for letter, _, path, insertions, deletions in plain
            if letter in _KINDS
        }
        | (_halves(pairs, prefix) if is_sure else {}),
        renames={
            path.removeprefix(prefix): Rename(
                previous=previous.removeprefix(prefix),
                insertions=insertions,
                deletions=deletions,
            )
            for _, previous, path, insertions, deletions in pairs
        },
    )


def _halves(pairs: Iterable[_Entry], prefix: str) -> dict[str, Line]:
    """Return what pairs are made of; where they stand, nobody asks for the lines of the halves."""
    halves: dict[str, Line] = {}
    for _, previous, path, _, _ in pairs:
        halves[previous.removeprefix(prefix)] = Line(kind="deleted")
        halves[path.removeprefix(prefix)] = Line(kind="added")
    return halves


def _read(parts: list[str]) -> Iterator[_Entry]:
    """Join raw entries and counts."""
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
                # The count of a rename has no path: both names follow it, the previous one first.
                next(waiting)
                path = next(waiting)
            counts[path] = (_count(insertions), _count(deletions))
    for path, (letter, previous) in entries.items():
        yield letter, previous, path, *counts.get(path, (0, 0))


def _count(text: str) -> int:
    return 0 if text == "-" else int(text)  # a binary file has no lines
