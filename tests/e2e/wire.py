"""A client of the real server: newline-delimited JSON-RPC over its pipes, and no SDK."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SERVER = (sys.executable, "-m", "counterpoint", "mcp")
PATIENCE = 40.0
"""Seconds that a test waits for an answer before it fails."""


class Gone(Exception):
    """The server ended before it answered."""


class Refused(Exception):
    """A tool answered with a refusal, which is `answer`."""

    def __init__(self, answer: dict[str, Any]) -> None:
        """Keep the answer."""
        super().__init__(json.dumps(answer))
        self.answer = answer


class Client:
    """One connection to one server process."""

    def __init__(
        self,
        folder: Path,
        command: Sequence[str] = SERVER,
        environ: Mapping[str, str] | None = None,
        only: Mapping[str, str] | None = None,
        **process: Any,
    ) -> None:
        """Start the server in a folder; `only`: all variables that it has."""
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 -- closed with the client
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env=dict(os.environ if only is None else only) | dict(environ or {}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            **process,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._input, self._output = self.process.stdin, self.process.stdout
        self._kept = b""
        self._next = 0

    def greet(self, name: str = "raw") -> dict[str, Any]:
        """Shake hands as clients of the era before 2026-07-28 do."""
        answer = self.ask(
            "initialize",
            {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": name, "version": "1"},
            },
        )
        self.write(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode())
        return answer

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool; Refused if it says no, Gone if the server dies."""
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        if result.get("isError"):
            raise Refused(result["structuredContent"])
        return result["structuredContent"]

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Answer the result of a request."""
        number = self.send(method, params)
        answer = self.read()
        while answer.get("id") != number:
            answer = self.read()
        assert "result" in answer, answer
        return answer["result"]

    def send(self, method: str, params: dict[str, Any] | None = None) -> int:
        """Send a request and do not wait; answer its id."""
        self._next += 1
        message = {"jsonrpc": "2.0", "id": self._next, "method": method, "params": params or {}}
        self.write(json.dumps(message).encode())
        return self._next

    def write(self, line: bytes) -> None:
        """Send a line as it is; Gone if nobody listens."""
        try:
            self._input.write(line + b"\n")
            self._input.flush()
        except BrokenPipeError:
            raise Gone(self.stderr()) from None

    def read(self) -> dict[str, Any]:
        """Answer the next message; Gone at the end of the output."""
        end = time.monotonic() + PATIENCE
        while b"\n" not in self._kept:
            left = end - time.monotonic()
            assert left > 0, f"no answer in {PATIENCE} s; the server said: {self.stderr()}"
            if not select.select([self._output], [], [], left)[0]:
                continue
            piece = os.read(self._output.fileno(), 1 << 16)
            if not piece:
                raise Gone(self.stderr())
            self._kept += piece
        line, _, self._kept = self._kept.partition(b"\n")
        return json.loads(line)

    def stderr(self) -> str:
        """Answer what the server has said on its standard error."""
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def kill(self) -> None:
        """Kill the server with SIGKILL."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE)

    def close(self) -> int:
        """End the input, wait until the server has left, answer its exit code."""
        with contextlib.suppress(BrokenPipeError):
            self._input.close()
        try:
            code = self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self.process.wait(PATIENCE)
            self._output.close()
            self.errors.close()
        return code
