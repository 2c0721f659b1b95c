"""Puts stable labels in the place of what differs from run to run: times, hashes, ids, paths.

1. A time becomes `<time>`, a measured number `<number>`: whether two of them are equal is chance.
2. A hash, a signature, a cursor or an id made by chance becomes a label of its kind and the order in
   which it was met in its scene, as `<hex 12>`: the same value has the same label everywhere after
   it, so that what was equal stays equal. What comes or goes moves the numbers of what follows; the
   comparison finds out which label of one record is which of the other (`pairing.py`).
3. A known folder becomes its name in angle brackets.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

_PARTS = {
    "time": r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?",
    "stamp": r"\b\d{8}T?-?\d{6}(?:-?\d+)?Z?\b",
    "clock": r"\b\d\d:\d\d:\d\d\b",
    "sheet": r"\bcur_[\w.=-]+",
    "uuid": r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
    "hex": r"(?<![0-9A-Za-z])(?=[0-9a-f]*[a-f])(?=[0-9a-f]*[0-9])[0-9a-f]{12,128}(?![0-9A-Za-z])",
    "id": r"\b(?:ses|cpt|tok|cp)_[0-9A-Za-z]{6,}\b",
    "host": r"\b[0-9a-f]{8}-[0-9a-hj-km-np-tv-z]{26}\b",
    "call": r"\bcall_[0-9a-hj-km-np-tv-z]{26}\b",
    "source": r"(?<=listings-\d\.\d\.\d-)[0-9a-f]{8}\b",
    "ulid": r"\b[0-9A-HJKMNP-TV-Z]{26}\b",
    "base64": r"(?<![\w+/])(?=[\w+/]*[A-Z])(?=[\w+/]*[a-z])(?=[\w+/]*\d)[\w+/]{24,}={0,2}",
}
_FOUND = re.compile("|".join(f"(?P<{name}>{part})" for name, part in _PARTS.items()))
_NAMELESS = {"time", "stamp", "clock"}
_SPAN = re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|µs|s|seconds?|minutes?|min|hours?|h)\b(?: ago)?")
_SIZE = re.compile(r"[\d,.]+ (?:bytes|[KMG]iB)\b")
_MEASURED = re.compile(
    r"(?:^|_)(?:ms|milliseconds|seconds|uptime|duration|elapsed|pid|port|age|took)$"
    r"|^(?:expires_in|retry_after|durationMs|disk_free_bytes)$"
)
_RUN = re.compile(r"(.)\1{39,}", re.DOTALL)
_INNER = re.compile(r"""(\\*"\w*(?:duration|_ms|_seconds)\w*\\*": ?)\d+(?:\.\d+)?""")
"""A measured number in JSON that stands in a text."""
_CHANCE = {
    "cursor": re.compile(r"^(?:next_)?cursor=."),
    "slug": re.compile(r"^slug=.*-(?=[a-z]*\d)[0-9a-z]{6}$"),
}
"""Members of an object that are made by chance and known by key and shape alone."""
_KINDS = "|".join(sorted({*_PARTS, *_CHANCE} - _NAMELESS))
LABEL = re.compile(rf"<(?:{_KINDS}) \d+>")
"""A label with a number."""


class Labels:
    """The labels that were given out in one scene."""

    def __init__(self, folders: Mapping[str, str]) -> None:
        """Know folders by path, with the name that each is to have."""
        self._folders = sorted(folders.items(), key=lambda one: -len(one[0]))
        self._given: dict[str, str] = {}
        self._met: Counter[str] = Counter()

    def normal(self, value: Any) -> Any:
        """Return a value with labels."""
        match value:
            case dict():
                return {self._text(key): self._member(key, value[key]) for key in sorted(value)}
            case list():
                return [self.normal(one) for one in value]
            case str():
                return self._text(value)
            case _:
                return value

    def _member(self, key: str, value: Any) -> Any:
        if isinstance(value, int | float) and not isinstance(value, bool) and _MEASURED.search(key):
            return "<number>"
        if isinstance(value, str):
            for kind, shape in _CHANCE.items():
                if shape.match(f"{key}={value}"):
                    return self._label(kind, value)
        return self.normal(value)

    def _text(self, text: str) -> str:
        text = _RUN.sub(lambda found: f"<{found[1]} × {len(found[0])}>", text)
        for value, label in self._given.items():
            if label.startswith(("<cursor", "<slug")):
                text = text.replace(value, label)
        for path, name in self._folders:
            text = text.replace(path, name)
        text = _FOUND.sub(self._found, text)
        text = _INNER.sub(lambda found: f"{found[1]}<number>", text)
        return _SIZE.sub("<size>", _SPAN.sub("<span>", text))

    def _found(self, found: re.Match[str]) -> str:
        kind = found.lastgroup or ""
        return f"<{kind}>" if kind in _NAMELESS else self._label(kind, found[0])

    def _label(self, kind: str, value: str) -> str:
        if value not in self._given:
            self._met[kind] += 1
            self._given[value] = f"<{kind} {self._met[kind]}>"
        return self._given[value]
