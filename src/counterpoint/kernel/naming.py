"""The names of projects: of a folder's name, in its own script.

A name has 1 to 64 characters and at most 180 bytes, since files are called after it: letters, marks, digits and symbols of any script, small and
composed (NFC), and `.`, `_`, `-`, of which none comes first.
"""

from __future__ import annotations

import unicodedata
from typing import Final

_MOST, _MOST_BYTES = 64, 180
_JOINS: Final = "._-"
_UNNAMED: Final = "project"


def project_name_of(folder: str) -> str:
    """Return the name that a project gets from the name of a folder."""
    text = _fold(folder.removesuffix(".git"))
    words = "".join(char if _is_part(char) else " " for char in text).split()
    return _cut("-".join(words).strip(_JOINS)) or _UNNAMED


def is_project_name(name: str) -> bool:
    """Return whether a project can have a name."""
    return (
        bool(name)
        and name[0] not in _JOINS
        and name == _cut(_fold(name))
        and all(map(_is_part, name))
    )


def _fold(text: str) -> str:
    return unicodedata.normalize("NFC", text.lower())


def _is_part(char: str) -> bool:
    if char.isascii():
        return char.isalnum() or char in _JOINS
    return unicodedata.category(char)[0] in "LMNS"


def _cut(text: str) -> str:
    return text[:_MOST].encode()[:_MOST_BYTES].decode(errors="ignore")
