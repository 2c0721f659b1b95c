"""The tool `query_run_events`, and how runs are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from counterpoint.core.model.journal import Outcome, Submission
from counterpoint.core.model.rows import REDACTED
from counterpoint.core.model.runs import NOT_TOLD, EventFilter, Run, StreamEvent
from counterpoint.core.rules.runs import EventType
from counterpoint.dialects.call import DATA, Call
from counterpoint.dialects.paging import PAGE, RESERVE, clip, part_of_list, sparse
from counterpoint.dialects.symphony.nouns import RUNS, IssueDetails
from counterpoint.dialects.symphony.verbs.phases import Phases
from counterpoint.dialects.symphony.words import Id, parse_issue
from counterpoint.kernel.canonical import Json, load, object_of
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.tools import tool

Subtype = Literal["init", "thinking", "text", "tool_use", "tool_result"]
_PAYLOAD: Final = 1_500
_WHOLE: Final = 8_500
_ERROR: Final = 300
_MICROS: Final = 1_000_000
_RUNS: Final = 50
_ENDS: Final = {
    "done": "completed",
    "partial": "given_up",
    "failed": "failed",
    "skipped": "skipped",
}


@tool(reads=True)
def query_run_events(
    call: Call,
    issue_id: Annotated[Id | None, Field(description="All runs of this issue")] = None,
    run_id: Annotated[
        Annotated[str, Field(min_length=1, max_length=200)] | None, Field(description="This run")
    ] = None,
    event_type: Annotated[EventType | None, Field(description="Only this type")] = None,
    event_subtype: Annotated[Subtype | None, Field(description="Only this subtype")] = None,
    limit: Annotated[int, Field(ge=1, le=500, description="Most results")] = 100,
    offset: Annotated[int, Field(ge=0, le=10_000_000, description="`next_offset` before")] = 0,
) -> Json:
    """Query what agents did in their runs, in order; run_id or issue_id is needed."""
    if not (issue_id or run_id):
        raise InvalidInput("neither run_id nor issue_id is given", hint="Pass one, or both.")
    chosen = EventFilter(
        run=run_id or "",
        item=parse_issue(call, issue_id).id if issue_id else "",
        type=event_type or "",
        subtype=event_subtype or "",
    )
    page = call.core.runs.events(chosen, limit, offset)
    events = [_present(event, _WHOLE if limit == 1 else _PAYLOAD) for event in page.events]
    page_events, _ = part_of_list(events).cut(PAGE - RESERVE)
    after = offset + len(page_events)
    return {
        "events": page_events,
        "total": page.total,
        "next_offset": after if after < page.total and page_events else None,
        "note": DATA,
    }


def runs_of(call: Call, issue: IssueDetails) -> list[Json]:
    """Return the runs of an issue, the last first: one list, whatever tells of them.

    A run is told of by its stream, by how its claim ended, and by the phases that it handed over; what names
    the same run is one.
    """
    claim, names = issue.claim, object_of(issue.attributes.get(RUNS))
    live: list[Json] = []
    if claim is not None and claim.is_held:
        live = [
            {
                "attempt": claim.token,
                "status": "running",
                "error": None,
                "cost": None,
                "startedAt": claim.claimed_at,
            }
        ]
    runs = [
        _run_of_outcome(outcome, str(names.get(str(outcome.token), ""))) for outcome in issue.runs
    ]
    for phase in call.core.use(Phases).claims(issue.item.id):
        _merge_run(runs, _run_of_claim(phase))
    for run in call.core.runs.recent(issue.item.id, _RUNS):
        _merge_run(runs, _run_of_stream(run))
    return [*live, *sorted(runs, key=_finished_at, reverse=True)]


def _merge_run(runs: list[dict[str, Json]], run: dict[str, Json]) -> None:
    """Merge a run into the last entry with its id, or append it."""
    matches = [entry for entry in runs if "id" in run and entry.get("id") == run["id"]]
    if not matches:
        runs.append(run)
        return
    last = max(matches, key=_finished_at)
    # What the issue says of it stays; a stream knows what it cost.
    last |= {name: value for name, value in run.items() if last.get(name) is None}


def _finished_at(run: Mapping[str, Json]) -> str:
    return str(run["finishedAt"])


def _run_of_stream(run: Run) -> dict[str, Json]:
    """Return a run from its event stream."""
    return {
        "id": run.id,
        "status": run.status,
        "error": clip(run.error, _ERROR) or None,
        "cost": None if run.cost_micros == NOT_TOLD else run.cost_micros / _MICROS,
        **sparse(profile=run.profile, agent=run.agent),
        "duration_ms": None if run.duration_ms == NOT_TOLD else run.duration_ms,
        "events": run.events,
        "finishedAt": run.updated_at,
    }


def _run_of_claim(claim: Submission) -> dict[str, Json]:
    """Return a run that ended with a submitted phase."""
    is_refused = claim.status == "rejected"
    return {
        **sparse(id=claim.run),
        "status": "failed" if is_refused else "completed",
        "agent": claim.agent,
        "summary": clip(claim.summary, _ERROR),
        "error": clip("; ".join(claim.reasons), _ERROR) if is_refused else None,
        "cost": None,
        "finishedAt": claim.created_at,
    }


def _run_of_outcome(outcome: Outcome, name: str) -> dict[str, Json]:
    summary = clip(outcome.summary, _ERROR)
    return {
        **sparse(id=name),
        "attempt": outcome.token,
        "status": _ENDS[outcome.outcome],
        "agent": outcome.agent,
        "summary": summary,
        "error": summary if outcome.outcome == "failed" else None,
        "cost": None,
        "finishedAt": outcome.ended_at,
    }


def _present(event: StreamEvent, most_bytes: int) -> dict[str, Json]:
    """Return an event; of a payload that is too long the beginning of its text."""
    payload: Any = event.payload
    if event.payload != REDACTED and len(event.payload.encode()) <= most_bytes:
        payload = load(event.payload)
    return {
        "run_id": event.run,
        "sequence": event.number,
        "event_type": event.type,
        "event_subtype": event.subtype or None,
        "timestamp": event.time or None,
        "payload": clip(payload, most_bytes) if isinstance(payload, str) else payload,
    }
