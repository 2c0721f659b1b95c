"""A running `counterpoint up`, and clients that call it over HTTP."""

from __future__ import annotations

import http.client
import json
import selectors
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

CLIENT = "claude-code"
"""What every client calls itself: a name proves nothing."""
PATIENCE = 60.0


class Server:
    """A running `counterpoint up`."""

    def __init__(self, folder: Path, *words: str) -> None:
        """Start it and wait for its address."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "counterpoint", "up", "--port", "0", *words],
            cwd=folder,
            stderr=subprocess.PIPE,
            text=True,
        )
        waiting = selectors.DefaultSelector()
        assert self.process.stderr is not None
        waiting.register(self.process.stderr, selectors.EVENT_READ)
        assert waiting.select(PATIENCE)
        told = json.loads(self.process.stderr.readline())
        self.url: str = told["addresses"][0]
        self.token = Path(told["token_file"]).read_text().strip()

    def send(self, message: dict[str, Any], surface: str = "", **headers: str) -> tuple[Any, Any]:
        """Send a message to a surface; answer the headers and what was answered."""
        parts = urlsplit(self.url)
        wire = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE)
        named = {name.replace("_", "-"): text for name, text in headers.items() if text}
        kind = {"content-type": "application/json", "accept": "application/json"}
        try:
            wire.request(
                "POST", f"/mcp/{surface}".rstrip("/"), json.dumps(message), {**kind, **named}
            )
            got = wire.getresponse()
            body = got.read()
            return got.headers, json.loads(body) if body else None
        finally:
            wire.close()

    def kill(self, folder: Path) -> Server:
        """Kill it without a word, and start another one on the same port."""
        self.process.kill()
        self.process.communicate(timeout=PATIENCE)
        return Server(folder, "--port", str(urlsplit(self.url).port))

    def close(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.communicate(timeout=PATIENCE)


class Caller:
    """A client over HTTP, which shakes hands and sends back what it was given."""

    def __init__(self, server: Server, token: str = "", surface: str = "", **headers: str) -> None:
        """Shake hands with a surface, the plain one without a name; without a token by that of the account."""
        self._server, self._surface = server, surface
        self._headers = {"authorization": f"Bearer {token or server.token}", **headers}
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": CLIENT, "version": "1"},
        }
        given, _ = server.send(
            {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello},
            surface,
            **self._headers,
        )
        self._headers["mcp_session_id"] = given["mcp-session-id"]

    def move(self, server: Server) -> None:
        """Go on with another server at the same address, with what the first one gave."""
        self._server = server

    def call(self, tool: str, headers: dict[str, str] | None = None, **arguments: Any) -> Any:
        """Call a tool with more headers; answer its result."""
        params = {"name": tool, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        sent = {**self._headers, **(headers or {})}
        return self._server.send(message, self._surface, **sent)[1]["result"]

    def does(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must succeed."""
        result = self.call(tool, **arguments)
        assert not result.get("isError"), result
        return result["structuredContent"]

    def is_refused(self, tool: str, **arguments: Any) -> str:
        """Call a tool that must be refused; answer what is said of it."""
        result = self.call(tool, **arguments)
        assert result.get("isError"), result
        return json.dumps(result["structuredContent"])

    def hears(self, tool: str, **arguments: Any) -> str:
        """Call a tool; answer what came of it as text, in whichever form a dialect refuses."""
        return json.dumps(self.call(tool, **arguments)["structuredContent"])
