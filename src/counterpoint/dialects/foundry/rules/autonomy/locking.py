"""Which calls change what an unattended run works on."""

from __future__ import annotations

from typing import Final

_TOOLS: Final = frozenset({"task", "authoring", "lifecycle", "spec", "verification", "research"})
_FREE: Final = ("task session", "task gate-waiver")
"""The beginnings of those that are about a run itself: they have rules of their own."""


def is_locked(call: str) -> bool:
    """Whether a call that writes needs the session of the run that works on its spec. call: tool, action and command."""
    tool, _, _ = call.partition(" ")
    return tool in _TOOLS and not call.startswith(_FREE)
