"""Searches that answer from a script: a port in memory, and a server on this machine that speaks SearXNG.

with SearchServer({"url": "http://127.0.0.1:1/a", "title": "A", "content": "…"}) as searches:
    folder.joinpath("counterpoint.toml").write_text(searches.configuration)
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from counterpoint.core.model.web import Search, Searcher, SearchResult
from counterpoint.core.ports.models import Listen
from counterpoint.kernel.errors import CounterpointError
from fakes.scripted_models import Failing

NAME = "mine"
Found = list[dict[str, Any]]


class SearchServer:
    """A server on this machine; use it as a context manager. found: results, or a function of the query that answers them. asked: the queries."""

    def __init__(self, *found: dict[str, Any], by: Callable[[str], Found | Failing] | None = None):
        """Listen on a free port."""
        self._found = by or (lambda _: list(found))
        self.asked: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _door(self))
        self._server.daemon_threads = True

    @property
    def address(self) -> str:
        """Where it speaks the format."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def configuration(self) -> str:
        """What has a project ask it, and nobody else before it."""
        return f'[web.search.{NAME}]\nkind = "searxng"\naddress = "{self.address}"\n'

    def answer(self, query: str) -> Found | Failing:
        """Answer what is found."""
        self.asked.append(query)
        return self._found(query)

    def __enter__(self) -> Self:
        """Begin to answer."""
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()


def _door(searches: SearchServer) -> type[BaseHTTPRequestHandler]:
    class Door(BaseHTTPRequestHandler):
        """One request, one page of results."""

        def do_GET(self) -> None:
            """Answer as the script says."""
            asked = parse_qs(urlsplit(self.path).query)
            found = (
                searches.answer(asked["q"][0]) if asked.get("format") == ["json"] else Failing(403)
            )
            status, wait = (found.status, found.wait) if isinstance(found, Failing) else (200, None)
            told = found.said if isinstance(found, Failing) else {"results": found}
            body = json.dumps(told).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            if wait is not None:
                self.send_header("Retry-After", f"{wait:g}")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *words: object) -> None:  # noqa: A002  the name is theirs
            """Say nothing."""

    return Door


def searcher(name: str = NAME, **more: Any) -> Searcher:
    """Answer a provider of searches that can be asked, and costs nothing."""
    told: dict[str, Any] = {
        "kind": "searxng",
        "description": "scripted",
        "address": "http://127.0.0.1:9",
    }
    return Searcher(name=name, **(told | more))


def result(number: int, **more: Any) -> SearchResult:
    """Answer a result."""
    told = {"url": f"https://example.com/{number}", "title": f"Page {number}", "text": "words"}
    return SearchResult(**(told | more))


@dataclass
class ScriptedSearching:
    """Implements Searching in memory. said: results or faults in turn, the last for ever. asked: the searches, with whom they were asked of."""

    said: list[Any] = field(default_factory=lambda: [(result(1), result(2))])
    there: tuple[Searcher, ...] = field(default_factory=lambda: (searcher(),))
    asked: list[tuple[str, Search]] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)

    def searchers(self) -> tuple[Searcher, ...]:
        """Answer who is there."""
        return self.there

    def search(
        self, searcher: Searcher, search: Search, listen: Listen
    ) -> tuple[SearchResult, ...]:
        """Say the next line."""
        self.asked.append((searcher.name, search))
        line = self.said[min(len(self.asked), len(self.said)) - 1]
        if isinstance(line, CounterpointError):
            raise line
        listen("")
        return line

    def pause(self, seconds: float, listen: Listen) -> None:
        """Wait for nothing, and remember for how long."""
        self.waits.append(seconds)
        listen("")
