"""The workflow words: types of arguments, and how the core's nouns are shown.

    core                                 here
    done, partial, failed of a task      SUCCESS, PARTIAL_SUCCESS, FAILED
    done, partial, failed of the rest    COMPLETED, PARTIAL, FAILED
    open, active, review                 PENDING, IN_PROGRESS (a task: always IN_PROGRESS)

Enumerations come in lower case and go out in upper case, as the original kept them.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, NotRequired, cast

from pydantic import AfterValidator, Field, WithJsonSchema
from typing_extensions import TypedDict

from counterpoint.core.model.answers import ItemView, Progress
from counterpoint.core.model.filters import Report
from counterpoint.core.model.journal import Outcomes, Record
from counterpoint.core.model.rows import load_object
from counterpoint.core.model.work import Item
from counterpoint.dialects import arguments
from counterpoint.dialects.arguments import HIGHEST, TEXTS
from counterpoint.dialects.paging import clip, fit_entry, size_of, sparse
from counterpoint.dialects.workflow.verbs.queries import TaskLine, phase_number, runs_parallel
from counterpoint.kernel.canonical import Json, dump_any, load, object_of
from counterpoint.kernel.clock import Timestamp, elapsed_ms
from counterpoint.kernel.errors import InvalidInput

Id = arguments.Id
Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(arguments.one_line)]
Said = arguments.Said
Text = arguments.Text
Line = arguments.Line
Lines = Annotated[tuple[Line, ...], Field(max_length=100), TEXTS]
Areas = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=500)], ...], Field(max_length=50), TEXTS
]
Percent = Annotated[
    Annotated[int, Field(ge=0, le=100)] | Annotated[float, Field(ge=0, le=100)],
    WithJsonSchema({"type": "number", "minimum": 0, "maximum": 100}),
]
Tokens = Annotated[int, Field(ge=0, le=HIGHEST)]
Cursor = Annotated[arguments.Cursor, Field(description="`next_cursor` of the page before")]

Profile = Literal["simple", "standard", "complex"]
Ended = Literal["completed", "failed", "partial"]
PhaseEnded = Literal["completed", "failed"]
TaskEnded = Literal["success", "partial_success", "failed"]
CallerType = Literal["orchestrator", "subagent"]
Category = Literal["architecture", "library_choice", "trade_off", "workaround", "other"]
IssueType = Literal[
    "documentation_gap", "bug_encountered", "dependency_conflict", "unclear_requirement", "other"
]
Include = Literal["phase_summary", "tasks", "decisions", "milestones", "blockers"]
Tests = Literal["passed", "failed", "not_run"]

PHASES: Final[dict[Profile, int]] = {"simple": 2, "standard": 3, "complex": 4}
"""How many phases a workflow is expected to have, if nobody says."""
STATUS: Final[dict[str, str]] = {"completed": "done", "failed": "failed", "partial": "partial"}
"""The core's word for each end of a workflow or a phase."""

_PARTIAL: Final = "partial"
"""The one state that is called by more than its category."""
_PARTS: Final[dict[str, str]] = {
    "open": "PENDING",
    "active": "IN_PROGRESS",
    "review": "IN_PROGRESS",
    "done": "COMPLETED",
    "dropped": "FAILED",
}
_TASKS: Final[dict[str, str]] = {"done": "SUCCESS", "dropped": "FAILED"}
_OUTCOMES: Final[dict[TaskEnded, Outcomes]] = {
    "success": "done",
    "partial_success": "partial",
    "failed": "failed",
}
_ISSUES: Final[dict[IssueType, str]] = {
    "documentation_gap": "DOC_GAP",
    "bug_encountered": "BUG",
    "dependency_conflict": "DEPENDENCY_CONFLICT",
    "unclear_requirement": "UNCLEAR_REQUIREMENT",
    "other": "OTHER",
}
_KEPT: Final = 60_000
"""The most bytes of words that are kept with the end of something."""
PHASE_COUNTS: Final = ("total", "completed", "failed", "in_progress")
"""What is shown of the tasks of a phase in a list."""
_ENTRY: Final = 2_000
"""The most bytes of one text of an entry in a list."""


class Outcome(TypedDict):
    """What a task came to."""

    summary: Annotated[Said, Field(description="What was done")]
    achievements: NotRequired[Annotated[Lines, Field(description="What works now")]]
    limitations: NotRequired[Annotated[Lines, Field(description="What is missing")]]
    next_steps: NotRequired[Annotated[Lines, Field(description="What follows")]]
    manual_review_needed: NotRequired[Annotated[bool, Field(description="A person should look")]]
    manual_review_reason: NotRequired[Annotated[Text, Field(description="Why")]]


class Metadata(TypedDict, total=False):
    """What a task used."""

    packages_added: Annotated[Lines, Field(description="New dependencies")]
    packages_removed: Annotated[Lines, Field(description="Dependencies gone")]
    commands_executed: Annotated[Lines, Field(description="Commands run")]
    tests_status: Annotated[Tests, Field(description="Held against what the server ran")]
    tokens_input: Annotated[Tokens, Field(description="Tokens read")]
    tokens_output: Annotated[Tokens, Field(description="Tokens written")]


class Filter(TypedDict, total=False):
    """Which tasks and logs are asked for."""

    phase: Annotated[int, Field(ge=1, description="Phase number")]
    agent: Annotated[str, Field(min_length=1, max_length=200, description="Agent name")]
    since: Annotated[str, Field(min_length=1, max_length=40, description="ISO time")]


def parse_report(status: TaskEnded, outcome: Outcome) -> Report:
    """Return the report of a task's end; partly done ends it too."""
    return Report(
        outcome=_OUTCOMES[status],
        summary=outcome["summary"],
        achievements=tuple(outcome.get("achievements", ())),
        limitations=tuple(outcome.get("limitations", ())),
        next_steps=tuple(outcome.get("next_steps", ())),
        ends=status == "partial_success",
    )


def refuse_large(what: str, words: Json) -> None:
    """Raise InvalidInput for words that are too many to be kept together."""
    if size_of(words) > _KEPT:
        raise InvalidInput(
            f"{what}: has more than {_KEPT:,} bytes", hint="Say it in fewer words, or name a file."
        )


def plain(used: Metadata) -> dict[str, Json]:
    """Return what a task used as it is kept."""
    return cast("dict[str, Json]", load(dump_any(cast("Any", used))))


def parse_issue(kind: IssueType) -> str:
    """Return the stored name of a type of issue."""
    return _ISSUES[kind]


def present_part(item: Item) -> str:
    """Return the status of a workflow or a phase."""
    return "PARTIAL" if item.status == _PARTIAL else _PARTS[item.category]


def present_task_status(item: Item) -> str:
    """Return the status of a task."""
    return _task_word(*item.state_key)


def _task_word(status: str, category: str, _blocked: bool = False) -> str:
    if status == _PARTIAL:
        return "PARTIAL_SUCCESS"
    return _TASKS.get(category, "IN_PROGRESS")


def lasted(item: Item) -> int | None:
    """Return the milliseconds from the begin of an item to its end; None while it goes on."""
    return elapsed_ms(item.created_at, Timestamp(item.closed_at)) if item.closed_at else None


def seconds(milliseconds: int | None) -> int | None:
    """Return whole seconds."""
    return None if milliseconds is None else round(milliseconds / 1000)


def present_counts(tasks: Progress, *names: str) -> dict[str, Json]:
    """Return how the tasks of a phase stand, by these names; partly done ones are completed too."""
    counted = tasks.counted(_task_word)
    counts: dict[str, Json] = {
        "total": tasks.total,
        "completed": counted["SUCCESS"] + counted["PARTIAL_SUCCESS"],
        "success": counted["SUCCESS"],
        "partial": counted["PARTIAL_SUCCESS"],
        "failed": counted["FAILED"],
        "in_progress": counted["IN_PROGRESS"],
    }
    return {name: counts[name] for name in names}


def present_phase_line(line: ItemView) -> dict[str, Json]:
    """Return a phase as `phase_summary` lists it."""
    return {
        "phase_number": phase_number(line),
        "phase_name": line.item.title,
        "phase_id": line.item.id,
        "status": present_part(line.item),
        "is_parallel": runs_parallel(line),
        "tasks": present_counts(line.progress, *PHASE_COUNTS),
        "duration_seconds": seconds(lasted(line.item)),
        "started_at": line.item.created_at,
        "completed_at": line.item.closed_at or None,
    }


def present_task_line(line: TaskLine) -> dict[str, Json]:
    """Return a task as `tasks` lists it."""
    item, attributes, phase = line.view.item, line.view.attributes, line.phase
    answer: dict[str, Json] = {
        "id": item.id,
        "phase_id": phase,
        "parent_task_id": None if item.parent == phase else item.parent,
        "name": item.title,
        "goal": clip(item.body, _ENTRY),
        "status": present_task_status(item),
        "caller_type": attributes.get("caller_type"),
        "agent_name": item.assignee or None,
        **sparse(areas=list(line.areas)),
        "duration_seconds": seconds(lasted(item)),
        "started_at": item.created_at,
        "completed_at": item.closed_at or None,
    }
    words = object_of(attributes.get("words"))
    if line.view.outcome is not None:
        answer["summary"] = clip(line.view.outcome.summary, _ENTRY)
        answer["manual_review_needed"] = words.get("manual_review_needed", False)
        answer["verification"] = attributes.get("verification")
    return fit_entry(answer)


def present_log_line(record: Record, task: Item) -> dict[str, Json]:
    """Return a decision, a milestone or a blocker of a task as its list shows it."""
    details = load_object(record.details)
    answer: dict[str, Json] = {
        "id": record.id,
        "task_id": details.get("task") or record.item,
        "task_name": task.title,
        "agent_name": task.assignee or None,
    }
    fields = {name: value for name, value in details.items() if name != "task"}
    if record.kind == "decision" and "question" not in fields:
        fields |= _as_decision(record)
    if record.kind == "blocker":
        fields = {"type": "OTHER", "resolution": record.resolution or None, **fields}
        answer |= {"description": clip(record.body, _ENTRY), "created_at": record.created_at}
        return fit_entry({**answer, **fields, "status": record.status.upper()})
    words: dict[str, Json] = {"message": record.body} if record.kind == "milestone" else {}
    return fit_entry({**answer, **words, **fields, "created_at": record.created_at})


def _as_decision(record: Record) -> dict[str, Json]:
    """Return a decision that was written down in another dialect in the fields of this one."""
    return {
        "category": "OTHER",
        "question": record.title,
        "options_considered": [],
        "chosen": record.body,
        "reasoning": "",
        "trade_offs": None,
    }
