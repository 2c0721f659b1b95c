"""Streams of runs taken in, and their events found."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.runs import NOT_TOLD, EventFilter, RunOrder
from counterpoint.core.operations import runs as streams
from counterpoint.kernel.errors import Conflict, InvalidInput, NotFound
from fakes.studio import Studio

INIT = json.dumps({"type": "system", "subtype": "init", "session_id": "s"})
RESULT = json.dumps(
    {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "total_cost_usd": 0.25,
        "duration_ms": 7,
        "num_turns": 2,
        "usage": {"input_tokens": 5, "output_tokens": 6},
    }
)


def text(words: str) -> str:
    """Answer a line in which the model says words."""
    block = {"type": "text", "text": words}
    return json.dumps({"type": "assistant", "message": {"content": [block]}})


@pytest.fixture
def item(person: Core) -> str:
    """Answer an issue."""
    return person.plans.create(Draft(kind="issue", title="A thing")).root.id


def test_a_stream_becomes_a_run_with_its_events(studio: Studio, person: Core, item: str) -> None:
    """Its result tells what it came to."""
    lines = [INIT, text("hello"), "no json", RESULT]
    done = person.runs.ingest(lines, RunOrder(run="r1", item=item, profile="worker", agent="w"))
    run = done.run
    assert (run.status, run.cost_micros, run.duration_ms, run.turns) == ("completed", 250_000, 7, 2)
    assert (run.input_tokens, run.cached_tokens, run.output_tokens) == (5, NOT_TOLD, 6)
    assert (run.events, done.kept, done.fault_count, done.is_cut) == (3, 3, 1, False)
    assert done.faults[0].startswith("line 3")
    assert person.runs.get("r1") == run
    assert person.runs.recent(item) == [run]
    assert (studio.last().action, studio.last().subject) == ("run.ingested", "r1")
    studio.refuses(NotFound, lambda: person.runs.get("r2"))


def test_some_hundred_events_are_one_entry(
    studio: Studio, person: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a stream of exactly so many needs no further one."""
    monkeypatch.setattr(streams, "BATCH", 10)
    size = studio.image().size
    person.runs.ingest([text(str(n)) for n in range(25)], RunOrder(run="r1"))
    assert studio.image().size == size + 3
    person.runs.ingest([text(str(n)) for n in range(10)], RunOrder(run="r2"))
    assert studio.image().size == size + 4


def test_a_stream_goes_on_behind_what_is_there(studio: Studio, person: Core, item: str) -> None:
    """Again it changes nothing; grown, only what is more is taken in."""
    first = person.runs.ingest([INIT, text("a")], RunOrder(run="r1"))
    assert (first.run.status, first.run.item) == ("unfinished", "")
    size = studio.image().size
    assert person.runs.ingest([INIT, text("a")], RunOrder(run="r1")).kept == 0
    assert studio.image().size == size
    grown = person.runs.ingest([INIT, text("a"), RESULT], RunOrder(run="r1", item=item))
    assert (grown.kept, grown.run.status, grown.run.item) == (1, "completed", item)
    assert grown.run.number == first.run.number


def test_a_run_belongs_to_one_issue(studio: Studio, person: Core, item: str) -> None:
    other = person.plans.create(Draft(kind="issue", title="Another")).root.id
    person.runs.ingest([INIT], RunOrder(run="r1", item=item))
    studio.refuses(Conflict, lambda: person.runs.ingest([INIT], RunOrder(run="r1", item=other)))
    studio.refuses(NotFound, lambda: person.runs.ingest([INIT], RunOrder(run="r2", item="demo-9")))
    studio.refuses(InvalidInput, lambda: person.runs.ingest([INIT], RunOrder(run=" x")))


def test_a_run_without_a_name_gets_one(person: Core) -> None:
    """An empty stream is a run too, which has begun."""
    done = person.runs.ingest([], RunOrder())
    assert done.run.id.startswith("run_")
    assert (done.run.events, done.run.status) == (0, "unfinished")


def test_secrets_in_a_stream_are_masked(studio: Studio, person: Core) -> None:
    """In what was said and in why it failed."""
    studio.masking("hunter2hunter2")
    core = Core(studio.ports, person.caller)
    failed = json.dumps({"type": "result", "is_error": True, "result": "hunter2hunter2 is wrong"})
    done = core.runs.ingest([text("it is hunter2hunter2"), failed], RunOrder(run="r1"))
    (event, _) = core.runs.events(EventFilter(run="r1"), 10).events
    assert "hunter2" not in event.payload + done.run.error
    assert json.loads(event.payload)["type"] == "text"


@pytest.fixture
def present(person: Core, item: str) -> Callable[..., Any]:
    """Answer what tells the payload numbers of the events of an issue with two runs."""
    for run in ("r2", "r1"):
        lines = [INIT, *(text(f"{run} {n}") for n in range(3)), RESULT]
        person.runs.ingest(lines, RunOrder(run=run, item=item))

    def tell(limit: int = 100, offset: int = 0, **sought: str) -> tuple[list[Any], int]:
        page = person.runs.events(EventFilter(**sought), limit, offset)
        return [(event.run, event.number) for event in page.events], page.total

    return tell


def test_events_are_found_by_run_and_by_issue(present: Callable[..., Any], item: str) -> None:
    """In the order of the runs and of the stream, page by page."""
    assert present(run="r1") == ([("r1", n) for n in range(1, 6)], 5)
    every = [(run, n) for run in ("r2", "r1") for n in range(1, 6)]
    assert present(item=item) == (every, 10)
    assert present(limit=3, offset=4, item=item) == (every[4:7], 10)
    assert present(offset=10, item=item) == ([], 10)
    assert present(limit=2, offset=1, run="r1", item=item) == (every[6:8], 5)


def test_events_are_found_by_type_and_subtype(present: Callable[..., Any], item: str) -> None:
    """The place counts only those that are meant."""
    assert present(item=item, type="system") == ([("r2", 1), ("r1", 1)], 2)
    assert present(run="r1", type="assistant", subtype="text") == (
        [("r1", n) for n in (2, 3, 4)],
        3,
    )
    assert present(limit=2, offset=2, item=item, subtype="text") == ([("r2", 4), ("r1", 2)], 6)


def test_events_of_nothing_are_refused(
    studio: Studio, person: Core, present: Callable[..., Any]
) -> None:
    """A run or an issue is named, is there, and both belong together."""
    for sought, fault in (
        (EventFilter(type="system"), InvalidInput),
        (EventFilter(run="r9"), NotFound),
        (EventFilter(item="demo-9"), NotFound),
        (EventFilter(run="r1", item="demo-9"), NotFound),
    ):
        studio.refuses(fault, lambda sought=sought: person.runs.events(sought, 10))
