"""A model that says what a script says, to agents that ask it over HTTP on this machine.

It answers three interfaces, as far as an agent needs them for one conversation, always as a stream:
`POST …/v1/messages` (Anthropic), `POST …/v1/responses` (OpenAI) and `POST …:streamGenerateContent` (Gemini). The script is a function: it is
given the answers of all tools so far, in order, and says what the model does next. A request
without tools is an agent's talk with itself, such as finding a title, and gets a word. It is
the agents' proxy too, which notes whom else they wanted to reach, and lets them reach nobody.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

SERVER = "counterpoint"
_GEMINI = ":streamGenerateContent"
USAGE = {"input_tokens": 10, "output_tokens": 10}


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """The model calls a tool of our server, or one of the agent's own if it is said so."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    is_ours: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What an agent showed the model of one tool's answer."""

    text: str

    @property
    def answer(self) -> dict[str, Any]:
        """The first JSON object in it, for agents write around it; ValueError if there is none."""
        found: dict[str, Any] = json.JSONDecoder().raw_decode(self.text[self.text.index("{") :])[0]
        return found


Script = Callable[[list[Heard]], Use | str]
"""(answers so far) → the next call, or the last words."""


class Model:
    """A server on this machine; use it as a context manager."""

    def __init__(self, script: Script) -> None:
        """Listen on a free port."""
        self.script = script
        self.server = SERVER
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.heard: list[Heard] = []
        self.faults: list[str] = []
        self.reached: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _door(self))
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        """Begin to answer."""
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()

    def stream(self, path: str, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Answer the events of one request."""
        self.requests.append(request)
        if path.endswith("/responses"):
            said = self._next(_parse_by_openai(request))
            return _openai(said, len(self.requests))
        if path.endswith(_GEMINI):
            return _gemini(self._next(_parse_by_gemini(request)))
        if not _is_talk(request):
            return _anthropic("fine", len(self.requests))
        said = self._next(_parse_by_anthropic(request))
        return _anthropic(said, len(self.requests))

    def _next(self, heard: list[Heard]) -> Use | str:
        self.heard = heard
        try:
            return self.script(heard)
        except (ValueError, KeyError, IndexError, AssertionError) as fault:
            self.faults.append(f"{type(fault).__name__}: {fault}; heard: {heard[-1:]}")
            return "I cannot go on."


def _is_talk(request: dict[str, Any]) -> bool:
    return bool(request.get("tools"))


def _line(event: dict[str, Any]) -> str:
    named = f"event: {event['type']}\n" if "type" in event else ""
    return f"{named}data: {json.dumps(event)}\n\n"


def _texts(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_texts(one) for one in content)
    return _texts(content.get("text", json.dumps(content))) if isinstance(content, dict) else ""


def _parse_by_anthropic(request: dict[str, Any]) -> list[Heard]:
    return [
        Heard(text=_texts(block.get("content", "")))
        for message in request["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block.get("type") == "tool_result"
    ]


def _parse_by_openai(request: dict[str, Any]) -> list[Heard]:
    items = request.get("input", [])
    return [
        Heard(text=_texts(item.get("output", "")))
        for item in items
        if item.get("type") == "function_call_output"
    ]


def _parse_by_gemini(request: dict[str, Any]) -> list[Heard]:
    return [
        Heard(text="\n".join(map(str, part["functionResponse"]["response"].values())))
        for content in request.get("contents", [])
        for part in content.get("parts", [])
        if "functionResponse" in part
    ]


def _anthropic(said: Use | str, number: int) -> Iterator[dict[str, Any]]:
    message = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": USAGE,
    }
    yield {"type": "message_start", "message": message}
    if isinstance(said, Use):
        name = f"mcp__{SERVER}__{said.tool}" if said.is_ours else said.tool
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(said.arguments)}
    else:
        block = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": said}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    reason = "tool_use" if isinstance(said, Use) else "end_turn"
    stop = {"stop_reason": reason, "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 10}}
    yield {"type": "message_stop"}


def _openai(said: Use | str, number: int) -> Iterator[dict[str, Any]]:
    response = {"id": f"resp_{number}", "object": "response", "status": "in_progress", "output": []}
    yield {"type": "response.created", "response": response}
    if isinstance(said, Use):
        item: dict[str, Any] = {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": f"call_{number}",
            "name": said.tool,
            "arguments": json.dumps(said.arguments),
            **({"namespace": f"mcp__{SERVER}"} if said.is_ours else {}),
        }
    else:
        text = {"type": "output_text", "text": said, "annotations": []}
        item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": [text]}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    usage = {**USAGE, "total_tokens": 20}
    done = {**response, "status": "completed", "output": [item], "usage": usage}
    yield {"type": "response.completed", "response": done}


def _gemini(said: Use | str) -> Iterator[dict[str, Any]]:
    if isinstance(said, Use):
        name = f"mcp_{SERVER}_{said.tool}" if said.is_ours else said.tool
        part: dict[str, Any] = {"functionCall": {"name": name, "args": said.arguments}}
    else:
        part = {"text": said}
    content = {"role": "model", "parts": [part]}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}
    candidates = [{"content": content, "finishReason": "STOP", "index": 0}]
    yield {"candidates": candidates, "usageMetadata": usage}


def _door(model: Model) -> type[BaseHTTPRequestHandler]:
    """Make what answers the requests of one model."""

    class Door(BaseHTTPRequestHandler):
        """Each event is a line with its name, if it has one, and one with its JSON."""

        protocol_version = "HTTP/1.0"

        def do_POST(self) -> None:
            """Answer a question to the model with a stream."""
            path = self.path.partition("?")[0]
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            model.paths.append(path)
            if not path.endswith(("/messages", "/responses", _GEMINI)):
                self._say(200, "application/json", b'{"input_tokens":10}')
                return
            events = model.stream(path, json.loads(body))
            lines = [_line(one) for one in events]
            self._say(200, "text/event-stream", "".join(lines).encode())

        def do_GET(self) -> None:
            """Answer whatever else is asked with nothing."""
            model.paths.append(self.path)
            self._say(200, "application/json", b'{"data":[],"models":[]}')

        def do_CONNECT(self) -> None:
            """Note who was to be reached, and refuse."""
            model.reached.append(self.path)
            self._say(403, "text/plain", b"")

        def do_HEAD(self) -> None:
            """Answer as to a GET, without what it says."""
            self.do_GET()

        def log_message(self, format: str, *words: object) -> None:  # noqa: A002  the name is theirs
            """Say nothing."""

        def _say(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            # An agent that was killed reads no more.
            with suppress(ConnectionError):
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

    return Door
