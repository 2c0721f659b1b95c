"""The format Chat Completions, which vLLM, Ollama and llama.cpp speak too.

POST /chat/completions with `stream` and `stream_options.include_usage`. Each event is a chunk with `choices[0].delta.content`; the last of
a choice has `finish_reason`; one with `usage` and no choices follows; `[DONE]` ends it. A fault in the middle is an event with `error`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from counterpoint.core.model.models.asking import Question, Stop, Tokens
from counterpoint.kernel.canonical import Json
from counterpoint.providers.format import Draft, count, fail, rows, table, words

_STOPS: Final[Mapping[str, Stop]] = {"stop": "end", "length": "length", "content_filter": "refused"}
_BUSY: Final = frozenset({429, 500, 502, 503, "server_error", "rate_limit_exceeded"})


class ChatCompletions:
    """That format."""

    def path(self, question: Question) -> str:
        """Return what follows the address."""
        del question
        return "/chat/completions"

    def headers(self, secret: str) -> dict[str, str]:
        """Return the heads that carry the key."""
        return {"authorization": f"Bearer {secret}"} if secret else {}

    def body(self, question: Question) -> dict[str, Json]:
        """Return the body of a request."""
        system: list[Json] = (
            [{"role": "system", "content": question.system}] if question.system else []
        )
        turns: list[Json] = [
            {"role": message.role, "content": message.text} for message in question.messages
        ]
        fields: dict[str, Json] = {
            "model": question.model,
            "messages": [*system, *turns],
            "max_tokens": question.max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if question.temperature is not None:
            fields["temperature"] = question.temperature
        if question.schema is not None:
            answer_schema: dict[str, Json] = {
                "name": "answer",
                "schema": dict(question.schema),
                "strict": True,
            }
            fields["response_format"] = {"type": "json_schema", "json_schema": answer_schema}
        return fields

    def hear(self, draft: Draft, name: str, event: Mapping[str, Any]) -> str:
        """Take a chunk in."""
        del name
        if error := table(event.get("error")):
            fail(words(error.get("message")), is_busy=error.get("code") in _BUSY)
        draft.model = words(event.get("model")) or draft.model
        if usage := table(event.get("usage")):
            details = table(usage.get("prompt_tokens_details"))
            draft.tokens = Tokens(
                input=count(usage["prompt_tokens"]),
                cached=count(details.get("cached_tokens")),
                output=count(usage["completion_tokens"]),
            )
        piece = ""
        for choice in rows(event.get("choices"))[:1]:
            piece = words(table(choice.get("delta")).get("content"))
            if reason := words(choice.get("finish_reason")):
                draft.stop = _STOPS.get(reason, "other")
        return draft.add(piece)
