"""Refusals of words that lists are narrowed to and that nothing has, with those there are."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from counterpoint.core.coordinator import Core
from counterpoint.core.rules.wording import few
from counterpoint.kernel.errors import InvalidInput

_SHOWN: Final = 30


def refuse_unknown(
    core: Core, *, option: str = "", status: str = "", label: str = "", assignee: str = ""
) -> None:
    """Raise InvalidInput for a value that no item has or can have, with those there are.

    Asked where a list is empty: then a value that was mistyped would look like work that there is not. option: what stands
    before the names of arguments.
    """
    filters = {"status": status, "label": label, "assignee": assignee}
    if not any(filters.values()):
        return
    used = core.overview.used_words()
    for name, value in filters.items():
        if value and value not in used[name]:
            raise unknown(f"{option}{name}", value, used[name])


def unknown(option: str, value: str, words: Collection[str], what: str = "values") -> InvalidInput:
    """Return the refusal of a value that there is not."""
    from difflib import get_close_matches

    near = get_close_matches(value, words, n=1)
    offer = f"Did you mean `{near[0]}`? " if near else ""
    examples = few(sorted(words), _SHOWN)
    hint = f"{offer}The {what}: {examples}." if words else "Nothing here has one yet: leave it out."
    return InvalidInput(
        f"there is no {value!r} for {option}", hint=hint, known=sorted(words)[:_SHOWN]
    )
