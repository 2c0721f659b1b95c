"""The symphony words: types of arguments, and how the core's nouns are shown.

    core                                             here
    backlog                                          backlog
    open, with an open blocker or open sub-tasks     blocked
    open, active, review                             todo, in_progress, review
    done, skipped, partial                           done
    failed, cancelled                                cancelled
    priority 0, 1, 2, 3 and 4                        1 (urgent), 2, 3, 4

Ids are shown as people say them (`SYM-001`) and taken in any of their forms.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from counterpoint.core.model.work import Item
from counterpoint.core.rules.wording import spoken_of
from counterpoint.dialects import arguments
from counterpoint.dialects.arguments import TEXT, TEXTS
from counterpoint.dialects.call import Call
from counterpoint.dialects.rewording import Rewording, ids_in
from counterpoint.dialects.symphony.verbs.issues import Issues
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError, InvalidInput, NotFound

Id = arguments.Id
Title = Annotated[
    str, Field(min_length=1, max_length=500), AfterValidator(arguments.one_line), TEXT
]
Body = Annotated[str, Field(max_length=100_000), TEXT]
Comment = Annotated[str, Field(min_length=1, max_length=65_536, pattern=r"\S"), TEXT]
Said = Annotated[str, Field(min_length=1, max_length=20_000, pattern=r"\S"), TEXT]
Text = arguments.Text
Line = Annotated[str, Field(min_length=1, max_length=500), TEXT]
Lines = Annotated[tuple[Line, ...], Field(max_length=100), TEXTS]
Labels = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=100)], ...], Field(max_length=50), TEXTS
]
Ids = Annotated[tuple[Id, ...], Field(max_length=100), TEXTS]
Priority = Annotated[int, Field(ge=1, le=4)]
Concept = Annotated[
    str, Field(min_length=1, max_length=200), AfterValidator(arguments.one_line), TEXT
]
Count = arguments.Count
Limit = Annotated[int, Field(ge=1, le=100)]
Cursor = arguments.Cursor

Status = Literal["backlog", "todo", "in_progress", "blocked", "review", "done", "cancelled"]
Reported = Literal["review", "todo", "blocked"]
FindingCategory = Literal["test_result", "code_pattern", "architecture", "bug", "gap"]
LearningType = Literal["convention", "gotcha", "pattern"]
Covered = Literal["covered", "has_issues"]

_STATUSES: Final[dict[str, Status]] = {
    "backlog": "backlog",
    "open": "todo",
    "active": "in_progress",
    "review": "review",
    "done": "done",
    "skipped": "done",
    "partial": "done",
    "failed": "cancelled",
    "cancelled": "cancelled",
}
STATES: Final[dict[Status, tuple[str, ...]]] = {
    "backlog": ("backlog",),
    "todo": ("open",),
    "in_progress": ("active",),
    "blocked": ("open",),
    "review": ("review",),
    "done": ("done", "skipped", "partial"),
    "cancelled": ("failed", "cancelled"),
}
"""The states of the core that a status may stand for."""
_LEAST: Final = 4
_PHRASES: Final = {
    "no branch of": "no PR of",
    "there is no item": "there is no issue",
    "the item cannot be made: ": "the issue cannot be made: ",
    "the plan cannot be made: ": "the issue cannot be made: ",
}
"""How the core says what has another word here."""


def parse_priority(priority: int) -> int:
    """Return the core's number, from 0, of a priority from 1 to 4."""
    return priority - 1


def present_priority(priority: int) -> int:
    """Return the priority from 1 to 4 of the core's number; its least two are one here."""
    return min(priority + 1, _LEAST)


def present_status(item: Item, *, blocked: bool) -> Status:
    """Return the status of an issue; `blocked` if a blocker is open or a sub-task is."""
    return "blocked" if blocked and item.category == "open" else _STATUSES[item.status]


def status_of(call: Call, item: Item) -> Status:
    """Return the status of an issue as it is now, as every tool shows it."""
    return present_status(item, blocked=bool(call.core.use(Issues).blocked([item])))


def reword(refusal: CounterpointError, prefix: str) -> CounterpointError:
    """Return a refusal with the states and the ids of a project in the words of this dialect."""
    names = {name: spoken_of(name) for name in ids_in(refusal, prefix)}
    rewording = Rewording(prefix=prefix, names=names, states=_STATUSES, phrases=_PHRASES)
    return rewording.refusal(refusal)


def present_id(item: str) -> str:
    """Return an item's id as people say it."""
    return spoken_of(item)


def bound(call: Call) -> str:
    """Return the id of the issue that the connection was started for; InvalidInput without one."""
    if not call.core.caller.item:
        raise InvalidInput(
            "this server was started without an issue",
            hint="Start it with --issue-id.",
        )
    return call.core.use(Issues).named(call.core.caller.item).id


def parse_issue(call: Call, issue_id: str = "") -> Item:
    """Return the issue of an id or identifier, the bound one for an empty text; NotFound."""
    return call.core.use(Issues).named(issue_id or bound(call))


def is_issue(call: Call, name: str) -> bool:
    """Return whether a name means an issue."""
    try:
        return bool(parse_issue(call, name).id)
    except NotFound:
        return False


def run_of(call: Call) -> dict[str, Json]:
    """Return the run that what is written belongs to, as a detail; nothing without `--run-id`."""
    return {"run": call.settings.run} if call.settings.run else {}
