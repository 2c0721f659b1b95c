"""Formats of providers as their documents show them: an answer, its ends, its faults, and a request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from counterpoint.core.model.models import Tokens
from counterpoint.kernel.errors import CounterpointError, ProviderBusy, ProviderFailed

SECRET = "sk-test-0123456789abcdef"  # noqa: S105 -- nobody has it anywhere


@dataclass(frozen=True)
class Spoken:
    """One format as its documents show it: an answer of two pieces, ends by our words, faults by what they mean, the body and head of a request."""

    kind: Any
    events: tuple[dict[str, Any], ...]
    path: str
    key: tuple[str, str]
    body: dict[str, Any]
    stops: dict[str, tuple[dict[str, Any], ...]]
    faults: tuple[tuple[type[CounterpointError], dict[str, Any]], ...]
    named: bool = False
    tokens: Tokens = field(default_factory=lambda: Tokens(input=12, cached=2, output=4))


def _delta(text: str) -> dict[str, Any]:
    return {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": text},
    }


def _ended(reason: str) -> dict[str, Any]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 4}}


START = {
    "type": "message_start",
    "message": {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": "m-1-20260101",
        "content": [],
        "stop_reason": None,
        "usage": {
            "input_tokens": 9,
            "cache_creation_input_tokens": 1,
            "cache_read_input_tokens": 2,
            "output_tokens": 1,
        },
    },
}
MESSAGES = Spoken(
    kind="messages",
    named=True,
    events=(
        START,
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        _delta("for"),
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "thinking_delta", "thinking": "hm"},
        },
        _delta("ty"),
        {"type": "content_block_stop", "index": 0},
        _ended("end_turn"),
        {"type": "message_stop"},
    ),
    path="/v1/messages",
    key=("x-api-key", SECRET),
    body={
        "model": "m-1",
        "max_tokens": 64,
        "stream": True,
        "system": "Count.",
        "temperature": 0.5,
        "messages": [
            {"role": "user", "content": "One?"},
            {"role": "assistant", "content": "Two."},
            {"role": "user", "content": "Three?"},
        ],
        "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
    },
    stops={
        "length": (START, _delta("x"), _ended("max_tokens")),
        "refused": (START, _delta("x"), _ended("refusal")),
        "other": (START, _delta("x"), _ended("pause_turn")),
    },
    faults=(
        (
            ProviderBusy,
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        ),
        (
            ProviderFailed,
            {"type": "error", "error": {"type": "invalid_request_error", "message": "No"}},
        ),
    ),
)


def _chunk(**choice: Any) -> dict[str, Any]:
    told = {"index": 0, "delta": {}, "finish_reason": None} | choice
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "model": "m-1-2026",
        "choices": [told],
    }


USAGE = {
    "id": "chatcmpl-1",
    "object": "chat.completion.chunk",
    "model": "m-1-2026",
    "choices": [],
    "usage": {
        "prompt_tokens": 12,
        "completion_tokens": 4,
        "total_tokens": 16,
        "prompt_tokens_details": {"cached_tokens": 2},
    },
}
CHAT = Spoken(
    kind="chat",
    events=(
        _chunk(delta={"role": "assistant", "content": ""}),
        _chunk(delta={"content": "for"}),
        _chunk(delta={"content": "ty"}),
        _chunk(finish_reason="stop"),
        USAGE,
    ),
    path="/v1/chat/completions",
    key=("authorization", f"Bearer {SECRET}"),
    body={
        "model": "m-1",
        "max_tokens": 64,
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.5,
        "messages": [
            {"role": "system", "content": "Count."},
            {"role": "user", "content": "One?"},
            {"role": "assistant", "content": "Two."},
            {"role": "user", "content": "Three?"},
        ],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": {"type": "object"}, "strict": True},
        },
    },
    stops={
        "length": (_chunk(delta={"content": "x"}, finish_reason="length"),),
        "refused": (_chunk(delta={"content": "x"}, finish_reason="content_filter"),),
        "other": (_chunk(delta={"content": "x"}, finish_reason="tool_calls"),),
    },
    faults=(
        (ProviderBusy, {"error": {"code": 503, "message": "Loading"}}),
        (ProviderFailed, {"error": {"code": "invalid", "message": "No"}}),
    ),
)


def _response(kind: str, **more: Any) -> dict[str, Any]:
    usage = {
        "input_tokens": 12,
        "input_tokens_details": {"cached_tokens": 2},
        "output_tokens": 4,
        "total_tokens": 16,
    }
    told = {"id": "resp_1", "object": "response", "model": "m-1-2026", "output": [], "usage": usage}
    return {"type": f"response.{kind}", "response": told | more}


def _output(text: str) -> dict[str, Any]:
    return {
        "type": "response.output_text.delta",
        "output_index": 0,
        "content_index": 0,
        "delta": text,
    }


RESPONSES = Spoken(
    kind="responses",
    named=True,
    events=(
        _response("created", usage=None),
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message"}},
        _output("for"),
        _output("ty"),
        {"type": "response.output_text.done", "text": "forty"},
        _response("completed", status="completed", incomplete_details=None),
    ),
    path="/v1/responses",
    key=("authorization", f"Bearer {SECRET}"),
    body={
        "model": "m-1",
        "max_output_tokens": 64,
        "stream": True,
        "store": False,
        "instructions": "Count.",
        "temperature": 0.5,
        "input": [
            {"role": "user", "content": "One?"},
            {"role": "assistant", "content": "Two."},
            {"role": "user", "content": "Three?"},
        ],
        "text": {
            "format": {
                "type": "json_schema",
                "name": "answer",
                "strict": True,
                "schema": {"type": "object"},
            }
        },
    },
    stops={
        "length": (
            _output("x"),
            _response("incomplete", incomplete_details={"reason": "max_output_tokens"}),
        ),
        "refused": (
            {"type": "response.refusal.delta", "delta": "I will not"},
            _response("completed"),
        ),
        "other": (_output("x"), _response("incomplete", incomplete_details={"reason": "steered"})),
    },
    faults=(
        (ProviderBusy, _response("failed", error={"code": "server_error", "message": "Sorry"})),
        (ProviderBusy, {"type": "error", "code": "rate_limit_exceeded", "message": "Slow down"}),
        (ProviderFailed, {"type": "error", "error": {"code": "invalid_prompt", "message": "No"}}),
    ),
)


def _piece(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    candidate = {"content": {"parts": list(parts), "role": "model"}, "index": 0} | more
    usage = {
        "promptTokenCount": 12,
        "cachedContentTokenCount": 2,
        "candidatesTokenCount": 3,
        "thoughtsTokenCount": 1,
    }
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m-1-2026"}


GEMINI = Spoken(
    kind="gemini",
    events=(
        _piece({"text": "hm", "thought": True}),
        _piece({"text": "for"}),
        _piece({"text": "ty"}, finishReason="STOP"),
    ),
    path="/v1/models/m-1:streamGenerateContent?alt=sse",
    key=("x-goog-api-key", SECRET),
    body={
        "contents": [
            {"role": "user", "parts": [{"text": "One?"}]},
            {"role": "model", "parts": [{"text": "Two."}]},
            {"role": "user", "parts": [{"text": "Three?"}]},
        ],
        "systemInstruction": {"parts": [{"text": "Count."}]},
        "generationConfig": {
            "maxOutputTokens": 64,
            "temperature": 0.5,
            "responseMimeType": "application/json",
            "responseJsonSchema": {"type": "object"},
        },
    },
    stops={
        "length": (_piece({"text": "x"}, finishReason="MAX_TOKENS"),),
        "refused": (_piece({"text": "x"}, finishReason="SAFETY"),),
        "other": (_piece({"text": "x"}, finishReason="OTHER"),),
    },
    faults=(
        (ProviderBusy, {"error": {"code": 503, "message": "Overloaded", "status": "UNAVAILABLE"}}),
        (ProviderFailed, {"error": {"code": 400, "message": "No", "status": "INVALID_ARGUMENT"}}),
    ),
)
