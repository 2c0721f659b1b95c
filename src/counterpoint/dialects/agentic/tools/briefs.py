"""The tools `content_brief_create`, `content_brief_get` and `content_brief_list`."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, cast

from pydantic import Field, WithJsonSchema

from counterpoint.core.model.rows import load_object
from counterpoint.dialects.agentic.envelope import present
from counterpoint.dialects.agentic.nouns import Brief, BriefFilter, BriefRequest, WrittenText
from counterpoint.dialects.agentic.rules.briefs import best_of, shown_provider
from counterpoint.dialects.agentic.rules.progress import slug_of
from counterpoint.dialects.agentic.verbs.briefs import Briefs
from counterpoint.dialects.agentic.verbs.plans import Planning
from counterpoint.dialects.agentic.verbs.writing import Writing
from counterpoint.dialects.agentic.words import (
    Count,
    Cursor,
    GivenSlug,
    Limit,
    Object,
    Slug,
    Text,
    Title,
    Word,
    current,
    sized,
)
from counterpoint.dialects.call import DATA, Call
from counterpoint.dialects.paging import (
    PAGE,
    RESERVE,
    Part,
    clip,
    fit_parts,
    pages_of,
    part_of_list,
    part_of_text,
    size_of,
    sparse,
)
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import NotFound
from counterpoint.kernel.visible import json_text
from counterpoint.protocol.tools import tool

ContentType = Literal["help_article", "blog_post", "landing_page", "social_post"]
Difficulty = Literal["beginner", "intermediate", "advanced"]
BriefStatus = Literal["pending", "queued", "generating", "review", "published", "failed"]
Words = Annotated[
    list[Word],
    Field(max_length=50),
    WithJsonSchema({"type": "array", "items": {"type": "string"}}),
]
Number = Annotated[int, Field(ge=1, le=100_000), WithJsonSchema({"type": "integer"})]
BriefId = Annotated[
    int | Annotated[str, Field(min_length=1, max_length=200)], WithJsonSchema({"type": "string"})
]

_SMALL: Final = 1_500
"""Bytes of JSON up to which the variables of a brief are shown as they were given; larger ones as pieces of their text."""


@tool(reads=False, idempotent=False)
def content_brief_create(
    call: Call,
    title: Annotated[Title, Field(description="Title")],
    content_type: Annotated[ContentType, Field(description="Sort of text")],
    description: Annotated[Text, Field(description="What it says")] = "",
    service: Annotated[Word, Field(description="What it is about")] = "",
    keywords: Annotated[Words | None, Field(description="Keywords")] = None,
    category: Annotated[Word, Field(description="Category")] = "",
    difficulty: Annotated[Difficulty | None, Field(description="For whom")] = None,
    target_word_count: Annotated[Number, Field(description="Words")] = 800,
    slug: Annotated[GivenSlug | None, Field(description="Slug")] = None,
    variables: Annotated[Object | None, Field(description="For the writer")] = None,
    priority: Annotated[Number, Field(description="100 is first")] = 50,
    scheduled_for: Annotated[Word, Field(description="ISO time")] = "",
    plan_slug: Annotated[Slug | None, Field(description="Its plan")] = None,
    batch_id: Annotated[Word, Field(description="Its batch")] = "",
) -> Json:
    """Create a content brief, to be written later."""
    core = current(call)
    wish = BriefRequest(
        title=title,
        content_type=content_type,
        description=description,
        service=service,
        keywords=tuple(keywords or ()),
        category=category,
        difficulty=difficulty or "",
        target_word_count=target_word_count,
        slug=slug or "",
        variables=sized("variables", variables),
        priority=priority,
        scheduled_for=scheduled_for,
        item=core.use(Planning).get(plan_slug).item.id if plan_slug else "",
        batch=batch_id,
    )
    return present(brief=line(core.use(Briefs).create(wish)))


@tool(reads=True, aliases={"brief_id": "id"})
def content_brief_get(
    call: Call,
    id: Annotated[BriefId, Field(description="Id or slug")],  # noqa: A002 -- the contract's name
    output: Annotated[Count, Field(description="Number of an earlier text")] = 0,
    cursor: Cursor = "",
) -> Json:
    """Show a content brief and its text, in pages."""
    brief = call.core.use(Briefs).get(str(id))
    texts = call.core.use(Writing).texts(brief.id)
    chosen = _choose_text(texts, output)
    plan = call.core.use(Planning).find(brief.item) if brief.item else None
    header: dict[str, Json] = {
        **line(brief),
        **sparse(
            service=brief.service,
            category=brief.category,
            difficulty=brief.difficulty,
            scheduled_for=brief.scheduled_for,
            error_message=clip(brief.reason, 600),
            plan=slug_of(plan) if plan else "",
        ),
        "target_word_count": brief.target_word_count,
        "priority": brief.priority,
        "total_cost": dollars(sum(text.cost_micros for text in texts)),
        "created_by": brief.agent,
        "updated_at": brief.updated_at,
        **sparse(output=chosen.number if chosen else ""),
    }
    variables = load_object(brief.variables)
    is_small = size_of(variables) <= _SMALL
    every: dict[str, Any] = {
        "description": brief.description,
        "keywords": list(brief.keywords),
        "variables_json": "" if is_small else json_text(variables),
        "outputs": [present_text(text) for text in texts],
        "content": chosen.text if chosen else "",
    }
    if is_small and variables:
        header["variables"] = variables
    number = chosen.number if chosen else 0
    first = {name: 0 for name, content in every.items() if content}
    pages = pages_of(call, cursor, "content_brief_get", brief.id, number, first=first)
    parts = {name: _part(every[name], at) for name, at in pages.at.items()}
    max_bytes = PAGE - RESERVE - size_of(header)
    contents, next_starts = fit_parts(parts, max_bytes)
    further = pages.cursor(cast("Json", next_starts) or None)
    return present(brief={**header, **contents}, **sparse(next_cursor=further), note=DATA)


def _part(content: Any, at: int) -> Part:
    return part_of_text(content, at) if isinstance(content, str) else part_of_list(content, at)


def _choose_text(texts: list[WrittenText], output: int) -> WrittenText | None:
    if not output:
        return best_of(texts)
    chosen = next((text for text in texts if text.number == output), None)
    if chosen is None:
        raise NotFound(
            f"the brief has no output {output}",
            hint="`content_brief_get` without it names those that there are.",
        )
    return chosen


def present_text(text: WrittenText) -> dict[str, Json]:
    """Return what a model wrote, without its words."""
    return {
        "number": text.number,
        "stage": text.stage,
        "provider": shown_provider(text.provider),
        "model": text.model,
        "input_tokens": text.input_tokens,
        "output_tokens": text.output_tokens,
        "cost": dollars(text.cost_micros),
        **sparse(is_cut=text.stop == "length" or ""),
        "created_at": text.created_at,
    }


def dollars(micros: int) -> float:
    """Return an amount in dollars."""
    return micros / 1_000_000


@tool(reads=True)
def content_brief_list(
    call: Call,
    status: Annotated[BriefStatus | None, Field(description="Only these")] = None,
    content_type: Annotated[ContentType | None, Field(description="Only these")] = None,
    service: Annotated[Word, Field(description="Only about it")] = "",
    limit: Annotated[Limit, Field(description="Most")] = 20,
    cursor: Cursor = "",
) -> Json:
    """List content briefs, the latest first."""
    pages = pages_of(call, cursor, "content_brief_list", status, content_type, service)
    brief_filter = BriefFilter(
        status=status or "", content_type=content_type or "", service=service
    )
    rows = call.core.use(Briefs).list(brief_filter, pages.at, limit + 1)
    briefs, next_cursor = pages.rows(rows, limit, line, lambda brief: brief.number)
    return present(briefs=briefs, count=len(briefs), **sparse(next_cursor=next_cursor))


def line(brief: Brief) -> dict[str, Json]:
    """Return a brief as lists show it."""
    return {
        "id": brief.id,
        "slug": brief.slug,
        "title": brief.title,
        "status": brief.status,
        "content_type": brief.content_type,
        "created_at": brief.created_at,
    }
