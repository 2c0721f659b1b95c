"""A checklist that several agents tick off: a dialect in one file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit, ItemFilter
from counterpoint.core.model.work import Item
from counterpoint.dialects.plugin import (
    PEOPLE,
    Act,
    Call,
    CounterpointError,
    Dialect,
    Json,
    Lifecycle,
    Phrases,
    Settings,
    Surface,
    fitting_facts,
    hint_of,
    message_of,
    tool,
    within,
)

POINT = Lifecycle(
    name="checklist",
    first="unticked",
    categories={"unticked": "open", "doing": "active", "ticked": "done", "struck": "dropped"},
    moves={
        "unticked": ("doing", "ticked", "struck"),
        "doing": ("unticked", "ticked", "struck"),
        "ticked": ("unticked",),
        "struck": ("unticked",),
    },
    goals={"open": "unticked", "active": "doing", "done": "ticked", "cancelled": "struck"},
)
"""The states of a point; each has a category, by which all other dialects understand it."""

PHRASES: Phrases = {
    **PEOPLE,
    Act.LOOK_UP: "look for the point with `points`",
    Act.READ_AGAIN: "look again with `points`",
    Act.TAKE_OTHER_WORK: "take another point from `points`",
    Act.REOPEN: "untick it with `tick`",
}
"""What a hint of the core asks for, in the tools of this dialect."""

Id = Annotated[str, Field(max_length=80, description="Point id")]
PAGE = 50
Mark = Literal["unticked", "ticked", "struck"]


@tool(reads=False, idempotent=False)
def add_point(
    call: Call,
    text: Annotated[str, Field(min_length=1, max_length=300, description="What is to be done")],
) -> Json:
    """Add a point to the end of the list."""
    draft = Draft(kind="task", title=text, lifecycle=POINT.name)
    return present(call.core.plans.create(draft).root)


@tool(reads=False)
def tick(
    call: Call,
    point: Id,
    mark: Annotated[Mark, Field(description="What becomes of it")] = "ticked",
    reason: Annotated[str, Field(max_length=2_000, description="Why")] = "",
) -> Json:
    """Tick a point, strike it out, or untick it again."""
    return present(call.core.items.edit(point, Edit(status=mark, reason=reason)))


@tool(reads=True)
def points(call: Call, after: Annotated[int, Field(ge=0, description="From `next`")] = 0) -> Json:
    """List the points in their order, a page at a time."""
    found = call.core.overview.items(ItemFilter(lifecycle=POINT.name), after, PAGE + 1)
    more: dict[str, Json] = {"next": found[PAGE - 1].number} if len(found) > PAGE else {}
    return {"points": [present(item) for item in found[:PAGE]], **more}


def present(item: Item) -> dict[str, Json]:
    """Return a point as agents see it."""
    return {"point": item.id, "text": item.title, "mark": item.status}


def refuse(refusal: CounterpointError) -> Json:
    """Return a refusal in the shape of this dialect."""
    answer: dict[str, Json] = {
        "no": message_of(refusal),
        "instead": hint_of(refusal, PHRASES),
        "code": refusal.code,
    }
    return {**answer, **fitting_facts(refusal.facts, answer)}


def build(_settings: Settings) -> Surface[Call]:
    """Return the surface: what is listed, and how calls are run and refused."""
    return Surface(
        name="counterpoint-checklist",
        version="1.0",
        instructions="A shared checklist. Look with points, add with add_point, mark with tick.",
        tools=(add_point, tick, points),
        refuse=refuse,
        within=within,
    )


DIALECT = Dialect(name="checklist", build=build, lifecycles=(POINT,))
