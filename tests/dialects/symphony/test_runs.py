"""The tool `query_run_events`, and recent runs of an issue."""

from __future__ import annotations

import json

import pytest

from builders import Workshop
from counterpoint.core.model.runs import RunOrder
from counterpoint.dialects.symphony.verbs.issues import Issues
from fakes.boards import Make, Seat

BLOCK = {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}
LINES = [
    json.dumps({"type": "system", "subtype": "init", "session_id": "s"}),
    *(
        json.dumps(
            {"type": "assistant", "message": {"content": [{"type": "text", "text": f"{n}"}]}}
        )
        for n in range(150)
    ),
    json.dumps({"type": "assistant", "message": {"content": [BLOCK]}}),
    json.dumps(
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "x" * 9_000}]}}
    ),
    json.dumps({"type": "result", "subtype": "success", "is_error": False, "total_cost_usd": 0.5}),
]


@pytest.fixture
def issue(workshop: Workshop, make: Make) -> str:
    """Answer an issue with a run of 154 events."""
    identifier = make()
    core = workshop.app.person()
    item = core.use(Issues).named(identifier).id
    core.runs.ingest(LINES, RunOrder(run="r1", item=item, profile="worker"))
    return identifier


def test_events_come_in_order_page_by_page(seat: Seat, issue: str) -> None:
    """By issue or by run; each page within its limit, every event once."""
    judge = seat("jo", "judge", issue)
    seen: list[int] = []
    offset: int | None = 0
    while offset is not None:
        page = judge.call("query_run_events", {"issue_id": issue, "offset": offset, "limit": 500})
        assert len(page.text.encode()) <= 10_000
        assert page.answer["total"] == len(LINES)
        seen += [event["sequence"] for event in page.answer["events"]]
        offset = page.answer["next_offset"]
    assert seen == list(range(1, len(LINES) + 1))
    assert len(judge.does("query_run_events", run_id="r1", limit=3)["events"]) == 3


def test_events_are_filtered(seat: Seat, issue: str) -> None:
    """By type and subtype; a long payload is whole where it is alone."""
    judge = seat("jo", "judge", issue)
    (use,) = judge.does("query_run_events", run_id="r1", event_subtype="tool_use")["events"]
    assert (use["event_type"], use["payload"]["name"]) == ("assistant", "Bash")
    told = judge.does("query_run_events", run_id="r1", event_type="result")
    assert (told["total"], told["events"][0]["payload"]["total_cost_usd"]) == (1, 0.5)
    asked = {"run_id": "r1", "offset": 152, "limit": 1}
    payload = judge.does("query_run_events", **asked)["events"][0]["payload"]
    assert payload.endswith("…")
    assert len(payload) > 8_000


def test_events_of_nothing_and_too_many_are_refused(seat: Seat, issue: str) -> None:
    """One of both ids is needed; the limit is 500."""
    judge = seat("jo", "judge", issue)
    assert "run_id" in judge.is_refused("query_run_events")["error"]
    for wrong in ({"limit": 501}, {"limit": 0}, {"offset": -1}, {"event_type": "odd"}):
        refusal = judge.is_refused("query_run_events", run_id="r1", **wrong)
        assert refusal["code"] == "VALIDATION_ERROR"
    assert judge.is_refused("query_run_events", run_id="r2")["code"] == "NOT_FOUND"
    assert judge.is_refused("query_run_events", issue_id="DEMO-99")["code"] == "NOT_FOUND"


def test_the_status_of_an_issue_tells_of_its_runs(seat: Seat, issue: str) -> None:
    (run,) = seat("jo", "judge", issue).does("get_issue_status")["recentRuns"]
    assert (run["id"], run["status"], run["error"], run["cost"]) == ("r1", "completed", None, 0.5)
