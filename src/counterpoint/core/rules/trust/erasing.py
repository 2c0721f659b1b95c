"""Whether a text repeats another, and what is left of a value without it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, cast

import orjson

from counterpoint.core.model.rows import REDACTED
from counterpoint.kernel.canonical import Json

SHORTEST: Final = 8
"""Letters from which on it is no chance that one text stands in another."""
_PIECE: Final = 16
"""Letters of a piece from which on it is taken for one: answers show long texts cut."""


def spellings(text: str) -> tuple[str, ...]:
    """Return a text as it is, as it stands in JSON, and as it stands in JSON inside of JSON."""
    once = orjson.dumps(text).decode()[1:-1]
    return text, once, orjson.dumps(once).decode()[1:-1]


def has_any(body: str, words: Collection[str], least: int) -> bool:
    """Return whether a text says one of the words, or has one in it of so many letters at least."""
    return any(
        body == spelling or (len(word) >= least and spelling in body)
        for word in words
        if len(word) >= SHORTEST
        for spelling in spellings(word)
    )


def blot_words(value: Json, words: Collection[str]) -> Json:
    """Return a JSON value with a mark in place of the words, and of long pieces of them."""
    if isinstance(value, str):
        return _blotted(value, words)
    if isinstance(value, dict):
        parts = cast("dict[str, Any]", value)
        return {_blotted(name, words): blot_words(part, words) for name, part in parts.items()}
    if isinstance(value, list):
        return [blot_words(part, words) for part in cast("list[Any]", value)]
    return value


def _blotted(text: str, words: Collection[str]) -> str:
    bare = text.rstrip("… ")
    if len(bare) >= _PIECE and any(bare in word for word in words):
        return REDACTED
    for word in words:
        if len(word) >= SHORTEST:
            for spelling in reversed(spellings(word)):
                text = text.replace(spelling, REDACTED)
    return text
