"""The floors: durable commits of bare SQLite, and a server of the SDK that only echoes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import apsw
import orjson

_TABLES = """
CREATE TABLE IF NOT EXISTS ledger(n INTEGER PRIMARY KEY, data BLOB, hash BLOB);
CREATE TABLE IF NOT EXISTS items(n INTEGER PRIMARY KEY, status TEXT)
"""
_BUSY_MS = 30_000


def open_bare(path: Path) -> apsw.Connection:
    """Open a database with two tables, WAL and synchronous=FULL."""
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(_BUSY_MS)
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", "full")
    connection.execute(_TABLES)
    return connection


def appending(connection: apsw.Connection, size: int = 400) -> Callable[[], None]:
    """Answer what appends one chained entry of so many bytes and one row, durably."""
    step = stepping(connection, size)

    def append() -> None:
        connection.execute("BEGIN IMMEDIATE")
        step()
        connection.execute("COMMIT")

    return append


def stepping(connection: apsw.Connection, size: int = 400) -> Callable[[], None]:
    """Answer what appends the same inside a transaction that is open."""
    value = {"a": "task.started", "x": "x" * max(0, size - 120)}

    def step() -> None:
        row = connection.execute("SELECT n, hash FROM ledger ORDER BY n DESC LIMIT 1").fetchone()
        number, last = row or (0, b"")
        entry = {**value, "n": number, "h": last.hex()}
        data = orjson.dumps(entry, option=orjson.OPT_SORT_KEYS)
        digest = hashlib.sha256(data).digest()
        connection.execute("INSERT INTO ledger VALUES (?, ?, ?)", (number + 1, data, digest))
        connection.execute("INSERT INTO items(status) VALUES ('active')")

    return step


def serve_echo() -> None:
    """Serve one tool on the SDK's low-level server and its own stdio transport."""
    import anyio
    import mcp_types as wire
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server

    schema = {"type": "object", "properties": {"text": {"type": "string"}}}

    async def listed(_context: object, _params: object) -> wire.ListToolsResult:
        return wire.ListToolsResult(tools=[wire.Tool(name="echo", input_schema=schema)])

    async def called(_context: object, params: wire.CallToolRequestParams) -> wire.CallToolResult:
        text = (params.arguments or {})["text"]
        return wire.CallToolResult(content=[wire.TextContent(type="text", text=text)])

    server = Server(
        "echo",
        get_tool_input_schema=lambda _name: schema,
        on_list_tools=listed,
        on_call_tool=called,
    )

    async def serve() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(serve)


if __name__ == "__main__":
    serve_echo()
