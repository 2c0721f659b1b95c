"""Providers of models: who can be asked, and asking one of them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Annotated, Final, cast

from pydantic import Field

from counterpoint.core.model.models.asking import DEFAULT_TIMEOUT, Answer, Provider, Stop, asked
from counterpoint.dialects.arguments import INTEGER, NUMBER, TEXT
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import page, present
from counterpoint.dialects.foundry.tools.models.status import standing_of
from counterpoint.dialects.foundry.words import Cursor
from counterpoint.dialects.paging import PAGE, RESERVE, clip, pages_of, part_of_text, size_of
from counterpoint.dialects.progress import watching
from counterpoint.kernel.canonical import Json
from counterpoint.protocol.actions import action, of_actions
from counterpoint.protocol.parameters import Progress

ProviderId = Annotated[str, Field(min_length=1, max_length=100, description="As listed"), TEXT]
Prompt = Annotated[str, Field(min_length=1, max_length=100_000, description="What to ask"), TEXT]
ModelName = Annotated[str, Field(max_length=200, description="Other than its usual one"), TEXT]
_TOKENS: Final = 2_000
"""Tokens of an answer that mostly fits on one page; a longer one is kept, so that its pages are of one answer."""
_CAPABILITIES: Final[list[Json]] = ["text", "streaming", "json_schema"]
_META: Final = 400
_REASONS: Final[Mapping[Stop, str]] = {
    "end": "stop",
    "length": "length",
    "refused": "content_filter",
    "other": "other",
}
_MORE: Final = "Others cannot be asked now; with include_unavailable=true they are told, with why."
_CUT: Final = (
    "The rest of the answer is not shown, for this project keeps none: ask for fewer tokens."
)


@action(reads=True, name="list", hidden=["include_unavailable"])
def list_(
    call: Call,
    *,
    include_unavailable: Annotated[bool, Field(description="With why not")] = False,
) -> Json:
    """Who can be asked."""
    every = standing_of(call).every
    listed = [provider for provider in every if include_unavailable or provider.is_available]
    return present(
        {
            "providers": [_line(provider, index) for index, provider in enumerate(listed, 1)],
            "available_count": sum(provider.is_available for provider in every),
            "total_count": len(every),
        },
        warnings=[_MORE] if len(listed) < len(every) else (),
    )


@action(reads=True)
def status(call: Call, provider_id: ProviderId) -> Json:
    """One of them."""
    provider = standing_of(call).named(provider_id)
    supported = list(dict.fromkeys((*filter(None, [provider.model]), *provider.models)))
    return present(
        {
            "provider_id": provider.name,
            "available": provider.is_available,
            "metadata": {
                "name": provider.description,
                "version": None,
                "default_model": provider.model or None,
                "supported_models": cast("Json", supported),
                "documentation_url": None,
                "tags": _tags(provider),
            },
            "capabilities": ["text"] if provider.kind == "command" else _CAPABILITIES,
            "health": {
                "status": "healthy" if provider.is_available else "unavailable",
                "available": provider.is_available,
                "reason": provider.reason or None,
            },
        }
    )


@action(
    reads=False,
    idempotent=False,
    open_world=True,
    hidden=["max_tokens", "temperature", "timeout", "cursor"],
)
def execute(
    call: Call,
    progress: Progress,
    provider_id: ProviderId,
    prompt: Prompt,
    model: ModelName = "",
    max_tokens: Annotated[
        int, Field(ge=1, le=100_000, description="Of the answer"), INTEGER
    ] = _TOKENS,
    temperature: Annotated[float | None, Field(ge=0, le=2, description="0-2"), NUMBER] = None,
    timeout: Annotated[
        float, Field(ge=1, le=3_600, description="Seconds"), NUMBER
    ] = DEFAULT_TIMEOUT,
    cursor: Cursor = "",
) -> Json:
    """Ask it."""
    key: list[Json] = ["provider execute", provider_id, prompt, model, max_tokens, temperature]
    sample = secrets.token_hex(8) if max_tokens > _TOKENS else ""
    pages = pages_of(call, cursor, *key, first=[0, sample])
    at, sample = cast("tuple[int, str]", pages.at)
    question = asked(
        prompt,
        provider=provider_id,
        model=model,
        max_tokens=max_tokens,
        temperature=temperature,
        timeout=timeout,
        purpose="provider",
        caching="always" if sample else "auto",
        sample=sample,
    )
    models = call.core.models
    if cursor:
        return _shown(models.kept(question), at, sample, pages.cursor)
    answer = models.ask(question, watching(progress))
    # As it is kept: what is masked there is masked on every page.
    cached = models.find_kept(question) if sample else None
    return _shown(cached or answer, at, sample, pages.cursor)


def _shown(answer: Answer, at: int, sample: str, sealed: Callable[[Json], str]) -> Json:
    """Return the page of an answer that begins at a character."""
    fields: dict[str, Json] = {
        "provider_id": answer.provider,
        "model": answer.model,
        "finish_reason": _REASONS[answer.stop],
        "token_usage": {
            "prompt_tokens": answer.tokens.input,
            "completion_tokens": answer.tokens.output,
            "total_tokens": answer.tokens.input + answer.tokens.output,
        },
    }
    content, end = part_of_text(answer.text, at).cut(PAGE - RESERVE - _META - size_of(fields))
    is_cut = end is not None and not answer.is_kept
    cursor = "" if end is None or is_cut else sealed([end, sample])
    return present(
        {**fields, "content": content},
        warnings=[_CUT] if is_cut else (),
        pagination=page(cursor, 1) if cursor else None,
    )


def _line(provider: Provider, position: int) -> Json:
    fields: dict[str, Json] = {
        "id": provider.name,
        "description": clip(provider.description, 300),
        "priority": position,
        "tags": _tags(provider),
        "available": provider.is_available,
    }
    return fields if provider.is_available else {**fields, "reason": clip(provider.reason, 300)}


def _tags(provider: Provider) -> list[Json]:
    return [provider.kind, *(["free"] if provider.is_free else [])]


provider = of_actions("provider", "AI models to ask.", (list_, status, execute))
