"""Documents that are kept to be found, and the passages they were cut into."""

from __future__ import annotations

from typing import ClassVar, Literal, NamedTuple

from counterpoint.core.model.rows import (
    Agent,
    Id,
    Name,
    Noun,
    PlainHash,
    Prose,
    Proses,
    Searched,
    Touched,
    Word,
)
from counterpoint.kernel.frozen import frozen


class Fit(NamedTuple):
    """How well something fits: in all, by its words, by its meaning; each from 0 to 1."""

    score: float
    words: float
    meaning: float

    @property
    def best(self) -> float:
        """The best of the three."""
        return max(self)


Shelf = Literal["project", "vault"]
"""`project`: only here. `vault`: found from every project of the database."""


@frozen
class Document(Noun):
    """A file that was taken in; `sha256` is of its bytes, so that the same is not taken in twice."""

    table: ClassVar[str] = "library"
    key: ClassVar[tuple[str, ...]] = ("project", "shelf", "path")

    shelf: Shelf
    path: Name
    sha256: PlainHash
    size: int
    markup: Word
    chunks: int
    agent: Agent
    updated_at: Touched


@frozen
class Passage(Noun):
    """A piece of a document, from one line to another; `headings` stand above it."""

    table: ClassVar[str] = "passages"
    key: ClassVar[tuple[str, ...]] = ("project", "shelf", "id")
    indexes: ClassVar[tuple[str, ...]] = ("shelf,path,position",)
    searched: ClassVar[Searched | None] = Searched(
        title=("headings",), body="text", about="path", kind="shelf"
    )

    shelf: Shelf
    id: Id
    path: Name
    position: int
    headings: Proses
    text: Prose
    first_line: int
    last_line: int


@frozen
class StoredDocument:
    """A document after it was asked to be taken in; `is_same` if it was there as it is."""

    document: Document
    is_same: bool


@frozen
class PassageQuery:
    """What is looked for; least: what the words, the meaning or both together must reach, from 0 to 1."""

    query: str
    limit: int = 5
    least: float = 0.0


@frozen
class PassageFound:
    """A passage and how well it fits; `project` is where it is kept."""

    passage: Passage
    fit: Fit
    project: str
