"""Starts the server as a client does, and looks at the list of its tools."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

PATIENCE: Final = 20.0
"""Seconds until a server that does not answer is given up."""

_REQUESTS: Final = (
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "counterpoint-doctor", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
)
_LAST: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A server that answered: how long after its start, how many tools, how many bytes of them."""

    seconds: float
    tools: int
    size: int


def start_server(
    command: Sequence[str],
    folder: Path,
    *,
    patience: float = PATIENCE,
    environ: Mapping[str, str] | None = None,
) -> Started | str:
    """Return what a server's `tools/list` takes, from its start; in words why it does not come."""
    begun = time.monotonic()
    with subprocess.Popen(  # noqa: S603 - this program itself, started as a client starts it
        command,
        cwd=folder,
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as server:
        late = threading.Event()
        limit = threading.Timer(patience, lambda: (late.set(), server.kill()))
        limit.start()
        try:
            answer = _ask_tools(server)
            seconds = time.monotonic() - begun
            errors = _end_server(server)
        except ValueError:
            server.kill()
            return "what it writes is not JSON"
        finally:
            limit.cancel()
    if answer is not None:
        return Started(seconds=seconds, tools=len(answer["tools"]), size=_listed_size(answer))
    if late.is_set():
        return f"no answer within {patience:g} s"
    return f"it ended without an answer: {errors.strip().splitlines()[-1:] or 'in silence'}"


def _ask_tools(server: subprocess.Popen[bytes]) -> dict[str, Any] | None:
    """Return the result of `tools/list`, or None if the server ends before."""
    if server.stdin is None or server.stdout is None:
        return None
    with suppress(BrokenPipeError):
        for request in _REQUESTS:
            server.stdin.write(json.dumps(request).encode() + b"\n")
        server.stdin.flush()
    for line in server.stdout:
        read = json.loads(line)
        if isinstance(read, dict) and cast("dict[str, Any]", read).get("id") == _LAST:
            return cast("dict[str, Any]", read).get("result")
    return None


def _end_server(server: subprocess.Popen[bytes]) -> str:
    """Leave the server, which then ends; answer what it said on standard error."""
    with suppress(BrokenPipeError):
        _, errors = server.communicate()
        return errors.decode(errors="replace")
    return ""


def _listed_size(answer: dict[str, Any]) -> int:
    """Count the bytes of the tools in compact form, without what the protocol puts around."""
    compact = json.dumps({"tools": answer["tools"]}, separators=(",", ":"), ensure_ascii=False)
    return len(compact.encode())
