"""What the tests of the protocol share: the small surface and a raw driver of its program."""

from __future__ import annotations

import importlib.util
import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PROGRAM = Path(__file__).with_name("small_surface.py")
PATIENCE = 20.0
"""Seconds that a test waits for an answer before it fails."""

ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def _load(name: str) -> ModuleType:
    """Make a module of this folder importable under its own name."""
    spec = importlib.util.spec_from_file_location(name, PROGRAM.with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


small_surface = _load("small_surface")
live_door = _load("live_door")
two_ways = _load("two_ways")
socket_house = _load("socket_house")


class RawClient:
    """A client that writes bytes and reads lines, and knows no SDK."""

    def __init__(self, *words: str) -> None:
        """Start the program."""
        self.process = subprocess.Popen(
            [sys.executable, str(PROGRAM), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._input, self._output = self.process.stdin, self.process.stdout
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._output, selectors.EVENT_READ)
        self._kept = b""

    def write(self, text: bytes) -> None:
        """Send bytes as they are."""
        self._input.write(text)
        self._input.flush()

    def send(self, method: str, number: int | None = None, **params: Any) -> None:
        """Send a message of the era from 2026-07-28."""
        self.write(self.message(method, number, **params))

    def message(self, method: str, number: int | None = None, **params: Any) -> bytes:
        """Answer the line of such a message."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if number is not None:
            message["id"] = number
            params["_meta"] = {**ENVELOPE, **params.get("_meta", {})}
        message["params"] = params
        return json.dumps(message).encode() + b"\n"

    def send_bare(self, method: str, number: int | None = None, **params: Any) -> None:
        """Send a message of the eras before."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if number is not None:
            message["id"] = number
        self.write(json.dumps(message).encode() + b"\n")

    def line(self) -> bytes:
        """Answer the next line of the wire."""
        deadline = time.monotonic() + PATIENCE
        while b"\n" not in self._kept:
            if not self._selector.select(deadline - time.monotonic()):
                raise TimeoutError("the server sent nothing")
            chunk = os.read(self._output.fileno(), 1_000_000)
            if not chunk:
                raise EOFError("the server closed the wire")
            self._kept += chunk
        line, _, self._kept = self._kept.partition(b"\n")
        return line

    def hear(self) -> dict[str, Any]:
        """Answer the next message."""
        return json.loads(self.line())

    def call(self, number: int, name: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and answer the message that comes back."""
        self.send("tools/call", number, name=name, arguments=arguments)
        return self.hear()

    def leave(self) -> None:
        """Close the input of the server."""
        self._input.close()

    def end(self) -> tuple[int, str]:
        """Wait for the end of the process; answer its status and what it wrote on stderr."""
        assert self.process.stderr is not None
        status = self.process.wait(PATIENCE)
        return status, self.process.stderr.read().decode()

    def close(self) -> None:
        """End the process, whatever it does."""
        self.process.kill()
        self.process.wait(PATIENCE)
        self._selector.close()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            try:
                stream.close()
            except BrokenPipeError:
                continue


@pytest.fixture(scope="session")
def small() -> ModuleType:
    """Answer the module of the small surface."""
    return small_surface


@pytest.fixture
def program() -> str:
    """Answer the path of the program that serves the small surface."""
    return str(PROGRAM)


@pytest.fixture
def raw() -> Iterator[RawClient]:
    """Answer a raw client of a running program."""
    client = RawClient()
    yield client
    client.close()


@pytest.fixture
def lingering() -> Iterator[RawClient]:
    """Answer a client of a program that reads its input to the end after it has served."""
    client = RawClient("linger")
    yield client
    client.close()


@pytest.fixture
def live() -> Iterator[live_door.Live]:
    """Give a running HTTP server that knows the words of TOKENS; it must stay up."""
    with live_door.running(small_surface) as opened:
        yield opened
        assert opened.send("GET", "/healthz").status == 200


@pytest.fixture
def story(small: ModuleType) -> Any:
    """Give two entries: one of two events, one of none."""
    made = small.Story()
    made.grow(("a:created", "x"), ("b:created", "y"))
    made.grow()
    return made


@pytest.fixture
def gate() -> Iterator[Any]:
    """Give a gate that is open in the end."""
    made = two_ways.Gate()
    yield made
    made.opened.set()


@pytest.fixture
def connect(small: ModuleType, gate: Any) -> Callable[..., Any]:
    """Give what makes connections to the small surface, whose tools have a gate too."""

    def made(era: str = "2025-11-25", *, is_direct: bool = True, more: Any = ()) -> Any:
        surface = small.build(tools=(*small.TOOLS, gate.tool, *more))
        return two_ways.Connection(
            surface, lambda caller: small.Call(caller=caller), era, is_direct=is_direct
        )

    return made
