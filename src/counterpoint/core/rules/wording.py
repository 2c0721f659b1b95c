"""Words for people: spoken names, the first few, a first line, unfit letters.

A spoken name, `SYM-001`, is the project's prefix in capitals, a hyphen and the number in at least three
digits. A kept id is the prefix in small letters, a hyphen and the plain number. Either is read, in any
case.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput
from counterpoint.kernel.matching.expressions import expression

_NAME = expression(r"\s*([A-Za-z][A-Za-z0-9_-]{0,63})-0*([1-9][0-9]{0,14})\s*", re.ASCII)
NUMBER = expression(r"[0-9]{1,15}")
"""The number of an item, without the prefix of its project."""
_ALLOWED_CONTROLS = frozenset("\t\n\r")
_UNFIT = frozenset({"Cc", "Cs"})
_DIGITS = 3


def spoken_name(prefix: str, number: int) -> str:
    """Return the spoken name of an item."""
    return f"{prefix.upper()}-{number:0{_DIGITS}d}"


def parse(name: str) -> tuple[str, int] | None:
    """Return the prefix, in small letters, and the number of a name; None if it is no such name."""
    match = _NAME.fullmatch(name)
    return (match[1].lower(), int(match[2])) if match else None


def id_of_name(name: str) -> str | None:
    """Return the kept id of a name; None if it is no such name."""
    parts = parse(name)
    return f"{parts[0]}-{parts[1]}" if parts else None


def spoken_of(item: str) -> str:
    """Return the spoken name of a kept id; anything else stays as it is."""
    parts = parse(item)
    return spoken_name(*parts) if parts else item


_SHOWN: Final = 5


def few(names: Sequence[str], most: int = _SHOWN) -> str:
    """Return the first names, divided by commas, with the number of the others after them."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def first_line(text: str, most: int) -> str:
    """Return the first line of a text that is not blank, cut to so many characters."""
    line = next(iter(text.strip().splitlines()), "").strip()
    return line if len(line) <= most else line[: most - 1] + "…"


def parse_details(text: str) -> Json:
    """Return a text that may be the JSON of an object as that object; None for an empty one."""
    if text.startswith("{"):
        with suppress(InvalidInput):
            return canonical.load(text)
    return text or None


def control_fault(text: str) -> str:
    """Return what is wrong with the characters of a text, or nothing."""
    for letter in text:
        if unicodedata.category(letter) in _UNFIT and letter not in _ALLOWED_CONTROLS:
            return f"the character U+{ord(letter):04X} has no place in a text"
    return ""
