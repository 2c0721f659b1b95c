"""Evidence for callers whose files and programs this process has no business with.

A server of an account of its own would read and run with its own rights what an agent of another account
names. So it touches nothing: what would be measured is said to be unknown, what would be read, written or
run is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from counterpoint.core.model.evidence import Branch, Command, Comparison, Execution, Snapshot
from counterpoint.core.ports.evidence import READING, Watch
from counterpoint.evidence import paths
from counterpoint.kernel.errors import Unavailable

UNSEEN = "the server has an account of its own and does not see the working tree"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoTrees:
    """Measures nothing and runs nothing; implements the core's Evidence.

    folder: a folder of the server's own, from which nothing is read: names of files are judged as if they
    were below it.
    """

    folder: Path

    def snapshot(self, root: Path) -> Snapshot:
        """Return a snapshot of nothing, with a warning that says so."""
        del root
        return Snapshot(method="hash", warnings=(UNSEEN,))

    def compare(self, root: Path, start: Snapshot) -> Comparison:
        """Return that what changed is not known."""
        del root
        return Comparison(start=start, end=start, warnings=(UNSEEN,))

    def run(self, root: Path, command: Command, watch: Watch | None = None) -> Execution:
        """Raise Unavailable."""
        del root, command, watch
        raise _refusal("runs no command")

    def contain(self, root: Path, path: str) -> str:
        """Return the path without what is superfluous in it; PathOutside, InvalidInput."""
        del root
        return paths.contain(self.folder, path)

    def digest(self, root: Path, path: str) -> tuple[str, int]:
        """Raise Unavailable."""
        del root, path
        raise _refusal("reads no file")

    def load(self, root: Path, path: str, limit: int) -> bytes:
        """Raise Unavailable."""
        del root, path, limit
        raise _refusal("reads no file")

    def pages(
        self, content: bytes, watch: Watch | None = None, seconds: float = READING
    ) -> list[str]:
        """Raise Unavailable."""
        del content, watch, seconds
        raise _refusal("reads no file")

    def below(self, root: Path, folder: str, limit: int) -> list[str]:
        """Return that there is no file."""
        del root, folder, limit
        return []

    def save(self, root: Path, path: str, content: bytes | None) -> None:
        """Raise Unavailable."""
        del root, path, content
        raise _refusal("writes no file")

    def branch(self, root: Path, name: str, base: str, limit: int) -> Branch:
        """Raise Unavailable."""
        del root, name, base, limit
        raise _refusal("sees no branch")

    def head(self, root: Path, name: str) -> str:
        """Raise Unavailable."""
        del root, name
        raise _refusal("sees no branch")


def _refusal(what: str) -> Unavailable:
    return Unavailable(
        f"the server has an account of its own and {what} of its callers",
        hint="Do it yourself and say what came of it; a check that only a server can run needs a person to waive it.",
    )
