"""Pages on this machine, as a test has them.

with PageServer({"/a": Sent("<h1>A</h1>"), "/b": Sent(status=302, heads={"Location": "/a"})}) as pages:
    pages.url("/a")
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


@dataclass(frozen=True)
class Sent:
    """What a page sends. wait: what it waits for before its body."""

    body: str | bytes = ""
    kind: str = "text/html; charset=utf-8"
    status: int = 200
    heads: Mapping[str, str] = field(default_factory=dict)
    wait: threading.Event | None = None


class PageServer:
    """A server on this machine; use it as a context manager. asked: the paths; heads: the heads of each request."""

    def __init__(self, pages: Mapping[str, Sent | Callable[[], Sent]]) -> None:
        """Listen on a free port."""
        self.pages = dict(pages)
        self.asked: list[str] = []
        self.heads: list[dict[str, str]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _door(self))
        self._server.daemon_threads = True

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._server.server_port

    @property
    def place(self) -> str:
        """Host and port, as configurations name them."""
        return f"127.0.0.1:{self.port}"

    @property
    def configuration(self) -> str:
        """What has a project fetch from it, once a person has trusted that."""
        return f'[web]\nhosts = ["{self.place}"]\n'

    def url(self, path: str) -> str:
        """Answer the address of a page."""
        return f"http://{self.place}{path}"

    def __enter__(self) -> Self:
        """Begin to answer."""
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Answer no more."""
        for one in self.pages.values():
            if isinstance(one, Sent) and one.wait is not None:
                one.wait.set()
        self._server.shutdown()
        self._server.server_close()


def _door(pages: PageServer) -> type[BaseHTTPRequestHandler]:
    class Door(BaseHTTPRequestHandler):
        """One request, one page."""

        def do_GET(self) -> None:
            """Send the page of a path."""
            pages.asked.append(self.path)
            pages.heads.append({name.lower(): value for name, value in self.headers.items()})
            found = pages.pages.get(self.path, Sent("nothing", status=404))
            page = found() if callable(found) else found
            body = page.body.encode() if isinstance(page.body, str) else page.body
            heads = {"Content-Length": str(len(body)), "Content-Type": page.kind, **page.heads}
            self.send_response(page.status)
            for name, value in heads.items():
                if value:
                    self.send_header(name, value)
            self.end_headers()
            if page.wait is not None:
                page.wait.wait(30)
            try:
                self.wfile.write(body)
            except OSError:
                return

        def log_message(self, format: str, *words: object) -> None:  # noqa: A002  the name is theirs
            """Say nothing."""

    return Door
