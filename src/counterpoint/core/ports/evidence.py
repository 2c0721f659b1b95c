"""What the core asks about the working tree and about commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Protocol

from counterpoint.core.model.evidence import (
    Branch,
    Command,
    CommitFiles,
    Comparison,
    Execution,
    Snapshot,
)

Watch = Callable[[str], None]
"""Is told, in words, how a long command is getting on."""


class CommandCancelled(Exception):
    """The cause of what a watcher raised while a command ran. execution: what came of the command, and was put back after it."""

    def __init__(self, execution: Execution) -> None:
        super().__init__("the command was cancelled")
        self.execution = execution


READING: Final = 30.0
"""Seconds that a PDF may take to be read."""


class Evidence(Protocol):
    """Measures a working tree and runs commands in it."""

    def snapshot(self, root: Path) -> Snapshot:
        """Return the state of the tree at this moment."""
        ...

    def compare(self, root: Path, start: Snapshot) -> Comparison:
        """Return what changed in the tree since the start snapshot."""
        ...

    def commit_files(self, root: Path, commits: Sequence[str]) -> list[CommitFiles]:
        """Return the files of commits of the tree, those below the root; none where git cannot say."""
        ...

    def run(self, root: Path, command: Command, watch: Watch | None = None) -> Execution:
        """Run a command below the root; ProgramMissing, PathOutside, InvalidInput."""
        ...

    def contain(self, root: Path, path: str) -> str:
        """Return the path relative to the root, links resolved; PathOutside if it leaves it."""
        ...

    def digest(self, root: Path, path: str) -> tuple[str, int]:
        """Return SHA-256 and size of a file below the root; NotFound, PathOutside."""
        ...

    def load(self, root: Path, path: str, limit: int) -> bytes:
        """Return a file below the root; NotFound, PathOutside, InvalidInput above the limit."""
        ...

    def pages(
        self, content: bytes, watch: Watch | None = None, seconds: float = READING
    ) -> list[str]:
        """Return the text of each page of a PDF; InvalidInput if it cannot be read in that time, Unavailable if none can be.

        watch: is called at least each second meanwhile; what it raises ends the reading.
        """
        ...

    def below(self, root: Path, folder: str, limit: int) -> list[str]:
        """Return the files below a folder by path; PathOutside, InvalidInput above the limit."""
        ...

    def save(self, root: Path, path: str, content: bytes | None) -> None:
        """Write a file below the root, whole or not at all; None takes it away. PathOutside."""
        ...

    def keep_out(self, root: Path, path: str) -> None:
        """Have git pass over a file of the tree that is no part of the work; Conflict if it cannot be."""
        ...

    def branch(self, root: Path, name: str, base: str, limit: int) -> Branch:
        """Return a branch and its difference; without names the one here and the usual base.

        NotFound without a repository, branch or base; InvalidInput for a difference above the limit.
        """
        ...

    def head(self, root: Path, name: str) -> str:
        """Return the commit a branch is on; NotFound."""
        ...
