"""What every database does with meters: counts that no entry tells of."""

from __future__ import annotations

import threading

import pytest

from counterpoint.storage.sqlite.store import SqliteStore


def test_a_meter_says_what_was_used(store):
    """Nothing at first; then the last that was set, and it is still there for the next view."""
    with store.writing("p") as writing:
        assert writing.meter("tok_1", "calls") == 0
        writing.use("tok_1", "calls", 3)
        writing.use("tok_1", "calls", 5)
        assert writing.meter("tok_1", "calls") == 5
    with store.reading("p") as view:
        assert view.meter("tok_1", "calls") == 5


def test_subjects_measures_and_projects_are_apart(store):
    """Each has its own count; of a subject all that it has used can be listed."""
    with store.writing("p") as writing:
        writing.use("tok_1", "calls b", 1)
        writing.use("tok_1", "calls a", 1)
        writing.use("tok_1", "calls c", 0)
        writing.use("tok_2", "calls a", 2)
    with store.writing("q") as writing:
        writing.use("tok_1", "calls q", 9)
    with store.reading("p") as view:
        assert view.measures("tok_1") == ["calls a", "calls b"]
        assert view.meter("tok_1", "calls q") == 0
        assert view.measures("tok_3") == []


def test_what_is_undone_was_not_used(store):
    """A meter is part of its transaction."""

    def use_and_stop() -> None:
        with store.writing("p") as writing:
            writing.use("tok_1", "calls", 3)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        use_and_stop()
    with store.reading("p") as view:
        assert view.meter("tok_1", "calls") == 0


def test_nobody_counts_over_another(store):
    """Eight threads add one each, again and again; nothing is lost."""

    def add() -> None:
        for _ in range(20):
            with store.writing("p") as writing:
                writing.use("tok_1", "calls", writing.meter("tok_1", "calls") + 1)

    adding = [threading.Thread(target=add) for _ in range(8)]
    for one in adding:
        one.start()
    for one in adding:
        one.join(30)
    with store.reading("p") as view:
        assert view.meter("tok_1", "calls") == 160


def test_a_meter_outlives_the_process(tmp_path):
    """It lies in the file."""
    first = SqliteStore(tmp_path / "store.db")
    with first.writing("p") as writing:
        writing.use("tok_1", "calls", 3)
    first.close()
    second = SqliteStore(tmp_path / "store.db")
    with second.reading("p") as view:
        assert view.meter("tok_1", "calls") == 3
    second.close()
