"""What a caller over HTTP may do, and how much in a minute.

A grant is made anew for each request. Scopes are checked before the call: a call that needs one that is
missing is answered 403 before the surface hears of it. The list of tools is held inside: a
tool outside of it is not listed, and a call of it is refused in the dialect's own words.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from counterpoint.protocol.surface import Surface
from counterpoint.protocol.tools import Tool

MOST_BUCKETS = 10_000

READ = "read"
WRITE = "write"
RUN = "run"
MAINTAIN = "maintain"

_LOOKS = frozenset({"resources/read", "prompts/get", "completion/complete"})
_OPEN = frozenset({"initialize", "ping", "server/discover", "notifications/initialized"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """Who is calling and what that allows.

    id: who it is, and what the log names: the id of a token, never the token; empty for anybody. name: the agent's name unless it
    gives another. session: that of calls that name none. surfaces, tools: none named
    opens all. calls_a_minute, calls_a_month: 0 for no limit. tool_limits: calls a minute by tool.
    """

    id: str
    name: str
    session: str
    scopes: tuple[str, ...] = (READ, WRITE)
    surfaces: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    calls_a_minute: int = 0
    calls_a_month: int = 0
    tool_limits: Mapping[str, int] = field(default_factory=dict[str, int])

    def opens(self, surface: str) -> bool:
        """Whether it is good for a surface."""
        return not self.surfaces or surface in self.surfaces

    def names(self, tool: str) -> bool:
        """Whether its list of tools, if it has one, has this one."""
        return not self.tools or tool in self.tools

    def shown(self, tool: Tool[Any]) -> Tool[Any] | None:
        """Return a tool as it stands in the list that its bearer is given; None if it does not."""
        if not self.names(tool.name):
            return None
        return tool.narrowed(lambda part: needed_by(part) in self.scopes)


def needed_by(tool: Tool[Any]) -> str:
    """Return the scope that a tool, or an action of one, needs."""
    return READ if tool.reads else WRITE


def needs(surface: Surface[Any], message: Mapping[str, Any]) -> tuple[str, ...]:
    """Return every scope that a message needs, also those that lesser ones stand for."""
    method = message.get("method")
    if method in _OPEN:
        return ()
    part = surface.called_part(message)
    return (READ, WRITE) if part is not None and not part.reads else (READ,)


def looks_beside_tools(message: Mapping[str, Any]) -> bool:
    """Whether a message reads what no tool answers: not for a grant with a list of tools."""
    return message.get("method") in _LOOKS


class Limits:
    """A bucket of calls for each token: full at first, filled again evenly over each minute."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        """Begin with full buckets; `seconds` tells a time that never goes back."""
        self._seconds = seconds
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, grant: Grant) -> int:
        """Take one call; answer 0, or in how many seconds there is one again."""
        return self.take_of(grant.id, grant.calls_a_minute)

    def take_of(self, name: str, most: int) -> int:
        """Take one call from the bucket of a name, which holds so many; 0 for no limit."""
        if not most:
            return 0
        now = self._seconds()
        tokens, then = self._buckets.pop(name, (float(most), now))
        tokens = min(float(most), tokens + (now - then) * most / 60)
        # Rounded, for a sum of fractions is rarely the whole that it should be.
        absent = round(1 - tokens, 9)
        wait = 0 if absent <= 0 else math.ceil(round(absent * 60 / most, 6))
        self._buckets[name] = (tokens if wait else max(0.0, tokens - 1), now)
        # The one asked for longest ago goes: of all it is the likeliest to be full again.
        if len(self._buckets) > MOST_BUCKETS:
            self._buckets.popitem(last=False)
        return wait
