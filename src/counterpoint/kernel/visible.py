r"""Shows characters that would steer or hide, by one rule for all who read.

1. Hidden are controls but line feed and tab (a return stays before a line feed), halves of surrogates, and what Unicode says to leave out
   where it is not understood: marks of direction, characters without a width, tags, selectors, fillers.
2. In a text for a terminal or an agent a hidden one is shown as `\u{202e}`: its number in hex. So nothing is lost, and nothing of it
   works. In JSON for programs, and in a text that is a document of JSON, it is written by the escapes of JSON: they read what was written.
3. One joiner, or one selector of a picture, stays between or behind signs beyond ASCII: pictures and some scripts are written with it.
4. Two names look alike if their letters do, whichever script they are of: by Unicode's list of confusable characters (UTS 39, confusables.txt
   15.1), of which the letters of Cyrillic, Greek and Armenian are here that look like one of Latin, capitals before the folding of case.
5. A name is 1 to 64 characters in the form NFC on one line, none of them hidden or of private use, with no blank at its ends.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any, Final, cast

import orjson

from counterpoint.kernel.canonical import dump_any
from counterpoint.kernel.errors import InvalidInput
from counterpoint.kernel.matching.expressions import expression

LONGEST_NAME: Final = 64
_CAPITALS: Final = str.maketrans(
    "АВЕЅІЈКМНОРСТУХҮѴԌԚԜӀΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹՕՍ", "ABESIJKMHOPCTYXYVGQWIABEZHIKMNOPTYXCOU"
)
_SMALL: Final = str.maketrans(
    "аеѕіјорсухԁһԛԝѵүӏгαγινορσυϲоսհյոզցօıɑɡ", "aesijopcyxdhqwvylrayivopoucouhjnqgoiag"
)

_IGNORABLE: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff\ud800-\udfff"
)
_STEERING: Final = f"\x00-\x08\x0b-\x1f\x7f-\x9f{_IGNORABLE}"
_SIGN: Final = f"[^\x00-\x7f{_STEERING}]"
_KEPT: Final = (
    "\r\n"
    f"|(?<={_SIGN})\ufe0f?[\u200c\u200d](?={_SIGN})"
    f"|(?<=[0-9#*])\ufe0f(?=\u20e3)|(?<={_SIGN})[\ufe0e\ufe0f](?![\ufe00-\ufe0f])"
)
_HIDDEN: Final = expression(f"[{_STEERING}]")
_EITHER: Final = expression(f"{_KEPT}|(?P<hidden>[{_STEERING}])")
_ESCAPES: Final = ("\\u00", "\\b", "\\f")
"""What JSON writes for controls that a text has; other letters may look like it."""
_UNNAMED: Final = frozenset({"Co", "Cn"})


def visible(text: str) -> str:
    """Return a text in which what would steer or hide is shown."""
    # Most texts of a short command are plain, and no expression is compiled for those.
    if (text.isascii() and text.isprintable()) or _HIDDEN.search(text) is None:
        return text
    return _EITHER.sub(_shown, text)


def visible_json(value: Any) -> Any:
    """Return a JSON value with every text and every name in it as `visible` has it."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {visible(name): visible_json(part) for name, part in fields.items()}
    if isinstance(value, list | tuple):
        return [visible_json(part) for part in cast("list[Any]", value)]
    return value


def may_hide(text: str) -> bool:
    """Return whether a document of JSON may have something in it that is hidden; no is sure."""
    if any(escape in text for escape in _ESCAPES):
        return True
    return "\x7f" in text or (not text.isascii() and _HIDDEN.search(text) is not None)


def dump_visible(value: Any) -> tuple[Any, str]:
    """Return a JSON value as agents are shown it, and its text."""
    text = orjson.dumps(value).decode()
    if not may_hide(text):
        return value, text
    safe = visible_json(value)
    return safe, orjson.dumps(safe).decode()


def escaped(document: str) -> str:
    """Return a document of JSON in which the escapes of JSON stand for what is hidden."""
    if document.isascii() and "\x7f" not in document:
        return document
    return _HIDDEN.sub(lambda match: json.dumps(match[0])[1:-1], document)


def json_text(value: Any) -> str:
    """Return the compact sorted text of a JSON value, for an answer that has it as a text; whoever parses it reads what was written."""
    return escaped(dump_any(value))


def checked_name(text: str, what: str) -> str:
    """Return a text that can be a name; InvalidInput. what: what it is given for."""
    if not is_name(text):
        raise InvalidInput(
            f"what is given for {what} is no name: {visible(text[:LONGEST_NAME])}",
            hint=f"Give 1 to {LONGEST_NAME} characters on one line that everybody can see, in the form NFC.",
        )
    return text


def is_name(text: str) -> bool:
    """Return whether a text can be a name."""
    return (
        0 < len(text) <= LONGEST_NAME
        and text == visible(text).strip()
        and not any(mark in text for mark in "\n\t")
        and unicodedata.is_normalized("NFC", text)
        and not any(unicodedata.category(letter) in _UNNAMED for letter in text)
    )


def likeness_of(name: str) -> str:
    """Return what is the same for names that look alike, in letters of whichever script."""
    capitals = unicodedata.normalize("NFD", name).translate(_CAPITALS)
    small = unicodedata.normalize("NFD", capitals.casefold()).translate(_SMALL)
    return " ".join(unicodedata.normalize("NFKC", small).split())


def label(text: str) -> str:
    """Return a text that nobody chose here, such as the name of a client, as a name; empty if nothing is left."""
    flat = " ".join(visible(unicodedata.normalize("NFC", text)).split())
    return flat[:LONGEST_NAME].strip()


def _shown(match: re.Match[str]) -> str:
    hidden = match["hidden"]
    return f"\\u{{{ord(hidden):x}}}" if hidden else match[0]
