"""What was written of a workflow, by its id, whole, under the names of the tools' parameters.

id         what it is
DEMO-1     a workflow, a phase or a task
DEMO-r1    a decision, an issue or a milestone
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from counterpoint.core.model.answers import Facets
from counterpoint.core.model.journal import Outcome, Record
from counterpoint.core.model.rows import load_object
from counterpoint.core.model.work import Item
from counterpoint.dialects.call import Call
from counterpoint.dialects.paging import sparse
from counterpoint.dialects.whole import Written, find_written, written_item, written_record
from counterpoint.dialects.workflow.verbs.queries import as_given, phase_number, runs_parallel
from counterpoint.dialects.workflow.words import (
    lasted,
    present_part,
    present_task_status,
    seconds,
)
from counterpoint.kernel.canonical import Json, object_of

_REVIEWED: Final = ("manual_review_needed", "manual_review_reason")
"""What is kept with the rest of a task's words, and is a part of its outcome."""
_OWN: Final = frozenset(
    (
        "areas",
        "caller_type",
        "number",
        "is_parallel",
        "outcome",
        "tree",
        "verification",
        "words",
        "accept",
    )
)
"""What is kept with an item and stands under other names here."""


def find_part(call: Call, name: str) -> Written | None:
    """Return what an id means, or None; what is of no workflow as any dialect shows it."""
    item = call.core.items.find(name)
    if item is not None:
        root = call.core.items.get(item.root)
        write = _ITEMS.get(item.kind)
        if write is None or root.kind != "workflow":
            return written_item(call, item.id)
        return write(call, call.core.overview.facets(item.id))
    written = find_written(call, name)
    if written is None or written.header.get("category") not in _RECORDS:
        return written
    record = call.core.overview.find(Record, name)
    return _record(record) if record is not None else written


def _workflow(call: Call, facets: Facets) -> Written:
    attributes = facets.attributes
    outcome = object_of(attributes.get("outcome"))
    parts: dict[str, Json] = {
        "objective": facets.item.body,
        **{name: attributes.get(name) for name in ("scope", "constraints")},
        **object_of(outcome.get("words")),
        "metrics": outcome.get("metrics"),
        "warnings": outcome.get("warnings"),
        **_further(call, facets, "profile", "total_phases", "scope", "constraints"),
    }
    header = sparse(
        name=facets.item.title,
        profile=str(attributes.get("profile") or "").upper(),
        total_phases=attributes.get("total_phases"),
    )
    return Written(header=_header(facets.item, header), parts=parts)


def _phase(call: Call, facets: Facets) -> Written:
    outcome = object_of(facets.attributes.get("outcome"))
    header: dict[str, Json] = {
        "workflow_id": facets.item.root,
        "name": facets.item.title,
        "number": phase_number(facets),
        "is_parallel": runs_parallel(facets),
    }
    parts: dict[str, Json] = {
        "description": facets.item.body,
        "summary": outcome.get("summary"),
        **_further(call, facets),
    }
    return Written(header=_header(facets.item, header), parts=parts)


def _task(call: Call, facets: Facets) -> Written:
    item, attributes = facets.item, facets.attributes
    words = object_of(attributes.get("words"))
    ends = {
        str(outcome.token): _outcome(outcome) for outcome in call.core.overview.outcomes(item.id)
    }
    last = ends.popitem()[1] if ends else {}
    tree = str(attributes.get("tree") or ".")
    header = sparse(
        workflow_id=item.root,
        parent_task_id=_task_above(call, item),
        name=item.title,
        caller_type=attributes.get("caller_type"),
        agent_name=item.assignee,
        repo_path="" if tree == "." else tree,
    )
    parts: dict[str, Json] = {
        "goal": item.body,
        "areas": list(as_given(facets.areas, attributes.get("areas"))),
        "outcome": {**last, **{name: words[name] for name in _REVIEWED if name in words}},
        "metadata": {name: value for name, value in words.items() if name not in _REVIEWED},
        "verification": attributes.get("verification"),
        "earlier_outcomes": ends,
        **_further(call, facets),
    }
    return Written(header=_header(item, header), parts=parts)


def _task_above(call: Call, item: Item) -> str:
    above = call.core.items.find(item.parent) if item.parent else None
    return above.id if above is not None and above.kind == "task" else ""


def _outcome(outcome: Outcome) -> dict[str, Json]:
    return sparse(
        summary=str(outcome.summary),
        achievements=list(outcome.achievements),
        limitations=list(outcome.limitations),
        next_steps=list(outcome.next_steps),
        remarks=list(outcome.remarks),
    )


def _header(item: Item, header: dict[str, Json]) -> dict[str, Json]:
    is_task = item.kind == "task"
    return {
        "kind": item.kind,
        **header,
        "status": present_task_status(item) if is_task else present_part(item),
        "started_at": item.created_at,
        **sparse(completed_at=item.closed_at, duration_seconds=seconds(lasted(item))),
    }


def _further(call: Call, facets: Facets, *own: str) -> dict[str, Json]:
    """Return what other dialects keep with an item, which no parameter here names."""
    others = {
        name: content for name, content in facets.attributes.items() if name not in {*_OWN, *own}
    }
    generic = written_item(call, facets.item.id).parts
    prefixes = ("waiver of ", "blocker ", "reason of move ")
    words = {
        name: content
        for name, content in generic.items()
        if name == "accept" or name.startswith(prefixes)
    }
    return {**words, **others}


def _record(record: Record) -> Written:
    """Return a decision, an issue or a milestone."""
    details = load_object(record.details)
    task = details.pop("task", record.item)
    header = sparse(
        kind=record.kind,
        task_id=task,
        created_at=record.created_at,
        status=record.status.upper() if record.kind == "blocker" else "",
    )
    if record.kind == "decision":
        plain = {} if "question" in details else {"question": record.title, "chosen": record.body}
        return Written(header=header, parts={**plain, **details})
    if record.kind == "milestone":
        return Written(header=header, parts={"message": record.body, **details})
    if record.kind == "finding" and "type" not in details:
        return written_record(record)
    header["requires_human_review"] = record.kind == "blocker"
    resolved = sparse(resolved_with=record.resolution, resolved_at=record.resolved_at)
    return Written(header=header, parts={"description": record.body, **details, **resolved})


_ITEMS: Final[Mapping[str, Callable[[Call, Facets], Written]]] = {
    "workflow": _workflow,
    "phase": _phase,
    "task": _task,
}
_RECORDS: Final = frozenset(("decision", "milestone", "blocker", "finding"))
