"""Reads from git which paths of a working tree are not as HEAD has them.

Two questions: `git status` for what is staged, unstaged, in conflict or untracked, and, each time the
index was written anew, `git ls-files -v` for what the index hides from `git status`: paths marked
assume-unchanged, and those marked skip-worktree unless the tree is sparse (there git itself takes
the mark away from a path that lies on disk). A hidden path counts while it lies on disk.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from counterpoint.evidence.git.call import GitCall, GitRefused
from counterpoint.evidence.git.diff import BELOW
from counterpoint.evidence.marks import shown

_STATUS = (
    "status",
    "--porcelain=v2",
    "--branch",
    # To count how far branches are apart walks through the history, and nobody asks for it here.
    "--no-ahead-behind",
    "-z",
    "--untracked-files=all",
    "--ignore-submodules=dirty",
    # The rules pair deleted and added paths themselves, by what was measured.
    "--no-renames",
)
_CLOSED = re.compile(r"warning: could not open directory '(.*)': (.*)")
_HIDDEN = re.compile(r"(?:\A|\0)[a-zS] ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What git says, by raw path below the root; letters as in its XY field, `hh` if hidden."""

    commit: str = ""
    branch: str = ""
    letters: dict[str, str] = field(default_factory=dict[str, str])
    conflicts: set[str] = field(default_factory=set[str])
    nested: set[str] = field(default_factory=set[str])
    warnings: tuple[str, ...] = ()

    @property
    def tells_nothing(self) -> bool:
        """Whether index and disk are as HEAD has them, but for what git does not look at."""
        return all(is_unseen(letters) for letters in self.letters.values())


@dataclass(slots=True, kw_only=True)
class Hidden:
    """The paths that an index hides; asked again only when the index is another."""

    git: GitCall
    index: Path
    _known: tuple[tuple[int, ...], tuple[str, ...]] = ((), ())

    def paths(self) -> tuple[str, ...]:
        """Return the hidden paths that lie on disk."""
        try:
            state = self.index.stat()
        except FileNotFoundError:
            return ()
        now = (state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
        before, paths = self._known
        if before != now:
            paths = tuple(self._read())
            self._known = (now, paths)
        return tuple(path for path in paths if os.path.lexists(self.git.folder / path))

    def _read(self) -> Iterable[str]:
        listed = os.fsdecode(self.git.ask("ls-files", "-v", "-z", "--", *BELOW))
        # Most trees hide nothing: one search saves cutting up a list of all files.
        if _HIDDEN.search(listed) is None:
            return
        entries = [(entry[0], entry[2:]) for entry in listed.split("\0")[:-1]]
        is_sparse = any(tag == "S" for tag, _ in entries) and self._is_sparse()
        for tag, path in entries:
            if tag.islower() or (tag == "S" and not is_sparse):
                yield path

    def _is_sparse(self) -> bool:
        try:
            return self.git.line("config", "--type=bool", "core.sparseCheckout") == "true"
        except GitRefused:
            return False


def is_unseen(letters: str) -> bool:
    """Return whether git does not compare a path with HEAD: it is untracked or hidden."""
    return letters in {"??", "hh"}


def read_status(git: GitCall, prefix: str, hidden: Callable[[], Iterable[str]]) -> Status:
    """Return the status of the tree below the folder of the call; `hidden` is asked at the end."""
    remarks: list[str] = []
    output = os.fsdecode(git.ask(*_STATUS, "--", *BELOW, remarks=remarks))
    facts: dict[str, str] = {}
    letters: dict[str, str] = {}
    conflicts: set[str] = set()
    nested: set[str] = set()
    for part in output.split("\0")[:-1]:
        kind, _, record = part.partition(" ")
        if kind == "#":
            name, _, facts[name] = record.partition(" ")
        elif kind == "?":
            path = record.removeprefix(prefix)
            if path.endswith("/"):
                nested.add(path.removesuffix("/"))
            else:
                # Taken out of the index, and there on disk again: git lists the path twice.
                letters[path] = "D?" if path in letters else "??"
        else:
            # Of the format's fields the path is the last, so that it may have spaces.
            path = record.split(" ", 9 if kind == "u" else 7)[-1].removeprefix(prefix)
            if kind == "u":
                conflicts.add(path)
            letters.setdefault(path, record[:2])
    for path in hidden():
        letters.setdefault(path, "hh")
    commit, branch = facts["branch.oid"], facts["branch.head"]
    return Status(
        commit="" if commit == "(initial)" else commit,
        branch="" if branch == "(detached)" else branch,
        letters=letters,
        conflicts=conflicts,
        nested=nested,
        warnings=tuple(
            f"`{shown(match[1])}` cannot be listed ({match[2]})"
            for match in map(_CLOSED.fullmatch, remarks)
            if match
        ),
    )
