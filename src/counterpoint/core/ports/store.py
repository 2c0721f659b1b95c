"""What the core asks of a database, for one project at a time.

A store gives out a `Reading` (a consistent view) and a `Writing` (one transaction, durable when its
`with` block has ended, undone if the block raises). Both are bound to one project, so that no query
can see another's rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol

from counterpoint.core.model.presence import Presence, ServerBeat
from counterpoint.core.model.rows import Cell, N, Noun
from counterpoint.core.model.trust.heads import MovedAway
from counterpoint.core.model.trust.writers import WriterSignature
from counterpoint.core.model.work import Project
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import CounterpointError
from counterpoint.kernel.frozen import frozen

if TYPE_CHECKING:
    # Templates are read by few calls; the store is opened by the first.
    from counterpoint.core.model.templates import TemplateSource

Names = tuple[str, ...]
"""Columns of a noun."""
Filter = Cell | tuple[Cell, ...]
"""One value that a column must have, or several of which it must have one."""


@frozen
class Head:
    """The end of a project's ledger: how long it is, its last leaf and time, the tree's frontier."""

    size: int
    leaf: str
    time: str
    frontier: bytes


class Kept(NamedTuple):
    """One entry as a table has it: its bytes, and the columns that stand beside them."""

    sequence: int
    data: bytes
    leaf: bytes
    subject: str
    action: str


@frozen
class Append:
    """One entry on its way into the ledger, with the tree nodes that it completes.

    previous: the leaf hash of the entry before it in hex, as the entry says it.
    """

    sequence: int
    previous: str
    data: bytes
    leaf: bytes
    time: Timestamp
    subject: str
    action: str
    frontier: bytes
    nodes: tuple[tuple[int, int, bytes], ...]


@frozen
class Hit:
    """One row that a search found; a higher score is a better match.

    key: the row's key without the project, its parts joined by `/`. number: what the search itself calls it.
    """

    table: str
    key: str
    item: str
    kind: str
    score: float
    number: int = 0


class Unembedded(NamedTuple):
    """A row of which a model has no vector yet, with what it would be made of."""

    hit: Hit
    text: str


class Patch(NamedTuple):
    """The key of a row without its project, and values of some of its columns."""

    key: tuple[Cell, ...]
    values: tuple[Cell, ...]


class HeldArea(NamedTuple):
    """An area of an item and who holds or held that: its agent, or the session of one without a name."""

    item: str
    holder: str
    pattern: str


class Query(NamedTuple, Generic[N]):
    """What a `select` asks, or an `exists`, to be read together with others (`Reading.fetch`)."""

    noun: type[N]
    equal: Mapping[str, Filter]
    order: str = ""
    after: Sequence[Cell] = ()
    limit: int | None = None
    is_exists: bool = False

    def rows(self, view: Reading) -> list[N]:
        """Return the rows that it asks for."""
        return view.select(
            self.noun, order=self.order, after=self.after, limit=self.limit, **self.equal
        )


class Salted(NamedTuple):
    """A text and the salt that its commitment is made with."""

    salt: bytes
    body: str

    @property
    def commitment(self) -> str:
        """What stands in entries for the text, 64 hex digits."""
        return canonical.commitment(self.salt, self.body)


class Reading(Protocol):
    """A consistent view of one project; nothing of plans under way is in it, but for `table`."""

    @property
    def project(self) -> str:
        """The project every answer is of."""
        ...

    @property
    def tables(self) -> Mapping[str, type[Noun]]:
        """Every noun that has a table, by its table, in an order in which rows can be written."""
        ...

    def unveiled(self) -> AbstractContextManager[None]:
        """Let `find` and `select` answer what is of plans under way too, during a block."""
        ...

    def find(self, noun: type[N], *key: Cell) -> N | None:
        """Return the row with this key (without the project), or None."""
        ...

    def select(
        self,
        noun: type[N],
        *,
        order: str = "",
        after: Sequence[Cell] = (),
        limit: int | None = None,
        **equal: Filter,
    ) -> list[N]:
        """Return the rows whose columns equal the filters.

        order: comma-separated columns, each with an optional ` desc`; the key by default.
        after: values of the order's columns; only rows beyond them are answered.
        """
        ...

    def fetch(self, queries: Iterable[Query[Any]]) -> None:
        """Read at once what the block will `select`, `find` by key and ask with `exists`: these are then answered from it.

        A hint that changes no answer; a transaction does nothing with it, and takes none of them.
        """
        ...

    def cells(self, noun: type[Noun], read: Names, **equal: Filter) -> list[tuple[Any, ...]]:
        """Return some columns, none of prose, of the rows whose columns equal the filters, by key."""
        ...

    def exists(self, noun: type[Noun], **equal: Filter) -> bool:
        """Return whether there is such a row."""
        ...

    def counts(self, noun: type[Noun], column: str, **equal: Filter) -> dict[str, int]:
        """Return how many rows there are for each value of a column."""
        ...

    def counts_by(
        self, noun: type[Noun], columns: tuple[str, str], **equal: Filter
    ) -> dict[tuple[str, str], int]:
        """Return how many rows there are for each pair of values of two columns."""
        ...

    def last_number(self, noun: type[Noun]) -> int:
        """Return the highest `number` of a noun's rows; 0 if there is none."""
        ...

    def held_areas(self, tree: str, since: Timestamp, but_session: str) -> list[HeldArea]:
        """Return the areas that other sessions held from a working tree at any time since, by item."""
        ...

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
        """Return rows whose title or text has any of the words, best first.

        begun: every word also matches as a beginning; otherwise only the last one does.
        """
        ...

    def stems(self, words: Sequence[str]) -> list[str]:
        """Return what the search keeps of each word, so that `tests` and `testing` are one."""
        ...

    def most(self, words: Sequence[str], *, begun: bool = False) -> float:
        """Return about the score of a row that has all of the words often; 0 for no words."""
        ...

    def nearest(
        self,
        model: str,
        vector: bytes,
        *,
        kinds: Sequence[str] = (),
        item: str = "",
        limit: int = 20,
    ) -> list[Hit]:
        """Return the rows whose vectors of a model are nearest to one, best first, with the cosine as score.

        Rows without such a vector are not found.
        """
        ...

    def cosines(self, model: str, vector: bytes, numbers: Sequence[int]) -> dict[int, float]:
        """Return how near rows that the search found are, by their numbers; those that have a vector."""
        ...

    def unembedded(self, model: str, limit: int) -> list[Unembedded]:
        """Return rows of which a model has no vector yet: those that changed, and then the oldest."""
        ...

    def coverage(self, model: str) -> tuple[int, int]:
        """Return how many rows have a vector of a model, and how many rows the search has."""
        ...

    def text(self, commitment: str) -> str | None:
        """Return the text of a commitment; None if it was redacted."""
        ...

    def salted(self, commitment: str) -> Salted | None:
        """Return the text of a commitment with its salt; None if it was redacted."""
        ...

    def texts(self) -> Iterator[tuple[str, Salted]]:
        """Return every text that is kept, by the first half of its commitment, and with that."""
        ...

    def signatures(self) -> Iterator[WriterSignature]:
        """Return what writers signed of their entries, by the places of the first of them."""
        ...

    def moved(self) -> MovedAway | None:
        """Return where the ledger was moved to; None if it is here."""
        ...

    def head(self) -> Head:
        """Return the end of the ledger."""
        ...

    def entries(self, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """Return the bytes of entries in order, from start and before stop."""
        ...

    def kept(self) -> Iterator[Kept]:
        """Return every entry in order, with what stands beside its bytes."""
        ...

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
        ...

    def node(self, level: int, index: int) -> bytes:
        """Return the hash of a complete subtree of the ledger's tree; level 0 are the leaves."""
        ...

    def nodes(self, level: int, start: int, stop: int) -> list[bytes]:
        """Return the hashes of a level of the tree from start and before stop, those that are there."""
        ...

    def table(self, noun: type[Noun]) -> Iterator[tuple[Cell, ...]]:
        """Return the raw rows of a table by key, the first halves of commitments in place of prose."""
        ...

    def meter(self, subject: str, measure: str) -> int:
        """Return how much of a measure a subject has used; the ledger does not tell of it."""
        ...

    def presences(self, seats: Sequence[str]) -> list[Presence]:
        """Return what servers wrote of the connections that came with some sessions; the ledger does not tell of it."""
        ...

    def measures(self, subject: str) -> list[str]:
        """Return every measure of which a subject has used anything, in order."""
        ...


class Writing(Reading, Protocol):
    """One transaction of one project."""

    def put(self, noun: type[Noun], row: Mapping[str, Json]) -> None:
        """Insert or replace a whole row image."""
        ...

    def change(self, noun: type[Noun], key: Mapping[str, Json], row: Mapping[str, Json]) -> None:
        """Set some columns of the row with this key."""
        ...

    def change_each(self, noun: type[Noun], written: Names, rows: Sequence[Patch]) -> None:
        """Set the same columns of many rows, none of prose and none that the search looks at."""
        ...

    def drop(self, noun: type[Noun], key: Mapping[str, Json]) -> None:
        """Delete the row with this key."""
        ...

    def keep(self, texts: Mapping[str, Salted]) -> None:
        """Keep texts under their commitments; those that are there already stay."""
        ...

    def forget(self, commitments: Collection[str]) -> None:
        """Take texts and their salts away; rows and entries keep commitments, no search finds them.

        At most some hundreds at a time.
        """
        ...

    def embed(self, model: str, vectors: Sequence[tuple[Unembedded, bytes]]) -> None:
        """Keep what a model made of rows, but for those that say something else by now; no entry tells of it.

        An empty vector says that there is nothing to be made of it.
        """
        ...

    def retire(self, model: str, limit: int, *, idle: int) -> int:
        """Take so many vectors away of other models that nobody used for so many seconds; return how many there were."""
        ...

    def append(self, entry: Append) -> None:
        """Append an entry to the ledger; the sequence must be the next."""
        ...

    def vouch(self, signature: WriterSignature) -> None:
        """Keep what a writer signed, in place of what begins with the same entry; no entry tells of it."""
        ...

    def leave(self, location: str, time: Timestamp) -> None:
        """Remember that the ledger was moved to a place, and goes on there; no entry tells of it."""
        ...

    def seat(self, presence: Presence) -> None:
        """Keep that a connection is open, and a beat of its server; no entry tells of it."""
        ...

    def unseat(self, seat: str, server: str, ended_at: Timestamp) -> None:
        """Keep that a connection has ended; no entry tells of it."""
        ...

    def beat(self, server: ServerBeat) -> None:
        """Keep a sign of life of a server; no entry tells of it."""
        ...

    def forget_presences(self, before: Timestamp) -> None:
        """Forget connections that ended before a time, and those of servers whose last beat is older."""
        ...

    def use(self, subject: str, measure: str, used: int) -> None:
        """Set how much of a measure a subject has used; no entry tells of it, and none has to."""
        ...


class Store(Protocol):
    """A database, which can be waited for.

    Waiting carries no entries: whoever is woken reads them after the last sequence that it has seen, so
    nothing is missed, nothing comes twice, and a slow reader costs no memory. Woken too often is
    allowed, woken too late is not.
    """

    def reading(self, project: str) -> AbstractContextManager[Reading]:
        """Open a consistent view of a project."""
        ...

    def writing(self, project: str) -> AbstractContextManager[Writing]:
        """Open a transaction: all of it lands durably, or nothing."""
        ...

    def projects(self) -> list[Project]:
        """Return every project of the database."""
        ...

    def faults(self) -> list[CounterpointError]:
        """Return what is wrong with all that no entry tells of: file, schema, numbers of rows, search.

        What cannot be read through is a fault too, and never raised.
        """
        ...

    def backup(self, target: Path) -> None:
        """Write a consistent copy while others go on writing."""
        ...

    def purge(self) -> None:
        """Let nothing that was deleted stay in the files: neither in the search, nor in the log.

        StoreBusy where somebody reads for so long that the log cannot be emptied.
        """
        ...

    def settle_vectors(self, project: str, model: str) -> None:
        """Make what a project's vectors of a model are found quicker with, where the database has such; nobody waits for it."""
        ...

    def lost(self) -> CounterpointError | None:
        """Return why this process neither reads nor writes any more, for good; None while all is well.

        The files were taken away or replaced, or cannot be read: whoever opens the database next finds what is there.
        """
        ...

    def close(self) -> None:
        """Let go of the database."""
        ...

    def wait(self, project: str, after: int, timeout: float) -> bool:
        """Wait until the ledger has an entry with a sequence above `after`; -1 is before the first.

        Answers whether it has: at once if it has already, and also for entries that another process
        appended. False after `timeout` seconds, or when the database was closed meanwhile.
        """
        ...


class Library(Protocol):
    """Where named templates of plans are kept."""

    def template(self, name: str) -> TemplateSource:
        """Return the sheet of a template; NotFound names those there are, InvalidInput if unreadable."""
        ...

    def names(self) -> list[str]:
        """Return the names of all templates."""
        ...


class Anchors(Protocol):
    """Where the last signed checkpoint of a ledger is kept, outside of the database.

    A ledger that was cut off or written anew cannot agree with a checkpoint kept elsewhere.
    """

    def last(self, project: str) -> str:
        """Return the checkpoint kept last, as a signed note; empty if there is none."""
        ...

    def keep(self, project: str, note: str) -> None:
        """Keep a checkpoint in place of the last."""
        ...
