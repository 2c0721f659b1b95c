"""The agentic words: types of arguments, and how the core's nouns are shown.

core                                  here
backlog, paused, active, done         draft, paused, active, completed (and archived)
open, active, done, blocked, skipped  pending, in_progress, completed, blocked, skipped
done and skipped                      both count as completed in every `progress`
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, NotRequired

from pydantic import Field, WithJsonSchema
from typing_extensions import TypedDict

from counterpoint.core.coordinator import Core
from counterpoint.core.model.answers import ItemView, Progress, Standing
from counterpoint.core.model.drafts import Draft, place_name
from counterpoint.core.model.sessions import Activity, SessionView
from counterpoint.core.model.work import TITLE_LIMIT
from counterpoint.core.rules.readiness import part_state
from counterpoint.core.rules.wording import first_line
from counterpoint.dialects import arguments
from counterpoint.dialects.agentic.nouns import NOTES, PlanStanding
from counterpoint.dialects.agentic.rules.progress import (
    percentage,
    plan_standing,
    reason_of,
    slug_of,
    standing_of,
    text_in,
)
from counterpoint.dialects.agentic.verbs.plans import Planning
from counterpoint.dialects.agentic.verbs.sessions import agent_type_of, is_stale
from counterpoint.dialects.arguments import TEXT, TEXTS
from counterpoint.dialects.call import Call
from counterpoint.dialects.paging import clip, sparse
from counterpoint.kernel.canonical import Json, dump_any
from counterpoint.kernel.clock import Timestamp, elapsed_ms
from counterpoint.kernel.errors import InvalidInput

PHASE_LIMIT = 500
"""How many phases a plan may be made with."""
_OBJECT: Final = WithJsonSchema({"type": "object"})
_PLACE: Final = WithJsonSchema({"type": ["integer", "string"]})

DATA_LIMIT: Final = 16_000
"""Bytes of JSON that an object which comes with a call may have."""
_NAMED: Final = 100
_WORDS: Final = 600
"""The most bytes of one text in a list."""

Slug = Annotated[str, Field(min_length=1, max_length=200), TEXT]
GivenSlug = Annotated[
    str, Field(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$"), TEXT
]
Order = Annotated[
    Annotated[int, Field(ge=1, le=100_000)] | Annotated[str, Field(min_length=1, max_length=300)],
    _PLACE,
]
Task = Annotated[
    Annotated[int, Field(ge=0, le=100_000)] | Annotated[str, Field(min_length=1, max_length=300)],
    _PLACE,
]
SessionId = Annotated[str, Field(max_length=80), TEXT]
AgentType = Annotated[str, Field(min_length=1, max_length=64, pattern=r"\S"), TEXT]
Title = Annotated[str, Field(min_length=1, max_length=255), TEXT]
Said = arguments.Said
Text = arguments.Text
Line = arguments.Line
Lines = Annotated[list[Line], Field(max_length=100), TEXTS]
Word = Annotated[str, Field(max_length=200), TEXT]
FilePath = Annotated[str, Field(max_length=4_096), TEXT]
Criteria = Annotated[
    list[Annotated[int, Field(ge=0, le=100)] | Line],
    Field(max_length=50),
    WithJsonSchema({"type": "array", "items": {"type": ["integer", "string"]}}),
]
Key = Annotated[str, Field(min_length=1, max_length=200), TEXT]
Object = Annotated[dict[str, Any], _OBJECT]
Limit = arguments.Limit
Count = arguments.Count
Cursor = Annotated[arguments.Cursor, Field(description="`next_cursor` of a page")]

PlanStatus = Literal["draft", "active", "paused", "completed", "archived"]
PlanStatusShown = Annotated[
    PlanStatus,
    WithJsonSchema({"type": "string", "enum": ["draft", "active", "completed", "archived"]}),
]
Status = Literal["pending", "in_progress", "completed", "blocked", "skipped"]
LogType = Literal["info", "progress", "warning", "error", "success", "decision", "checkpoint"]
SessionStatus = Literal["active", "paused", "handed_off", "completed", "failed"]
EndStatus = Annotated[
    Literal["completed", "failed", "handed_off", "paused"],
    WithJsonSchema({"type": "string", "enum": ["completed", "failed"]}),
]
ArtifactAction = Annotated[
    Literal["created", "modified", "deleted", "reviewed"],
    WithJsonSchema({"type": "string", "enum": ["created", "modified", "deleted"]}),
]


class TaskObject(TypedDict):
    """A task with more than a name."""

    name: Said
    description: NotRequired[Text]


class PhaseObject(TypedDict, total=False):
    """A phase of a plan to be made."""

    name: Annotated[str, Field(max_length=2_000, description="Name"), TEXT]
    description: Annotated[Text, Field(description="What it is for")]
    tasks: Annotated[
        list[Said | TaskObject], Field(max_length=1_000, description="Task names"), TEXTS
    ]
    dependencies: Annotated[
        list[Order],
        Field(max_length=100, description="Orders or names of phases before it"),
        WithJsonSchema({"type": "array", "items": {"type": ["integer", "string"]}}),
    ]
    completion_criteria: Annotated[
        Lines, Field(max_length=50, description="What must be true at its end")
    ]


Phases = Annotated[list[PhaseObject], Field(max_length=PHASE_LIMIT)]

_PLANS: Final[dict[PlanStatus, PlanStanding]] = {
    "draft": "backlog",
    "active": "active",
    "paused": "paused",
    "completed": "done",
    "archived": "archived",
}
_PLANS_TOLD: Final = {standing: word for word, standing in _PLANS.items()}
_STEPS: Final[dict[Status, Standing]] = {
    "pending": "open",
    "in_progress": "active",
    "completed": "done",
    "blocked": "blocked",
    "skipped": "skipped",
}
_STEPS_TOLD: Final = {standing: word for word, standing in _STEPS.items()}


def parse_plan_status(status: PlanStatus) -> PlanStanding:
    """Return the core's word for a status of a plan."""
    return _PLANS[status]


def parse_status(status: Status) -> Standing:
    """Return the core's word for a status of a phase or a task."""
    return _STEPS[status]


def parse_phases(phases: Sequence[PhaseObject]) -> tuple[Draft, ...]:
    """Return the drafts of phases; InvalidInput with each phase that is named and not there.

    A phase without a name is called by its order. What comes before it is named by orders (from 1) or names.
    """
    titles = [
        phase.get("name", "").strip() or f"Phase {order}" for order, phase in enumerate(phases, 1)
    ]
    faults: list[str] = []
    drafts: list[Draft] = []
    for order, (name, phase) in enumerate(zip(titles, phases, strict=True), 1):
        after = {
            dependency: order_in(titles, dependency) for dependency in phase.get("dependencies", ())
        }
        faults += [
            f"phase {order} comes after {dependency!r}, which is no phase of the plan"
            for dependency, number in after.items()
            if not number
        ]
        title, body = titled(name, phase.get("description", ""))
        drafts.append(
            Draft(
                kind="phase",
                title=title,
                body=body,
                name=place_name(str(order)),
                needs=tuple(place_name(str(number)) for number in after.values()),
                acceptance=tuple(phase.get("completion_criteria", ())),
                children=tuple(_parse_task(task) for task in phase.get("tasks", ())),
            )
        )
    if faults:
        raise InvalidInput("; ".join(faults), faults=faults)
    return tuple(drafts)


def _parse_task(task: str | TaskObject) -> Draft:
    fields: TaskObject = {"name": task} if isinstance(task, str) else task
    title, body = titled(fields["name"], fields.get("description", ""))
    return Draft(kind="task", title=title, body=body)


def sized(name: str, value: dict[str, Any] | None) -> dict[str, Json]:
    """Return an object that came with a call; InvalidInput if it is too large."""
    if value is not None and len(dump_any(value).encode()) > DATA_LIMIT:
        raise InvalidInput(
            f"`{name}` has more than {DATA_LIMIT} bytes of JSON",
            hint="Put it into a file and name that, or keep it with `state_set`.",
        )
    return value or {}


def current(call: Call) -> Core:
    """Return the core in the session that this connection writes in now."""
    return call.core.in_session(call.core.sessions.own())


def present_progress(progress: Progress) -> dict[str, Json]:
    """Return how far a whole is."""
    parts = progress.counted(part_state)
    return {
        "total": progress.total,
        "completed": parts["done"] + parts["skipped"],
        "in_progress": parts["active"],
        "pending": parts["open"],
        "blocked": parts["blocked"],
        "skipped": parts["skipped"],
        "percentage": percentage(progress),
    }


def present_plan_status(line: ItemView) -> str:
    """Return the status of a plan."""
    return _PLANS_TOLD[plan_standing(line)]


def present_status(standing: Standing) -> str:
    """Return the status of a phase or a task."""
    return _STEPS_TOLD[standing]


def present_plan(line: ItemView) -> dict[str, Json]:
    """Return a plan as lists show it."""
    return {
        "slug": slug_of(line),
        "title": line.item.title,
        "status": present_plan_status(line),
        "progress": present_progress(line.progress),
        "updated_at": line.item.updated_at,
    }


def present_phase(
    line: ItemView, max_bytes: int = _WORDS // 2, criteria: int = 0
) -> dict[str, Json]:
    """Return a phase without its tasks, with at most so many of its criteria."""
    needs = sorted(
        needed.position + 1 for needed in line.needs if needed.parent == line.item.parent
    )
    return {
        "order": line.item.position + 1,
        "name": line.item.title,
        "status": present_status(standing_of(line)),
        **sparse(
            description=clip(line.item.body, max_bytes),
            reason=clip(reason_of(line), _WORDS),
            dependencies=list(needs[:_NAMED]),
            completion_criteria=[
                {"text": clip(criterion.text, _WORDS // 3), "met": criterion.met}
                for criterion in line.criteria[:criteria]
            ],
            completed_at=line.item.closed_at,
        ),
        "task_progress": present_progress(line.progress),
    }


def present_task(line: ItemView, max_bytes: int = _WORDS) -> dict[str, Json]:
    """Return a task."""
    return {
        "index": line.item.position,
        "name": line.item.title,
        "status": present_status(standing_of(line)),
        **sparse(
            description=clip(line.item.body, max_bytes),
            notes=clip(text_in(line, NOTES), max_bytes),
            reason=clip(reason_of(line), _WORDS),
        ),
    }


def present_session(call: Call, line: SessionView) -> dict[str, Json]:
    """Return a session."""
    session = line.session
    plan = call.core.use(Planning).find(session.item) if session.item else None
    end = session.ended_at or line.last_active_at
    return {
        "session_id": session.id,
        "agent_type": agent_type_of(line),
        "agent": session.agent,
        "plan": slug_of(plan) if plan else None,
        "status": session.status,
        "started_at": session.started_at,
        "last_active_at": line.last_active_at,
        "duration": present_duration(session.started_at, Timestamp(end)),
        **sparse(
            ended_at=session.ended_at, continues=session.continues, stale=is_stale(line) or ""
        ),
    }


def present_duration(start: Timestamp, end: Timestamp) -> str:
    """Return a span in whole minutes, such as `12m` or `1h 5m`."""
    hours, minutes = divmod(elapsed_ms(start, end) // 60_000, 60)
    return f"{hours}h {minutes}m" if hours else f"{minutes}m"


def present_activity(done: Activity) -> dict[str, Json]:
    """Return one thing that was done in a session; a line of the log without a type is `info`.

    What is long is cut; `plan_get` shows it whole under the id.
    """
    return {
        "sequence": done.sequence,
        **sparse(id=done.record),
        "timestamp": done.at,
        "type": "info" if done.type == "log" else done.type,
        "message": clip(done.message, _WORDS),
        **sparse(path=done.path, subject=done.subject, data=clipped(done.details.get("data"))),
    }


def clipped(value: Json, max_bytes: int = _WORDS) -> Json:
    """Return a value that is small as it is, and of a large one the beginning of its JSON."""
    text = "" if value is None else dump_any(value)
    return value if len(text.encode()) <= max_bytes else clip(text, max_bytes)


def order_in(titles: Sequence[str], ref: int | str) -> int:
    """Return the order of a phase that is given by order or name; 0 if there is none, or several."""
    if isinstance(ref, int):
        return ref if 0 < ref <= len(titles) else 0
    if titles.count(ref) == 1:
        return titles.index(ref) + 1
    number = int(ref) if ref.isascii() and ref.isdecimal() and len(ref) < len("1000") else 0
    return number if number <= len(titles) else 0


def titled(name: str, description: str) -> tuple[str, str]:
    """Return a title of one line, and a body; what does not fit into the title begins the body."""
    short = first_line(name, TITLE_LIMIT)
    if short == name.strip():
        return short, description
    return short, "\n\n".join(part for part in (name.strip(), description) if part)
