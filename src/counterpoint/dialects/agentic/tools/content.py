"""The content tools that models write with, and what tells of that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Final, cast

from pydantic import Field, WithJsonSchema
from typing_extensions import TypedDict

from counterpoint.core.coordinator import Core
from counterpoint.core.model.models import Provider
from counterpoint.dialects.agentic.envelope import code_of, present
from counterpoint.dialects.agentic.nouns import BriefFilter, BriefRequest, Mode
from counterpoint.dialects.agentic.rules.briefs import (
    COMPANIES,
    Period,
    provider_named,
    shown_provider,
)
from counterpoint.dialects.agentic.rules.progress import slug_of
from counterpoint.dialects.agentic.tools.briefs import (
    BriefId,
    ContentType,
    Number,
    dollars,
    line,
    present_text,
)
from counterpoint.dialects.agentic.verbs.batches import (
    Batches,
    BatchFiles,
    Estimate,
    Member,
    Result,
)
from counterpoint.dialects.agentic.verbs.briefs import Briefs, PlanTexts
from counterpoint.dialects.agentic.verbs.ordering import Piece, Wish
from counterpoint.dialects.agentic.verbs.plans import Planning
from counterpoint.dialects.agentic.verbs.writing import Sum, Usages, Writing
from counterpoint.dialects.agentic.words import Cursor, Limit, Said, Slug, Word, current
from counterpoint.dialects.arguments import INTEGER, NUMBER, TEXT
from counterpoint.dialects.call import DATA, Call
from counterpoint.dialects.paging import (
    PAGE,
    RESERVE,
    clip,
    fitting,
    pages_of,
    part_of_list,
    size_of,
    sparse,
)
from counterpoint.dialects.progress import watching
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.parameters import Progress
from counterpoint.protocol.tools import tool

_LIMIT: Final = 50
"""How many texts one call writes at most."""
_USUAL: Final = 5
_AT_ONCE: Final = 3
"""How many texts are written side by side."""
_FAULT: Final = 400
"""The most bytes of what went wrong with one of many."""
_BESIDE: Final = 800
"""What stands beside a list of texts takes at most."""
_EDITED: Final = 300
"""The most bytes of the slugs of articles that were edited after their briefs were made."""
_NEXT: Final = "Call again: what is written stays, and what waits is written then."
_NAMES: Final = ("claude", "gemini", "openai")
_SAME: Final = frozenset(COMPANIES.values())
"""Names of providers that the contract has others for."""
ProviderName = Annotated[
    str,
    Field(max_length=100, description="claude, gemini, openai"),
    TEXT,
]
Most = Annotated[int, Field(ge=1, le=_LIMIT), WithJsonSchema({"type": "integer"})]


class Config(TypedDict, total=False):
    """How a model is asked."""

    temperature: Annotated[float, Field(ge=0, le=2), NUMBER]
    max_tokens: Annotated[int, Field(ge=1, le=100_000), INTEGER]
    model: Annotated[str, Field(min_length=1, max_length=200), TEXT]


Settings = Annotated[
    Config | None,
    Field(description="temperature, max_tokens"),
    WithJsonSchema({"type": "object"}),
]


@tool(reads=False, idempotent=False, open_world=True, hidden=("brief_id", "mode", "sync"))
def content_generate(
    call: Call,
    progress: Progress,
    prompt: Annotated[Said | None, Field(description="What to write")] = None,
    provider: ProviderName = "",
    config: Settings = None,
    brief_id: Annotated[BriefId | None, Field(description="Brief")] = None,
    mode: Annotated[Mode | None, Field(description="Stages")] = None,
    *,
    sync: Annotated[bool, Field(description="Wait")] = True,
) -> Json:
    """Write a text with a model; it is kept as a brief."""
    if (prompt is None) == (brief_id is None):
        raise InvalidInput(
            "prompt is required, or else brief_id",
            hint="Say what to write, or name one brief that says it.",
        )
    core = current(call)
    watch = watching(progress)
    writing = core.use(lambda context: Writing(context, watch))
    # A prompt says all of what is wanted: one answer is the text.
    wish = _wish(writing, provider, config, mode or (None if prompt is None else "draft"))
    if prompt is not None:
        brief = writing.queue_prompt(prompt, wish)
    else:
        brief = core.use(Briefs).get(str(brief_id)).id
        writing.queue(brief, wish)
    if not sync:
        writing.tell(brief)
        queued = line(core.use(Briefs).get(brief))
        return present(brief=queued, next="`content_batch_generate` writes what waits.")
    piece = writing.write(brief)
    writing.tell(brief)
    return _present_piece(piece)


def _wish(writing: Writing, provider: str, config: Config | None, mode: Mode | None) -> Wish:
    """Return how a text is to be written, if somebody can be asked; NoProvider, NotFound, ProviderAway."""
    whom = writing.choose_provider(provider)
    settings = cast("dict[str, Json]", dict(config or {}))
    return Wish(mode=mode, provider=whom.name if provider else "", settings=settings)


def _present_piece(piece: Piece) -> Json:
    """Return as much of a written text as fits; `content_brief_get` has all of it."""
    texts = piece.round
    header: dict[str, Json] = {
        "brief": line(piece.brief),
        "outputs": [present_text(text) for text in texts],
        "total_cost": dollars(sum(text.cost_micros for text in texts)),
    }
    content = texts[-1].text
    count = fitting(content, PAGE - RESERVE - size_of(header))
    if count < len(content):
        header["more"] = "`content_brief_get` with the id of the brief shows the whole text."
    return present(**header, content=content[:count], note=DATA)


@tool(
    reads=False,
    idempotent=False,
    open_world=True,
    hidden=("limit", "mode", "config", "concurrency"),
)
def content_batch_generate(
    call: Call,
    progress: Progress,
    batch_id: Annotated[Word, Field(description="Batch")] = "",
    provider: ProviderName = "",
    limit: Annotated[Most | None, Field(description="Most")] = None,
    mode: Annotated[Mode | None, Field(description="Stages")] = None,
    config: Settings = None,
    concurrency: Annotated[int, Field(ge=1, le=8, description="At once"), INTEGER] = _AT_ONCE,
    *,
    dry_run: Annotated[bool, Field(description="Say what it costs")] = False,
) -> Json:
    """Write the missing texts of a batch; continues an interrupted one."""
    watch, core = watching(progress), current(call)
    batches = core.use(lambda context: Batches(context, watch))
    wish = _wish(core.use(Writing), provider, config, mode)
    if not dry_run:
        core.use(BatchFiles).take_in(batch_id)
    members = batches.expected(batch_id) if dry_run else batches.open(batch_id)
    chosen = members[: limit or (_LIMIT if batch_id else _USUAL)]
    if dry_run:
        estimates = batches.estimate(chosen, wish)
        return _present_estimates(batch_id, estimates, len(members), _edited(core, batch_id))
    edited = _edited(core, batch_id)
    results = batches.run(chosen, wish, concurrency)
    batches.tell(batch_id, results)
    return _present_results(core, batch_id, results, edited)


def _edited(core: Core, batch: str) -> dict[str, Json]:
    """Return what is said where the file of a batch was edited after its briefs were made."""
    slugs = core.use(BatchFiles).differing(batch)
    if not slugs:
        return {}
    listed, _ = part_of_list(list[Json](slugs)).cut(_EDITED)
    warning = (
        f"{len(slugs)} of the file's articles say otherwise than when their briefs were made, and texts are written of the briefs."
        " Give an article another SLUG to have it written as it is now."
    )
    return {"edited": cast("list[Json]", listed), "warning": warning}


def _present_estimates(
    batch: str, estimates: list[Estimate], every: int, edited: Mapping[str, Json]
) -> Json:
    """Return what texts would cost, if they were written."""
    costs = [estimate.cost_micros for estimate in estimates]
    known_costs = [cost for cost in costs if cost is not None]
    articles: list[Json] = [
        {
            **sparse(id=estimate.brief.id),
            "slug": estimate.brief.slug,
            "status": "would_generate",
            "provider": shown_provider(estimate.provider),
            "model": estimate.model,
            "stages": estimate.stages,
            "cost_at_most": None if estimate.cost_micros is None else dollars(estimate.cost_micros),
        }
        for estimate in estimates
    ]
    return present(
        dry_run=True,
        **sparse(batch_id=batch),
        articles=_fitting(articles),
        would_generate=len(estimates),
        remaining=every - len(estimates),
        cost_at_most=dollars(sum(known_costs)) if len(known_costs) == len(costs) else None,
        **edited,
    )


def _present_results(
    core: Core, batch: str, results: list[Result], edited: Mapping[str, Json]
) -> Json:
    """Return the results of a call that writes texts, and the progress of the batch."""
    batches = core.use(Batches)
    counts = Counter(result.outcome for result in results)
    waiting = len(batches.open(batch))
    every = batches.members(batch) if batch else []
    spent = sum(
        text.cost_micros for result in results if result.piece for text in result.piece.round
    )
    return present(
        **sparse(batch_id=batch),
        articles=_fitting([_result(result) for result in results]),
        generated=counts["generated"],
        failed=counts["failed"],
        waiting=counts["waiting"],
        **(
            {"skipped": sum(member.is_done for member in every) - counts["generated"]}
            if batch
            else {}
        ),
        remaining=waiting,
        total_cost=dollars(spent),
        **sparse(next=_NEXT if waiting else ""),
        **edited,
        note=DATA,
    )


def _result(result: Result) -> dict[str, Json]:
    fields: dict[str, Json] = {
        "id": result.brief.id,
        "slug": result.brief.slug,
        "status": result.outcome,
    }
    if result.fault is not None:
        fields |= {"error": clip(result.fault.message, _FAULT), "code": code_of(result.fault)}
    return fields


def _fitting(articles: list[dict[str, Json]] | list[Json]) -> list[Json]:
    """Return the entries that fit into an answer; `content_status` has all of them."""
    listed, _ = part_of_list(articles).cut(PAGE - RESERVE - _BESIDE)
    return cast("list[Json]", listed)


@tool(
    reads=False,
    idempotent=False,
    open_world=True,
    hidden=("limit", "service", "provider", "config", "content_type", "target_word_count"),
)
def content_from_plan(
    call: Call,
    progress: Progress,
    plan_slug: Annotated[Slug, Field(description="Plan slug")],
    content_type: Annotated[ContentType, Field(description="Sort of text")] = "help_article",
    target_word_count: Annotated[Number, Field(description="Words")] = 800,
    limit: Annotated[Most, Field(description="Most")] = _USUAL,
    service: Annotated[Word, Field(description="What it is about")] = "",
    provider: ProviderName = "",
    config: Settings = None,
) -> Json:
    """Write a text for each open task of a plan, a few in a call."""
    core, watch = current(call), watching(progress)
    slug = slug_of(core.use(Planning).get(plan_slug))
    wish = _wish(core.use(Writing), provider, config, None)
    batch = f"{slug}-{content_type}"
    request = BriefRequest(
        title=slug,
        content_type=content_type,
        target_word_count=target_word_count,
        service=service,
        batch=batch,
    )
    briefs = core.use(PlanTexts).brief(plan_slug, request, wish, limit)
    batches = core.use(lambda context: Batches(context, watch))
    members = [member for member in batches.among(batch, briefs) if not member.is_done]
    results = batches.run(members, wish, _AT_ONCE)
    batches.tell(batch, results)
    return _present_results(core, batch, results, {})


@tool(reads=True, hidden=("limit",))
def content_status(
    call: Call,
    batch_id: Annotated[Word, Field(description="Batch")] = "",
    limit: Annotated[Limit, Field(description="Most")] = 50,
    cursor: Cursor = "",
) -> Json:
    """Show the progress of a batch; without one, the models that can write."""
    if batch_id:
        return _batch(call, batch_id, limit, cursor)
    every = call.core.models.providers()
    ids_by_name = {name: provider_named(name, every) for name in _NAMES}
    providers_by_id = {provider.name: provider for provider in every}
    shown_ids = {
        **ids_by_name,
        **{provider.name: provider.name for provider in every if provider.is_set},
    }
    entries = {
        name: _provider(providers_by_id.get(provider_id))
        for name, provider_id in shown_ids.items()
        if name not in _SAME
    }
    return present(
        providers=cast("dict[str, Json]", entries),
        pipeline_available=any(provider.is_available for provider in every),
        briefs=cast("dict[str, Json]", call.core.use(Briefs).counts(BriefFilter())),
    )


def _provider(provider: Provider | None) -> dict[str, Json]:
    if provider is None:
        return {"available": False}
    return {
        "available": provider.is_available,
        **sparse(
            model=provider.model if provider.is_available else "",
            reason=clip(provider.reason, _FAULT),
        ),
    }


def _batch(call: Call, batch: str, limit: int, cursor: str) -> Json:
    members = call.core.use(Batches).members(batch)
    pages = pages_of(call, cursor, "content_status", batch, first=0)
    numbers = {member.brief.id: number for number, member in enumerate(members, 1)}
    rows = members[pages.at : pages.at + limit + 1]
    articles, next_cursor = pages.rows(
        rows, limit, _member, lambda member: numbers[member.brief.id]
    )
    return present(
        batch_id=batch,
        total=len(members),
        counts=cast("dict[str, Json]", dict(Counter(member.brief.status for member in members))),
        remaining=sum(not member.is_done for member in members),
        articles=articles,
        **sparse(next_cursor=next_cursor),
        note=DATA,
    )


def _member(member: Member) -> Json:
    order = member.order
    return {
        "id": member.brief.id,
        "slug": member.brief.slug,
        "title": clip(member.brief.title, _FAULT),
        "status": member.brief.status,
        **sparse(
            error=clip(member.brief.reason, _FAULT),
            failures=(order.failures if order else 0) or "",
            begun_at=order.begun_at if order else "",
            scheduled_for=member.brief.scheduled_for,
        ),
        "updated_at": member.brief.updated_at,
    }


@tool(reads=True)
def content_usage_stats(
    call: Call, period: Annotated[Period, Field(description="How far back")] = "month"
) -> Json:
    """Show what models were asked for, and what it cost."""
    usage = call.core.use(Usages).since(period)
    return present(
        period=period,
        since=usage.since,
        total_requests=usage.whole.requests,
        total_input_tokens=usage.whole.input_tokens,
        total_output_tokens=usage.whole.output_tokens,
        total_cost=f"{dollars(usage.whole.cost_micros):.4f}",
        failures=usage.whole.failures,
        answered_before=usage.whole.kept,
        by_provider={name: _by_provider(total) for name, total in sorted(usage.providers.items())},
        by_purpose={name: _by_purpose(total) for name, total in sorted(usage.purposes.items())},
    )


def _by_provider(total: Sum) -> Json:
    return {
        "requests": total.requests,
        "input_tokens": total.input_tokens,
        "output_tokens": total.output_tokens,
        "cost": f"{dollars(total.cost_micros):.4f}",
    }


def _by_purpose(total: Sum) -> Json:
    return {"count": total.requests, "cost": f"{dollars(total.cost_micros):.4f}"}
