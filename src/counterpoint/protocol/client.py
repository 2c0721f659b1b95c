"""A client of one MCP server, which it starts, for programs that are not async.

The server is a child in the caller's own process group, so that whoever ends the group ends both, unless it is to be
apart. It is told to leave by the end of its input, then by SIGTERM, then by SIGKILL.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, cast

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import ProgramMissing, Unavailable
from counterpoint.protocol.wire.inbox import Inbox
from counterpoint.protocol.wire.outbox import Outbox

CALL_SECONDS = 60.0
"""Seconds that a call may take."""
EXIT_SECONDS = 3.0
"""Seconds that a server gets to leave before it is told to, and again before it is made to."""


class ToolRefused(Exception):
    """A server's refusal of a call, in the server's words; no error of this program's own.

    envelope: what the refusal says to a program, in the shape of the server's dialect.
    """

    def __init__(self, tool: str, words: str, envelope: Mapping[str, Json]) -> None:
        """Keep what was refused and how."""
        super().__init__(f"{tool}: {words}")
        self.envelope = envelope

    @property
    def code(self) -> str:
        """The code of the refusal where the dialect names it as `error`, else empty."""
        error = self.envelope.get("error")
        return error if isinstance(error, str) else ""


class Connection:
    """An open connection to a server."""

    def __init__(self, portal: BlockingPortal, client: Client, pid: int) -> None:
        """Call through a portal; `connect` is the only caller."""
        self._portal = portal
        self._client = client
        self.pid = pid
        """The server's process."""

    def call(self, tool: str, /, **arguments: Json) -> dict[str, Json]:
        """Return what a tool answers; ToolRefused, Unavailable if the server is gone."""
        try:
            result = self._portal.call(partial(self._client.call_tool, tool, arguments))
        except MCPError as fault:
            raise Unavailable(f"the server did not answer {tool}: {fault}") from fault
        answer = cast("dict[str, Json]", result.structured_content or {})
        if result.is_error:
            words = " ".join(part.text for part in result.content if part.type == "text")
            raise ToolRefused(tool, words, answer)
        return answer


@contextmanager
def connect(
    argv: Sequence[str],
    *,
    folder: Path,
    environ: Mapping[str, str],
    errors: Path | None = None,
    patience: float = CALL_SECONDS,
    is_apart: bool = False,
) -> Generator[Connection]:
    """Start a server and open a connection to it; the end of the block ends both.

    errors: the file that its standard error goes to; the caller's own without one. is_apart: whether it has a process group of its
    own, so that a Ctrl-C which the caller hears does not end it.
    Raises ProgramMissing, Unavailable if it does not speak MCP.
    """
    process = _start(argv, folder, environ, errors, is_apart=is_apart)
    try:
        client = Client(_open_streams(process), read_timeout_seconds=patience)
        with start_blocking_portal() as portal:
            opening = portal.wrap_async_context_manager(client)
            try:
                opened = opening.__enter__()
            except (MCPError, ExceptionGroup) as fault:
                # The SDK's task group wraps what goes wrong in the handshake.
                raise Unavailable(
                    f"`{argv[0]}` does not speak MCP",
                    hint="Run the command by hand and see what it writes.",
                ) from fault
            try:
                yield Connection(portal, opened, process.pid)
            finally:
                opening.__exit__(None, None, None)
    finally:
        _stop(process)


def _start(
    argv: Sequence[str],
    folder: Path,
    environ: Mapping[str, str],
    errors: Path | None,
    *,
    is_apart: bool,
) -> subprocess.Popen[bytes]:
    with ExitStack() as opened:
        log = opened.enter_context(errors.open("ab")) if errors else None
        try:
            return subprocess.Popen(  # noqa: S603 - an argument list of the caller's own
                argv,
                cwd=folder,
                env=environ,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                # The descriptors are used directly, past any buffer of Python's.
                bufsize=0,
                process_group=0 if is_apart else None,
            )
        except OSError as fault:
            raise ProgramMissing(f"`{argv[0]}` cannot be started: {fault.strerror}") from fault


@asynccontextmanager
async def _open_streams(process: subprocess.Popen[bytes]) -> AsyncGenerator[Any]:
    """Open the SDK's streams over the pipes of a process."""
    sink, source = _descriptors(process)
    # The event loop of the portal's thread must never wait for a pipe.
    for fd in (sink, source):
        os.set_blocking(fd, False)
    outbox = Outbox(sink)
    yield Inbox(source, outbox), outbox
    await outbox.drain(EXIT_SECONDS)


def _descriptors(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    assert process.stdin is not None  # noqa: S101 - `_start` asked for the pipe
    assert process.stdout is not None  # noqa: S101 - `_start` asked for the pipe
    return process.stdin.fileno(), process.stdout.fileno()


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a server, and wait for it."""
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            # The end of its input is how a server is asked to leave.
            stream.close()
    for stop in (process.terminate, process.kill):
        with suppress(subprocess.TimeoutExpired):
            process.wait(EXIT_SECONDS)
            return
        stop()
    process.wait()
