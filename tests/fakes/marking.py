"""A word of its own for every text that a tool takes, worked out from the tool's schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, cast

import pytest

from builders import asked_by
from counterpoint.protocol.surface import Surface
from counterpoint.protocol.tools import Tool

_LETTERS: Final = "bcdfghjk"
_SENTENCE: Final = "{} was said here, at such a length that whoever asks for fifty letters or for a hundred has enough"
_LONG: Final = 200

Place = tuple[str, str, str]
"""Where a text goes: surface, tool, and the path in its schema."""


class Wish(Enum):
    """What may stand in given arguments in place of a value."""

    WORD = "a word alone, where no sentence is taken"
    NOTHING = "leave it out"


WORD, NOTHING = Wish.WORD, Wish.NOTHING


@dataclass(kw_only=True)
class Marks:
    """Hands out made-up words, and remembers what each was said in."""

    of: dict[str, Place] = field(default_factory=dict[str, Place])

    def fresh(self, place: Place) -> str:
        """Return a word that nobody has had, and that no other has in it."""
        number, word = len(self.of), ""
        for _ in range(4):
            number, digit = divmod(number, len(_LETTERS))
            word += _LETTERS[digit]
        made = f"zqx{word}vyw"
        self.of[made] = place
        return made


def texts_of(schema: dict[str, Any], path: str = "") -> Iterator[str]:
    """Return the path of every text that a schema takes: not one of a list, and not a hash."""
    kinds = _kinds(schema)
    for name, part in schema.get("properties", {}).items():
        yield from texts_of(part, f"{path}.{name}")
    if "array" in kinds:
        yield from texts_of(schema["items"], f"{path}[]")
    elif _is_free(schema, kinds):
        yield f"{path}{{}}"
    elif _is_text(schema, kinds):
        yield path


def filled(schema: dict[str, Any], given: Any, marks: Marks, place: Place) -> Any:
    """Return arguments with a text in every place that takes one and has none; None: leave it out."""
    surface, tool, path = place
    kinds, made = _kinds(schema), given
    if isinstance(given, Wish):
        made = marks.fresh(place) if given is WORD else None
    elif "properties" in schema and (given is None or isinstance(given, dict)):
        known = cast("dict[str, Any]", given or {})
        made = _filled_object(schema, known, marks, place)
    elif "array" in kinds and (given is None or isinstance(given, list)):
        below: Place = surface, tool, f"{path}[]"
        listed = cast("list[Any]", given or [None])
        parts = (filled(schema["items"], part, marks, below) for part in listed)
        made = [part for part in parts if part is not None] or None
    elif given is None and _is_free(schema, kinds):
        free: Place = surface, tool, f"{path}{{}}"
        deep = [marks.fresh(free), {"deeper": f'"{marks.fresh(free)}"'}]
        made = {marks.fresh(free): marks.fresh(free), "list": deep}
    elif given is None and _is_text(schema, kinds):
        word = marks.fresh(place)
        made = word if schema.get("maxLength", _LONG) < _LONG else _SENTENCE.format(word)
    return made


def _filled_object(
    schema: dict[str, Any], given: dict[str, Any], marks: Marks, place: Place
) -> Any:
    surface, tool, path = place
    parts = {
        name: filled(part, given.get(name), marks, (surface, tool, f"{path}.{name}"))
        for name, part in schema["properties"].items()
    }
    more = {name: one for name, one in given.items() if name not in parts}
    made = more | {name: one for name, one in parts.items() if one is not None}
    return made if made and set(schema.get("required", ())) <= set(made) else None


@dataclass(kw_only=True)
class Scribe:
    """Calls the tools of a surface with a word of its own in every text; remembers what was taken.

    parts: every tool, and every action of one, that writes, by its name.
    """

    surface: str
    parts: dict[str, Tool[Any]]
    marks: Marks
    refusal: type[Exception]
    taken: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    @property
    def schemas(self) -> dict[str, dict[str, Any]]:
        """The schema of each part."""
        return {name: part.parameters.schema for name, part in self.parts.items()}

    def does(self, client: Any, tool: str, **given: Any) -> Any:
        """Call a tool, which takes it, and take its answer again under the same key."""
        said, (name, which) = self._said(tool, given), asked_by(self.parts[tool])
        answer = client.call(name, **which, **said)
        assert _plain(client.call(name, **which, **said)) == _plain(answer)
        return answer

    def refused(self, client: Any, tool: str, **given: Any) -> None:
        """Call a tool that refuses: what was said must not stay either."""
        name, which = asked_by(self.parts[tool])
        with pytest.raises(self.refusal):
            client.call(name, **which, **self._said(tool, given))

    def _said(self, tool: str, given: dict[str, Any]) -> Any:
        before = len(self.marks.of)
        said = filled(self.schemas[tool], given, self.marks, (self.surface, tool, ""))
        self.taken |= {(tool, path) for _, tool, path in list(self.marks.of.values())[before:]}
        return said

    def words(self, tool: str, path: str, many: int) -> list[str]:
        """Return words for a text whose form is not in the schema; what says them is given."""
        self.taken.add((tool, path))
        return [self.marks.fresh((self.surface, tool, path)) for _ in range(many)]

    def missing(self) -> set[tuple[str, str]]:
        """Return the texts that no call has said."""
        every = {(tool, path) for tool, one in self.schemas.items() for path in texts_of(one)}
        return every - self.taken


def writing(offered: Surface[Any]) -> dict[str, Tool[Any]]:
    """Return what writes of a surface: tools, and actions of the others, by their names."""
    every = (part for tool in offered.tools for part in tool.parts)
    return {part.name: part for part in every if not part.reads}


def _plain(answer: dict[str, Any]) -> dict[str, Any]:
    """Return what an answer says, without what differs from call to call."""
    return {name: one for name, one in answer.items() if name != "meta"}


def _kinds(schema: dict[str, Any]) -> set[str]:
    kind = schema.get("type", ())
    return {kind} if isinstance(kind, str) else set(kind)


def _is_text(schema: dict[str, Any], kinds: set[str]) -> bool:
    is_hash = "[0-9a-fA-F]" in schema.get("pattern", "")
    return "string" in kinds and "enum" not in schema and not is_hash


def _is_free(schema: dict[str, Any], kinds: set[str]) -> bool:
    """Whether it takes any JSON, or an object of any names."""
    return not (kinds or "enum" in schema or "anyOf" in schema) or (
        "object" in kinds and "properties" not in schema
    )
