"""The file that says which tools need something else first."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from counterpoint.dialects.agentic.rules.precedence import ToolOrder, read_table
from counterpoint.kernel.errors import InvalidInput


def read_order(file: Path, tools: Collection[str]) -> ToolOrder:
    """Return the order of tools that a file has; InvalidInput, MalformedDocument."""
    try:
        return ToolOrder(table=read_table(file.read_text(encoding="utf-8"), tools))
    except (OSError, UnicodeDecodeError) as fault:
        raise InvalidInput(
            f"the order of the tools cannot be read from {file}",
            hint="Give --tool-dependencies a file that is there, or leave it out.",
        ) from fault
