"""What every database does with the ledger's entries, its end and its tree."""

from __future__ import annotations

import pytest

from counterpoint.core.ports.store import Head
from counterpoint.kernel.errors import LedgerBroken


def test_an_empty_ledger_has_an_empty_head(store):
    """There is a head before there is an entry."""
    with store.reading("p") as reading:
        assert reading.head() == Head(size=0, leaf="", time="", frontier=b"")


def test_appended_entries_come_back_in_order(store, entry):
    """The head tells the last one; a slice is from start and before stop."""
    written = [entry(n) for n in range(5)]
    with store.writing("p") as writing:
        for one in written:
            writing.append(one)
    with store.reading("p") as reading:
        assert list(reading.entries()) == [one.data for one in written]
        assert list(reading.entries(1, 3)) == [one.data for one in written[1:3]]
        last = written[-1]
        head = Head(size=5, leaf=last.leaf.hex(), time=last.time, frontier=last.frontier)
        assert reading.head() == head


@pytest.mark.parametrize("wrong", [1, -1, 5, 0])
def test_only_the_next_sequence_is_appended(store, entry, wrong):
    """A gap, a repeat and a number before the first are refused, and nothing stays of them."""
    with store.writing("p") as writing:
        if wrong == 0:
            writing.append(entry(0))
        size = writing.head().size
        with pytest.raises(LedgerBroken):
            writing.append(entry(wrong))
        assert writing.head().size == size
        writing.append(entry(size))


def test_the_tree_answers_leaves_and_nodes(store, entry):
    """Level 0 is the entry's own leaf; inner nodes are those given with the entries."""
    second = entry(1, nodes=((0, 1, b"x" * 32), (1, 0, b"n" * 32)))
    with store.writing("p") as writing:
        writing.append(entry(0))
        writing.append(second)
        assert writing.node(0, 1) == second.leaf
        assert writing.node(1, 0) == b"n" * 32
        with pytest.raises(LedgerBroken):
            writing.node(2, 0)
        with pytest.raises(LedgerBroken):
            writing.node(0, 2)


def test_sequences_are_found_by_subject_and_action(store, entry):
    """Latest first; with `after` onward."""
    with store.writing("p") as writing:
        for n in range(10):
            writing.append(entry(n, subject=f"T-{n % 2}", action="note" if n % 3 else "move"))
        assert writing.sequences() == list(range(9, -1, -1))
        assert writing.sequences(limit=3) == [9, 8, 7]
        assert writing.sequences(subject="T-0") == [8, 6, 4, 2, 0]
        assert writing.sequences(action="move") == [9, 6, 3, 0]
        assert writing.sequences(subject="T-0", action="move") == [6, 0]
        assert writing.sequences(before=3) == [2, 1, 0]
        assert writing.sequences(after=6) == [7, 8, 9]
        assert writing.sequences(after=0, before=5, subject="T-0") == [2, 4]
        assert writing.sequences(after=-1, limit=2) == [0, 1]
