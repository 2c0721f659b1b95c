"""A client of an MCP server over its pipes: newline-delimited JSON-RPC, and no SDK."""

from __future__ import annotations

import json
import select
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, cast

PATIENCE = 60.0
"""Seconds to wait for an answer."""


class Gone(Exception):
    """The server ended, or did not answer in time."""


class Connection:
    """One connection to one server process."""

    def __init__(self, command: Sequence[str], folder: Path, environ: Mapping[str, str]) -> None:
        """Start the server in a folder."""
        self._process = subprocess.Popen(  # noqa: S603 -- the checkout's own program
            command,
            cwd=folder,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
        self._input = cast("IO[bytes]", self._process.stdin)
        self._output = cast("IO[bytes]", self._process.stdout)
        self._kept = b""
        self._number = 0

    def ask(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the answer to a request: `result` or `error`. Raise Gone."""
        self._number += 1
        self.send({"id": self._number, "method": method, "params": dict(params or {})})
        while True:
            answer = self._read()
            if answer.get("id") == self._number and "method" not in answer:
                return {key: answer[key] for key in ("result", "error") if key in answer}

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a request or a notification. Raise Gone."""
        try:
            self._input.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        except BrokenPipeError:
            raise Gone from None

    def _read(self) -> dict[str, Any]:
        while b"\n" not in self._kept:
            ready, _, _ = select.select([self._output], [], [], PATIENCE)
            piece = self._output.read(1 << 16) if ready else b""
            if not piece:
                raise Gone
            self._kept += piece
        line, _, self._kept = self._kept.partition(b"\n")
        return json.loads(line)

    def close(self) -> int:
        """End the input, wait until the server has left, return its exit code."""
        self._input.close()
        try:
            return self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()
        finally:
            self._output.close()
