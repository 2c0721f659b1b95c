"""Rows and answers that a view has read, so that it does not read them again.

Rules: (1) what a view of one moment has read stays so until it ends. A writing tells what it writes: answers of that noun are
forgotten, and a row too, unless all that became of it is told. (2) That a row is not there is known as well. (3) What lacks a text is
not known, since the text may be kept anew. (4) Whether a plan is under way bears on all answers. (5) Known are the last answers of
few rows each.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from counterpoint.core.model.rows import Cell, Noun, prose_columns, revised
from counterpoint.core.model.work import Staging

MOST_ROWS: Final = 256
"""How many rows are known: more than a project, and a session for each of many agents."""
MOST_ANSWERS: Final = 256
MOST_IN_ONE: Final = 8
"""Rows of an answer that is known."""

Place = tuple[type[Noun], tuple[Cell, ...]]
"""A row of a project: its noun, and its key without the project."""


class KnownRows:
    """What one view has read."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self.rows: dict[Place, Noun | None] = {}
        """Rows by their places; None: there is none."""
        self._answers: dict[tuple[Any, ...], Any] = {}
        self._writes: dict[type[Noun], int] = {}

    def keep(self, place: Place, row: Noun | None) -> None:
        """Know a row, or that there is none."""
        if len(self.rows) >= MOST_ROWS:
            self.rows.clear()
        self.rows[place] = row

    def answer(self, noun: type[Noun], text: str, bound: tuple[Any, ...]) -> Any:
        """Return what a statement about a noun answered; None if that is not known."""
        return self._answers.get((text, bound, self._writes.get(noun)))

    def keep_answer(
        self,
        noun: type[Noun],
        text: str,
        bound: tuple[Any, ...],
        answer: Any,
        rows: Collection[Sequence[Any]] = (),
    ) -> None:
        """Know what a statement answered. rows: as the database gave them."""
        if len(rows) > MOST_IN_ONE or any(None in row for row in rows):
            return
        if len(self._answers) >= MOST_ANSWERS:
            del self._answers[next(iter(self._answers))]
        self._answers[text, bound, self._writes.get(noun)] = answer

    def forget(self, noun: type[Noun], key: tuple[Cell, ...]) -> Noun | None:
        """Forget a row that is about to be written, and answers of its noun; return what was known of it."""
        if noun is Staging:
            self.clear()
        self._writes[noun] = self._writes.get(noun, 0) + 1
        return self.rows.pop((noun, key), None)

    def revise(self, place: Place, row: Noun, cells: Mapping[str, Any]) -> None:
        """Know a row as it was before some columns were set."""
        # The number tells whether a plan under way has it; of a text only the commitment is told.
        if cells.keys().isdisjoint(("number", *prose_columns(place[0]))):
            self.keep(place, revised(row, cells))

    def clear(self) -> None:
        """Know nothing any more."""
        self.rows.clear()
        self._answers.clear()
