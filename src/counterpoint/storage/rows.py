"""Rows of one project inside one transaction, the same on every database.

What a database does in its own way, its `Link` does: how a statement runs, the ledger, the search.
Rules of writing: (1) a row that is put whole is indexed; one of which columns are changed is indexed
again only if a searched one became another. (2) Indexing waits for the end of the transaction, or for
its first search, so rows and texts may come in any order, and what several writers wrote is indexed at once. (3) What was read is not
read again (known/rows.py). A writing remembers the end of the ledger and the highest numbers too, as a reading inside of it would
answer them: what is written is followed, or forgotten. So it may serve the next transaction too, if nobody else wrote. (4) What
a plan under way has put is found by nobody (statements.py); a writing hides the items alone, so that no two of them get one name.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, cast

from counterpoint.core.ledger.entry import is_digest
from counterpoint.core.model.presence import Presence, ProcessMark, ServerBeat
from counterpoint.core.model.rows import Cell, N, Noun, cell_of, cells_of, noun_of, prose_columns
from counterpoint.core.model.trust.heads import MovedAway
from counterpoint.core.model.trust.writers import WriterSignature
from counterpoint.core.model.work import Item, Staging
from counterpoint.core.ports.store import (
    Append,
    Filter,
    Head,
    HeldArea,
    Hit,
    Kept,
    Names,
    Patch,
    Query,
    Salted,
)
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import LedgerBroken, StateDiffers, StoreCorrupt
from counterpoint.storage import statements
from counterpoint.storage.digests import HALF, decode_rows, from_blob, no_digest, to_blob
from counterpoint.storage.known.rows import MOST_FETCHED, KnownRows, Place, Question
from counterpoint.storage.link import Answer, Link, Row
from counterpoint.storage.search import (
    Document,
    Narrowed,
    document,
    document_of,
    holders,
    watched,
    watched_row,
)
from counterpoint.storage.statements import Selected
from counterpoint.storage.vectors import VectorReading, VectorWriting

Tables = Mapping[str, type[Noun]]
"""The nouns that a database was opened with, by their tables."""

PAGE: Final = 1000
"""How many rows are read at once where all are wanted."""
MOST_TOGETHER: Final = 15
"""Questions of one statement: apsw prepares a longer one anew each time."""
_ALL: Final = 2**62


class StoreReading(VectorReading):
    """A consistent view of one project."""

    def __init__(self, link: Link, tables: Tables) -> None:
        """Read by a transaction that is bound to a project."""
        self._link = link
        self.project = link.project
        """The project every answer is of."""
        self.tables = tables
        """Every noun that has a table here, by its table, in an order in which rows can be written."""
        # Where no plan can be under way there is no table to ask.
        self._hides: Collection[type[Noun]] = statements.VEILED if Staging.table in tables else ()
        self._veiled = self._hides
        self._known = KnownRows()

    @contextmanager
    def unveiled(self) -> Generator[None]:
        """Find what is of plans under way too during the block."""
        before, self._veiled = self._veiled, ()
        try:
            yield
        finally:
            self._veiled = before

    def find(self, noun: type[N], *key: Cell) -> N | None:
        """Return the row with this key (without the project), or None."""
        # What only a block without a veil sees, no other may see after it.
        row_id, is_kept = (noun, key), bool(self._veiled) or noun not in self._hides
        if is_kept and row_id in self._known.rows:
            return cast("N | None", self._known.rows[row_id])
        row = self._row(noun, key)
        entity = None if row is None else noun_of(noun, row)
        if is_kept and (row is None or None not in row):
            self._known.keep(row_id, entity)
        return entity

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
        shape, values = statements.shaped(noun, equal)
        veiled, is_page = noun in self._veiled, limit is not None
        text = statements.selected(noun, shape, order, bool(after), is_page, veiled).text
        if after:
            values += statements.after_values(noun, order, after)
        bound = (self.project, *values, _ALL if limit is None else limit)
        question = text, bound, self._known.writes.get(noun)
        answer = self._known.answers.get(question)
        if answer is None:
            rows = self._link.execute(*question[:2]).fetchall()
            answer = [noun_of(noun, row) for row in rows]
            self._known.keep_answer(question, answer, rows)
        return list(answer)

    def fetch(self, queries: Iterable[Query[Any]]) -> None:
        """Read what several queries ask in one statement, and know it from then on."""
        parts: dict[Question, Selected] = {}
        for noun, equal, order, after, limit, is_exists in queries:
            shape, values = statements.shaped(noun, equal)
            is_page, veiled = limit is not None, noun in self._veiled
            part = statements.selected(noun, shape, order, bool(after), is_page, veiled, is_exists)
            if after:
                values += statements.after_values(noun, order, after)
            if not is_exists:
                values.append(_ALL if limit is None else limit)
            question = part.text, (self.project, *values), self._known.writes.get(noun)
            if question not in self._known.answers:
                parts[question] = part
        questions = list(parts.items())
        for start in range(0, len(questions), MOST_TOGETHER):
            some = questions[start : start + MOST_TOGETHER]
            # One by itself is asked when it is needed, if it is.
            if len(some) > 1:
                self._fetch_together(some)

    def _fetch_together(self, questions: Sequence[tuple[Question, Selected]]) -> None:
        text, readers = statements.union(tuple([part for _, part in questions]))
        values = [value for question, _ in questions for value in question[1]]
        rows = [list[Row]() for _ in questions]
        for row in self._link.execute(text, values).fetchall():
            index: int = row[0]
            rows[index].append(readers[index](row))
        for (question, part), some in zip(questions, rows, strict=True):
            if part.is_exists:
                self._known.keep_ahead(question, bool(some))
                continue
            entities = [noun_of(part.noun, row) for row in some]
            self._known.keep_ahead(question, entities)
            if len(entities) <= MOST_FETCHED and (self._veiled or part.noun not in self._hides):
                self._keep_rows(part, question[1], entities)

    def _keep_rows(self, part: Selected, bound: Sequence[Any], entities: Sequence[Noun]) -> None:
        key = statements.row_key(part.noun)
        for entity in entities:
            self._known.keep((part.noun, tuple([getattr(entity, name) for name in key])), entity)
        if not entities and dict(part.shape) == dict.fromkeys(key, -1):
            cells_by_name = dict(zip(sorted(key), bound[1:], strict=False))
            self._known.keep((part.noun, tuple([cells_by_name[name] for name in key])), None)

    def cells(self, noun: type[Noun], read: Names, **equal: Filter) -> list[tuple[Any, ...]]:
        """Return some columns, none of prose, of the rows whose columns equal the filters, by key."""
        shape, values = statements.shaped(noun, equal)
        text = statements.cells(noun, read, shape, veiled=noun in self._veiled)
        return self._link.execute(text, (self.project, *values)).fetchall()

    def exists(self, noun: type[Noun], **equal: Filter) -> bool:
        """Return whether there is such a row."""
        shape, values = statements.shaped(noun, equal)
        veiled = noun in self._veiled
        text = statements.selected(noun, shape, veiled=veiled, is_exists=True).text
        question = text, (self.project, *values), self._known.writes.get(noun)
        answer = self._known.answers.get(question)
        if answer is None:
            answer = self._link.execute(*question[:2]).fetchone() is not None
            self._known.keep_answer(question, answer)
        return answer

    def counts(self, noun: type[Noun], column: str, **equal: Filter) -> dict[str, int]:
        """Return how many rows there are for each value of a column."""
        return {str(value): many for value, many in self._counts(noun, (column,), equal)}

    def counts_by(
        self, noun: type[Noun], columns: tuple[str, str], **equal: Filter
    ) -> dict[tuple[str, str], int]:
        """Return how many rows there are for each pair of values of two columns."""
        return {(str(a), str(b)): many for a, b, many in self._counts(noun, columns, equal)}

    def _counts(
        self, noun: type[Noun], columns: Sequence[str], equal: Mapping[str, Filter]
    ) -> Answer:
        shape, values = statements.shaped(noun, equal)
        text = statements.counts(noun, columns, shape, veiled=noun in self._veiled)
        return self._link.execute(text, (self.project, *values))

    def last_number(self, noun: type[Noun]) -> int:
        """Return the highest `number` of a noun's rows; 0 if there is none."""
        queries = [statements.last_number(noun)]
        if noun is Item and Staging.table in self.tables:
            queries.append(statements.RESERVED)
        rows = (self._link.execute(text, (self.project,)).fetchone() for text in queries)
        return max(int(row[0]) if row else 0 for row in rows)

    def held_areas(self, tree: str, since: Timestamp, but_session: str) -> list[HeldArea]:
        """Return the areas that other sessions held from a working tree at any time since, by item."""
        values = (self.project, tree, but_session, since, since, since)
        return [HeldArea(*row) for row in self._link.execute(statements.HELD_AREAS, values)]

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
        hides = self._veiled and self._link.execute(statements.HIDES, (self.project,)).fetchone()
        narrowed = Narrowed(tuple(kinds), item, begun, limit, offset, bool(hides))
        return self._link.hits(words, narrowed)

    def stems(self, words: Sequence[str]) -> list[str]:
        """Return what the search keeps of each word."""
        return self._link.stems(words)

    def text(self, commitment: str) -> str | None:
        """Return the text of a commitment; None if it was redacted."""
        salted = self.salted(commitment)
        return None if salted is None else salted.body

    def salted(self, commitment: str) -> Salted | None:
        """Return the text of a commitment with its salt; None if it was redacted."""
        if not is_digest(commitment):  # a cell that somebody changed may say anything
            return None
        key = self.project, to_blob(commitment[HALF])
        row = self._link.execute(statements.TEXT, key).fetchone()
        return None if row is None else Salted(*row)

    def texts(self) -> Iterator[tuple[str, Salted]]:
        """Return every text that is kept, by the first half of its commitment, and with that."""
        last = b""
        while page := self._link.execute(statements.TEXTS, (self.project, last, PAGE)).fetchall():
            begin = last
            for last, salt, body in page:
                yield from_blob(last), Salted(salt, body)
            if last <= begin:
                raise StoreCorrupt("the texts are not in the order of their commitments")

    def signatures(self) -> Iterator[WriterSignature]:
        """Return what writers signed, by the places of the first entries."""
        last = -1
        bound = self.project
        while page := self._link.execute(statements.SIGNATURES, (bound, last, PAGE)).fetchall():
            for writer, last, delegation, note in page:
                yield WriterSignature(writer=writer, first=last, delegation=delegation, note=note)

    def moved(self) -> MovedAway | None:
        """Return where the ledger was moved to; None if it is here."""
        row = self._link.execute(statements.MOVED, (self.project,)).fetchone()
        return MovedAway(place=row[0], time=row[1]) if row else None

    def head(self) -> Head:
        """Return the end of the ledger."""
        return self._link.head()

    def entries(self, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """Return the bytes of entries in order, from start and before stop."""
        return self._link.entries(start, stop)

    def kept(self) -> Iterator[Kept]:
        """Return every entry in order, with what stands beside its bytes."""
        return self._link.kept()

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
            self.project, subject=subject, action=action, before=before, after=after, limit=limit
        )
        return [row[0] for row in self._link.execute(text, values)]

    def node(self, level: int, index: int) -> bytes:
        """Return the hash of a complete subtree; LedgerBroken if it is not there."""
        for digest in self._link.nodes(level, index, index + 1):
            return digest
        raise LedgerBroken(f"the ledger of {self.project!r} has no hash {index} at level {level}")

    def nodes(self, level: int, start: int, stop: int) -> list[bytes]:
        """Return the hashes of a level from start and before stop, those that are there."""
        return self._link.nodes(level, start, stop)

    def table(self, noun: type[Noun]) -> Iterator[tuple[Cell, ...]]:
        """Return the raw rows of a table by key, the first halves of commitments in place of prose."""
        positions = [statements.names(noun).index(name) for name in statements.row_key(noun)]
        text, beyond = statements.table(noun, after=False), cast("tuple[Any, ...]", ())
        while page := self._link.execute(text, (self.project, *beyond, PAGE)).fetchall():
            yield from decode_rows(noun, page)
            if len(page) < PAGE or not positions:
                return
            text = statements.table(noun, after=True)
            last = tuple(page[-1][position] for position in positions)
            # Rows in another order than that of their keys would come again and again.
            if beyond and last <= beyond:
                raise StoreCorrupt(f"the rows of {noun.table} are not in the order of their keys")
            beyond = last

    def meter(self, subject: str, measure: str) -> int:
        """Return how much of a measure a subject has used; 0 if nothing."""
        row = self._link.execute(statements.METER, (self.project, subject, measure)).fetchone()
        return 0 if row is None else int(row[0])

    def presences(self, seats: Sequence[str]) -> list[Presence]:
        """Return what servers wrote of the connections that came with some sessions."""
        presences: list[Presence] = []
        for start in range(0, len(seats), PAGE):
            some = tuple(seats[start : start + PAGE])
            # A power of two, so that few statements are prepared whatever is asked.
            many = 1 << (len(some) - 1).bit_length()
            values = (self.project, *some, *some[-1:] * (many - len(some)))
            rows = self._link.execute(statements.presences(many), values).fetchall()
            presences += (_presence_of(row) for row in rows)
        return presences

    def measures(self, subject: str) -> list[str]:
        """Return every measure of which a subject has used anything, in order."""
        return [row[0] for row in self._link.execute(statements.MEASURES, (self.project, subject))]

    def _row(self, noun: type[Noun], key: tuple[Cell, ...]) -> Row | None:
        if len(key) != len(statements.row_key(noun)):
            raise AssertionError(f"the key of {noun.table} is {statements.row_key(noun)}")
        text = statements.find(noun, veiled=noun in self._veiled)
        return self._link.execute(text, (self.project, *key)).fetchone()


class StoreWriting(StoreReading, VectorWriting):
    """One transaction of one project."""

    def __init__(
        self, link: Link, tables: Tables, head: Head | None = None, *, searched: bool = True
    ) -> None:
        """Write in a transaction that is bound to a project.

        head: the end of the ledger, if known. searched: whether anybody will search what is written.
        """
        super().__init__(link, tables)
        self._hides = self._veiled = (Item,) if self._hides else ()
        self._searched = searched
        self._head = head
        self._numbers: dict[type[Noun], int] = {}
        self._texts: dict[str, str] = {}
        self._stale: dict[Place, Mapping[str, Cell] | None] = {}
        """Rows to be indexed at the end: as they were put, or None to be read again."""

    def last_number(self, noun: type[Noun]) -> int:
        """Return the highest `number` of a noun's rows; 0 if there is none."""
        if noun not in self._numbers:
            self._numbers[noun] = super().last_number(noun)
        return self._numbers[noun]

    def head(self) -> Head:
        """Return the end of the ledger."""
        if self._head is None:
            self._head = self._link.head()
        return self._head

    def fetch(self, queries: Iterable[Query[Any]]) -> None:
        """Do nothing: what is read here may be written before it is read again."""

    def put(self, noun: type[Noun], row: Mapping[str, Json]) -> None:
        """Insert or replace a whole row image."""
        cells = cells_of(noun, row)
        if len(row) > len(cells):
            statements.check(noun, row)
        if cells["project"] != self.project:
            raise self._wrong_project(cells["project"])
        try:
            digests = {name: to_blob(row[name][HALF]) for name in prose_columns(noun)}
        except (TypeError, ValueError):
            raise no_digest(noun) from None
        row_id = noun, tuple(cells[name] for name in statements.row_key(noun))
        self._known.forget(*row_id)
        if noun in self._numbers:
            self._numbers[noun] = max(self._numbers[noun], row["number"])
        if noun is Staging:
            self._numbers.pop(Item, None)
        if noun.searched and self._searched:
            self._stale[row_id] = cells
        self._link.execute(statements.put(noun), tuple({**cells, **digests}.values()))

    def change(self, noun: type[Noun], key: Mapping[str, Json], row: Mapping[str, Json]) -> None:
        """Set some columns of the row with this key; StateDiffers if there is none."""
        key_cells = self._key_cells(noun, key)
        cells: dict[str, Any] = {name: cell_of(value) for name, value in row.items()}
        if not cells:
            return
        try:
            cells |= {
                name: to_blob(cells[name][HALF]) for name in prose_columns(noun) if name in cells
            }
        except (TypeError, ValueError):
            raise no_digest(noun) from None
        if not cells.keys().isdisjoint(noun.key):
            raise AssertionError(f"the key of a row of {noun.table} is never changed")
        text = statements.change(noun, tuple(cells))
        self._watch(noun, key_cells, cells)
        previous = self._forget(noun, key_cells)
        self._change_row(noun, key_cells, text, (*cells.values(), self.project, *key_cells))
        self._known.revise((noun, key_cells), previous, cells)

    def change_each(self, noun: type[Noun], written: Names, rows: Sequence[Patch]) -> None:
        """Set the same columns of many rows; StateDiffers if one is not there."""
        if not {*noun.key, *prose_columns(noun), *watched(noun)}.isdisjoint(written):
            raise AssertionError(f"not all of {written} of {noun.table} are changed row by row")
        for row in rows:
            self._forget(noun, row.key)
        values = [(*row.values, self.project, *row.key) for row in rows]
        if self._link.execute_each(statements.change(noun, written), values) != len(rows):
            raise StateDiffers(f"{noun.table} has not all of {len(rows)} rows in {self.project!r}")

    def drop(self, noun: type[Noun], key: Mapping[str, Json]) -> None:
        """Delete the row with this key; StateDiffers if there is none."""
        key_cells = self._key_cells(noun, key)
        self._forget(noun, key_cells)
        self._change_row(noun, key_cells, statements.drop(noun), (self.project, *key_cells))
        if noun.searched and self._searched:
            self._stale[noun, key_cells] = None

    def keep(self, texts: Mapping[str, Salted]) -> None:
        """Keep texts under their commitments; those that are there already stay."""
        if texts:
            values: list[Any] = []
            for commitment, (salt, body) in texts.items():
                self._texts[commitment] = body
                values += (self.project, to_blob(commitment[HALF]), salt, body)
            self._link.execute(statements.keep(len(texts)), values)

    def forget(self, commitments: Collection[str]) -> None:
        """Redact texts: their rows and salts go, and the search no longer finds what they said."""
        halves = [to_blob(commitment[HALF]) for commitment in commitments]
        for noun in (
            candidate for candidate in self.tables.values() if candidate.searched and halves
        ):
            text, times = holders(noun, len(halves))
            rows = self._link.execute(text, (self.project, *halves * times))
            self._stale |= dict.fromkeys((noun, key) for key in rows.fetchall())
        # Any row that is remembered may have been made with a text of these.
        self._known.clear()
        self._texts.clear()
        self._link.execute(statements.forget(len(halves)), (self.project, *halves))

    def vouch(self, signature: WriterSignature) -> None:
        """Keep what a writer signed, in place of what begins with the same entry."""
        cells = signature.writer, signature.first, signature.delegation, signature.note
        values = (self.project, *cells)
        self._link.execute(statements.VOUCH, values)

    def leave(self, location: str, time: Timestamp) -> None:
        """Remember that the ledger was moved to a place, and goes on there."""
        self._link.execute(statements.LEAVE, (self.project, location, time))

    def seat(self, presence: Presence) -> None:
        """Keep that a connection is open, and a beat of its server."""
        self.beat(presence.server)
        cells = presence.seat, presence.server.name, presence.origin
        values = (self.project, *cells, *_mark_cells(presence.process))
        self._link.execute(statements.SEAT, values)

    def unseat(self, seat: str, server: str, ended_at: Timestamp) -> None:
        """Keep that a connection has ended."""
        self._link.execute(statements.UNSEAT, (ended_at, self.project, seat, server))

    def beat(self, server: ServerBeat) -> None:
        """Keep a sign of life of a server."""
        values = (server.name, *_mark_cells(server.process), server.beat_at)
        self._link.execute(statements.BEAT, values)

    def forget_presences(self, before: Timestamp) -> None:
        """Forget connections that ended before a time, and those of servers whose last beat is older."""
        for text in (statements.FORGET_ENDED, statements.FORGET_LOST, statements.FORGET_SERVERS):
            self._link.execute(text, (before,))

    def use(self, subject: str, measure: str, used: int) -> None:
        """Set how much of a measure a subject has used."""
        self._link.execute(statements.USE, (self.project, subject, measure, used))

    def append(self, entry: Append) -> None:
        """Append an entry to the ledger; LedgerBroken unless the sequence is the next."""
        self._link.append(entry)
        size, leaf = entry.sequence + 1, entry.leaf.hex()
        self._head = Head(size=size, leaf=leaf, time=entry.time, frontier=entry.frontier)

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
        stale = self._stale
        self.finish()
        # A part of the transaction may yet be undone, and the index of its rows with it.
        self._stale = dict.fromkeys(stale)
        return super().search(
            words, kinds=kinds, item=item, begun=begun, limit=limit, offset=offset
        )

    def finish(self) -> None:
        """Bring the search in step with the rows of this transaction."""
        for (noun, key), cells in self._stale.items():
            drawn = document_of(noun, cells, self._texts) if cells else None
            self._link.index(noun, key, drawn or self._document(noun, key))
        self._stale = {}
        self._texts.clear()

    def undo(self) -> None:
        """Forget what was read and written: a part of the transaction was undone."""
        self._head = None
        self._numbers.clear()
        self._known.clear()
        self._texts.clear()
        self._stale = dict.fromkeys(self._stale)  # each is read again, as it then is

    def _forget(self, noun: type[Noun], key: tuple[Cell, ...]) -> Noun | None:
        """Read a row that changes, and the highest number of its kind, from the table again; return what was known of it."""
        self._numbers.pop(noun, None)
        return self._known.forget(noun, key)

    def _document(self, noun: type[Noun], key: tuple[Cell, ...]) -> Document | None:
        row = self._link.execute(document(noun), (self.project, *key)).fetchone()
        return None if row is None else Document(*row)

    def _watch(
        self, noun: type[Noun], key: tuple[Cell, ...], cells: Mapping[str, Cell | bytes]
    ) -> None:
        """Note a row to be indexed again if a searched column is about to change."""
        names = watched(noun) if self._searched else ()
        if cells.keys().isdisjoint(names):
            return
        if (noun, key) in self._stale:
            self._stale[noun, key] = None
            return
        row = self._link.execute(watched_row(noun), (self.project, *key)).fetchone()
        if row is not None and any(
            cells.get(name, old) != old for name, old in zip(names, row, strict=True)
        ):
            self._stale[noun, key] = None

    def _key_cells(self, noun: type[Noun], key: Mapping[str, Json]) -> tuple[Cell, ...]:
        """Return the cells of a key, which may name the project but no other one."""
        key_names = statements.row_key(noun)
        if set(key) - {"project"} != set(key_names):
            raise AssertionError(f"the key of {noun.table} is {key_names}, not {tuple(key)}")
        if key.get("project", self.project) != self.project:
            raise self._wrong_project(key["project"])
        return tuple(cell_of(key[name]) for name in key_names)

    def _wrong_project(self, other_project: Json) -> AssertionError:
        return AssertionError(f"a row of {other_project!r} in a transaction of {self.project!r}")

    def _change_row(
        self,
        noun: type[Noun],
        key_cells: tuple[Cell, ...],
        text: str,
        values: Sequence[Cell | bytes],
    ) -> None:
        """Run a statement that must meet a row."""
        self._link.execute(text, values)
        if not self._link.changes():
            raise StateDiffers(f"{noun.table} has no row {key_cells} in {self.project!r}")


def _presence_of(row: Row) -> Presence:
    seat, origin, *own, ended_at = row[:8]
    name, *served, beat_at = row[8:]
    server = ServerBeat(name=name, process=_mark_of(served), beat_at=Timestamp(beat_at))
    return Presence(
        seat=seat, origin=origin, process=_mark_of(own), server=server, ended_at=ended_at
    )


def _mark_of(cells: Sequence[Any]) -> ProcessMark:
    uid, pid, started, boot, namespace = cells
    return ProcessMark(uid=uid, pid=pid, started=started, boot=boot, namespace=namespace)


def _mark_cells(process: ProcessMark) -> tuple[Cell, ...]:
    return process.uid, process.pid, process.started, process.boot, process.namespace
