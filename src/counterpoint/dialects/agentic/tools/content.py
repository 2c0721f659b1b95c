"""The content tools: briefs are kept; what calls a model says there is none."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, NoReturn, cast

from pydantic import Field, WithJsonSchema

from counterpoint.core.model.rows import load_object
from counterpoint.dialects.agentic.envelope import present
from counterpoint.dialects.agentic.nouns.briefs import Brief, BriefFilter, BriefRequest
from counterpoint.dialects.agentic.rules.progress import slug_of
from counterpoint.dialects.agentic.verbs.briefs import Briefs
from counterpoint.dialects.agentic.verbs.plans import Planning
from counterpoint.dialects.agentic.words import (
    Cursor,
    GivenSlug,
    Limit,
    Object,
    Said,
    Slug,
    Text,
    Title,
    Word,
    clipped,
    current,
    sized,
)
from counterpoint.dialects.call import DATA, Call
from counterpoint.dialects.paging import clip, pages_of, sparse
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput, NotFound, Unavailable
from counterpoint.protocol.tools import tool

ContentType = Literal["help_article", "blog_post", "landing_page", "social_post"]
Difficulty = Literal["beginner", "intermediate", "advanced"]
BriefStatus = Literal["pending", "queued", "generating", "review", "published", "failed"]
Provider = Literal["claude", "gemini", "openai"]
Words = Annotated[
    list[Word],
    Field(max_length=50),
    WithJsonSchema({"type": "array", "items": {"type": "string"}}),
]
Number = Annotated[int, Field(ge=1, le=100_000), WithJsonSchema({"type": "integer"})]
BriefId = Annotated[
    int | Annotated[str, Field(min_length=1, max_length=200)], WithJsonSchema({"type": "string"})
]

_PROVIDERS: Final = ("claude", "gemini", "openai")


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
    )
    return present(brief=_line(core.use(Briefs).create(wish)))


@tool(reads=True, aliases={"brief_id": "id"})
def content_brief_get(
    call: Call,
    id: Annotated[BriefId, Field(description="Id or slug")],  # noqa: A002 -- the contract's name
) -> Json:
    """Show a content brief."""
    brief = call.core.use(Briefs).get(str(id))
    plan = call.core.use(Planning).find(brief.item) if brief.item else None
    return present(
        brief={
            **_line(brief),
            **sparse(
                description=clip(brief.description, 3_000),
                service=brief.service,
                keywords=[clip(word, 60) for word in brief.keywords],
                category=brief.category,
                difficulty=brief.difficulty,
                variables=clipped(load_object(brief.variables), 1_500),
                scheduled_for=brief.scheduled_for,
                error_message=clip(brief.reason, 600),
                plan=slug_of(plan) if plan else "",
            ),
            "target_word_count": brief.target_word_count,
            "priority": brief.priority,
            "total_cost": 0,
            "created_by": brief.agent,
            "updated_at": brief.updated_at,
        },
        note=DATA,
    )


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
    wanted = BriefFilter(status=status or "", content_type=content_type or "", service=service)
    found = call.core.use(Briefs).list(wanted, pages.at, limit + 1)
    briefs, rest = pages.rows(found, limit, _line, lambda brief: brief.number)
    return present(briefs=briefs, count=len(briefs), **sparse(next_cursor=rest))


def _line(brief: Brief) -> dict[str, Json]:
    return {
        "id": brief.id,
        "slug": brief.slug,
        "title": brief.title,
        "status": brief.status,
        "content_type": brief.content_type,
        "created_at": brief.created_at,
    }


@tool(reads=True)
def content_status(call: Call, batch_id: Annotated[Word, Field(description="Batch")] = "") -> Json:
    """Show which providers there are, and how far the briefs are."""
    if batch_id:
        raise NotFound(f"there is no batch {batch_id!r}", hint="Leave `batch_id` out.")
    return present(
        providers={name: {"available": False} for name in _PROVIDERS},
        pipeline_available=False,
        briefs=cast("dict[str, Json]", call.core.use(Briefs).counts(BriefFilter())),
    )


@tool(reads=False, idempotent=False, hidden=("brief_id", "mode", "sync"))
def content_generate(
    call: Call,
    prompt: Annotated[Said | None, Field(description="What to write")] = None,
    provider: Annotated[Provider | None, Field(description="Who writes")] = None,
    config: Annotated[Object | None, Field(description="temperature, max_tokens")] = None,
    brief_id: Annotated[BriefId | None, Field(description="Brief")] = None,
    mode: Annotated[Literal["draft", "refine", "full"], Field(description="Stages")] = "full",
    *,
    sync: Annotated[bool, Field(description="Wait")] = False,
) -> Json:
    """Write a text with a model; needs one that is connected."""
    if prompt is None and brief_id is None:
        raise InvalidInput("prompt is required", hint="Say what to write.")
    _no_model(call, prompt, provider, config, brief_id, mode, sync)


@tool(reads=False, idempotent=False, hidden=("limit", "mode"))
def content_batch_generate(
    call: Call,
    batch_id: Annotated[Word, Field(description="Batch")] = "",
    provider: Annotated[Provider | None, Field(description="Who writes")] = None,
    limit: Annotated[Limit, Field(description="Most")] = 5,
    mode: Annotated[Literal["draft", "refine", "full"], Field(description="Stages")] = "full",
    *,
    dry_run: Annotated[bool, Field(description="Write nothing")] = False,
) -> Json:
    """Write the texts of a batch with a model; needs one that is connected."""
    _no_model(call, batch_id, provider, limit, mode, dry_run)


@tool(reads=False, idempotent=False, hidden=("limit", "service"))
def content_from_plan(
    call: Call,
    plan_slug: Annotated[Slug, Field(description="Plan slug")],
    content_type: Annotated[ContentType, Field(description="Sort of text")] = "help_article",
    target_word_count: Annotated[Number, Field(description="Words")] = 800,
    limit: Annotated[Limit, Field(description="Most")] = 5,
    service: Annotated[Word, Field(description="What it is about")] = "",
) -> Json:
    """Write texts about a plan with a model; needs one that is connected."""
    call.core.use(Planning).get(plan_slug)
    _no_model(call, content_type, target_word_count, limit, service)


@tool(reads=True)
def content_usage_stats(
    call: Call,
    period: Annotated[
        Literal["day", "week", "month", "year"], Field(description="How far back")
    ] = "month",
) -> Json:
    """Show what the models used; needs one that is connected."""
    _no_model(call, period)


def _no_model(*asked: Any) -> NoReturn:
    """Refuse what only a model could do: nothing was written, and nothing was spent."""
    del asked
    raise Unavailable(
        "no model is connected to this server, so nothing can be written",
        hint="Keep what is wanted with `content_brief_create`.",
    )
