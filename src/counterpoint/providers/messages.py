"""The format of Anthropic's Messages API.

POST /messages with `stream`. Events: `message_start` (model, tokens of the question), `content_block_delta` with a `text_delta`, `message_delta`
(why it ended, tokens of the answer so far), `message_stop`; `ping` says nothing, `error` ends it. Tokens of the question that were read from or written to the cache
are counted beside `input_tokens`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from counterpoint.core.model.models.asking import Question, Stop, Tokens
from counterpoint.kernel.canonical import Json
from counterpoint.providers.format import Draft, count, fail, table, words

VERSION: Final = "2023-06-01"
_STOPS: Final[Mapping[str, Stop]] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
}
_BUSY: Final = frozenset({"overloaded_error", "rate_limit_error", "api_error", "timeout_error"})


class Messages:
    """That format."""

    def path(self, question: Question) -> str:
        """Return what follows the address."""
        del question
        return "/messages"

    def headers(self, secret: str) -> dict[str, str]:
        """Return the heads that carry the key."""
        heads = {"anthropic-version": VERSION}
        return heads | {"x-api-key": secret} if secret else heads

    def body(self, question: Question) -> dict[str, Json]:
        """Return the body of a request."""
        turns: list[Json] = [
            {"role": message.role, "content": message.text} for message in question.messages
        ]
        fields: dict[str, Json] = {
            "model": question.model,
            "messages": turns,
            "max_tokens": question.max_tokens,
            "stream": True,
        }
        if question.system:
            fields["system"] = question.system
        if question.temperature is not None:
            fields["temperature"] = question.temperature
        if question.schema is not None:
            form: dict[str, Json] = {"type": "json_schema", "schema": dict(question.schema)}
            fields["output_config"] = {"format": form}
        return fields

    def hear(self, draft: Draft, name: str, event: Mapping[str, Any]) -> str:
        """Take an event in."""
        kind = words(event.get("type")) or name
        if kind == "error":
            error = table(event.get("error"))
            fail(words(error.get("message")), is_busy=words(error.get("type")) in _BUSY)
        elif kind == "message_start":
            message = table(event.get("message"))
            draft.model, usage = words(message.get("model")), table(message.get("usage"))
            cached = count(usage.get("cache_read_input_tokens"))
            fresh = count(usage.get("input_tokens"))
            written = count(usage.get("cache_creation_input_tokens"))
            draft.tokens = Tokens(input=fresh + written + cached, cached=cached)
        elif kind == "message_delta":
            if reason := words(table(event.get("delta")).get("stop_reason")):
                draft.stop = _STOPS.get(reason, "other")
            output = count(table(event.get("usage")).get("output_tokens"))
            draft.tokens = replace(draft.tokens, output=output or draft.tokens.output)
        elif kind == "content_block_delta":
            delta = table(event.get("delta"))
            if delta.get("type") == "text_delta":
                return draft.add(words(delta["text"]))
        return ""
