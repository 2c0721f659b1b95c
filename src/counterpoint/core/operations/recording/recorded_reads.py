"""A store that writes down what its caller was given: the one place where reads are recorded.

Rule 1: every core of a caller has such a store while reads are recorded, and every verb reads through it, in views and in transactions;
so there is no entrance beside it. Rule 2: what counts is a row that has a text (a noun with prose), a hit of the search, and a text
itself; looks at numbers and states alone do not. So a record names at least what was shown, and may name what was only looked at.
Rule 3: it is written before the answer leaves, also when the call is refused. Rule 4: what one call reads twice is written once.
Rule 5: whether it is recorded says the project whose texts are read, whichever the caller works in.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol, TypeVar, cast

from counterpoint.core.model.access import Actor
from counterpoint.core.model.rows import Noun, prose_columns
from counterpoint.core.model.work import Attribute, Project
from counterpoint.core.ports.reads import ReadLog
from counterpoint.core.ports.store import Hit, Reading, Store, Writing
from counterpoint.kernel.entrances import ENTRANCE

N = TypeVar("N", bound=Noun)
V = TypeVar("V", bound=Reading)


class ReadLogs(Protocol):
    """Answers the record that reads of a project go to. view: one of that project, open."""

    def __call__(self, project: str, view: Reading) -> ReadLog | None:
        """Return the record; None while the project keeps none. Unavailable where it must be kept and cannot be."""
        ...


class RecordedStore:
    """The store of one call while reads of any project of the database are recorded."""

    def __init__(self, store: Store, actor: Actor, logs: ReadLogs, unrecorded: str = "") -> None:
        """Record what is read of a store by somebody. unrecorded: a project that keeps no record."""
        self._store, self._actor, self._logs, self._unrecorded = store, actor, logs, unrecorded
        self._told: set[tuple[str, str]] = set()
        self._told_all: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        """Answer what reads no rows as the store does."""
        return getattr(self._store, name)

    def reading(self, project: str) -> AbstractContextManager[Reading]:
        """Open a consistent view of a project; Unavailable where its reads must be recorded and cannot be."""
        opened = self._store.reading(project)
        return opened if project == self._unrecorded else self._recorded(project, opened)

    def writing(self, project: str) -> AbstractContextManager[Writing]:
        """Open a transaction: all of it lands durably, or nothing; Unavailable as above."""
        opened = self._store.writing(project)
        return opened if project == self._unrecorded else self._recorded(project, opened)

    @contextmanager
    def _recorded(self, project: str, opened: AbstractContextManager[V]) -> Generator[V]:
        with opened as view:
            recorded = RecordedView(view)
            try:
                yield cast("V", recorded)
            finally:
                # While a transaction is open, so that nothing lands whose reads are not recorded.
                self._tell(project, recorded, view)

    def _tell(self, project: str, recorded: RecordedView, view: Reading) -> None:
        subjects = {name for name in recorded.subjects if (project, name) not in self._told}
        is_all = recorded.is_all and project not in self._told_all
        if not subjects and not is_all:
            return
        log = self._logs(project, view)
        if log is None:
            return
        log.append(self._actor, ENTRANCE.get() or "stream", subjects, is_all=is_all)
        self._told.update((project, name) for name in subjects)
        if is_all:
            self._told_all.add(project)


class RecordedView:
    """A view, or a transaction, that remembers which texts it gave."""

    def __init__(self, view: Reading) -> None:
        """Begin with nothing given. subjects: ids of what was; is_all: whether that was the ledger as a whole."""
        self._view = view
        self.subjects: set[str] = set()
        self.is_all = False

    def __getattr__(self, name: str) -> Any:
        """Answer what gives no text as the view does."""
        return getattr(self._view, name)

    def find(self, noun: type[N], *key: Any) -> N | None:
        """Return the row with this key, or None."""
        row = self._view.find(noun, *key)
        if row is not None:
            self._give(noun, (row,))
        return row

    def select(self, noun: type[N], **asked: Any) -> list[N]:
        """Return the rows whose columns equal the filters."""
        rows = self._view.select(noun, **asked)
        self._give(noun, rows)
        return rows

    def search(self, *asked: Any, **named: Any) -> list[Hit]:
        """Return rows whose title or text has any of the words."""
        return self._hits(self._view.search(*asked, **named))

    def nearest(self, *asked: Any, **named: Any) -> list[Hit]:
        """Return the rows whose vectors of a model are nearest to one."""
        return self._hits(self._view.nearest(*asked, **named))

    def text(self, commitment: str) -> str | None:
        """Return the text of a commitment."""
        self.subjects.add(f"text {commitment}")
        return self._view.text(commitment)

    def salted(self, commitment: str) -> Any:
        """Return the text of a commitment with its salt."""
        self.subjects.add(f"text {commitment}")
        return self._view.salted(commitment)

    def texts(self) -> Iterator[Any]:
        """Return every text that is kept."""
        self.is_all = True
        return self._view.texts()

    def table(self, noun: type[Noun]) -> Iterator[Any]:
        """Return the raw rows of a table."""
        self.is_all = True
        return self._view.table(noun)

    def kept(self) -> Iterator[Any]:
        """Return every entry in order."""
        self.is_all = True
        return self._view.kept()

    def entries(self, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """Return the bytes of entries in order."""
        if stop is None:
            self.is_all = True
        else:
            self.subjects.add(f"entries {start}-{stop - 1}")
        return self._view.entries(start, stop)

    def _hits(self, hits: list[Hit]) -> list[Hit]:
        for hit in hits:
            has_id = self._view.tables[hit.table].key == ("project", "id")
            self.subjects.update(filter(None, (hit.item, hit.key if has_id else hit.table)))
        return hits

    def _give(self, noun: type[Noun], rows: Iterable[Noun]) -> None:
        if noun is Project or not prose_columns(noun):
            return
        for row in rows:
            self.subjects.update(_ids_of(noun, row))


def _ids_of(noun: type[Noun], row: Noun) -> list[str]:
    """Return by which ids what a row says is found: its own, or its table, and the item or session that it is about.

    Other keys are left out: they may be words of somebody, such as an idempotency key.
    """
    values = (getattr(row, name, "") for name in ("item", "session", "id"))
    names = [value for value in values if isinstance(value, str) and value]
    if noun is Attribute and not names:
        # A setting of the project, and no text of anybody.
        return []
    return names if getattr(row, "id", "") else [*names, noun.table]
