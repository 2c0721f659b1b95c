"""Commands of checks that no person has allowed yet, in words."""

from __future__ import annotations

from typing import Final

from counterpoint.core.model.trust.checking import Lacking
from counterpoint.core.rules.trust.commands import MOST_NAMED, allowing_line
from counterpoint.dialects.paging import clip

_ROOM: Final = 100


def said_of_lacking(found: Lacking) -> str:
    """Return in words which commands would not be run, and what lets them; empty if all would."""
    if found.why:
        return (
            f"{found.why}: no check runs until a person corrects it and runs `counterpoint trust`"
        )
    if not found.commands:
        return ""
    shown = _shown(found)
    rest = len(found.commands) - len(shown)
    more = f" and {rest} more" if rest else ""
    names = ", ".join(f"`{one}`" for one in shown)
    return (
        f"these commands of checks are not allowed yet: {names}{more}."
        f" A person allows them with: {allowing_line(found.commands)}"
    )


def _shown(found: Lacking) -> list[str]:
    import shlex

    return [clip(shlex.join(argv), _ROOM) for argv in found.commands[:MOST_NAMED]]
