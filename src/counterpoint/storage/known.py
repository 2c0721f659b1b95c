"""What the last writer of a project knew and the next one need not read again.

Rules: (1) It holds what a reading inside of the same transaction would answer, and nothing else: a row
that is written is forgotten, the head and the highest numbers follow what is written. (2) It is carried
from one transaction to the next only where the database says that nobody has committed in between;
what ended in any other way than with a commit leaves nothing behind.
"""

from __future__ import annotations

from typing import Final

from counterpoint.core.model.rows import Cell, Noun
from counterpoint.core.ports.store import Head
from counterpoint.kernel.canonical import Json

_MOST_ROWS: Final = 256
"""More than a project, and a session for each of many agents; then it begins anew."""

Place = tuple[type[Noun], tuple[Cell, ...]]
"""A row of a project: its noun, and its key without the project."""


class Known:
    """What is known of one project."""

    __slots__ = ("head", "numbers", "rows")

    def __init__(self) -> None:
        """Know nothing yet."""
        self.head: Head | None = None
        self.numbers: dict[type[Noun], int] = {}
        self.rows: dict[Place, Noun] = {}

    def keep(self, place: Place, row: Noun) -> None:
        """Keep a row as it was read."""
        if len(self.rows) >= _MOST_ROWS:
            self.rows.clear()
        self.rows[place] = row

    def written(self, place: Place, number: Json = None) -> None:
        """Forget a row that is written; number: the one it has now, if it is put whole."""
        self.rows.pop(place, None)
        noun = place[0]
        if noun in self.numbers:
            if number is None:
                del self.numbers[noun]
            else:
                self.numbers[noun] = max(self.numbers[noun], number)


class Memory:
    """What is known of each project on one connection that writes."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._projects: dict[str, Known] = {}
        self._version: int | None = None

    def begin(self, version: int) -> None:
        """Begin a transaction; version: another number after any commit, this program's too."""
        if version != self._version:
            self._projects.clear()
        self._version = None  # until it has landed

    def landed(self, version: int) -> None:
        """Keep what is known, if the version is still that one when the next transaction begins."""
        self._version = version

    def forget(self) -> None:
        """Forget everything: a part of the transaction was undone."""
        self._projects.clear()

    def of(self, project: str) -> Known:
        """Return what is known of a project."""
        return self._projects.setdefault(project, Known())
