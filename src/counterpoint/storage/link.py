"""What a database does in its own way: one transaction, bound to a project."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from counterpoint.core.model.rows import Cell, Noun
from counterpoint.core.ports.store import Append, Head, Hit, Kept
from counterpoint.storage.search import Document, Narrowed

Row = tuple[Any, ...]


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


class Link(Protocol):
    """One transaction of a database, bound to a project."""

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
