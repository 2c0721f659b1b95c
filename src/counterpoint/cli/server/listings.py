"""Writes what a surface lists, as a real server answers it, for the relay."""

from __future__ import annotations

import asyncio
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click
import orjson
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from counterpoint.dialects import registry
from counterpoint.kernel.canonical import Json
from counterpoint.protocol.server import create_server
from counterpoint.protocol.surface import Surface
from counterpoint.protocol.wire.inbox import Inbox
from counterpoint.protocol.wire.outbox import Outbox

LISTS: Final = (
    "server/discover",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "prompts/list",
    "ping",
)
"""Methods that a surface always answers alike, beside `initialize`."""
_CLIENT: Final = {"name": "listings", "version": "1"}
_KEPT: Final = 7 * 24 * 3600
"""Seconds for which the lists of another source are kept: its programs may still run."""


@click.command("listings", hidden=True)
@click.argument("path", type=click.Path(path_type=Path))
def listings_command(path: Path) -> None:
    """Work out what the dialects list."""
    if path.stem not in registry.list_all_names():
        return
    folder = path.parent
    folder.mkdir(parents=True, exist_ok=True)
    listing = listing_of(path.stem) if path.stem in registry.names() else None
    # Others read it at any moment, so that it is put there whole.
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
        file.write(orjson.dumps(listing))
    Path(file.name).replace(path)
    for old in folder.parent.glob("listings-*"):
        if old != folder and old.stat().st_mtime < time.time() - _KEPT:
            shutil.rmtree(old, ignore_errors=True)


def listing_of(name: str) -> dict[str, Json]:
    """Return what a relay knows of a surface: what its server answers, for each version."""
    surface = registry.surface(name)
    answers: dict[str, dict[str, Any]] = {}
    eras: dict[str, str] = {}
    for version in (*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS):
        answers_of = asyncio.run(_asked(surface, version))
        answers_of.get("initialize", {}).pop("protocolVersion", None)
        alike = (era for era, alike in answers.items() if alike == answers_of)
        eras[version] = next(alike, version)
        answers.setdefault(eras[version], answers_of)
    types = registry.types(name)
    return {
        "surface": name,
        "eras": eras,
        "reads": [
            name
            for tool in surface.tools
            for name in (
                [tool.name] if tool.reads else [part.name for part in tool.parts if part.reads]
            )
        ],
        **({"types": types} if types else {}),
        "answers": answers,
    }


async def _asked(surface: Surface[Any], version: str) -> dict[str, Any]:
    """Return the results of every list of a real server, to a client of one version."""
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        end.setblocking(False)
    server = create_server(surface, lambda caller: caller)
    outbox = Outbox(theirs.fileno())
    serving = asyncio.create_task(
        server.run(Inbox(theirs.fileno(), outbox), outbox, server.create_initialization_options())
    )
    answers, requests = await asyncio.open_connection(sock=ours, limit=1_000_000)
    results: dict[str, Any] = {}
    for method, params in _requests(version):
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        requests.write(orjson.dumps(message) + b"\n")
        result = orjson.loads(await answers.readline()).get("result")
        if result is not None:
            results[method] = result
    requests.close()
    await serving
    theirs.close()
    return results


def _requests(version: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if version in HANDSHAKE_PROTOCOL_VERSIONS:
        opening = {"protocolVersion": version, "capabilities": {}, "clientInfo": _CLIENT}
        yield "initialize", opening
        yield from ((method, {}) for method in LISTS)
        return
    prefix = "io.modelcontextprotocol/"
    meta: dict[str, Any] = {f"{prefix}protocolVersion": version, f"{prefix}clientCapabilities": {}}
    yield from ((method, {"_meta": meta}) for method in LISTS)
