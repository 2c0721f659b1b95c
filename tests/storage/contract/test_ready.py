"""What every database answers about ready work."""

from __future__ import annotations

from counterpoint.core.operations.readiness import ready_query


def _ready(view, kind="task", root="", after=None, limit=9):
    return [item.number for item in ready_query(kind, root, after, limit=limit).rows(view)]


def test_ready_is_open_without_blockers_by_priority_and_number(store, task, save):
    """Closed, begun and blocked items and other kinds are no ready work."""
    with store.writing("p") as writing:
        save(
            writing,
            task(10, priority=1),
            task(9, priority=1),
            task(3, priority=0),
            task(4, priority=4),
            task(5, blockers=1),
            task(6, category="active"),
            task(7, category="done"),
            task(8, kind="phase"),
        )
        assert _ready(writing) == [3, 9, 10, 4]
        assert _ready(writing, limit=2) == [3, 9]
        assert _ready(writing, "phase", limit=2) == [8]


def test_ready_goes_on_after_the_last_one_seen(store, task, save):
    """Priority and number name the place."""
    with store.writing("p") as writing:
        save(writing, *(task(n, priority=n % 2) for n in range(1, 7)))
        assert _ready(writing, after=(0, 4), limit=3) == [6, 1, 3]
        assert _ready(writing, after=(1, 5), limit=3) == []


def test_ready_can_stay_below_one_root(store, task, save):
    """Other trees are left out."""
    with store.writing("p") as writing:
        save(writing, task(2, root="T-1"), task(4, root="T-3"), task(5, root="T-3"))
        assert _ready(writing, root="T-3") == [4, 5]
        assert _ready(writing, root="T-3", after=(2, 4)) == [5]
        assert _ready(writing, root="T-9") == []


def test_ready_follows_every_change(store, task, save):
    """Taking the last blocker away makes an item ready in the same transaction."""
    with store.writing("p") as writing:
        save(writing, task(1, blockers=1))
        assert _ready(writing) == []
        writing.change(type(task(1)), {"id": "T-1"}, {"blockers": 0})
        assert _ready(writing) == [1]
