"""The four formats in which providers of models are asked.

The format Chat Completions, which vLLM, Ollama and llama.cpp speak too.
POST /chat/completions with `stream` and `stream_options.include_usage`. Each event is a chunk with `choices[0].delta.content`; the last of
a choice has `finish_reason`; one with `usage` and no choices follows; `[DONE]` ends it. A fault in the middle is an event with `error`.

The format of Google's Gemini API.
POST /models/MODEL:streamGenerateContent?alt=sse. Each event is a piece of a response: `candidates[0].content.parts` with texts (those of
`thought` are none of the answer), `finishReason` in the last, `usageMetadata` in each, the last counts. A question that is blocked has `promptFeedback.blockReason`
and no candidates. There is no last event but the end of the answer.

The format of Anthropic's Messages API.
POST /messages with `stream`. Events: `message_start` (model, tokens of the question), `content_block_delta` with a `text_delta`, `message_delta`
(why it ended, tokens of the answer so far), `message_stop`; `ping` says nothing, `error` ends it. Tokens of the question that were read from or written to the cache
are counted beside `input_tokens`.

The format of OpenAI's Responses API.
POST /responses with `stream`, and `store` off: nothing is left there. Events: `response.output_text.delta`; `response.completed` or
`response.incomplete` with the whole response, from which only model, tokens and the reason are taken; `response.failed` and `error` end it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote

from counterpoint.core.model.models import Question, Stop, Tokens
from counterpoint.kernel.canonical import Json
from counterpoint.providers.format import Draft, count, fail, rows, table, words

_CHAT_STOPS: Final[Mapping[str, Stop]] = {
    "stop": "end",
    "length": "length",
    "content_filter": "refused",
}
_CHAT_BUSY: Final = frozenset({429, 500, 502, 503, "server_error", "rate_limit_exceeded"})


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
            fail(words(error.get("message")), is_busy=error.get("code") in _CHAT_BUSY)
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
                draft.stop = _CHAT_STOPS.get(reason, "other")
        return draft.add(piece)


_GEMINI_STOPS: Final[Mapping[str, Stop]] = {
    "STOP": "end",
    "MAX_TOKENS": "length",
    **dict.fromkeys(("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"), "refused"),
}
_GEMINI_BUSY: Final = frozenset({429, 500, 503, 504})


class Gemini:
    """That format."""

    def path(self, question: Question) -> str:
        """Return what follows the address."""
        return f"/models/{quote(question.model, safe='')}:streamGenerateContent?alt=sse"

    def headers(self, secret: str) -> dict[str, str]:
        """Return the heads that carry the key."""
        return {"x-goog-api-key": secret} if secret else {}

    def body(self, question: Question) -> dict[str, Json]:
        """Return the body of a request."""
        turns: list[Json] = [
            {
                "role": "user" if message.role == "user" else "model",
                "parts": [{"text": message.text}],
            }
            for message in question.messages
        ]
        settings: dict[str, Json] = {"maxOutputTokens": question.max_tokens}
        if question.temperature is not None:
            settings["temperature"] = question.temperature
        if question.schema is not None:
            settings["responseMimeType"] = "application/json"
            settings["responseJsonSchema"] = dict(question.schema)
        fields: dict[str, Json] = {"contents": turns, "generationConfig": settings}
        if question.system:
            fields["systemInstruction"] = {"parts": [{"text": question.system}]}
        return fields

    def hear(self, draft: Draft, name: str, event: Mapping[str, Any]) -> str:
        """Take a piece in."""
        del name
        if error := table(event.get("error")):
            fail(words(error.get("message")), is_busy=error.get("code") in _GEMINI_BUSY)
        draft.model = words(event.get("modelVersion")) or draft.model
        if usage := table(event.get("usageMetadata")):
            thought = count(usage.get("thoughtsTokenCount"))
            draft.tokens = Tokens(
                input=count(usage.get("promptTokenCount")),
                cached=count(usage.get("cachedContentTokenCount")),
                output=count(usage.get("candidatesTokenCount")) + thought,
            )
        if table(event.get("promptFeedback")).get("blockReason"):
            draft.stop = "refused"
        piece = ""
        for candidate in rows(event.get("candidates"))[:1]:
            parts = rows(table(candidate.get("content")).get("parts"))
            piece = "".join(words(part.get("text")) for part in parts if not part.get("thought"))
            if reason := words(candidate.get("finishReason")):
                draft.stop = _GEMINI_STOPS.get(reason, "other")
        return draft.add(piece)


VERSION: Final = "2023-06-01"
_MESSAGES_STOPS: Final[Mapping[str, Stop]] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
}
_MESSAGES_BUSY: Final = frozenset(
    {"overloaded_error", "rate_limit_error", "api_error", "timeout_error"}
)


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
            fail(words(error.get("message")), is_busy=words(error.get("type")) in _MESSAGES_BUSY)
        elif kind == "message_start":
            message = table(event.get("message"))
            draft.model, usage = words(message.get("model")), table(message.get("usage"))
            cached = count(usage.get("cache_read_input_tokens"))
            fresh = count(usage.get("input_tokens"))
            written = count(usage.get("cache_creation_input_tokens"))
            draft.tokens = Tokens(input=fresh + written + cached, cached=cached)
        elif kind == "message_delta":
            if reason := words(table(event.get("delta")).get("stop_reason")):
                draft.stop = _MESSAGES_STOPS.get(reason, "other")
            output = count(table(event.get("usage")).get("output_tokens"))
            draft.tokens = replace(draft.tokens, output=output or draft.tokens.output)
        elif kind == "content_block_delta":
            delta = table(event.get("delta"))
            if delta.get("type") == "text_delta":
                return draft.add(words(delta["text"]))
        return ""


_RESPONSES_STOPS: Final[Mapping[str, Stop]] = {
    "max_output_tokens": "length",
    "content_filter": "refused",
}
_RESPONSES_BUSY: Final = frozenset({"server_error", "rate_limit_exceeded"})
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
            fail(words(error.get("message")), is_busy=words(error.get("code")) in _RESPONSES_BUSY)
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
            draft.stop = _RESPONSES_STOPS.get(reason, "other") if reason else whole
        return ""
