"""The tools `template_list`, `template_preview` and `template_create_plan`."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.templates import TemplateEntry, Variable
from counterpoint.dialects.agentic.envelope import present
from counterpoint.dialects.agentic.rules.progress import slug_of
from counterpoint.dialects.agentic.verbs.plans import Planning
from counterpoint.dialects.agentic.words import (
    Cursor,
    GivenSlug,
    Limit,
    Object,
    Slug,
    Title,
    Word,
    clipped,
    current,
    present_plan_status,
    sized,
)
from counterpoint.dialects.call import Call
from counterpoint.dialects.paging import (
    PAGE,
    RESERVE,
    clip,
    pages_of,
    part_of_list,
    size_of,
    sparse,
)
from counterpoint.kernel.canonical import Json
from counterpoint.protocol.tools import tool

_WORDS: Final = 600
_TASKS: Final = 40


@tool(reads=True)
def template_list(
    call: Call,
    category: Annotated[Word, Field(description="Only of this sort")] = "",
    limit: Annotated[Limit, Field(description="Most")] = 50,
    cursor: Cursor = "",
) -> Json:
    """List the templates of plans with their variables."""
    pages = pages_of(call, cursor, "template_list", category, first="")
    entries = [
        entry
        for entry in call.core.plans.templates()
        if entry.slug > pages.at and category in {"", entry.category}
    ]
    templates, next_cursor = pages.rows(
        entries[: limit + 1], limit, _present_entry, lambda entry: entry.slug
    )
    return present(templates=templates, count=len(templates), **sparse(next_cursor=next_cursor))


def _present_entry(entry: TemplateEntry) -> dict[str, Json]:
    return {
        "slug": entry.slug,
        "name": entry.name,
        "description": clip(entry.description, _WORDS),
        "category": entry.category,
        "phases_count": entry.phases_count,
        "variables": [_present_variable(variable) for variable in entry.variables],
        "version": entry.version[:12],
        "source": entry.source,
        **sparse(problem=clip(entry.problem, _WORDS), unused=list(entry.unused)),
    }


def _present_variable(variable: Variable) -> Json:
    return {
        "name": variable.name,
        "required": variable.required,
        **sparse(
            description=clip(variable.description, _WORDS // 3),
            default=clip(variable.default, _WORDS // 3),
            pattern=variable.pattern,
            charset=variable.charset,
            allowed_values=list(variable.allowed),
            format=variable.format,
            examples=list(variable.examples[:3]),
        ),
    }


@tool(reads=True, aliases={"template": "slug", "template_slug": "slug"})
def template_preview(
    call: Call,
    slug: Annotated[Slug, Field(description="Template slug")],
    variables: Annotated[Object | None, Field(description="Values")] = None,
    cursor: Cursor = "",
) -> Json:
    """Show the plan that a template would make, or why it is refused."""
    values = sized("variables", variables)
    filled = call.core.plans.template_preview(slug, values, gated=False)
    version = filled.template.version
    pages = pages_of(call, cursor, "template_preview", slug, values, version)
    phases: list[Json] = [
        _sketched(order, phase) for order, phase in enumerate(filled.draft.children, 1)
    ]
    header: dict[str, Json] = {
        "slug": filled.template.slug,
        "name": filled.template.name,
        "title": filled.draft.title,
        "version": version[:12],
    }
    if not cursor:
        header |= sparse(
            description=clip(filled.description, 1_500),
            category=filled.template.category,
            context=clip(filled.context, 1_500),
            guidelines=[clip(line, 150) for line in filled.guidelines[:10]],
            variables_applied=clipped(dict(filled.variables), 1_500),
        )
    listed, next_start = part_of_list(phases, pages.at).cut(PAGE - RESERVE - size_of(header))
    return present(
        template=slug,
        preview={**header, "phases": listed},
        **sparse(next_cursor=pages.cursor(next_start)),
    )


def _sketched(order: int, phase: Draft) -> Json:
    return {
        "order": order,
        "name": phase.title,
        **sparse(
            description=clip(phase.body, _WORDS),
            completion_criteria=[clip(line, 150) for line in phase.acceptance[:10]],
        ),
        "tasks": [{"name": clip(task.title, 100)} for task in phase.children[:_TASKS]],
        **sparse(more_tasks=max(0, len(phase.children) - _TASKS) or ""),
    }


@tool(reads=False, idempotent=False, aliases={"template": "template_slug"}, hidden=("slug",))
def template_create_plan(
    call: Call,
    template_slug: Annotated[Slug, Field(description="Template slug")],
    variables: Annotated[Object | None, Field(description="Values")] = None,
    title: Annotated[Title | None, Field(description="In place of the template's")] = None,
    slug: Annotated[GivenSlug | None, Field(description="Plan slug")] = None,
    *,
    activate: Annotated[bool, Field(description="Begin at once")] = False,
    dry_run: Annotated[bool, Field(description="Write nothing")] = False,
) -> Json:
    """Create a plan from a template."""
    core = current(call)
    values = sized("variables", variables)
    filled = core.plans.template_preview(template_slug, values, title or "", gated=False)
    if dry_run:
        core.use(Planning).refuse_taken(slug or "")
        # One of chance is another when the plan is made.
        name, plan_title = slug, filled.draft.title
        status = "active" if activate else "draft"
    else:
        plan = core.use(Planning).open(filled.draft, slug or "", start=activate)
        name, plan_title, status = slug_of(plan), plan.item.title, present_plan_status(plan)
    return present(
        plan={
            "slug": name,
            "title": plan_title,
            "status": status,
            "phases": len(filled.draft.children),
            "total_tasks": sum(len(phase.children) for phase in filled.draft.children),
        },
        template={"slug": filled.template.slug, "version": filled.template.version[:12]},
        **sparse(dry_run=dry_run or ""),
    )
