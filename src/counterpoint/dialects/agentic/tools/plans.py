"""The tools for plans: create, get, list, update the status, archive."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from counterpoint.core.model.answers import ItemView
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.rows import load_object
from counterpoint.dialects.agentic.envelope import present
from counterpoint.dialects.agentic.nouns import Brief
from counterpoint.dialects.agentic.rules.progress import plan_text, slug_of
from counterpoint.dialects.agentic.verbs.plans import Planning
from counterpoint.dialects.agentic.verbs.steps import Steps
from counterpoint.dialects.agentic.words import (
    Cursor,
    GivenSlug,
    Limit,
    Object,
    Phases,
    PlanStatusShown,
    Slug,
    Text,
    Title,
    clipped,
    current,
    parse_phases,
    parse_plan_status,
    present_phase,
    present_plan,
    present_plan_status,
    present_task,
    sized,
)
from counterpoint.dialects.call import DATA, Call
from counterpoint.dialects.lacking import checks_at
from counterpoint.dialects.paging import PAGE, RESERVE, clip, pages_of, size_of, sparse
from counterpoint.dialects.whole import (
    Written,
    find_written,
    present_written,
    rename_parts,
    written_item,
)
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import NotFound
from counterpoint.protocol.tools import tool

_PHASES_READ: Final = 8
_TASKS_READ: Final = 200
_TEXTS_SHOWN: Final = 2_000
_NAMED: Final = 20
_OF: Final = " of "
_LEFT: Final = ("summary", "next_steps", "blockers")
"""What a session leaves, under the names of the parameters."""


@tool(reads=False, idempotent=False)
def plan_create(
    call: Call,
    title: Annotated[Title, Field(description="Title")],
    slug: Annotated[GivenSlug | None, Field(description="Made from the title without one")] = None,
    description: Annotated[Text, Field(description="What it is for")] = "",
    context: Annotated[Object | None, Field(description="Values to work by")] = None,
    phases: Annotated[Phases | None, Field(description="In order")] = None,
) -> Json:
    """Create a draft plan with phases and tasks; answers its slug."""
    context_values = sized("context", context)
    draft = Draft(
        kind="plan",
        title=title,
        body=description,
        attributes={"context": context_values} if context_values else {},
        children=parse_phases(phases or ()),
    )
    plan = current(call).use(Planning).open(draft, slug or "")
    return present(
        plan={
            "slug": slug_of(plan),
            "title": plan.item.title,
            "status": present_plan_status(plan),
            "phases": plan.progress.total,
        }
    )


@tool(reads=True, aliases={"plan_slug": "slug"}, hidden=("format",))
def plan_get(
    call: Call,
    slug: Annotated[
        Slug, Field(description="Plan slug; `slug/`, `slug/1`, `slug/1/0` or an id: all its texts")
    ],
    cursor: Cursor = "",
    format: Annotated[Literal["json", "markdown"], Field(description="Form")] = "json",  # noqa: A002 -- the name there
) -> Json:
    """Show a plan with progress, phases and tasks."""
    whole = _load_written(call, slug)
    if whole is not None:
        return present(**present_written(call, slug, whole, cursor, "plan_get"))
    head = call.core.use(Planning).get(slug)
    begun = None if cursor else call.core.use(Planning).current(head.item.id)
    pages = pages_of(call, cursor, "plan_get", slug, format, first=[-1, -1])
    plan = present_plan(head) if cursor else _head(head, begun)
    phases, next_start = _phases(call, head, pages.at, PAGE - RESERVE - size_of(plan))
    more = sparse(next_cursor=pages.cursor(next_start))
    if format == "markdown":
        text = plan_text({} if cursor else plan, phases)
        return present(slug=slug, markdown=text, **more, note=DATA)
    return present(plan={**plan, "phases": phases}, **more, note=DATA)


def _load_written(call: Call, name: str) -> Written | None:
    """Return a plan, a phase or a task by its place, or a record by its id; None for a slug. NotFound."""
    if call.core.items.find(name) is not None:
        return None
    if "/" not in name:
        brief = call.core.overview.find(Brief, name)
        return _brief(brief) if brief is not None else _rename_parts(find_written(call, name))
    plan, phase, task = [*name.split("/", 2), "", ""][:3]
    item = call.core.use(Planning).get(plan).item
    if phase:
        item = call.core.use(Steps).phase(plan, phase).item
    if task:
        index = int(task) if task.isascii() and task.isdecimal() else -1
        below = call.core.use(Steps).tasks(item.id, index - 1, 1) if index >= 0 else []
        if not below:
            raise NotFound(f"there is no task {name!r}", hint="Tasks count from 0.")
        item = below[0].item
    return written_item(call, item.id)


def _rename_parts(written: Written | None) -> Written | None:
    """Return a record or a handoff with its parts under the names of the parameters they came in."""
    if written is None:
        return None
    match written.header.get("category"):
        case "artifact":
            names = {"text": "action", "data": "metadata"}
        case None:
            names = (
                {"context": "context_for_next"}
                if "session" in written.header
                else _last_handoff_names(written)
            )
        case _:
            # A line of a log has a type, a checkpoint of a phase has none; `note` says that all this is data.
            names = {"text": "message"} if "type" in written.parts else {"data": "context"}
    return rename_parts(written, names)


def _last_handoff_names(written: Written) -> dict[str, str]:
    """Return the new names of the parts of a session's last handoff."""
    ids = [name.partition(_OF)[2] for name in written.parts if _OF in name]
    names = {f"{name}{_OF}{ids[0]}": name for name in _LEFT} if ids else {}
    return {**names, **({f"context{_OF}{ids[0]}": "context_for_next"} if ids else {})}


def _brief(brief: Brief) -> Written:
    return Written(
        header={"title": brief.title, "status": brief.status},
        parts={
            "description": brief.description,
            "keywords": list(brief.keywords),
            "variables": load_object(brief.variables),
            "error_message": brief.reason,
        },
    )


def _head(head: ItemView, begun: int | None) -> dict[str, Json]:
    item, attributes = head.item, head.attributes
    return {
        **present_plan(head),
        **sparse(
            description=clip(item.body, _TEXTS_SHOWN),
            current_phase=begun,
            context=clipped(attributes.get("context"), _TEXTS_SHOWN),
            metadata=clipped(attributes.get("metadata"), _TEXTS_SHOWN // 2),
            template=clipped(attributes.get("template"), _TEXTS_SHOWN // 2),
            archived=clipped(object_of(attributes.get("archived")), _TEXTS_SHOWN // 4)
            if "archived" in attributes
            else "",
        ),
        "created_at": item.created_at,
    }


def _phases(
    call: Call, head: ItemView, at: list[int], bytes_left: int
) -> tuple[list[Json], list[int] | None]:
    """Return as many phases with their tasks as fit, and where to go on: phase passed, task passed."""
    phases: list[Json] = []
    after, task = at
    while lines := call.core.use(Planning).phases(head.item.id, after, _PHASES_READ):
        for line in lines:
            entry = present_phase(line)
            task_bytes = bytes_left - size_of(entry) - len(',"tasks":[]')
            if phases and task_bytes < 0:
                return phases, [after, -1]
            tasks, last = _tasks(call, line.item.id, task, task_bytes)
            if last is not None and not tasks and phases:
                return phases, [after, -1]
            phases.append({**entry, "tasks": tasks})
            if last is not None:
                return phases, [after, last]
            bytes_left -= size_of(phases[-1]) + 1
            after, task = line.item.position, -1
        if len(lines) < _PHASES_READ:
            break
    return phases, None


def _tasks(call: Call, phase: str, after: int, bytes_left: int) -> tuple[list[Json], int | None]:
    """Return as many tasks as fit, and the index of the last of them if there are more."""
    tasks: list[Json] = []
    while lines := call.core.use(Steps).tasks(phase, after, _TASKS_READ):
        checks = checks_at(call.core, [line.item for line in lines])
        for line in lines:
            entry = present_task(line, 300) | checks.get(line.item.id, {})
            bytes_left -= size_of(entry) + 1
            if bytes_left < 0:
                return tasks, after
            tasks.append(entry)
            after = line.item.position
        if len(lines) < _TASKS_READ:
            break
    return tasks, None


@tool(reads=True, hidden=("include_archived",))
def plan_list(
    call: Call,
    status: Annotated[PlanStatusShown | None, Field(description="Only these")] = None,
    limit: Annotated[Limit, Field(description="Most")] = 20,
    cursor: Cursor = "",
    *,
    include_archived: Annotated[bool, Field(description="Archived ones too")] = False,
) -> Json:
    """List plans, the last changed first."""
    pages = pages_of(call, cursor, "plan_list", status, include_archived, first=None)
    lines = call.core.use(Planning).list(
        parse_plan_status(status) if status else "",
        (pages.at[0], pages.at[1]) if pages.at else None,
        limit + 1,
        with_archived=include_archived,
    )
    plans, next_cursor = pages.rows(
        lines, limit, present_plan, lambda line: [line.item.updated_at, line.item.number]
    )
    return present(plans=plans, count=len(plans), **sparse(next_cursor=next_cursor))


@tool(reads=False, aliases={"plan_slug": "slug"})
def plan_update_status(
    call: Call,
    slug: Annotated[Slug, Field(description="Plan slug")],
    status: Annotated[PlanStatusShown, Field(description="New status")],
) -> Json:
    """Move a plan; completing one skips what is open in it."""
    line, skipped = current(call).use(Planning).move(slug, parse_plan_status(status))
    return present(
        plan={"slug": slug_of(line), "status": present_plan_status(line)},
        **sparse(skipped=list(skipped[:_NAMED])),
    )


@tool(reads=False, aliases={"plan_slug": "slug"})
def plan_archive(
    call: Call,
    slug: Annotated[Slug, Field(description="Plan slug")],
    reason: Annotated[Text, Field(description="Why")] = "",
) -> Json:
    """Archive a plan; `plan_update_status` brings it back."""
    core = current(call)
    line, _ = core.use(Planning).move(slug, "archived", reason)
    put_away = core.use(Planning).put_away(slug)
    return present(
        plan={
            "slug": slug_of(line),
            "status": present_plan_status(line),
            "archived_at": put_away.get("at"),
            **sparse(reason=clip(str(put_away.get("reason", "")), _TEXTS_SHOWN)),
        }
    )
