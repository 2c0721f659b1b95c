"""Templates of plans: Markdown with `{{variable}}` in it, or with a default."""

from __future__ import annotations

import re
from collections.abc import Mapping

from counterpoint.core.rules import outline
from counterpoint.kernel.errors import InvalidInput

_SLOT = re.compile(r"\{\{\s*([a-z][a-z0-9_]{0,63})\s*(?:=([^{}\n]*))?\}\}")
VALUE_LIMIT = 500


def variables(text: str) -> dict[str, str | None]:
    """Return every variable of a template with its default; None if it must be given."""
    defaults: dict[str, str | None] = {}
    for slot in _SLOT.finditer(text):
        if defaults.get(slot[1]) is None:
            defaults[slot[1]] = slot[2]
    return defaults


def fill(text: str, values: Mapping[str, str]) -> str:
    """Return the text with every slot filled; InvalidInput names all that is wrong.

    A value is one line, and one that begins a line is marked as text: it never adds structure.
    """
    defaults = variables(text)
    faults = [
        f"{name!r} is not a variable of this template" for name in values if name not in defaults
    ]
    faults += [
        f"{name!r} must be given"
        for name, default in defaults.items()
        if default is None and name not in values
    ]
    faults += [
        f"the value of {name!r} is not one line of at most {VALUE_LIMIT} characters"
        for name, value in values.items()
        if len(value.splitlines()) > 1 or len(value) > VALUE_LIMIT
    ]
    if faults:
        raise InvalidInput(
            "; ".join(faults), hint=f"The template has: {', '.join(defaults) or 'no variables'}."
        )

    parts: list[str] = []
    done = 0
    for slot in _SLOT.finditer(text):
        value = values.get(slot[1], defaults[slot[1]] or "")
        before = text[done : slot.start()]
        above, is_new, beside = before.rpartition("\n")
        begins = not beside.strip() and bool(is_new or not done)
        parts += (above, is_new, beside, outline.plain(value) if begins else value)
        done = slot.end()
    return "".join((*parts, text[done:]))
