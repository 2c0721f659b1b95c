"""What one transaction on the writer's connection may leave to the next one.

A writing of a project remembers what it has read and written (rows.py). It is used again only where SQLite
says that nobody has committed in between: its version of the file, which is asked for without a
statement, is then what it was after the last commit here. What ended in any other way than with a
commit leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable

from counterpoint.storage.rows import StoreWriting


class Memory:
    """The writings of one connection, by project.

    version: what the file's was after the last commit; None: what followed has not landed.
    """

    def __init__(self, opened: Callable[[str], StoreWriting]) -> None:
        """Remember nothing yet; opened: makes the writing of a project, which knows nothing."""
        self._opened = opened
        self._writings: dict[str, StoreWriting] = {}
        self.version: int | None = None

    def begin(self, version: int) -> None:
        """Begin a transaction; version: another number after any commit, this program's too."""
        if version != self.version:
            self._writings.clear()
        self.version = None

    def undo(self) -> None:
        """Forget what was read and written: a part of the transaction was undone."""
        for writing in self._writings.values():
            writing.undo()

    def finish(self) -> None:
        """Bring the search in step with all that the transaction wrote."""
        for writing in self._writings.values():
            writing.finish()

    def writing(self, project: str) -> StoreWriting:
        """Return the writing of a project in the transaction that is open."""
        if project not in self._writings:
            self._writings[project] = self._opened(project)
        return self._writings[project]
