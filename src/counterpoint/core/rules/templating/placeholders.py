r"""The places in a template's texts where values go: `{{ name }}`.

Rules: (1) between the braces stands the name of a declared variable, with or without blanks around it,
on one line. (2) `\{{` is a plain `{{`. (3) All slots of a text are filled in one pass: whatever a value
looks like, nothing in it is read again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
"""What the name of a variable looks like."""
_SLOT = re.compile(r"\\\{\{|\{\{([^{}\n]*)\}\}|\{\{")
_PLAIN = "\\{{"


def names(text: str) -> list[str]:
    """Return the names in the slots of a text, in order; empty for one that is not closed."""
    return [(slot[1] or "").strip() for slot in _SLOT.finditer(text) if slot[0] != _PLAIN]


def fill(text: str, values: Mapping[str, str]) -> str:
    """Return a text with its slots filled; every name has a value."""
    return _SLOT.sub(lambda slot: "{{" if slot[0] == _PLAIN else values[slot[1].strip()], text)


def tighten_slots(text: str) -> str:
    """Return a text without the blanks inside of slots, so that none is split at blanks."""
    return _SLOT.sub(
        lambda slot: slot[0] if slot[1] is None else f"{{{{{slot[1].strip()}}}}}", text
    )
