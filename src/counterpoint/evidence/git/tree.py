"""Snapshots and comparisons of a working tree that git knows.

1. Only paths below the given root count, which may be any folder of the working tree; they are
   relative to it. `.counterpoint` at the root never counts, nor do ignored files. A repository
   inside the tree that is not a submodule is another tree: it is named in a warning and not looked
   into. A submodule counts by the commit it is on; what is not committed in it is told in a warning.
2. A snapshot is HEAD, the branch, and the mark of every path that is staged, unstaged, in conflict
   or untracked. Modes are not part of a mark.
3. A comparison measures from the start commit; without one (no commit yet) from the empty tree. If
   the start commit is gone, it measures from HEAD and says in a warning that what was committed
   since is not known. The rules of `rules.py` then decide.
4. Commits are those that HEAD reaches and the start commit does not, oldest first, at most the last
   1,000. If HEAD does not descend from the start commit (amended, rebased, another branch), or if
   the history is shallow, a warning says so; the diff of the trees is right all the same.
5. Files that exclude files ignore do not count. Files that the index hides from git (assume-unchanged,
   skip-worktree) do, as if they were untracked: while they lie on disk, by their marks.
6. If git fails, it is asked once more, as a file may have changed while git read it; then once without
   reading files, with a warning. A file that cannot be read is compared by size and time, with a
   warning; it fails nothing.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Literal, TypeVar

from counterpoint.core.model.evidence import ChangeKind, CommitFiles, Comparison, Snapshot
from counterpoint.evidence.git.call import GitCall, GitRefused
from counterpoint.evidence.git.diff import EMPTY_TREES, Difference, Entries, Line, between, on_disk
from counterpoint.evidence.git.rules import Measured, decide, present, shown_difference
from counterpoint.evidence.git.shared import SharedLook
from counterpoint.evidence.git.status import Hidden, Status, is_unseen, read_status
from counterpoint.evidence.git.waiting import read_plain
from counterpoint.evidence.marks import Fingerprint, mark, raw, shown
from counterpoint.kernel.errors import Unavailable
from counterpoint.kernel.places import find_git_fault

# The list goes into the ledger with the outcome.
_MOST_COMMITS = 1000
_NOT_COUNTED = (
    "git could not read every changed content (a file is written all the time, or an object is"
    " missing): lines are not counted, nor renames sought"
)
_Past = Literal["here", "before", "beside", "gone", "lost"]
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """One look at the tree: the snapshot and what it was made of."""

    status: Status
    marks: dict[str, Fingerprint]
    snapshot: Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class GitTree:
    """A folder in a working tree; `index` is where git keeps its index."""

    git: GitCall
    index: Path
    prefix: str
    empty_tree: str
    shallow: bool
    hidden: Hidden = field(repr=False, compare=False)
    _shared: SharedLook[_Look] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Let all who ask for this tree share their looks."""
        # The class is frozen, and this field is made of the others.
        object.__setattr__(self, "_shared", SharedLook(self._look))

    def snapshot(self) -> Snapshot:
        """Return the state of the tree at this moment; Unavailable if git cannot read it."""
        return _patiently(lambda _: self._shared.take().snapshot)

    def compare(self, start: Snapshot) -> Comparison:
        """Return what changed since a snapshot that git made too; Unavailable as above."""
        return _patiently(lambda is_counted: self._compare(start, is_counted=is_counted))

    def _compare(self, start: Snapshot, *, is_counted: bool) -> Comparison:
        look = self._shared.take()
        end = look.snapshot
        past, commits = self._past(start.commit, end.commit)
        older = end.commit if past == "gone" else start.commit
        moved = past in {"before", "beside"}
        by_commit = (
            between(
                self.git, older or self.empty_tree, end.commit, self.prefix, is_counted=is_counted
            )
            if moved
            else Difference()
        )
        net = self._on_disk(older, look, start, by_commit, is_counted=is_counted)
        measured = Measured(
            start=start.files,
            dirty=end.files.keys(),
            mark_now=lambda path: self._mark_now(look, path),
            on_disk=shown_difference(net, shown),
            by_commit=shown_difference(by_commit, shown),
        )
        changes, warnings = decide(measured)
        return Comparison(
            start=start,
            end=end,
            changes=changes,
            commits=commits[-_MOST_COMMITS:],
            warnings=(
                *(line for line in end.warnings if line not in start.warnings),
                *self._of_history(start, end, past, many=len(commits) > _MOST_COMMITS),
                *(() if is_counted else (_NOT_COUNTED,)),
                *warnings,
                *_of_index(look, {change.path for change in changes}),
            ),
        )

    def commit_files(self, commits: Sequence[str]) -> list[CommitFiles]:
        """Return the files of commits, those below the root; none where git refuses."""
        # A part that begins with 1 and an id begins a commit; the names follow author and message.
        how = ("--no-walk=unsorted", "--name-only", "--no-renames", "-z")
        try:
            parts = self.git.parts(("log", *how, "--format=%x01%H%x00%an%x00%B", *commits, "--"))
        except GitRefused:
            return []
        begins = [at for at, part in enumerate(parts) if part[:1] == "\x01" and part[1:] in commits]
        return [
            CommitFiles(
                id=parts[at][1:],
                author=parts[at + 1],
                message=parts[at + 2],
                paths=tuple(
                    shown(path.removeprefix(self.prefix))
                    for path in (part.removeprefix("\n") for part in parts[at + 3 : end])
                    if path.startswith(self.prefix)
                ),
            )
            for at, end in pairwise((*begins, len(parts)))
        ]

    def _past(self, older: str, newer: str) -> tuple[_Past, tuple[str, ...]]:
        """Return where the start commit lies, as seen from HEAD, and the commits since.

        A commit at which a walk from HEAD stops is marked; if the start is one, HEAD descends from it.
        """
        if older == newer or not newer:
            return "here" if older == newer else "lost", ()
        most = f"--max-count={_MOST_COMMITS + 1}"
        how = ("rev-list", "--topo-order", "--reverse", "--boundary", most)
        try:
            walked = self.git.line(*how, f"{older}..{newer}" if older else newer, "--").split()
        except GitRefused:
            if self.git.agrees("cat-file", "-e", f"{older}^{{commit}}"):
                raise
            return "gone", ()
        commits = tuple(commit for commit in walked if not commit.startswith("-"))
        descends = not older or f"-{older}" in walked
        if not descends and len(commits) > _MOST_COMMITS:
            descends = self.git.agrees("merge-base", "--is-ancestor", older, newer)
        return "before" if descends else "beside", commits

    def _on_disk(
        self,
        older: str,
        look: _Look,
        start: Snapshot,
        by_commit: Difference,
        *,
        is_counted: bool,
    ) -> Difference:
        """Keep from git what would mislead or end it, and files that stayed as they were."""
        status, marks = look.status, look.marks
        fresh = [
            path
            for path, letters in status.letters.items()
            if (letters == "hh" or letters.endswith("?"))
            and marks[path].digest != start.files.get(shown(path))
        ]
        if status.commit and not fresh and status.tells_nothing:
            return by_commit
        blind = [path for path in status.letters if marks[path].remark]
        odd = [path for path in status.letters if _is_odd(self.git.folder / path)]
        apart = {*blind, *odd}
        entries = Entries(
            looked_at=[path for path in (*fresh, *status.conflicts) if path not in apart],
            passed_over=[path for path in blind if not status.letters[path].endswith("?")],
            no_files=odd,
        )
        candidates = {*by_commit.lines, *fresh, *status.letters} if status.commit else None
        difference = on_disk(
            self.git,
            older or self.empty_tree,
            self.prefix,
            self.index,
            entries,
            candidates,
            doubted={raw(path) for path in start.files},
            is_counted=is_counted,
        )
        for path in blind:
            if not status.letters[path].endswith("?") or path in fresh:
                difference.lines[path] = Line(
                    kind=_kind(difference.lines.get(path), status.letters[path])
                )
        return difference

    def _of_history(
        self, start: Snapshot, end: Snapshot, past: _Past, *, many: bool
    ) -> tuple[str, ...]:
        short = start.commit[:12]
        remarks: list[str] = []
        if past == "gone":
            remarks.append(
                f"the start commit {short} is no longer in the repository: what was"
                " committed since is not known, only what differs from HEAD"
            )
        elif past == "lost":
            remarks.append(f"HEAD had the commit {short} at the start and now has none")
        elif past == "beside":
            remarks.append(
                f"HEAD does not descend from the start commit {short} (amended,"
                " rebased or another branch): the changes are the difference of both trees"
            )
        if self.shallow and start.commit != end.commit:
            remarks.append("the history is shallow: the list of commits may be incomplete")
        if many:
            remarks.append(f"only the last {_MOST_COMMITS:,} commits are listed")
        return tuple(remarks)

    def _look(self) -> _Look:
        # Two programs that read the same index do not wait for each other.
        with ThreadPoolExecutor(max_workers=1) as beside:
            status = read_status(self.git, self.prefix, beside.submit(self.hidden.paths).result)
        marks = {path: self._mark(path) for path in status.letters}
        warnings = list(status.warnings)
        warnings += [
            f"`{shown(path)}` {mark.remark}" for path, mark in marks.items() if mark.remark
        ]
        warnings += present(
            "is a submodule with changes that are not committed in it, which are not looked into",
            [shown(path) for path in self._dirty_submodules()],
        )
        warnings += present(
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

    def _dirty_submodules(self) -> list[str]:
        """Return the submodules in which something is not as the commit that they are on."""
        top = self.git.folder.joinpath(*[".."] * self.prefix.count("/"))
        if not (top / ".gitmodules").is_file():
            return []
        ask = ("config", "-z", "--file", str(top / ".gitmodules"), "--get-regexp", r"\.path$")
        try:
            listed = self.git.parts(ask)
        except GitRefused:
            return []
        paths = [line.partition("\n")[2] for line in listed]
        below = [path.removeprefix(self.prefix) for path in paths if path.startswith(self.prefix)]
        return [path for path in sorted(set(below)) if self._is_dirty(path)]

    def _is_dirty(self, path: str) -> bool:
        folder = self.git.folder / path
        real = folder.resolve()
        # The list is a file of the tree: it may name any folder, and a link to one.
        if not real.is_relative_to(self.git.folder.resolve()) or not os.path.lexists(real / ".git"):
            return False
        inside = open_tree(GitCall(folder=real, environ=self.git.environ))
        try:
            snapshot = None if isinstance(inside, str) else inside.snapshot()
        except Unavailable:
            return True
        return snapshot is not None and bool(snapshot.files or snapshot.warnings)

    def _mark_now(self, look: _Look, path: str) -> str:
        if path in look.snapshot.files:
            return look.snapshot.files[path]
        return self._mark(raw(path)).digest

    def _mark(self, path: str) -> Fingerprint:
        """Return the mark of a path, for a submodule the commit it is on."""
        folder = self.git.folder / path
        if os.path.lexists(folder / ".git") and not folder.is_symlink():
            inside = GitCall(folder=folder, environ=self.git.environ)
            try:
                return Fingerprint(digest=inside.line("rev-parse", "--verify", "--quiet", "HEAD"))
            except GitRefused:
                return Fingerprint()
        return mark(self.git.folder, path)


def open_tree(git: GitCall, hidden: Hidden | None = None) -> GitTree | str:
    """Return the tree at a folder, or in words why git has nothing to say about it.

    The words are empty if there simply is no repository. ProgramMissing if git is not installed.
    hidden: what was read of the folder's index before.
    """
    root = git.folder
    if not is_marked(root):
        return ""
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
        # Git says it in words only; they are in English because the call asks for that.
        is_none = "not a git repository" in str(fault)
        return _find_fault(root) if is_none else f"git refuses the repository: {fault}"
    # The prefix comes last: the name of a folder may have a newline in it.
    index, inside, shallow, form, prefix = answer.split("\n", 4)
    if inside != "true" or form not in EMPTY_TREES:
        return ""
    # A folder that the repository around it ignores is no part of that.
    if prefix and git.agrees("check-ignore", "--quiet", "--", ".") and not git.ask("ls-files"):
        return ""
    if hidden is None or hidden.index != root / index:
        hidden = Hidden(git=git, index=root / index)
    return GitTree(
        git=git,
        index=root / index,
        hidden=hidden,
        prefix=prefix,
        empty_tree=EMPTY_TREES[form],
        shallow=shallow == "true",
    )


def _find_fault(root: Path) -> str:
    """Return what is wrong with the nearest `.git` at or above a folder; empty if git only does not look that far."""
    folder = next(
        (ancestor for ancestor in (root, *root.parents) if os.path.lexists(ancestor / ".git")), root
    )
    return find_git_fault(str(folder))


def is_marked(root: Path) -> bool:
    """Return whether the folder or one above it has a `.git`: else git need not be asked."""
    # As texts: to make a path of each folder takes longer than to look.
    ancestor = str(root)
    while not os.path.lexists(f"{ancestor}/.git"):
        if not ancestor:
            return False
        ancestor = ancestor.rpartition("/")[0]
    return True


def standing(root: Path) -> tuple[int, ...] | None:
    """Return what the facts of a tree hang on: while it is the same, `open_tree` answers the same.

    None where that is not plain to see: unless the root has a `.git` that is, or names, a repository.
    """
    mark = root / ".git"
    try:
        state = mark.lstat()
        own = mark if stat.S_ISDIR(state.st_mode) else root / _after(mark, "gitdir: ")
        common = own / _after(own / "commondir") if (own / "commondir").exists() else own
        (own / "HEAD").lstat()
        config = _trace(common / "config")
    except OSError:
        return None
    more = (own / "config.worktree", common / "shallow")
    return (
        *(state.st_dev, state.st_ino, state.st_uid, state.st_mode),
        *config,
        *(fact for path in more for fact in (_trace(path) if path.exists() else (0,))),
    )


def _after(file: Path, start: str = "") -> str:
    return os.fsdecode(read_plain(file)).strip().removeprefix(start)


def _trace(path: Path) -> tuple[int, ...]:
    state = path.stat()
    return state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


def _of_index(look: _Look, changed: set[str]) -> tuple[str, ...]:
    """Rule 3 of `rules.py`: both letters set, yet nothing that the rules count."""
    return present(
        "is staged with other content than lies on disk",
        [
            shown(path)
            for path, letters in look.status.letters.items()
            if "." not in letters
            and not is_unseen(letters)
            and path not in look.status.conflicts
            and shown(path) not in changed
        ],
    )


def _is_odd(path: Path) -> bool:
    """Return whether something lies there that git can neither hash nor pass over."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode))


def _kind(line: Line | None, letters: str) -> ChangeKind:
    """Return how a path differs that lies on disk, from what git says without looking there."""
    if line is None:
        return "added" if letters == "??" else "modified"
    return "modified" if line.kind == "deleted" else line.kind


def _patiently(measure: Callable[[bool], _Answer]) -> _Answer:
    """Measure as rule 6 says; the measure gets whether git may read files to count lines."""
    # Twice the same: a file that changed while git read it is usually whole the second time.
    for is_counted in (True, True):
        with suppress(GitRefused):
            return measure(is_counted)
    try:
        return measure(False)
    except GitRefused as fault:
        raise _broken(fault) from fault


def _broken(fault: GitRefused) -> Unavailable:
    return Unavailable(
        f"git cannot read the repository: {fault}",
        hint="Run `git status` and `git fsck` in the project and mend what they name.",
    )
