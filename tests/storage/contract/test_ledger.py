"""What every database does with the ledger's entries, its end and its tree."""

from __future__ import annotations

import pytest

from counterpoint.core.ledger.entry import GENESIS
from counterpoint.core.ledger.merkle import Frontier, leaf_hash, nodes_of
from counterpoint.core.ports.store import Head
from counterpoint.kernel.errors import LedgerBroken


def test_an_empty_ledger_has_an_empty_head(store):
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
    """Level 0 is the entry's own leaf; what is above is read or made, but never half of it."""
    frontier, entries = Frontier(), []
    with store.writing("p") as writing:
        for place in range(40):
            frontier, nodes = frontier.append(entry(place).leaf)
            entries.append(entry(place, nodes=tuple(nodes)))
            writing.append(entries[-1])
        read = nodes_of([one.leaf for one in entries])
        for level in range(6):
            for position in range(40 >> level):
                assert writing.node(level, position) == read(level, position)
            with pytest.raises(LedgerBroken):
                writing.node(level, 40 >> level)
        with pytest.raises(LedgerBroken):
            writing.node(6, 0)


def test_an_entry_comes_back_as_it_was(store, entry):
    """With a place in the log and hashes, which are packed, and with bytes that no entry has."""
    written, before = [], GENESIS
    texts = ["", '"x":"' + "ab" * 32 + '"', "\0", "\1", '"' + "a" * 64 + '"' + '"' + "b" * 64 + '"']
    with store.writing("p") as writing:
        for place, text in enumerate(texts):
            data = b'{%b"h":"%b","n":%d,"p":"p"}' % (text.encode(), before.encode(), place)
            written.append(entry(place, data=data, previous=before, leaf=leaf_hash(data)))
            writing.append(written[-1])
            before = written[-1].leaf.hex()
        assert list(writing.entries()) == [one.data for one in written]
        for place, one in enumerate(written):
            assert list(writing.entries(place, place + 1)) == [one.data]


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
