"""Making the draft of a plan out of phases with tasks in a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.work import TITLE_LIMIT
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput

PHASE_LIMIT = 500
"""How many phases a plan may be made with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSketch:
    """A task: its first line is its title."""

    name: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseSketch:
    """A phase; without a name it is called by its order. after: orders (from 1) or names of others."""

    name: str = ""
    description: str = ""
    tasks: tuple[TaskSketch, ...] = ()
    after: tuple[int | str, ...] = ()
    criteria: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSketch:
    """A plan; context: any values that whoever works on it should know."""

    title: str
    description: str = ""
    context: Mapping[str, Json] = field(default_factory=dict[str, Json])
    phases: tuple[PhaseSketch, ...] = ()


def draft_of(plan: PlanSketch) -> Draft:
    """Return the draft of a plan; InvalidInput with each phase that is named and not there."""
    titles = [phase.name.strip() or f"Phase {order}" for order, phase in enumerate(plan.phases, 1)]
    mark = "@"
    while any(title.startswith(mark) for title in titles):
        mark += "@"
    faults: list[str] = []
    phases: list[Draft] = []
    for order, (title, phase) in enumerate(zip(titles, plan.phases, strict=True), 1):
        after = [_order(one, titles) for one in phase.after]
        faults += [
            f"phase {order} comes after {one!r}, which is no phase of the plan"
            for one, found in zip(phase.after, after, strict=True)
            if not found
        ]
        short, body = _titled(title, phase.description)
        phases.append(
            Draft(
                kind="phase",
                title=short,
                body=body,
                name=f"{mark}{order}",
                needs=tuple(f"{mark}{found}" for found in after if found),
                acceptance=phase.criteria,
                children=tuple(_task(task) for task in phase.tasks),
            )
        )
    if faults:
        raise InvalidInput("; ".join(faults), faults=faults)
    return Draft(
        kind="plan",
        title=plan.title,
        body=plan.description,
        attributes={"context": dict(plan.context)} if plan.context else {},
        children=tuple(phases),
    )


def _order(place: int | str, titles: Sequence[str]) -> int:
    """Return the order of a phase that is told by order or name; 0 if there is none, or several."""
    if isinstance(place, int):
        return place if 0 < place <= len(titles) else 0
    if titles.count(place) == 1:
        return titles.index(place) + 1
    number = int(place) if place.isascii() and place.isdecimal() and len(place) < len("1000") else 0
    return number if number <= len(titles) else 0


def _task(task: TaskSketch) -> Draft:
    title, body = _titled(task.name, task.description)
    return Draft(kind="task", title=title, body=body)


def _titled(name: str, description: str) -> tuple[str, str]:
    """Return a title of one line, and a body; what does not fit into the title begins the body."""
    line = name.strip().split("\n")[0].strip()
    if line == name.strip() and len(line) <= TITLE_LIMIT:
        return line, description
    short = line if len(line) <= TITLE_LIMIT else line[: TITLE_LIMIT - 1] + "…"
    return short, "\n\n".join(part for part in (name.strip(), description) if part)
