"""What is read together is what each question by itself is answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from counterpoint.core.model.journal import Record
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Attribute, Gate, Item, Label, Project
from counterpoint.core.ports.store import Query, Reading, Store

QUERIES: tuple[Query[Any], ...] = (
    Query(Item, {"kind": ("task", "issue"), "category": "open"}, "number desc", limit=2),
    Query(Item, {"category": "open", "blockers": 0}, "priority,number", (2, 3), 3),
    Query(Record, {"kind": "blocker", "status": "open"}, "number"),
    Query(Gate, {"item": ("T-1", "T-2", "T-2")}),
    Query(Label, {}),
    Query(Claim, {"state": "live"}, "claimed_at,item", limit=50),
    Query(Project, {}, limit=1),
    Query(Attribute, {"item": "T-1", "name": "none"}),
    Query(Item, {"parent": "T-1"}, is_exists=True),
    Query(Item, {"parent": "T-9"}, is_exists=True),
    *(Query(Record, {"item": f"T-{number}"}, "number") for number in range(1, 12)),
)


def ask(view: Reading) -> list[Any]:
    """Return what each question is answered, and some rows by their keys."""
    answers = [
        view.exists(query.noun, **query.equal) if query.is_exists else query.rows(view)
        for query in QUERIES
    ]
    keys = (Item, "T-1"), (Item, "T-9"), (Attribute, "T-1", "none"), (Claim, "T-1"), (Project,)
    return [*answers, *(view.find(*key) for key in keys)]


def test_what_is_fetched_together_is_what_each_is_answered_alone(
    store: Store, task: Callable[..., Item], example: Any, save: Any
) -> None:
    """Texts with NULs, negative numbers, rows that are not there; in transactions too, whatever is written after it."""
    with store.writing("p") as writing:
        save(writing, *(task(number, parent="T-1" if number > 2 else "") for number in range(1, 6)))
        save(
            writing,
            example(Record, id="r1", item="T-1", kind="blocker", status="open", body="a\0ü\x01"),
            example(Gate, item="T-1"),
            example(Gate, item="T-2"),
            example(Label, item="T-1", name="q'uote"),
            example(Claim, item="T-1", state="live", token=-7),
        )
        alone = ask(writing)
        writing.fetch(QUERIES)
        save(writing, task(7))
        assert len(ask(writing)[0]) == 2
        assert ask(writing) != alone
    with store.reading("p") as view:
        alone = ask(view)
    with store.reading("p") as view:
        view.fetch(QUERIES)
        assert ask(view) == alone
    assert [len(rows) for rows in alone[:6]] == [2, 3, 1, 2, 1, 1]
    assert alone[8:10] == [True, False]
