"""Canonical JSON bytes (RFC 8785) under a narrow profile, and their digests.

Valid input if and only if (1) every object key is an ASCII string, (2) every number is an integer
with |n| < 2^53, (3) every string is valid Unicode, (4) values are null, booleans, numbers, strings,
arrays and objects. Inside that profile sorted-key orjson and RFC 8785 give the same bytes
(a property test holds them side by side); outside it `dump` refuses.
"""

from __future__ import annotations

import hashlib
from typing import Any, cast

import orjson

from counterpoint.kernel.errors import InvalidInput

Json = Any
"""A JSON value: None, bool, int, float, str, list, or a dict with text keys."""

_LIMIT = 2**53
_PLAIN = frozenset({str, bool, type(None)})


def dump(value: Json) -> bytes:
    """Return the canonical bytes of a value; InvalidInput outside the profile."""
    _check(value)
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError) as fault:
        raise InvalidInput("a text is not valid Unicode") from fault


def load(data: bytes | str) -> Json:
    """Return the value of JSON bytes; InvalidInput if they are not JSON."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as fault:
        raise InvalidInput(f"not valid JSON: {fault}") from fault


def object_of(value: Json) -> dict[str, Json]:
    """Return a value that is an object; an empty one in place of any other."""
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def dump_any(value: Json) -> str:
    """Return compact sorted JSON text of any JSON value, floats included."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except (TypeError, ValueError) as fault:
        raise InvalidInput(f"not a JSON value: {fault}") from fault


def sha256(data: bytes) -> str:
    """Return the SHA-256 of bytes as 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


def commitment(salt: bytes, text: str) -> str:
    """Return SHA-256(0x02 || salt || UTF-8 bytes of a text) as 64 hex digits; InvalidInput.

    Whoever has the text but not the salt cannot tell that they belong together.
    """
    try:
        return hashlib.sha256(b"\x02" + salt + text.encode()).hexdigest()
    except UnicodeEncodeError as fault:
        raise InvalidInput("a text is not valid Unicode") from fault


def text_digest(text: str) -> str:
    """Return the SHA-256 of the UTF-8 bytes of a text as 64 hex digits."""
    try:
        return hashlib.sha256(text.encode()).hexdigest()
    except UnicodeEncodeError as fault:
        raise InvalidInput("a text is not valid Unicode") from fault


def _check(value: Json) -> None:
    """Refuse what orjson would write in spite of the profile, and what it would not by name.

    Walks without recursion, so that depth is no way to crash, and past texts without a look: they are
    most of what there is.
    """
    waiting: list[Json] = [value]
    while waiting:
        part = waiting.pop()
        kind = cast("type[object]", type(part))
        if kind is dict:
            _check_names(part)
            waiting += [inner for inner in part.values() if type(inner) not in _PLAIN]
        elif kind is list or kind is tuple:
            waiting += [inner for inner in part if type(inner) not in _PLAIN]
        elif kind is int:
            if not -_LIMIT < part < _LIMIT:
                raise InvalidInput(f"the number {part} is outside ±2^53")
        elif kind not in _PLAIN:
            raise InvalidInput(f"a {kind.__name__} has no place in canonical JSON")


def _check_names(part: dict[Any, Json]) -> None:
    try:
        if "".join(part).isascii():
            return
    except TypeError:
        pass  # a key that is no text
    wrong = next(name for name in part if not (isinstance(name, str) and name.isascii()))
    raise InvalidInput(f"the key {wrong!r} is not ASCII text")
