"""The format of OpenAI's Responses API.

POST /responses with `stream`, and `store` off: nothing is left there. Events: `response.output_text.delta`; `response.completed` or
`response.incomplete` with the whole response, from which only model, tokens and the reason are taken; `response.failed` and `error` end it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from counterpoint.core.model.models.asking import Question, Stop, Tokens
from counterpoint.kernel.canonical import Json
from counterpoint.providers.format import Draft, count, fail, table, words

_STOPS: Final[Mapping[str, Stop]] = {"max_output_tokens": "length", "content_filter": "refused"}
_BUSY: Final = frozenset({"server_error", "rate_limit_exceeded"})
_ENDS: Final = frozenset({"response.completed", "response.incomplete"})


class Responses:
    """That format."""

    def path(self, question: Question) -> str:
        """Return what follows the address."""
        del question
        return "/responses"

    def headers(self, secret: str) -> dict[str, str]:
        """Return the heads that carry the key."""
        return {"authorization": f"Bearer {secret}"} if secret else {}

    def body(self, question: Question) -> dict[str, Json]:
        """Return the body of a request."""
        turns: list[Json] = [
            {"role": message.role, "content": message.text} for message in question.messages
        ]
        fields: dict[str, Json] = {
            "model": question.model,
            "input": turns,
            "max_output_tokens": question.max_tokens,
            "stream": True,
            "store": False,
        }
        if question.system:
            fields["instructions"] = question.system
        if question.temperature is not None:
            fields["temperature"] = question.temperature
        if question.schema is not None:
            form: dict[str, Json] = {"type": "json_schema", "name": "answer", "strict": True}
            fields["text"] = {"format": form | {"schema": dict(question.schema)}}
        return fields

    def hear(self, draft: Draft, name: str, event: Mapping[str, Any]) -> str:
        """Take an event in."""
        kind = words(event.get("type")) or name
        response = table(event.get("response"))
        if kind in {"error", "response.failed"}:
            error = table(response.get("error")) or table(event.get("error")) or event
            fail(words(error.get("message")), is_busy=words(error.get("code")) in _BUSY)
        elif kind == "response.refusal.delta":
            draft.is_refused = True
            return draft.add(words(event["delta"]))
        elif kind == "response.output_text.delta":
            return draft.add(words(event["delta"]))
        elif kind in _ENDS:
            draft.model = words(response.get("model"))
            usage = table(response.get("usage"))
            details = table(usage.get("input_tokens_details"))
            draft.tokens = Tokens(
                input=count(usage.get("input_tokens")),
                cached=count(details.get("cached_tokens")),
                output=count(usage.get("output_tokens")),
            )
            reason = words(table(response.get("incomplete_details")).get("reason"))
            whole: Stop = "refused" if draft.is_refused else "end"
            draft.stop = _STOPS.get(reason, "other") if reason else whole
        return ""
