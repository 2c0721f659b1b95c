"""Snapshots and comparisons of a working tree that git knows.

1. Only paths below the given root count, which may be any folder of the working tree; they are
   relative to it. `.counterpoint` at the root never counts, nor do ignored files. A repository
   inside the tree that is not a submodule is another tree: it is named in a warning and not looked
   into. A submodule counts by the commit it is on.
2. A snapshot is HEAD, the branch, and the mark of every path that is staged, unstaged, in conflict
   or untracked. Modes are not part of a mark.
3. A comparison measures from the start commit; without one (no commit yet) from the empty tree. If
   the start commit is gone, it measures from HEAD and says in a warning that what was committed
   since is not known. The rules of `gitrules` then decide.
4. Commits are those that HEAD reaches and the start commit does not, oldest first, at most the last
   1,000. If HEAD does not descend from the start commit (amended, rebased, another branch), or if
   the history is shallow, a warning says so; the diff of the trees is right all the same.
5. Files hidden from git by its own means (assume-unchanged, skip-worktree, exclude files) are
   hidden here too.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from counterpoint.core.model.evidence import Comparison, Snapshot
from counterpoint.evidence.gitcall import GitCall, GitRefused
from counterpoint.evidence.gitdiff import BELOW, EMPTY_TREES, Difference, Line, between, on_disk
from counterpoint.evidence.gitrules import Measured, decide, shown_difference, told
from counterpoint.evidence.marks import Mark, mark, raw, shown
from counterpoint.kernel.errors import Unavailable

_MOST_COMMITS = 1000
_STATUS = (
    "status",
    "--porcelain=v2",
    "--branch",
    "--no-ahead-behind",
    "-z",
    "--untracked-files=all",
    "--ignore-submodules=dirty",
    "--no-renames",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Status:
    """What `git status` says, by raw path below the root; letters as in its XY field."""

    commit: str = ""
    branch: str = ""
    letters: dict[str, str] = field(default_factory=dict[str, str])
    conflicts: set[str] = field(default_factory=set[str])
    nested: set[str] = field(default_factory=set[str])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """One look at the tree: the snapshot and what it was made of."""

    status: _Status
    marks: dict[str, Mark]
    snapshot: Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class GitTree:
    """A folder in a working tree; `index` is where git keeps its index."""

    git: GitCall
    index: Path
    prefix: str
    empty_tree: str
    shallow: bool

    def snapshot(self) -> Snapshot:
        """Answer the state of the tree at this moment; Unavailable if git cannot read it."""
        try:
            return self._look().snapshot
        except GitRefused as fault:
            raise _broken(fault) from fault

    def compare(self, start: Snapshot) -> Comparison:
        """Answer what changed since a snapshot that git made too; Unavailable as above."""
        try:
            return self._compare(start)
        except GitRefused as fault:
            raise _broken(fault) from fault

    def _compare(self, start: Snapshot) -> Comparison:
        look = self._look()
        end = look.snapshot
        gone = start.commit not in ("", end.commit) and not self._has(start.commit)
        older = end.commit if gone else start.commit
        moved = not gone and end.commit not in ("", start.commit)
        by_commit = (
            between(self.git, older or self.empty_tree, end.commit, self.prefix)
            if moved
            else Difference()
        )
        measured = Measured(
            start=start.files,
            mark_now=lambda path: self._mark_now(look, path),
            on_disk=shown_difference(self._on_disk(older, look, start), shown),
            by_commit=shown_difference(by_commit, shown),
        )
        changes, warnings = decide(measured)
        commits = self._commits(older, end.commit) if moved else ()
        return Comparison(
            start=start,
            end=end,
            changes=changes,
            commits=commits[-_MOST_COMMITS:],
            warnings=(
                *(line for line in end.warnings if line not in start.warnings),
                *self._of_history(start, end, gone=gone, many=len(commits) > _MOST_COMMITS),
                *warnings,
                *_of_index(look, {change.path for change in changes}),
            ),
        )

    def _on_disk(self, older: str, look: _Look, start: Snapshot) -> Difference:
        """Keep from git what would mislead it, files that stayed as they were, and what is huge."""
        fresh = [
            path
            for path, letters in look.status.letters.items()
            if letters.endswith("?") and look.marks[path].digest != start.files.get(shown(path))
        ]
        if older == look.status.commit and not fresh and _tells_nothing(look.status):
            return Difference()
        found = on_disk(
            self.git,
            older or self.empty_tree,
            self.prefix,
            self.index,
            [path for path in fresh if not look.marks[path].remark],
            look.status.conflicts,
        )
        for path in fresh:
            if look.marks[path].remark:
                found.lines[path] = Line(kind="added")
        return found

    def _commits(self, older: str, newer: str) -> tuple[str, ...]:
        span = f"{older}..{newer}" if older else newer
        most = f"--max-count={_MOST_COMMITS + 1}"
        return tuple(
            self.git.line("rev-list", "--topo-order", "--reverse", most, span, "--").split()
        )

    def _has(self, commit: str) -> bool:
        return self.git.agrees("cat-file", "-e", f"{commit}^{{commit}}")

    def _of_history(
        self, start: Snapshot, end: Snapshot, *, gone: bool, many: bool
    ) -> tuple[str, ...]:
        found: list[str] = []
        if gone:
            found.append(
                f"the start commit {start.commit[:12]} is no longer in the repository: what was"
                " committed since is not known, only what differs from HEAD"
            )
        elif start.commit and not end.commit:
            found.append(f"HEAD had the commit {start.commit[:12]} at the start and now has none")
        elif start.commit not in ("", end.commit) and not self.git.agrees(
            "merge-base", "--is-ancestor", start.commit, end.commit
        ):
            found.append(
                f"HEAD does not descend from the start commit {start.commit[:12]} (amended,"
                " rebased or another branch): the changes are the difference of both trees"
            )
        if self.shallow and start.commit != end.commit:
            found.append("the history is shallow: the list of commits may be incomplete")
        if many:
            found.append(f"only the last {_MOST_COMMITS:,} commits are listed")
        return tuple(found)

    def _look(self) -> _Look:
        status = self._status()
        marks = {path: self._mark(path) for path in status.letters}
        warnings = [
            f"`{shown(path)}` {found.remark}" for path, found in marks.items() if found.remark
        ]
        warnings += told(
            "is a repository of its own and was not looked into",
            [shown(path) for path in status.nested],
        )
        snapshot = Snapshot(
            method="git",
            commit=status.commit,
            branch=status.branch,
            files={shown(path): marks[path].digest for path in sorted(marks)},
            warnings=tuple(warnings),
        )
        return _Look(status=status, marks=marks, snapshot=snapshot)

    def _mark_now(self, look: _Look, path: str) -> str:
        if path in look.snapshot.files:
            return look.snapshot.files[path]
        return self._mark(raw(self.git.folder, path)).digest

    def _mark(self, path: str) -> Mark:
        """Answer the mark of a path, for a submodule the commit it is on."""
        folder = self.git.folder / path
        if (folder / ".git").exists() and not folder.is_symlink():
            inside = GitCall(folder=folder, environ=self.git.environ)
            try:
                return Mark(digest=inside.line("rev-parse", "--verify", "--quiet", "HEAD"))
            except GitRefused:
                return Mark()
        return mark(self.git.folder, path)

    def _status(self) -> _Status:
        commit = branch = ""
        found = _Status()
        for part in self.git.parts((*_STATUS, "--", *BELOW)):
            kind, _, rest = part.partition(" ")
            if kind == "#":
                name, _, value = rest.partition(" ")
                if name == "branch.oid":
                    commit = "" if value == "(initial)" else value
                elif name == "branch.head":
                    branch = "" if value == "(detached)" else value
            elif kind == "?":
                path = rest.removeprefix(self.prefix)
                if path.endswith("/"):
                    found.nested.add(path.removesuffix("/"))
                else:
                    found.letters[path] = "D?" if path in found.letters else "??"
            else:
                path = rest.split(" ", 9 if kind == "u" else 7)[-1].removeprefix(self.prefix)
                if kind == "u":
                    found.conflicts.add(path)
                found.letters.setdefault(path, rest[:2])
        return _Status(
            commit=commit,
            branch=branch,
            letters=found.letters,
            conflicts=found.conflicts,
            nested=found.nested,
        )


def open_tree(root: Path, environ: Mapping[str, str]) -> GitTree | str:
    """Answer the tree at the root, or in words why git has nothing to say about it.

    The words are empty if there simply is no repository. ProgramMissing if git is not installed.
    """
    if not is_marked(root):
        return ""
    git = GitCall(folder=root, environ=environ)
    try:
        answer = git.line(
            "rev-parse",
            "--git-path",
            "index",
            "--is-inside-work-tree",
            "--is-shallow-repository",
            "--show-object-format",
            "--show-prefix",
        )
    except GitRefused as fault:
        known = "not a git repository" in str(fault)
        return "" if known else f"git refuses the repository: {fault}"
    index, inside, shallow, form, prefix = answer.split("\n", 4)
    if inside != "true" or form not in EMPTY_TREES:
        return ""
    if prefix and git.agrees("check-ignore", "--quiet", "--", ".") and not git.ask("ls-files"):
        return ""
    return GitTree(
        git=git,
        index=root / index,
        prefix=prefix,
        empty_tree=EMPTY_TREES[form],
        shallow=shallow == "true",
    )


def is_marked(root: Path) -> bool:
    """Answer whether the folder or one above it has a `.git`: else git need not be asked."""
    return any(os.path.lexists(folder / ".git") for folder in (root, *root.parents))


def standing(root: Path) -> tuple[int, ...] | None:
    """Answer what the facts of a tree hang on: while it is the same, `open_tree` answers the same.

    None where that is not plain to see: unless the root has a `.git` folder without peculiarities.
    """
    mark = root / ".git"
    try:
        folder, config, _ = mark.lstat(), (mark / "config").stat(), (mark / "HEAD").lstat()
    except OSError:
        return None
    peculiar = any(os.path.lexists(mark / name) for name in ("shallow", "config.worktree"))
    if peculiar or not stat.S_ISDIR(folder.st_mode):
        return None
    return (
        *(folder.st_dev, folder.st_ino, folder.st_uid, folder.st_mode),
        *(config.st_ino, config.st_size, config.st_mtime_ns, config.st_ctime_ns),
    )


def _tells_nothing(status: _Status) -> bool:
    """Answer whether index and disk are as HEAD has them, but for untracked files."""
    return all(letters == "??" for letters in status.letters.values())


def _of_index(look: _Look, changed: set[str]) -> tuple[str, ...]:
    """Rule 3 of `gitrules`: both letters set, yet nothing that the rules count."""
    return told(
        "is staged with other content than lies on disk",
        [
            shown(path)
            for path, letters in look.status.letters.items()
            if "." not in letters
            and letters != "??"
            and path not in look.status.conflicts
            and shown(path) not in changed
        ],
    )


def _broken(fault: GitRefused) -> Unavailable:
    return Unavailable(
        f"git cannot read the repository: {fault}",
        hint="Run `git status` and `git fsck` in the project and mend what they name.",
    )
