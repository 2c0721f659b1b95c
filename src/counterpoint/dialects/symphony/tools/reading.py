"""The tools `get_issue`, `get_issue_status` and `list_issues`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Final, cast

from pydantic import Field

from counterpoint.core.model.answers import Continuation
from counterpoint.core.model.filters import ItemFilter
from counterpoint.core.model.journal import Record, RecordKind
from counterpoint.core.model.rows import load_object
from counterpoint.core.model.work import Item
from counterpoint.dialects.call import DATA, Call
from counterpoint.dialects.continuing import list_resumable_work, present_left
from counterpoint.dialects.lacking import checks_at
from counterpoint.dialects.paging import (
    PAGE,
    RESERVE,
    Part,
    clip,
    fit_entry,
    fit_parts,
    pages_of,
    part_of_list,
    part_of_rows,
    part_of_text,
    size_of,
    sparse,
)
from counterpoint.dialects.symphony.envelope import PHRASES
from counterpoint.dialects.symphony.nouns import IssueDetails, IssueView
from counterpoint.dialects.symphony.tools.given import (
    GIVEN,
    has_no_issue,
    load_given_part,
    load_memory_part,
)
from counterpoint.dialects.symphony.tools.parts import find_part, health_json
from counterpoint.dialects.symphony.tools.phases import (
    ALL,
    brief_claim,
    brief_verdict,
    present_claim,
    present_verdict,
)
from counterpoint.dialects.symphony.tools.requests import brief_request
from counterpoint.dialects.symphony.tools.runs import runs_of
from counterpoint.dialects.symphony.verbs.issues import Issues
from counterpoint.dialects.symphony.verbs.learnings import Surveys
from counterpoint.dialects.symphony.verbs.phases import Phases
from counterpoint.dialects.symphony.verbs.queries import MOVED_TO
from counterpoint.dialects.symphony.verbs.requests import Requests
from counterpoint.dialects.symphony.words import (
    STATES,
    Cursor,
    Id,
    Limit,
    Status,
    is_issue,
    parse_issue,
    present_id,
    present_priority,
    present_status,
)
from counterpoint.dialects.whole import present_written
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.protocol.tools import tool

PartId = Annotated[str, Field(min_length=1, max_length=2_000)]
"""An id of an issue, or of what is in one: that of a file's coverage has its path and a concept."""
RECORDS: Final[dict[str, RecordKind]] = {
    "findings": "finding",
    "learnings": "learning",
    "comments": "comment",
}
_ROWS: Final = 64
"""How many of the shortest entries fit into a page."""
_ENTRY: Final = 2_000
_SUMMARY: Final = 300
_RECENT: Final = 5
_RUNS: Final = 3


@tool(reads=True)
def get_issue(
    call: Call,
    issue_id: Annotated[
        PartId | None,
        Field(description="Default: current issue; or an id in it, to read that whole"),
    ] = None,
    cursor: Annotated[Cursor, Field(description="`next_cursor` of the page before")] = "",
) -> Json:
    """Read an issue: description, status, findings, learnings, comments, sub-tasks, runs."""
    written = find_part(call, issue_id) if issue_id and not is_issue(call, issue_id) else None
    if issue_id and written is not None:
        return present_written(call, issue_id, written, cursor, "get_issue")
    item = parse_issue(call, issue_id or "")
    pages = pages_of(call, cursor, "get_issue", item.id, first={})
    issue = call.core.use(Issues).details(item.id)
    answer: dict[str, Json] = {"id": item.id, "identifier": present_id(item.id)}
    if not cursor:
        begun = _held_issues(call) if _own_parts(call, item) else {}
        answer = begun | _head(issue) | _context_of(call, issue) | _submissions_of(call, item.id)
        answer |= checks_at(call.core, [item]).get(item.id, {})
        del answer["labels"]
    parts = {
        name: _part(call, issue, name, pages.at.get(name, 0))
        for name in ("labels", "description", *_own_parts(call, item), *RECORDS, "subtasks", "runs")
        if not cursor or name in pages.at
    }
    contents, next_starts = fit_parts(parts, PAGE - RESERVE - size_of(answer) - size_of(DATA))
    if not cursor:
        empty: dict[str, Json] = {name: [] for name in RECORDS}
        begins: dict[str, Json] = {"labels": [], "description": "", **empty}
        contents = begins | contents
    return {
        **answer,
        **contents,
        **sparse(next_cursor=pages.cursor(next_starts or None)),
        "note": DATA,
    }


@tool(reads=True)
def get_issue_status(
    call: Call, issue_id: Annotated[Id | None, Field(description="Default: current issue")] = None
) -> Json:
    """Check an issue quickly: status, labels, last findings and runs."""
    item = parse_issue(call, issue_id or "")
    issue = call.core.use(Issues).details(item.id)
    return {
        **(_held_issues(call) if _own_parts(call, item) else {}),
        **_head(issue),
        **checks_at(call.core, [item]).get(item.id, {}),
        "recentFindings": _recent_findings(call, item.id),
        "recentRuns": runs_of(call, issue)[:_RUNS],
        "note": DATA,
    }


@tool(reads=True)
def list_issues(
    call: Call,
    status: Annotated[Status | None, Field(description="Only this status")] = None,
    labels: Annotated[str, Field(max_length=100, description="Only with this label")] = "",
    limit: Annotated[Limit, Field(description="Most results")] = 50,
    cursor: Annotated[Cursor, Field(description="`next_cursor` of the page before")] = "",
) -> Json:
    """List the issues of the project, oldest first."""
    first = {"issues": 0, **({"memory": 0} if has_no_issue(call) else {})}
    pages = pages_of(call, cursor, "list_issues", status, labels, first=first)
    blocked = None if status not in {"todo", "blocked", "backlog"} else status == "blocked"
    states = (
        (*STATES["todo"], *STATES["backlog"])
        if status == "blocked"
        else STATES.get(cast("Status", status), ())
    )
    item_filter = ItemFilter(status=states, label=labels)
    at = cast("dict[str, int]", pages.at)
    parts: dict[str, Part] = {}
    if "issues" in at:
        rows = call.core.use(Issues).list(item_filter, at["issues"], limit + 1, blocked=blocked)
        checks = checks_at(call.core, [line.item for line in rows[:limit]])
        parts["issues"] = part_of_rows(
            rows,
            limit,
            lambda line: present_line(line) | checks.get(line.item.id, {}),
            lambda line: line.item.number,
            at["issues"],
        )
    if "memory" in at:
        parts["memory"] = load_memory_part(call, at["memory"])
    first = _held_issues(call) if "memory" in at and not cursor else {}
    contents, next_starts = fit_parts(parts, PAGE - RESERVE - size_of(DATA) - size_of(first))
    return {
        **first,
        "issues": [],
        **contents,
        **sparse(next_cursor=pages.cursor(next_starts or None)),
        "note": DATA,
    }


def _held_issues(call: Call) -> dict[str, Json]:
    """Return the issues that the caller holds or left, which come first."""

    def list_held(continuation: Continuation) -> Iterator[dict[str, Json]]:
        for live in continuation.held:
            if is_issue(call, live.item.id):
                yield {
                    "identifier": present_id(live.item.id),
                    "title": clip(live.item.title, _SUMMARY),
                    "since": live.claim.claimed_at,
                    **sparse(left=present_left(continuation.left)),
                }

    return list_resumable_work(call, "issues", list_held, PHRASES)


def present_line(line: IssueView) -> dict[str, Json]:
    """Return an issue as a list shows it."""
    item = line.item
    return fit_entry(_line(line, item))


def _line(line: IssueView, item: Item) -> dict[str, Json]:
    return {
        "id": item.id,
        "identifier": present_id(item.id),
        "title": item.title,
        "status": present_status(item, blocked=line.is_blocked),
        "priority": present_priority(item.priority),
        "labels": list(line.labels),
        **sparse(parent=present_id(item.parent) if item.parent else ""),
    }


def present_record(record: Record) -> dict[str, Json]:
    """Return a finding, a learning or a comment of an issue as a list shows it."""
    return fit_entry(_record(record))


def _record(record: Record) -> dict[str, Json]:
    details = load_object(record.details)
    entry: dict[str, Json] = {"id": record.id, "created_at": record.created_at}
    if record.kind == "comment":
        author = details.get("author") or f"agent:{record.agent}"
        return {
            **entry,
            "author": author,
            "content": clip(record.body, _ENTRY),
            "createdAt": record.created_at,
        }
    if record.kind == "learning":
        return {
            **entry,
            "pattern": clip(str(details.get("pattern") or record.body), _ENTRY),
            **sparse(
                context=clip(str(details.get("context") or ""), _ENTRY),
                applies_to=details.get("applies_to"),
            ),
            "learning_type": details.get("kind") or "pattern",
            "quality_score": details.get("quality", 50),
            "verified": record.status == "verified",
        }
    fields: dict[str, Json] = {
        **entry,
        "category": record.tags[0] if record.tags else "",
        "summary": clip(record.title, _SUMMARY),
        **sparse(files=list(record.files)),
    }
    if record.body != record.title:
        fields["details"] = clip(record.body, _ENTRY)
    extra = {name: value for name, value in details.items() if name not in fields}
    return {**fields, **extra} if size_of(extra) <= _ENTRY else fields


def _head(issue: IssueDetails) -> dict[str, Json]:
    item, moved = issue.item, object_of(issue.attributes.get(MOVED_TO))
    return {
        **present_line(issue),
        "size": str(issue.attributes.get("size") or "") or None,
        "updatedAt": item.updated_at,
        **sparse(
            moved_to={"project": moved["project"], "identifier": present_id(moved["item"])}
            if moved
            else None,
        ),
    }


def _context_of(call: Call, issue: IssueDetails) -> dict[str, Json]:
    """Return the short fields about an issue: dates, neighbours, blockers, test health."""
    item = issue.item
    trend = call.core.use(Surveys).trend(item.id)
    health: dict[str, Json] = {}
    needs = issue.needs[:20]
    beside = [*needs, *([issue.parent] if issue.parent else [])]
    blocked = call.core.use(Issues).blocked(beside)
    if trend.runs:
        health = {**health_json(trend.runs[-1]), "change": trend.since_first}
    return {
        "createdAt": item.created_at,
        **sparse(
            depends_on=[_brief(needed, blocked) for needed in needs],
            parent_issue=_brief(issue.parent, blocked) if issue.parent else None,
            blockers=[
                {"id": blocker.id, "reason": clip(blocker.body, _SUMMARY)}
                for blocker in issue.blockers[:_RECENT]
            ],
            test_health=health,
            former_names=[present_id(name) for name in list(issue.names.values())[:_RECENT]],
        ),
    }


def _brief(item: Item, blocked: frozenset[str]) -> dict[str, Json]:
    return {
        "identifier": present_id(item.id),
        "title": clip(item.title, _SUMMARY),
        "status": present_status(item, blocked=item.id in blocked),
    }


def _part(call: Call, issue: IssueDetails, name: str, start: int) -> Part:
    item = issue.item
    lists: dict[str, Callable[[], list[Json]]] = {
        "labels": lambda: list(issue.labels),
        "subtasks": lambda: [present_line(child) for child in issue.children],
        "runs": lambda: runs_of(call, issue),
    }
    if name in lists:
        return part_of_list(lists[name](), start)
    if name == "description":
        return part_of_text(item.body, start)
    if name in GIVEN:
        return load_given_part(call, item, name, start)
    if name == "findings":
        return _findings(call, item.id, start)
    rows = call.core.use(Issues).records(item.id, RECORDS[name], start, _ROWS + 1)
    return part_of_rows(rows, _ROWS, present_record, lambda record: record.number, start)


def _findings(call: Call, item: str, seen_numbers: Json) -> Part:
    """Return findings, claims and verdicts of an issue by time; `seen_numbers` has the last number of each sort."""
    start = cast("list[int]", seen_numbers or [0, 0, 0])
    records = call.core.use(Issues).records(item, "finding", start[0], _ROWS + 1)
    claims = [claim for claim in call.core.use(Phases).claims(item, ALL) if claim.number > start[1]]
    verdicts = [
        phase_verdict
        for phase_verdict in call.core.use(Phases).verdicts(item, ALL)
        if phase_verdict.verdict.number > start[2]
    ]
    entries = sorted(
        [
            *((record.created_at, 0, record.number, present_record(record)) for record in records),
            *((claim.created_at, 1, claim.number, present_claim(claim)) for claim in claims),
            *(
                (
                    phase_verdict.verdict.created_at,
                    2,
                    phase_verdict.verdict.number,
                    present_verdict(phase_verdict),
                )
                for phase_verdict in verdicts
            ),
        ],
        key=lambda entry: entry[:3],
    )
    places: list[Json] = []
    reached = list(start)
    for _, sort, number, _ in entries[:_ROWS]:
        reached[sort] = number
        places.append(list(reached))
    return Part(
        content=[entry[3] for entry in entries[:_ROWS]],
        start=seen_numbers,
        places=places,
        more=len(entries) > _ROWS,
    )


def _recent_findings(call: Call, item: str) -> list[Json]:
    """Return the last findings in brief, the latest first."""
    records = call.core.use(Issues).records(item, "finding", 0, _RECENT, last=True)
    entries: list[tuple[str, int, str, str]] = [
        (record.created_at, 0, record.tags[0] if record.tags else "", record.title)
        for record in records
    ]
    entries += [
        (claim.created_at, 1, "phase_completion", claim.summary)
        for claim in call.core.use(Phases).claims(item, _RECENT)
    ]
    for phase_verdict in call.core.use(Phases).verdicts(item, _RECENT):
        verdict = "approved" if phase_verdict.verdict.decision == "approve" else "rejected"
        summary = f"{phase_verdict.claim.phase} {verdict}: {phase_verdict.verdict.reason}".rstrip(
            ": "
        )
        entries.append((phase_verdict.verdict.created_at, 2, "phase_verdict", summary))
    entries.sort(key=lambda entry: entry[:2], reverse=True)
    return [
        {"category": category, "summary": clip(summary, _SUMMARY)}
        for _, _, category, summary in entries[:_RECENT]
    ]


def _own_parts(call: Call, item: Item) -> tuple[str, ...]:
    """Return the `GIVEN` parts; none for an issue that the server was not started for."""
    bound_to = call.core.caller.item
    return GIVEN if bound_to and parse_issue(call, bound_to).id == item.id else ()


def _submissions_of(call: Call, item: str) -> dict[str, Json]:
    """Return the last submissions of an issue and their verdicts."""
    request = call.core.use(Requests).current(item)
    artifacts = call.core.items.attributes(item).get("artifacts")
    return sparse(
        pull_request=brief_request(request) if request else None,
        phase_completions=[brief_claim(claim) for claim in call.core.use(Phases).claims(item, 2)],
        phase_verdicts=[
            brief_verdict(phase_verdict)
            for phase_verdict in call.core.use(Phases).verdicts(item, 2)
        ],
        artifacts=artifacts,
    )
