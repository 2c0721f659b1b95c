"""Rows and answers that a view has read, so that it does not read them again.

Rules: (1) what a view of one moment has read stays so until it ends. A writing tells what it writes: answers of that noun are
forgotten, and a row too, unless all that became of it is told. (2) That a row is not there is known as well. (3) What lacks a text is
not known, since the text may be kept anew. (4) Whether a plan is under way bears on all answers. (5) Known are the last answers of
few rows each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from counterpoint.core.model.rows import Cell, Noun, prose_columns, replace_cells
from counterpoint.core.model.work import Staging

MOST_ROWS: Final = 256
"""How many rows are known: more than a project, and a session for each of many agents."""
MOST_ANSWERS: Final = 256
MOST_IN_ONE: Final = 8
"""Rows of an answer that is known."""
Place = tuple[type[Noun], tuple[Cell, ...]]
"""A row of a project: its noun, and its key without the project."""
MOST_FETCHED: Final = 64
"""Rows of an answer of several selects at once that are known one by one too."""
MOST_AHEAD: Final = 4_000
"""Rows that were read ahead after which all answers are forgotten: whoever reads page after page keeps no page."""
Question = tuple[str, tuple[Any, ...], int | None]
"""A statement, its values, and how often rows of its noun were written before."""


class KnownRows:
    """What one view has read."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self.rows: dict[Place, Noun | None] = {}
        """Rows by their places; None: there is none."""
        self.answers: dict[Question, Any] = {}
        self._ahead = 0
        self.writes: dict[type[Noun], int] = {}
        """How often rows of a noun were written: what was answered before is another question."""

    def keep(self, row_id: Place, row: Noun | None) -> None:
        """Know a row, or that there is none."""
        if len(self.rows) >= MOST_ROWS:
            self.rows.clear()
        self.rows[row_id] = row

    def keep_answer(
        self, question: Question, answer: bool | list[Any], rows: Sequence[Sequence[Any]] = ()
    ) -> None:
        """Know what a statement answered; of rows, if they are few. rows: as they are kept; None: a text that is not there."""
        if len(rows) > MOST_IN_ONE or any(None in row for row in rows):
            return
        if len(self.answers) >= MOST_ANSWERS:
            del self.answers[next(iter(self.answers))]
        self.answers[question] = answer

    def keep_ahead(self, question: Question, answer: bool | list[Any]) -> None:
        """Know an answer that is about to be asked for, of however many rows."""
        self._ahead += 1 if isinstance(answer, bool) else len(answer)
        if self._ahead > MOST_AHEAD:
            self._ahead = 0
            self.answers.clear()
        self.answers[question] = answer

    def forget(self, noun: type[Noun], key: tuple[Cell, ...]) -> Noun | None:
        """Forget a row that is about to be written, and answers of its noun; return what was known of it."""
        if noun is Staging:
            self.clear()
        self.writes[noun] = self.writes.get(noun, 0) + 1
        return self.rows.pop((noun, key), None)

    def revise(self, row_id: Place, row: Noun | None, cells: Mapping[str, Any]) -> None:
        """Know a row with some columns set. row: as it was known before; None: it was not."""
        # The number tells whether a plan under way has it; of a text only the commitment is told.
        if row is not None and cells.keys().isdisjoint(("number", *prose_columns(row_id[0]))):
            self.keep(row_id, replace_cells(row, cells))

    def clear(self) -> None:
        """Know nothing any more."""
        self.rows.clear()
        self.answers.clear()
