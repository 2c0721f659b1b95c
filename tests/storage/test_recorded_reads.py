"""What the recorded store writes down: every way that gives a text, in views and in transactions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from counterpoint.core.model.access import Actor
from counterpoint.core.model.journal import Record
from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.recorded_reads import RecordedStore, RecordedView
from counterpoint.core.ports.reads import ReadHead
from counterpoint.core.ports.store import Reading, Writing
from counterpoint.kernel.errors import Unavailable
from fakes.texts import committed

ADA: Final = Actor(kind="agent", name="ada")

GIVES_NO_TEXT: Final = {
    "project", "tables", "unveiled", "fetch", "cells", "exists", "counts", "counts_by", "last_number", "held_areas",
    "stems", "most", "cosines", "coverage", "signatures", "moved", "head", "sequences", "node", "nodes", "meter", "presences",
    "measures",
}  # fmt: skip
"""What a view answers with numbers, states, names, keys and hashes alone."""
FOR_THE_PROGRAM: Final = {"unembedded"}
"""What only the program's own index reads, for no caller."""


@dataclass
class Lines:
    """A record of reads in memory; with a fault it cannot be written."""

    lines: list[tuple[set[str], bool]] = field(default_factory=list)
    fault: Unavailable | None = None

    def append(
        self, actor: Actor, entrance: str, subjects: Collection[str], *, is_all: bool = False
    ) -> None:
        """Remember a line of Ada's."""
        assert (actor, entrance) == (ADA, "stream")
        if self.fault:
            raise self.fault
        self.lines.append((set(subjects), is_all))

    def due(self) -> ReadHead | None:
        """Answer that nothing is to be anchored."""

    head = due

    def anchored(self, head: ReadHead) -> None:
        """Do nothing."""


WAYS: Final[dict[str, tuple[Callable[[Any], Any], set[str]]]] = {
    "find": (lambda view: view.find(Record, "r1"), {"r1"}),
    "select": (lambda view: view.select(Item, id="T-1"), {"T-1"}),
    "search": (lambda view: view.search(["marmalade"]), {"r1"}),
    "text": (lambda view: view.text(committed("marmalade")), {f"text {committed('marmalade')}"}),
    "salted": (lambda view: view.salted(committed("marmalade")), {f"text {committed('marmalade')}"}),
}  # fmt: skip
WHOLE: Final[dict[str, Callable[[Any], Any]]] = {
    "texts": lambda view: list(view.texts()),
    "table": lambda view: list(view.table(Record)),
    "kept": lambda view: list(view.kept()),
    "entries": lambda view: list(view.entries()),
}


@pytest.fixture
def lines() -> Lines:
    """Give an empty record."""
    return Lines()


@pytest.fixture
def recorded(file_store: Any, lines: Lines, example: Any, task: Any, save: Any) -> RecordedStore:
    """Give a store with an item and a record, of which all reads are recorded."""
    with file_store.writing("p") as writing:
        save(writing, task(1))
        save(writing, example(Record, id="r1", item="T-1", body="marmalade"))
    return RecordedStore(file_store, ADA, lambda _project, _view: lines)


@pytest.mark.parametrize("opened", ["reading", "writing"])
@pytest.mark.parametrize("way", WAYS)
def test_what_gives_a_text_is_written_down(recorded, lines, opened, way):
    """By the id of the row or the commitment of the text; twice read in a call is once written."""
    read, subjects = WAYS[way]
    for _ in range(2):
        with getattr(recorded, opened)("p") as view:
            assert read(view)
    ((written, is_all),) = lines.lines
    assert (subjects <= written, is_all) == (True, False)


@pytest.mark.parametrize("opened", ["reading", "writing"])
@pytest.mark.parametrize("way", WHOLE)
def test_whoever_reads_the_ledger_as_a_whole_is_written_down_as_such(recorded, lines, opened, way):
    """Whatever rows there are."""
    with getattr(recorded, opened)("p") as view:
        WHOLE[way](view)
    assert lines.lines == [(set(), True)]


def test_a_project_that_keeps_no_record_is_read_without_one(recorded, file_store):
    unrecorded = RecordedStore(file_store, ADA, lambda _project, _view: None)
    with unrecorded.reading("p") as view:
        assert view.find(Record, "r1")


def test_every_way_of_a_view_is_recorded_or_gives_no_text():
    """A new one has to be put on one side."""
    ways = {name for name in dir(Reading) if not name.startswith("_")}
    own = {name for name in vars(RecordedView) if not name.startswith("_")}
    assert ways == own | GIVES_NO_TEXT | FOR_THE_PROGRAM
    assert own == {*WAYS, *WHOLE, "nearest"}
    answers = {
        name: str(inspect.signature(getattr(Writing, name)).return_annotation)
        for name in set(dir(Writing)) - set(dir(Reading))
        if callable(getattr(Writing, name)) and not name.startswith("_")
    }
    assert {name for name, answer in answers.items() if answer not in {"None", "int"}} == set()


def test_what_cannot_be_recorded_lands_nothing(recorded, lines, file_store, task, save):
    """A transaction that read a text is undone with it."""
    lines.fault = Unavailable("the disk is full")

    def read_and_write() -> None:
        with recorded.writing("p") as writing:
            writing.find(Record, "r1")
            save(writing, task(2))

    with pytest.raises(Unavailable):
        read_and_write()
    with file_store.reading("p") as view:
        assert view.counts(Item, "category") == {"open": 1}
