"""Commands of checks that no person has allowed yet, in words."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final

from counterpoint.core.model.trust.checking import Lacking
from counterpoint.core.model.work import Item
from counterpoint.core.rules.trust.commands import (
    ELSEWHERE,
    ELSEWHERE_CONFIGURED,
    MOST_NAMED,
    OLDER,
    allowing_line,
)
from counterpoint.dialects.paging import clip
from counterpoint.kernel.canonical import Json

if TYPE_CHECKING:
    from counterpoint.core.coordinator import Core

_MAX_BYTES: Final = 100


def said_of_lacking(lacking: Lacking) -> str:
    """Return in words which commands would not be run, and what lets them; empty if all would."""
    if lacking.why in {ELSEWHERE, ELSEWHERE_CONFIGURED, OLDER}:
        command = "audit verify" if lacking.why == OLDER else "trust"
        return f"{lacking.why}. No check runs until a person has looked at it: `counterpoint {command}`"
    if lacking.why:
        return (
            f"{lacking.why}: no check runs until a person corrects it and runs `counterpoint trust`"
        )
    if not lacking.commands:
        return ""
    listed = _list_shown(lacking)
    omitted = len(lacking.commands) - len(listed)
    more = f" and {omitted} more" if omitted else ""
    names = ", ".join(f"`{line}`" for line in listed)
    return (
        f"these commands of checks are not allowed yet: {names}{more}."
        f" A person allows them with: `{allowing_line(lacking.commands)}`"
    )


def unallowed_of(lacking: Lacking | None) -> str:
    """Return in a sentence what a person types before the checks of one item are run; empty if nothing is in their way."""
    if lacking is None or not (lacking.why or lacking.commands):
        return ""
    if lacking.why == OLDER:
        return (
            f"its check does not count: {OLDER}; a person looks at it: `counterpoint audit verify`"
        )
    line = "counterpoint trust" if lacking.why else allowing_line(lacking.commands)
    return f"its check is not allowed yet; a person allows it: `{line}`"


def lines_of(lacking: Lacking | None) -> list[Json]:
    """Return the commands as lines that a shell reads."""
    import shlex

    return [shlex.join(argv) for argv in lacking.commands] if lacking else []


def unallowed_lines(lacking: Lacking | None, name: str = "") -> list[str]:
    """Return the same as warnings: one, or none. name: of which of several items."""
    line = unallowed_of(lacking)
    return [f"{name}: {line}" if name else line] if line else []


def unallowed_at(core: Core, items: Collection[str]) -> dict[str, str]:
    """Return the same sentence by item, of those in whose way anything is."""
    return {
        item: unallowed_of(lacking) for item, lacking in core.permitted.lacking_of(items).items()
    }


def checks_at(core: Core, items: Iterable[Item]) -> dict[str, dict[str, Json]]:
    """Return by item the entry `checks` with that sentence, of those that are not closed and in whose way anything is."""
    lines = unallowed_at(core, [item.id for item in items if not item.is_closed])
    return {item: {"checks": line} for item, line in lines.items()}


def _list_shown(lacking: Lacking) -> list[str]:
    import shlex

    return [clip(shlex.join(argv), _MAX_BYTES) for argv in lacking.commands[:MOST_NAMED]]
