"""Reads the keys of front matter one by one and collects what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Protocol, TypeVar, cast

from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import MalformedDocument
from counterpoint.kernel.yamltext import FrontMatter, YamlText, parse_text, read_front_matter


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFault:
    """One thing that is wrong.

    line: counted from 1; 0 if it is about the whole. advice: what to do, if the problem leaves it open.
    """

    problem: str
    line: int = 0
    advice: str = ""

    def __str__(self) -> str:
        """Return the fault in words."""
        line = f"line {self.line}: " if self.line else ""
        return f"{line}{self.problem}" + (f" ({self.advice})" if self.advice else "")


_FRONT_MATTER = "begin the file with a line `---`, lines `key: value` and a line `---`"

Heard_co = TypeVar("Heard_co", covariant=True)


class FieldParser(Protocol[Heard_co]):
    """Answers what a value means, or raises MalformedDocument."""

    def __call__(self, key: str, value: Json, *, line: int) -> Heard_co:
        """Hear the value of a key in a line."""
        ...


class Keys:
    """The keys of one text, and the faults found in them."""

    def __init__(self, text: str) -> None:
        """Read the front matter of a text; what cannot be read at all is the first fault."""
        self.faults: list[TextFault] = []
        self._read = FrontMatter(values={}, body="", yaml=YamlText(value={}, lines={(): 1}))
        try:
            self._read = read_front_matter(text)
        except MalformedDocument as fault:
            self.faults.append(_fault(fault))
        else:
            if not self._read.values:
                self.faults.append(
                    TextFault(problem="there is no front matter", line=1, advice=_FRONT_MATTER)
                )

    @property
    def is_read(self) -> bool:
        """Whether there are keys to look at; if not, none of them is missing."""
        return bool(self._read.values)

    @property
    def values(self) -> Mapping[str, Json]:
        """Every key as it was written."""
        return self._read.values

    @property
    def body(self) -> str:
        """The text below."""
        return self._read.body

    def hear(self, key: str, hearing: FieldParser[Heard_co], default: Heard_co) -> Heard_co:
        """Return what a key says, or the default if it is not there or cannot be understood."""
        if key not in self.values:
            return default
        try:
            return hearing(key, self.values[key], line=self._read.line(key))
        except MalformedDocument as fault:
            self.faults.append(_fault(fault))
            return default

    def text(self, key: str, *, longest: int, is_required: bool = False) -> str:
        """Return the text of a key, without the blanks around it, within its length."""
        if is_required:
            self.require(key)
        if key not in self.values:
            return ""
        fault_count = len(self.faults)
        text = self.hear(key, parse_text, "").strip()
        least = 1 if is_required else 0
        if len(self.faults) == fault_count and not least <= len(text) <= longest:
            self.fault(key, f"has {len(text)} characters, not {least} to {longest}")
        return text

    def mapping(self, key: str) -> Mapping[str, str]:
        """Return a mapping of texts to texts."""
        value = self.values.get(key, {})
        pairs = cast("dict[str, Json]", value) if isinstance(value, dict) else {}
        if pairs is not value or not all(isinstance(text, str) for text in pairs.values()):
            self.fault(key, "is not a mapping of texts to texts")
        return cast("dict[str, str]", pairs)

    def check(self, key: str, is_right: Callable[[str], object], expected: str) -> None:
        """Collect a fault unless the text of a key is right; one that is no text was faulted."""
        value = self.values.get(key)
        if isinstance(value, str) and value.strip() and not is_right(value.strip()):
            self.fault(key, f"is {value.strip()[:60]!r}, not {expected}")

    def require(self, key: str) -> None:
        """Collect a fault unless the key is there."""
        if self.is_read and key not in self.values:
            self.faults.append(TextFault(problem=f"{key!r} is missing", line=1))

    def fault(self, key: str, problem: str) -> None:
        """Collect a fault of a key."""
        self.faults.append(TextFault(problem=f"{key!r} {problem}", line=self._read.line(key)))

    def only(self, keys: Collection[str]) -> None:
        """Collect a fault for each key that is not one of the known."""
        for key in self.values:
            if key not in keys:
                near = get_close_matches(key, keys, n=1)
                self.fault(key, f"is not a key{f'; did you mean {near[0]!r}?' if near else ''}")

    def all_faults(self) -> tuple[TextFault, ...]:
        """Return all faults by line."""
        return tuple(sorted(self.faults, key=lambda fault: fault.line))


def _fault(fault: MalformedDocument) -> TextFault:
    return TextFault(
        problem=fault.facts["problem"], line=fault.facts["line"], advice=fault.hint.rstrip(".")
    )
