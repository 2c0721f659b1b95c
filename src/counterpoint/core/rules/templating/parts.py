"""The parts of a template's document: parsed, or listed as faults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from counterpoint.core.model.work import DEFAULT_PRIORITY, PRIORITIES
from counterpoint.core.rules.templating import placeholders
from counterpoint.core.rules.templating.variables import nearest
from counterpoint.core.rules.wording import control_fault
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import MalformedDocument
from counterpoint.kernel.yamltext import Way, YamlText, parse_bool, parse_int

LIST_LIMIT = 200
"""Entries that a list of texts may have."""


class Parts:
    """Hears the parts of a document and remembers, with its line, what it could not hear.

    declared: the variables that a slot may name; used: those that one has named.
    """

    def __init__(self, yaml: YamlText) -> None:
        """Begin with nothing declared and nothing wrong."""
        self.yaml: YamlText = yaml
        self.faults: list[tuple[int, str]] = []
        self.declared: tuple[str, ...] = ()
        self.used: set[str] = set()

    def fault(self, way: Way, problem: str) -> None:
        """Note a fault, with the line of the part."""
        self.faults.append((self.yaml.line(*way), problem))

    def mapping(self, way: Way, value: Json, keys: Sequence[str], what: str) -> dict[str, Json]:
        """Return a mapping with known keys; anything else is a fault and an empty one."""
        if not isinstance(value, dict):
            self.fault(way, f"{what} is made of keys and values")
            return {}
        found = cast("dict[str, Json]", value)
        for key in found:
            if key not in keys:
                known = nearest(key, keys)
                self.fault((*way, key), f"{key[:100]!r} is no key of {what}{known}")
        return found

    def letters(self, way: Way, value: Json) -> None:
        """Refuse control characters, wherever they stand."""
        if isinstance(value, str):
            problem = control_fault(value)
            if problem:
                self.fault(way, problem)
            return
        for key, part in _parts(value):
            self.letters((*way, key), part)

    def text(self, way: Way, at: Mapping[str, Json], key: str, *, has_slots: bool = True) -> str:
        """Return one text; anything else is a fault and an empty one."""
        value = at.get(key, "")
        if not isinstance(value, str):
            self.fault((*way, key), f"{key!r} is one text")
            return ""
        return self.slotted((*way, key), value) if has_slots else value

    def texts(
        self, way: Way, at: Mapping[str, Json], key: str, *, has_slots: bool = True
    ) -> tuple[str, ...]:
        """Return a list of texts; one text stands for a list of it."""
        value = at.get(key, "")
        listed = ([value] if value else []) if isinstance(value, str) else value
        if not isinstance(listed, list):
            self.fault((*way, key), f"{key!r} is a list of texts")
            return ()
        found: list[str] = []
        for place, entry in enumerate(cast("list[Json]", listed)):
            if not isinstance(entry, str):
                self.fault((*way, key, place), f"an entry of {key!r} is one text")
                continue
            found.append(self.slotted((*way, key, place), entry) if has_slots else entry)
        if len(found) > LIST_LIMIT:
            self.fault((*way, key), f"{key!r} has more than {LIST_LIMIT} entries")
        return tuple(found)

    def slotted(self, way: Way, text: str) -> str:
        """Return a text whose slots all name declared variables, else note the fault."""
        for name in placeholders.names(text):
            if name in self.declared:
                self.used.add(name)
            elif not name:
                self.fault(way, r"a slot `{{ }}` is not closed or has no name; `\{{` is plain text")
            else:
                known = nearest(name, self.declared) or "; the template declares none"
                self.fault(way, f"{{{{ {name[:100]} }}}} is not a variable{known}")
        return text

    def named(self, way: Way, at: Mapping[str, Json], key: str) -> dict[str, Json]:
        """Return what is made of keys and values; anything else is a fault and nothing."""
        value = at.get(key, "")
        if isinstance(value, dict):
            return cast("dict[str, Json]", value)
        if value != "":
            self.fault((*way, key), f"{key!r} is made of keys and values")
        return {}

    def listed(self, way: Way, at: Mapping[str, Json], key: str) -> list[Json]:
        """Return a list of anything; what is none is a fault and nothing."""
        value = at.get(key, "")
        if isinstance(value, list):
            return cast("list[Json]", value)
        if value != "":
            self.fault((*way, key), f"{key!r} is a list")
        return []

    def metadata(self, way: Way, at: Mapping[str, Json]) -> Mapping[str, Json]:
        """Return keys and values of any shape, with slots in their texts."""
        found = self.named(way, at, "metadata")
        self._slotted_json((*way, "metadata"), found)
        return found

    def _slotted_json(self, way: Way, value: Json) -> None:
        if isinstance(value, str):
            self.slotted(way, value)
            return
        for key, part in _parts(value):
            self._slotted_json((*way, key), part)

    def flag(self, way: Way, at: Mapping[str, Json], key: str, usual: bool) -> bool:
        """Return true or false; anything else is a fault and the usual one."""
        if at.get(key, "") == "":
            return usual
        try:
            return parse_bool(key, at[key])
        except MalformedDocument as fault:
            self.fault((*way, key), fault.message)
            return usual

    def priority(self, way: Way, at: Mapping[str, Json]) -> int:
        """Return the priority of a piece of work."""
        if at.get("priority", "") == "":
            return DEFAULT_PRIORITY
        try:
            return parse_int("priority", at["priority"], least=PRIORITIES[0], most=PRIORITIES[-1])
        except MalformedDocument as fault:
            self.fault((*way, "priority"), fault.message)
            return DEFAULT_PRIORITY


def _parts(value: Json) -> Iterable[tuple[str | int, Json]]:
    """Return the parts of a mapping or a list, each with its key or its place."""
    if isinstance(value, dict):
        return cast("dict[str, Json]", value).items()
    return enumerate(cast("list[Json]", value))
