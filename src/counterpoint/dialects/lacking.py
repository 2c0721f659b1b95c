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


def unallowed_of(lacking: Lacking | None) -> str:
    """Return in a sentence what a person types before the checks of one item are run; empty if nothing is in their way."""
    if lacking is None or not (lacking.why or lacking.commands):
        return ""
    line = "counterpoint trust" if lacking.why else allowing_line(lacking.commands)
    return f"its check is not allowed yet; a person allows it: `{line}`"


def _shown(found: Lacking) -> list[str]:
    import shlex

    return [clip(shlex.join(argv), _ROOM) for argv in found.commands[:MOST_NAMED]]
