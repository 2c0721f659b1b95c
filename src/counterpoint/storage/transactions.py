"""One project's rows inside one transaction: the port's Reading and Writing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import apsw

from counterpoint.core.model.catalogue import NOUNS
from counterpoint.core.model.rows import Cell, N, Noun, cell_of, noun_of
from counterpoint.core.model.work import Item
from counterpoint.core.ports.store import Append, Filter, Head, Hit
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import StateDiffers
from counterpoint.storage import ledger, search, statements

_TEXT = "SELECT body FROM texts WHERE project = ? AND sha256 = ?"
_TEXTS = "SELECT sha256, body FROM texts WHERE project = ? ORDER BY sha256"
_KEEP = (
    "INSERT INTO texts (project, sha256, body) VALUES (?, ?, ?)"
    " ON CONFLICT (project, sha256) DO NOTHING"
)
_FORGET = "DELETE FROM texts WHERE project = ? AND sha256 = ?"


class SqliteReading:
    """A consistent view of one project."""

    def __init__(self, connection: apsw.Connection, project: str) -> None:
        """Bind a connection inside a transaction to a project."""
        self._connection = connection
        self._project = project

    @property
    def project(self) -> str:
        """The project every answer is of."""
        return self._project

    def find(self, noun: type[N], *key: Cell) -> N | None:
        """Return the row with this key (without the project), or None."""
        if len(key) != len(statements.row_key(noun)):
            raise AssertionError(f"the key of {noun.table} is {statements.row_key(noun)}")
        row = self._connection.execute(statements.find(noun), (self._project, *key)).fetchone()
        return None if row is None else noun_of(noun, row)

    def select(
        self,
        noun: type[N],
        *,
        order: str = "",
        after: Sequence[Cell] = (),
        limit: int | None = None,
        **equal: Filter,
    ) -> list[N]:
        """Return the rows whose columns equal the filters, in order, beyond `after`."""
        shape, values = statements.shaped(equal)
        text = statements.select(noun, shape, order, after=bool(after))
        if after:
            values += statements.after_values(noun, order, after)
        bound = (self._project, *values, -1 if limit is None else limit)
        return [noun_of(noun, row) for row in self._connection.execute(text, bound)]

    def exists(self, noun: type[Noun], **equal: Filter) -> bool:
        """Return whether there is such a row."""
        shape, values = statements.shaped(equal)
        text = statements.exists(noun, shape)
        return self._connection.execute(text, (self._project, *values)).fetchone() is not None

    def counts(self, noun: type[Noun], column: str, **equal: Filter) -> dict[str, int]:
        """Return how many rows there are for each value of a column."""
        shape, values = statements.shaped(equal)
        text = statements.counts(noun, column, shape)
        rows = self._connection.execute(text, (self._project, *values))
        return {str(value): many for value, many in rows}

    def last_number(self, noun: type[Noun]) -> int:
        """Return the highest `number` of a noun's rows; 0 if there is none."""
        text = statements.last_number(noun)
        return int(self._connection.execute(text, (self._project,)).get)

    def ready(
        self, kind: str, *, after: tuple[int, int] | None, root: str, limit: int
    ) -> list[Item]:
        """Return open items of a kind with nothing in the way, by priority and number."""
        below: dict[str, Filter] = {"root": root} if root else {}
        return self.select(
            Item,
            order="priority,number",
            after=after or (),
            limit=limit,
            kind=kind,
            category="open",
            blockers=0,
            **below,
        )

    def search(
        self,
        words: Sequence[str],
        *,
        kinds: Sequence[str] = (),
        item: str = "",
        begun: bool = False,
        limit: int = 20,
        offset: int = 0,
    ) -> list[Hit]:
        """Return rows whose title or text has any of the words, best first."""
        return search.hits(
            self._connection,
            self._project,
            words,
            kinds=kinds,
            item=item,
            begun=begun,
            limit=limit,
            offset=offset,
        )

    def stems(self, words: Sequence[str]) -> list[str]:
        """Return what the search keeps of each word."""
        return search.stems(self._connection, words)

    def text(self, digest: str) -> str | None:
        """Return the text of a digest; None if it was redacted."""
        row = self._connection.execute(_TEXT, (self._project, digest)).fetchone()
        return None if row is None else row[0]

    def texts(self) -> Iterator[tuple[str, str]]:
        """Return every text that is kept, with its digest, by digest."""
        yield from self._connection.execute(_TEXTS, (self._project,))

    def head(self) -> Head:
        """Return the end of the ledger."""
        return ledger.head(self._connection, self._project)

    def entries(self, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """Return the bytes of entries in order, from start and before stop."""
        return ledger.entries(self._connection, self._project, start, stop)

    def sequences(
        self,
        *,
        subject: str = "",
        action: str = "",
        before: int | None = None,
        after: int | None = None,
        limit: int = 50,
    ) -> list[int]:
        """Return the sequence numbers of matching entries: latest first, or with `after` onward."""
        text, values = statements.sequences(
            self._project, subject=subject, action=action, before=before, after=after, limit=limit
        )
        return [row[0] for row in self._connection.execute(text, values)]

    def node(self, level: int, index: int) -> bytes:
        """Return the hash of a complete subtree; LedgerBroken if it is not there."""
        return ledger.node(self._connection, self._project, level, index)

    def table(self, noun: type[Noun]) -> Iterator[tuple[Cell, ...]]:
        """Return the raw rows of a table by key, digests in place of prose."""
        yield from self._connection.execute(statements.table(noun), (self._project,))

    def meter(self, subject: str, measure: str) -> int:
        """Return how much of a measure a subject has used; 0 if nothing."""
        bound = (self._project, subject, measure)
        row = self._connection.execute(statements.METER, bound).fetchone()
        return 0 if row is None else int(row[0])

    def measures(self, subject: str) -> list[str]:
        """Return every measure of which a subject has used anything, in order."""
        rows = self._connection.execute(statements.MEASURES, (self._project, subject))
        return [row[0] for row in rows]


class SqliteWriting(SqliteReading):
    """One transaction of one project."""

    def __init__(self, connection: apsw.Connection, project: str) -> None:
        """Bind a connection inside a write transaction to a project."""
        super().__init__(connection, project)
        self._stale: dict[tuple[type[Noun], tuple[Cell, ...]], None] = {}

    def put(self, noun: type[Noun], row: Mapping[str, Json]) -> None:
        """Insert or replace a whole row image."""
        wanted = statements.names(noun)
        statements.check(noun, row)
        cells = {name: cell_of(row[name]) for name in wanted}
        self._check_project(cells["project"])
        key = tuple(cells[name] for name in statements.row_key(noun))
        if noun.searched:
            self._stale[noun, key] = None
        self._connection.execute(statements.put(noun), tuple(cells.values()))

    def change(self, noun: type[Noun], key: Mapping[str, Json], row: Mapping[str, Json]) -> None:
        """Set some columns of the row with this key; StateDiffers if there is none."""
        place = self._place(noun, key)
        cells = {name: cell_of(value) for name, value in row.items()}
        if not cells:
            return
        if not cells.keys().isdisjoint(noun.key):
            raise AssertionError(f"the key of a row of {noun.table} is never changed")
        text = statements.change(noun, tuple(cells))
        self._watch(noun, place, cells)
        self._connection.execute(text, (*cells.values(), self._project, *place))
        self._check_met(noun, place)

    def drop(self, noun: type[Noun], key: Mapping[str, Json]) -> None:
        """Delete the row with this key; StateDiffers if there is none."""
        place = self._place(noun, key)
        self._connection.execute(statements.drop(noun), (self._project, *place))
        self._check_met(noun, place)
        if noun.searched:
            self._stale[noun, place] = None

    def keep(self, texts: Mapping[str, str]) -> None:
        """Keep texts under their digests; those that are there already stay."""
        for digest, body in texts.items():
            self._connection.execute(_KEEP, (self._project, digest, body))

    def forget(self, digest: str) -> None:
        """Redact a text: its row goes, and the search no longer finds what it said."""
        for noun in NOUNS:
            if not noun.searched:
                continue
            rows = self._connection.execute(search.holders(noun), (self._project, digest))
            for key in rows.fetchall():
                self._stale[noun, cast("tuple[Cell, ...]", key)] = None
        self._connection.execute(_FORGET, (self._project, digest))

    def append(self, entry: Append) -> None:
        """Append an entry to the ledger; LedgerBroken unless the sequence is the next."""
        ledger.append(self._connection, self._project, entry)

    def use(self, subject: str, measure: str, used: int) -> None:
        """Set how much of a measure a subject has used."""
        self._connection.execute(statements.USE, (self._project, subject, measure, used))

    def search(
        self,
        words: Sequence[str],
        *,
        kinds: Sequence[str] = (),
        item: str = "",
        begun: bool = False,
        limit: int = 20,
        offset: int = 0,
    ) -> list[Hit]:
        """Return rows whose title or text has any of the words, this transaction's among them."""
        self.finish()
        return super().search(
            words, kinds=kinds, item=item, begun=begun, limit=limit, offset=offset
        )

    def finish(self) -> None:
        """Bring the search in step with the rows of this transaction."""
        for noun, key in self._stale:
            search.index(self._connection, self._project, noun, key)
        self._stale.clear()

    def _watch(self, noun: type[Noun], key: tuple[Cell, ...], cells: Mapping[str, Cell]) -> None:
        """Note a row to be indexed again if a searched column is about to change."""
        watched = search.watched(noun)
        if not watched or cells.keys().isdisjoint(watched):
            return
        bound = (self._project, *key)
        row = self._connection.execute(search.watched_row(noun), bound).fetchone()
        if row is not None and any(
            cells.get(name, old) != old for name, old in zip(watched, row, strict=True)
        ):
            self._stale[noun, key] = None

    def _place(self, noun: type[Noun], key: Mapping[str, Json]) -> tuple[Cell, ...]:
        """Return the cells of a key, which may name the project but no other one."""
        wanted = statements.row_key(noun)
        if set(key) - {"project"} != set(wanted):
            raise AssertionError(f"the key of {noun.table} is {wanted}, not {tuple(key)}")
        self._check_project(key.get("project", self._project))
        return tuple(cell_of(key[name]) for name in wanted)

    def _check_project(self, named: Json) -> None:
        if named != self._project:
            raise AssertionError(f"a row of {named!r} in a transaction of {self._project!r}")

    def _check_met(self, noun: type[Noun], place: tuple[Cell, ...]) -> None:
        if not self._connection.changes():
            raise StateDiffers(f"{noun.table} has no row {place} in {self._project!r}")
