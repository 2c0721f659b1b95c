"""What a database does in its own way: one transaction, bound to a project."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, Protocol

from counterpoint.core.model.rows import Cell, Noun
from counterpoint.core.ports.store import Append, Head, Hit, Kept
from counterpoint.storage.search import Document, Narrowed

Row = tuple[Any, ...]
DAY: Final = 86_400
"""Seconds after which it is noted anew that a model is used."""


class Answer(Protocol):
    """The rows that a statement answers."""

    def __iter__(self) -> Iterator[Any]:
        """Read them one after the other."""
        ...

    def fetchone(self) -> Row | None:
        """Return the next row, or None."""
        ...

    def fetchall(self) -> list[Row]:
        """Return all of them."""
        ...


class VectorTable(Protocol):
    """What models made of the documents of one project, as one transaction sees it."""

    def waiting(self, model: str, limit: int) -> list[Hit]:
        """Return documents without a vector of a model: those that changed, then from the oldest on."""
        ...

    def last_turn(self, model: str) -> int:
        """Return the number of the last change of a vector; 0 if there was none."""
        ...

    def changed(self, model: str, after: int) -> Iterator[VectorChange]:
        """Return what became of vectors after a change, in order."""
        ...

    def likely(
        self, model: str, signs: str, query: tuple[Sequence[str], str, int]
    ) -> list[int] | None:
        """Return the documents whose signs differ least, in any order; None where the database does not compare signs.

        query: of which kinds, about which item, and how many.
        """
        ...

    def codes(self, model: str, numbers: Sequence[int]) -> list[tuple[int, bytes]]:
        """Return the vectors of documents, of those that have one."""
        ...

    def documents(self, numbers: Sequence[int], narrowed: Narrowed) -> list[Hit]:
        """Return the documents of these numbers that are asked for, in any order, without scores."""
        ...

    def put(self, model: str, vectors: Sequence[tuple[int, bytes]]) -> None:
        """Keep vectors of documents, in place of those they have."""
        ...

    def retire(self, model: str, limit: int, idle: int) -> int:
        """Take so many vectors away of models that nobody used for so many seconds; return how many there were."""
        ...

    def coverage(self, model: str) -> tuple[int, int]:
        """Return how many documents have a vector, and how many there are."""
        ...


class VectorChange(NamedTuple):
    """A vector after a change; empty if it is gone. item, kind: of its document; empty if that is gone."""

    turn: int
    number: int
    vector: bytes
    item: str
    kind: str


class Link(Protocol):
    """One transaction of a database, bound to a project."""

    @property
    def vectors(self) -> VectorTable:
        """What models made of the documents of the project."""
        ...

    @property
    def near(self) -> dict[Any, Any]:
        """What this process knows of vectors from one transaction to the next (storage/nearness.py)."""
        ...

    def most(self, words: Sequence[str], *, begun: bool) -> float:
        """Return about the score of a document that has all of the words often; 0 for no words."""
        ...

    @property
    def project(self) -> str:
        """The project that the ledger and the search are of."""
        ...

    def execute(self, text: str, values: Sequence[Any] = ..., /) -> Answer:
        """Run a statement of statements.py."""
        ...

    def execute_each(self, text: str, values: Sequence[Sequence[Any]], /) -> int:
        """Run a statement that changes rows once for each values; return how many rows it met in all."""
        ...

    def changes(self) -> int:
        """Return how many rows the last statement that changes something met."""
        ...

    def head(self) -> Head:
        """Return the end of a ledger."""
        ...

    def entries(self, start: int, stop: int | None) -> Iterator[bytes]:
        """Return the bytes of entries in order."""
        ...

    def kept(self) -> Iterator[Kept]:
        """Return every entry in order, with what stands beside its bytes."""
        ...

    def nodes(self, level: int, start: int, stop: int) -> list[bytes]:
        """Return hashes of a level of the tree in order, those that are there."""
        ...

    def append(self, entry: Append) -> None:
        """Append an entry; LedgerBroken unless its sequence is the next."""
        ...

    def index(self, noun: type[Noun], key: tuple[Cell, ...], document: Document | None) -> None:
        """Bring the search in step with one row; None: it is gone."""
        ...

    def hits(self, words: Sequence[str], narrowed: Narrowed) -> list[Hit]:
        """Return the documents of a project that have any of the words, best first."""
        ...

    def stems(self, words: Sequence[str]) -> list[str]:
        """Return the stem of each word as the search has it; a word without one stays as it is."""
        ...
