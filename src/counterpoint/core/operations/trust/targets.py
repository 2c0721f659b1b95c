"""Finds every text that goes when words, or the texts of a row, are to go.

Rules: (1) all texts are read once, beside the writers; what was written meanwhile is read from its entries, inside the
transaction that takes texts away. (2) Of a row goes every text that any entry ever gave to it, with what the facts of entries
about it have. (3) A copy goes too: a text that says the same, or has in it what is long enough to be no chance. (4) The plain
hash beside a text that goes, goes with it. (5) Where anything goes, all answers that are kept under idempotency keys go, with
the hashes of what was asked: nobody knows what each was made of, and no retry could be compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast

from counterpoint.core.ledger.entry import list_references, load_fields, parse_reference
from counterpoint.core.model.documents import Document, Passage
from counterpoint.core.model.identity import Confirmation
from counterpoint.core.model.journal import Reply
from counterpoint.core.model.rows import Cell, Noun, columns, load_object
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.trust.erasing import has_any
from counterpoint.kernel import canonical

_HALF: Final = 32
Row = tuple[type[Noun], tuple[Cell, ...]]
"""A noun, and a key without the project."""


class Targets:
    """What is to go; it is taken in pieces, what says the words first.

    words: what the texts that go say. replies: how many kept answers go.
    """

    def __init__(
        self,
        *,
        least: int,
        words: Iterable[str] = (),
        commitments: Iterable[str] = (),
        row: Row | None = None,
    ) -> None:
        """Look for words, and for all that a row ever said.

        least: letters from which on a text with one of the words in it is taken for a copy. commitments: texts
        that go in any case, by their commitments.
        """
        self.words = set(words)
        self.replies = 0
        self._least = least
        self._row = row
        self._gone = dict.fromkeys(commitments)
        self._answers: dict[str, None] = {}
        self._found = bool(self._gone)
        self._size = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left to be taken."""
        return not self._gone and not (self._found and self._answers)

    @property
    def count(self) -> int:
        """How many texts were found that say what is to go, answers that are kept aside."""
        return len(self._gone)

    def read(self, view: Reading, *, goes_on: bool = False) -> None:
        """Look at everything that is there. goes_on: after a look whose end nobody knows."""
        self._size = view.head().size
        self._found = self._found or goes_on
        if self._row is not None:
            kept_texts = [
                commitment
                for commitment in _given(view, *self._row, 0)
                if view.text(commitment) is not None
            ]
            self._add(kept_texts)
            self.words |= {text for commitment in kept_texts if (text := view.text(commitment))}
            self._add(_signed(view, self.words))
        names: dict[str, str] = {}
        for half, salted in view.texts():
            names[half] = salted.commitment
            if self._says(salted.body):
                self._add((names[half],))
        self._add(_hashes_beside(view, {commitment[:_HALF] for commitment in self._gone}, names))
        answers = [names[half] for half in _cells(view, Reply, "answer") if half in names]
        requests = [names[half] for half in _cells(view, Reply, "request") if half in names]
        self.replies += len(answers)
        self._answers |= dict.fromkeys((*requests, *answers))

    def follow(self, view: Reading) -> None:
        """Look at what was written since."""
        start, self._size = self._size, view.head().size
        if start == self._size:
            return
        if self._row is not None:
            self._add(_given(view, *self._row, start))
        for data in view.entries(start):
            entry = load_fields(data)
            if not self.words and self._row is None:
                # Nothing but these texts was meant: what refers to one of them now needs it.
                for commitment in list_references(data):
                    self._gone.pop(commitment, None)
                continue
            self._add(
                commitment
                for commitment in _references(entry.get("f", {}))
                if self._is_meant(view, commitment)
            )
            hashes: list[str] = []
            is_meant = False
            for row in entry.get("r", ()):
                values = _values(row)
                if row["t"] == Reply.table:
                    self._answers |= dict.fromkeys(_references(values))
                    self.replies += 1
                    continue
                meant = [
                    commitment
                    for commitment in _references(values)
                    if self._is_meant(view, commitment)
                ]
                is_meant = is_meant or bool(meant)
                self._add(meant)
                # In one entry are a row with its hash, and a document with its passages.
                kinds = columns(view.tables[row["t"]])
                hash_columns = {column.name for column in kinds if column.sort == "hash"}
                hashes += _references({name: values[name] for name in hash_columns & values.keys()})
            if is_meant:
                self._add(hashes)

    def take(self, view: Reading, most: int) -> list[str]:
        """Return the next texts that are to go and still are there, and at most so many."""
        taken: dict[str, None] = {}
        while not self.is_empty and len(taken) < most:
            if not self._gone:
                self._gone, self._answers = self._answers, {}
            commitment = next(iter(self._gone))
            del self._gone[commitment]
            # What says the words may be an answer too.
            if commitment not in taken and view.text(commitment) is not None:
                taken[commitment] = None
        return list(taken)

    def _add(self, commitments: Iterable[str]) -> None:
        self._gone |= dict.fromkeys(commitments)
        self._found = self._found or bool(self._gone)

    def _is_meant(self, view: Reading, commitment: str) -> bool:
        return commitment in self._gone or self._says(view.text(commitment) or "")

    def _says(self, body: str) -> bool:
        return has_any(body, self.words, self._least)


def _values(row: Mapping[str, Any]) -> dict[str, Any]:
    return cast("dict[str, Any]", row.get("v") or row.get("c") or {})


def _references(values: Mapping[str, Any]) -> list[str]:
    return [commitment for value in values.values() if (commitment := parse_reference(value))]


def _given(view: Reading, noun: type[Noun], key: tuple[Cell, ...], start: int) -> Iterator[str]:
    """Return the commitment of every text that an entry gave to a row, or a fact about it has."""
    mark, key_columns = canonical.dump(key[-1]), dict(zip(noun.key[1:], key, strict=True))
    for data in view.entries(start):
        if mark not in data:
            continue
        entry = load_fields(data)
        for row in entry.get("r", ()):
            if row["t"] == noun.table and row["k"] == key_columns:
                yield from _references(_values(row))
        if entry.get("s") == key[-1]:
            yield from _references(entry.get("f", {}))


def _signed(view: Reading, words: set[str]) -> Iterator[str]:
    """Return the commitments of the reasons that people signed with one of the words as text."""
    for confirmation in view.select(Confirmation):
        if load_object(confirmation.reason).get("text") in words:
            yield from _given(view, Confirmation, (confirmation.id,), 0)


def _cells(view: Reading, noun: type[Noun], name: str) -> list[str]:
    """Return what a prose column of every row holds, in the order of the key."""
    index = [column.name for column in columns(noun)].index(name)
    return [str(row[index]) for row in view.table(noun)]


def _hashes_beside(view: Reading, halves: set[str], names: Mapping[str, str]) -> Iterator[str]:
    """Return the commitments of plain hashes in the rows that hold a text which goes."""
    paths: set[tuple[Cell, Cell]] = set()
    for noun in view.tables.values():
        every = columns(noun)
        proses = [index for index, column in enumerate(every) if column.is_prose]
        hashes = [index for index in proses if every[index].sort == "hash"]
        if not hashes and noun is not Passage:
            continue
        for row in view.table(noun):
            if any(row[index] in halves for index in proses):
                yield from (names[str(row[p])] for p in hashes if row[p] in names)
                if noun is Passage:
                    paths.add((row[1], row[3]))
    for digest, row in zip(_cells(view, Document, "sha256"), view.table(Document), strict=True):
        if (row[1], row[2]) in paths and digest in names:
            yield names[digest]
