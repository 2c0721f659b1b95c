"""The answer to `tools/list` of a surface, before any server exists."""

from __future__ import annotations

from typing import TypeVar

import orjson

from counterpoint.kernel.canonical import Json
from counterpoint.protocol.surface import Surface

C = TypeVar("C")


def tools_listed(surface: Surface[C]) -> dict[str, Json]:
    """Return the result of `tools/list`: every tool, in the surface's order."""
    return {"tools": [tool.listed() for tool in surface.tools]}


def render_listing(surface: Surface[C]) -> bytes:
    """Return that result as compact JSON; its length is the size of the surface."""
    return orjson.dumps(tools_listed(surface))
