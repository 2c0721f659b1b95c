"""How research is shown: answers cut to a page, and messages in parts that fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from counterpoint.dialects.foundry.nouns.research import ResearchStep, ResearchStudy
from counterpoint.dialects.foundry.tools.shown import SAID
from counterpoint.dialects.paging import clip, part_of_text, sparse
from counterpoint.kernel.canonical import Json

CONTENT: Final = 7_000
"""The most bytes of one answer of a model in an answer of a tool."""
TITLE: Final = 300
STAYS: Final = (
    "Its words stay in the ledger until a person takes them away:"
    " `counterpoint audit redact --text FILE --reason TEXT`, with the words in that file."
)
"""What whoever deletes a study is told."""
_PART: Final = 6_000


def cut(content: str, study: str) -> tuple[str, list[str]]:
    """Return a text as an answer has it, with a warning that says where the rest stands if it is cut."""
    text = clip(content, CONTENT)
    message = (
        f'The answer is cut: `research action="thread-get" thread_id="{study}"` has all of it.'
    )
    return text, [] if text == content else [message]


def messages(steps: Sequence[ResearchStep]) -> list[Json]:
    """Return what was said in a study; a text that no page holds in several parts."""
    return [part for step in steps for part in _said(step)]


def begun_with(row: ResearchStudy, steps: Sequence[ResearchStep]) -> list[Json]:
    """Return, as messages before the first, what a study was begun with and nothing else tells whole."""
    messages: list[Json] = []
    if clip(row.system, SAID) != row.system:
        messages += _parts(row.system, id="system", role="system", timestamp=str(row.created_at))
    if row.query not in {row.title, *(step.text for step in steps if step.kind == "user")}:
        messages += _parts(row.query, id="query", role="user", timestamp=str(row.created_at))
    return messages


def _said(step: ResearchStep) -> list[Json]:
    return _parts(
        step.text,
        id=f"msg-{step.number}",
        role=step.kind,
        timestamp=str(step.created_at),
        provider_id=step.provider,
        model_used=step.model,
        tokens_used=step.tokens or None,
    )


def _parts(text: str, **beside: Json) -> list[Json]:
    """Return a text as messages that each fit on a page."""
    texts, at = list[str](), 0
    while True:
        part, end = part_of_text(text, at).cut(_PART)
        texts.append(str(part))
        if not isinstance(end, int):
            break
        at = end
    every = len(texts)
    return [
        sparse(
            **beside,
            content=part,
            part=number if every > 1 else None,
            parts=every if every > 1 else None,
        )
        for number, part in enumerate(texts, 1)
    ]


def line(row: ResearchStudy) -> Json:
    """Return a study as a list shows it."""
    return {
        "id": row.id,
        "title": clip(row.title, TITLE),
        "status": row.status,
        "message_count": row.steps,
        "created_at": str(row.created_at),
        "updated_at": str(row.updated_at),
        "provider_id": row.provider or None,
    }
