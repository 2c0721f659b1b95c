"""Models that answer from a script: a port in memory, and a server on this machine that speaks Chat Completions.

    with ModelServer("first answer", Failing(429, wait=1), "last answer") as models:
        models.configure(folder)          # writes counterpoint.toml, which a person then trusts: `counterpoint trust --yes`
        …
    assert models.questions[0]["messages"][-1]["content"] == "…"

What a script has is said in turn, its last for ever. A line may be a function of the request, which answers the next line.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from counterpoint.app import App
from counterpoint.core.model.models import Answer, Provider, Question, Tokens
from counterpoint.core.ports.models import Listen
from counterpoint.kernel.errors import CounterpointError

MODEL = "scripted-1"
NAME = "local"


@dataclass(frozen=True, slots=True)
class Failing:
    """The provider refuses with a status. wait: what its head `Retry-After` says."""

    status: int
    said: str = "it is so"
    wait: float | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """The provider says something and breaks off."""

    said: str = "half of an"


@dataclass(frozen=True, slots=True)
class Held:
    """The provider says something, or not even that it will answer, and then nothing more until whoever asks has left.

    begun: it was asked, and has said that much; ended: nobody listens any more.
    """

    said: str | None = None
    begun: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True, slots=True)
class Mute:
    """The provider answers, and is paid, without a text. reason: why it ended, in the words of the format."""

    reason: str


Line = str | Failing | Cut | Held | Mute
Script = Line | Callable[[dict[str, Any]], Line]


class ModelServer:
    """A server on this machine; use it as a context manager. questions: the bodies it was sent; heads: their heads."""

    def __init__(self, *script: Script) -> None:
        """Listen on a free port."""
        self.script = list(script) or ["fine"]
        self.questions: list[dict[str, Any]] = []
        self.heads: list[dict[str, str]] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _door(self))
        self._server.daemon_threads = True

    @property
    def address(self) -> str:
        """Where it speaks the format."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def configure(self, folder: Path, more: str = "") -> Path:
        """Have a project ask it and nobody else that it does not ask already; a person has to trust that."""
        path = folder / "counterpoint.toml"
        before = path.read_text() if path.exists() else ""
        path.write_text(
            f'{before}\n[models]\norder = ["{NAME}"]\n{more}\n'
            f'[models.providers.{NAME}]\nkind = "chat"\naddress = "{self.address}"\nmodel = "{MODEL}"\n'
        )
        return path

    def __enter__(self) -> Self:
        """Begin to answer."""
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()

    def next_line(self, request: dict[str, Any], heads: dict[str, str]) -> Line:
        """Answer what is said to a request."""
        with self._lock:
            self.questions.append(request)
            self.heads.append(heads)
            line = self.script[min(len(self.questions), len(self.script)) - 1]
        return line(request) if callable(line) else line


def chunks(
    said: str, model: str, *, is_whole: bool = True, reason: str = "stop"
) -> Iterator[dict[str, Any]]:
    """Answer the events of an answer as the format has them."""
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": model}
    half = len(said) // 2
    for piece in (said[:half], said[half:]):
        yield head | {"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]}
    if is_whole:
        yield head | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        yield head | {"choices": [], "usage": usage}


def _door(models: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Door(BaseHTTPRequestHandler):
        """One request, one line of the script."""

        def do_POST(self) -> None:
            """Answer as the script says."""
            request = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
            line = models.next_line(request, {k.lower(): v for k, v in self.headers.items()})
            if isinstance(line, Failing):
                body = json.dumps({"error": {"message": line.said}}).encode()
                wait = {} if line.wait is None else {"Retry-After": f"{line.wait:g}"}
                self._say(line.status, "application/json", body, wait)
                return
            if isinstance(line, Held):
                self._hold(line, request["model"])
                return
            is_whole = isinstance(line, str | Mute)
            if isinstance(line, Mute):
                events = chunks("", request["model"], reason=line.reason)
            else:
                said = line if isinstance(line, str) else line.said
                events = chunks(said, request["model"], is_whole=is_whole)
            text = "".join(f"data: {json.dumps(one)}\n\n" for one in events)
            self._say(200, "text/event-stream", (text + "data: [DONE]\n\n" * is_whole).encode(), {})

        def _hold(self, line: Held, model: str) -> None:
            self.close_connection = True
            if line.said is not None:
                said = list(chunks(line.said, model, is_whole=False))
                text = "".join(f"data: {json.dumps(one)}\n\n" for one in said)
                self._say(200, "text/event-stream", text.encode(), {}, more_to_come=1)
                self.wfile.flush()
            line.begun.set()
            # Nothing more is sent, so that this returns when the other side closes.
            with contextlib.suppress(ConnectionError):
                self.connection.recv(1)
            line.ended.set()

        def log_message(self, format: str, *words: object) -> None:  # noqa: A002  the name is theirs
            """Say nothing."""

        def _say(
            self, status: int, kind: str, body: bytes, more: dict[str, str], more_to_come: int = 0
        ) -> None:
            self.send_response(status)
            for name, value in {
                "Content-Type": kind,
                "Content-Length": str(len(body) + more_to_come),
                **more,
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    return Door


def provider(name: str = NAME, **more: Any) -> Provider:
    """Answer a provider that can be asked, and costs nothing."""
    told: dict[str, Any] = {
        "kind": "chat",
        "description": "scripted",
        "model": MODEL,
        "address": "http://127.0.0.1:9/v1",
        "is_free": True,
    }
    return Provider(name=name, **(told | more))


@dataclass
class ScriptedModels:
    """Implements Models in memory, for one project in a test: `Studio(models=lambda: ScriptedModels("yes"))`.

    said: what is answered or raised in turn, the last for ever; a function is given the question. asked: the questions, with whom they were asked.
    """

    said: list[Any] = field(default_factory=lambda: ["fine"])
    there: tuple[Provider, ...] = field(default_factory=lambda: (provider(),))
    tokens: Tokens = field(default_factory=lambda: Tokens(input=10, output=5))
    asked: list[tuple[str, Question]] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    whom: list[Provider] = field(default_factory=list)

    def providers(self) -> tuple[Provider, ...]:
        """Answer who is there."""
        return self.there

    def ask(self, provider: Provider, question: Question, listen: Listen) -> Answer:
        """Say the next line."""
        self.asked.append((provider.name, question))
        self.whom.append(provider)
        line = self.said[min(len(self.asked), len(self.said)) - 1]
        line = line(question) if callable(line) else line
        if isinstance(line, CounterpointError):
            raise line
        listen(line)
        return Answer(
            text=line,
            stop="end",
            provider=provider.name,
            model=question.model,
            tokens=self.tokens,
            cost_micros=-1,
        )

    def pause(self, seconds: float, listen: Listen) -> None:
        """Wait for nothing, and remember for how long."""
        self.waits.append(seconds)
        listen("")


def answer_with(app: App, models: ScriptedModels) -> ScriptedModels:
    """Have an app ask such models in place of those of its configuration; answer them."""
    app._outside.__dict__["models"] = models
    return models
