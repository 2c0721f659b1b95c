"""Looks at the live view as a person does: what stands on it, and whether something comes."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

from textual.app import App
from textual.pilot import Pilot

Play = Callable[[Any, "Pilot[int]"], Awaitable[None]]
"""What is played on a view."""
PATIENCE = 40.0
"""Seconds that a test waits for a word before it fails."""
_MOMENT = 0.02


def screen_of(view: App[int]) -> str:
    """Return what stands on the screen, line by line."""
    strips = view.screen._compositor.render_strips()
    return "\n".join("".join(part.text for part in strip) for strip in strips)


async def sees(view: App[int], pilot: Pilot[int], *words: str) -> str:
    """Return the screen once it has all the words."""
    ends = time.monotonic() + PATIENCE
    while missing := [word for word in words if word not in screen_of(view)]:
        assert time.monotonic() < ends, f"never showed {missing}:\n{screen_of(view)}"
        await pilot.pause(_MOMENT)
    return screen_of(view)


async def misses(view: App[int], pilot: Pilot[int], word: str) -> str:
    """Return the screen once a word is gone from it."""
    ends = time.monotonic() + PATIENCE
    while word in screen_of(view):
        assert time.monotonic() < ends, f"always showed {word}:\n{screen_of(view)}"
        await pilot.pause(_MOMENT)
    return screen_of(view)
