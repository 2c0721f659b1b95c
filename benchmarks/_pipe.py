"""A client of bare JSON lines over pipes, so that no SDK of its own is measured along."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_KEY = "io.modelcontextprotocol/"
_META = {
    f"{_KEY}protocolVersion": "2026-07-28",
    f"{_KEY}clientCapabilities": {},
    f"{_KEY}clientInfo": {"name": "bench", "version": "0"},
}
ECHO = (sys.executable, str(Path(__file__).with_name("_floors.py")))


_PROGRAM = ("-m", "counterpoint")


def ours(database: Path) -> tuple[str, ...]:
    """Answer the command that serves a database in the process that it starts."""
    return (*relayed(database), "--in-process")


def relayed(database: Path, agent: str = "bench", python: str = sys.executable) -> tuple[str, ...]:
    """Answer what a client's configuration starts: a relay to the one server of a database.

    python: the interpreter of the environment whose program it is.
    """
    return (python, *_PROGRAM, "mcp", "--agent", agent, "--project", "bench", "--db", str(database))


def end_server(database: Path, python: str = sys.executable) -> None:
    """End the server that relays have started, and wait until it is gone."""
    ending = (python, *_PROGRAM, "down", "--json", "--db", str(database))
    subprocess.run(ending, cwd=database.parent, stdout=subprocess.DEVNULL, check=False)


class Pipe:
    """A running server; ends with its block."""

    def __init__(
        self, argv: Sequence[str], place: Path, environ: Mapping[str, str] | None = None
    ) -> None:
        """Start the server in a folder, with the variables of this process or with these."""
        self.process = subprocess.Popen(
            argv,
            cwd=place,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._sink, self._output = self.process.stdin, self.process.stdout
        self._number = 0
        self._kept = b""

    def send(self, method: str, **params: Any) -> None:
        """Send a request."""
        self._number += 1
        body = {"jsonrpc": "2.0", "id": self._number, "method": method}
        line = json.dumps({**body, "params": {**params, "_meta": _META}}).encode() + b"\n"
        self._sink.write(line)

    def hear(self) -> bytes:
        """Answer the next line."""
        while b"\n" not in self._kept:
            chunk = os.read(self._output.fileno(), 1 << 20)
            assert chunk, "the server has ended"
            self._kept += chunk
        line, _, self._kept = self._kept.partition(b"\n")
        return line

    def fileno(self) -> int:
        """Answer the descriptor that can be read when there is something to take."""
        return self._output.fileno()

    def take(self) -> list[bytes]:
        """Answer the lines that one read completes."""
        chunk = os.read(self._output.fileno(), 1 << 20)
        assert chunk, "the server has ended"
        *lines, self._kept = (self._kept + chunk).split(b"\n")
        return lines

    def status(self) -> dict[str, float]:
        """Answer the memory of the process in MB, by what it holds (Linux)."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        parts = (line.split() for line in lines)
        return {part[0][:-1]: int(part[1]) / 1000 for part in parts if part[-1] == "kB"}

    def ask(self, method: str, **params: Any) -> bytes:
        """Send a request and answer its line."""
        self.send(method, **params)
        line = self.hear()
        assert b'"error":{' not in line, line
        assert b'"isError":true' not in line, line
        return line

    def call(self, name: str, **arguments: Any) -> bytes:
        """Call a tool and answer the line that comes back."""
        return self.ask("tools/call", name=name, arguments=arguments)

    def __enter__(self) -> Self:
        """Answer this pipe."""
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        """Close the input and wait for the end."""
        self._sink.close()
        self._output.close()
        self.process.wait(10)
