"""Threads with a model, as the tool tells them."""

from __future__ import annotations

from typing import Final

from counterpoint.core.model.models.asking import Answer
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import page, present
from counterpoint.dialects.foundry.nouns.research import ResearchStudy
from counterpoint.dialects.foundry.tools.research import words
from counterpoint.dialects.foundry.tools.research.shown import (
    STAYS,
    begun_with,
    cut,
    line,
    messages,
)
from counterpoint.dialects.foundry.tools.shown import SAID, in_pages
from counterpoint.dialects.foundry.verbs.research.asking import TOKENS
from counterpoint.dialects.foundry.verbs.research.keeping import tokens_of
from counterpoint.dialects.foundry.verbs.research.threads import ChatDraft, Threads
from counterpoint.dialects.foundry.words import Cursor, Limit
from counterpoint.dialects.paging import clip, pages_of
from counterpoint.dialects.progress import watching
from counterpoint.kernel.canonical import Json
from counterpoint.protocol.actions import action
from counterpoint.protocol.parameters import Progress


@action(
    reads=False,
    idempotent=False,
    open_world=True,
    hidden=("system_prompt", "model", "temperature", "max_tokens", "title"),
)
def chat(
    call: Call,
    progress: Progress,
    prompt: words.Prompt,
    thread_id: words.ThreadId = "",
    system_prompt: words.System = "",
    provider_id: words.ProviderId = "",
    model: words.Model = "",
    temperature: words.Temperature = None,
    max_tokens: words.Tokens = TOKENS,
    title: words.Title = "",
) -> Json:
    """Talk with a model."""
    draft = ChatDraft(
        prompt=prompt,
        thread=thread_id,
        title=title,
        system=system_prompt,
        provider=provider_id,
        model=model,
        temperature=temperature,
        max_tokens=max_tokens,
    )
    row, answer = call.core.use(Threads).chat(draft, watching(progress))
    data, warnings = chatted(row, answer)
    return present(data, warnings=warnings)


@action(reads=True, plain=True)
def thread_list(
    call: Call,
    status: words.ThreadStatus | None = None,
    limit: Limit = 50,
    cursor: Cursor = "",
) -> Json:
    """Threads, the newest first."""
    pages = pages_of(call, cursor, "research thread-list", status, first="")
    every = call.core.use(Threads).list(status or "")
    rows = [thread for thread in every if not pages.at or _place(thread) < str(pages.at)]
    lines, further = pages.rows(rows[: limit + 1], limit, line, _place)
    answer = page(further, len(lines), len(every))
    return present({"threads": lines, "count": len(lines)}, pagination=answer)


@action(reads=True)
def thread_get(call: Call, thread_id: words.AnyThread, cursor: Cursor = "") -> Json:
    """All that was said."""
    row, steps = call.core.use(Threads).get(thread_id)
    report: dict[str, Json] = {
        "id": row.id,
        "title": row.title,
        "status": row.status,
        "system_prompt": clip(row.system, SAID) or None,
        "provider_id": row.provider or None,
        "created_at": str(row.created_at),
        "updated_at": str(row.updated_at),
        "messages": [*begun_with(row, steps), *messages(steps)],
        "metadata": {} if row.kind == "chat" else {"kind": row.kind},
    }
    return in_pages(call, ("research thread-get", thread_id), cursor, report, "messages")


@action(reads=False, destructive=True, plain=True)
def thread_delete(call: Call, thread_id: words.ThreadId) -> Json:
    """Delete one."""
    call.core.use(Threads).delete(thread_id, "chat")
    return present({"deleted": True, "thread_id": thread_id}, warnings=[STAYS])


def chatted(row: ResearchStudy, answer: Answer) -> tuple[dict[str, Json], list[str]]:
    """Return a thread as the action tells it that went on with it, with warnings."""
    content, warnings = cut(answer.text, row.id)
    return {
        "content": content,
        "thread_id": row.id,
        "message_count": row.steps,
        "provider_id": answer.provider,
        "model_used": answer.model,
        "tokens_used": tokens_of(answer),
    }, warnings


def _place(row: ResearchStudy) -> str:
    return f"{row.created_at} {row.id}"


TALKING: Final = (chat, thread_list, thread_get, thread_delete)
"""The actions, in the order of the list."""
