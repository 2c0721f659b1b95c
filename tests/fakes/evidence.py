"""A working tree in memory, with commits and commands that behave as a test writes them."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from counterpoint.core.model.evidence import (
    Branch,
    ChangeKind,
    Command,
    CommitFiles,
    Comparison,
    Ending,
    Execution,
    FileChange,
    Snapshot,
)
from counterpoint.core.ports.evidence import READING, Watch
from counterpoint.kernel.canonical import text_digest
from counterpoint.kernel.clock import Clock
from counterpoint.kernel.errors import InvalidInput, NotFound, PathOutside, ProgramMissing


@dataclass(kw_only=True)
class ScriptedTree:
    """Implements Evidence over a dictionary of files.

    files: what lies in the tree now. commits: each commit's files, oldest first.
    exits: exit code by the first word of a command; 0 if it is not named.
    endings: the quota that a command was ended for, by its first word.
    during: is called while a command runs. method: `git`, or `hash` for a tree without commits.
    """

    clock: Clock
    method: str = "git"
    files: dict[str, str] = field(default_factory=dict)
    commits: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    exits: dict[str, int] = field(default_factory=dict)
    endings: dict[str, Ending] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)
    during: Callable[[], None] | None = None
    warnings: tuple[str, ...] = ()
    ran: list[tuple[str, ...]] = field(default_factory=list)
    branches: dict[str, Branch] = field(default_factory=dict)
    places: dict[str, dict[str, str]] = field(default_factory=dict)
    kept_out: list[str] = field(default_factory=list)

    def write(self, path: str, text: str) -> None:
        """Put a file into the tree."""
        self.files[path] = text

    def commit(self) -> str:
        """Commit the tree as it is; answer the commit."""
        name = text_digest(f"{len(self.commits)} {sorted(self.files.items())}")[:40]
        self.commits.append((name, dict(self.files)))
        return name

    def snapshot(self, root: Path) -> Snapshot:
        """Answer the state of the tree."""
        base = self.commits[-1][1] if self.commits else {}
        dirty = {
            path: text_digest(self.files[path]) if path in self.files else ""
            for path in base.keys() | self.files.keys()
            if base.get(path) != self.files.get(path)
        }
        return Snapshot(
            method="git" if self.method == "git" else "hash",
            commit=self.commits[-1][0] if self.commits else "",
            branch="main",
            files=dict(sorted(dirty.items())),
            warnings=self.warnings,
        )

    def compare(self, root: Path, start: Snapshot) -> Comparison:
        """Answer what differs from a snapshot."""
        names = [name for name, _ in self.commits]
        place = names.index(start.commit) if start.commit in names else -1
        base = self.commits[place][1] if place >= 0 else {}
        then = {path: text_digest(text) for path, text in base.items()} | dict(start.files)
        then = {path: digest for path, digest in then.items() if digest}
        now = {path: text_digest(text) for path, text in self.files.items()}
        changes = tuple(
            FileChange(path=path, kind=_kind(path, then, now), insertions=1)
            for path in sorted(then.keys() | now.keys())
            if then.get(path) != now.get(path)
        )
        return Comparison(
            start=start,
            end=self.snapshot(root),
            changes=changes,
            commits=tuple(names[place + 1 :]),
            warnings=start.warnings,
        )

    def commit_files(self, root: Path, commits: Sequence[str]) -> list[CommitFiles]:
        """Answer what each commit changed."""
        found: list[CommitFiles] = []
        before: dict[str, str] = {}
        for name, files in self.commits:
            paths = tuple(
                path
                for path in sorted(before.keys() | files.keys())
                if before.get(path) != files.get(path)
            )
            if name in commits:
                found.append(CommitFiles(id=name, author="", message="", paths=paths))
            before = files
        return found

    def run(self, root: Path, command: Command, watch: Watch | None = None) -> Execution:
        """Answer what the script says of the command."""
        program = command.argv[0]
        if program in self.missing:
            raise ProgramMissing(f"{program} is not installed")
        if self.during is not None:
            self.during()
        if watch is not None:
            watch(f"{program} runs")
        self.ran.append(command.argv)
        output = self.outputs.get(program, "")
        return Execution(
            argv=command.argv,
            exit_code=self.exits.get(program, 0),
            output=output,
            output_bytes=len(output.encode()),
            output_sha256=text_digest(output),
            timed_out=self.exits.get(program) == -9 and program not in self.endings,
            ended_for=self.endings.get(program, ""),
            started_at=self.clock.now(),
            ended_at=self.clock.now(),
        )

    def contain(self, root: Path, path: str) -> str:
        """Answer the path below the root."""
        clean = posixpath.normpath(path)
        if clean.startswith(("/", "..")):
            raise PathOutside(f"{path} leads outside of the tree")
        return clean

    def digest(self, root: Path, path: str) -> tuple[str, int]:
        """Answer digest and size of a file."""
        name = self.contain(root, path)
        if name not in self.files:
            raise NotFound(f"there is no file {name}")
        return text_digest(self.files[name]), len(self.files[name].encode())

    def load(self, root: Path, path: str, limit: int) -> bytes:
        """Answer the content of a file."""
        files, name = self.at(root), self.contain(root, path)
        if name not in files:
            raise NotFound(f"there is no file {name}")
        content = files[name].encode("utf-8", "surrogateescape")
        if len(content) > limit:
            raise InvalidInput(f"{name} is too long")
        return content

    def pages(
        self, content: bytes, watch: Watch | None = None, seconds: float = READING
    ) -> list[str]:
        """Answer what stands between form feeds; whoever waits is heard once for each page."""
        del seconds
        found = content.decode().partition("\n")[2].split("\f")
        for number, _ in enumerate(found, 1):
            if watch is not None:
                watch(f"page {number}")
        return found

    def below(self, root: Path, folder: str, limit: int) -> list[str]:
        """Answer the files below a folder."""
        start = self.contain(root, folder) + "/"
        found = sorted(path for path in self.at(root) if path.startswith(start))
        if len(found) > limit:
            raise InvalidInput(f"{folder} has too many files")
        return found

    def save(self, root: Path, path: str, content: bytes | None) -> None:
        """Put a file there, or take it away."""
        files, name = self.at(root), self.contain(root, path)
        if content is None:
            files.pop(name, None)
        else:
            files[name] = content.decode()

    def keep_out(self, root: Path, path: str) -> None:
        """Remember that a file is no part of the work."""
        self.kept_out.append(self.contain(root, path))

    def at(self, root: Path) -> dict[str, str]:
        """Answer the files of a tree."""
        return self.places.get(root.name, self.files)

    def branch(self, root: Path, name: str, base: str, limit: int) -> Branch:
        """Answer what the script says of the branch."""
        if name not in self.branches:
            raise NotFound(f"there is no branch {name!r}")
        found = self.branches[name]
        if len(found.diff) > limit:
            raise InvalidInput("the difference is too long")
        return replace(found, base=base or found.base)

    def head(self, root: Path, name: str) -> str:
        """Answer the commit of a branch; without a name that of the tree."""
        return self.branch(root, name, "", 10**9).head if name else self.snapshot(root).commit


def _kind(path: str, then: dict[str, str], now: dict[str, str]) -> ChangeKind:
    if path not in then:
        return "added"
    return "modified" if path in now else "deleted"
