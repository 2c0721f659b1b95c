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

    def fault(self, path: Way, problem: str) -> None:
        """Note a fault, with the line of the part."""
        self.faults.append((self.yaml.line(*path), problem))

    def mapping(self, path: Way, value: Json, keys: Sequence[str], what: str) -> dict[str, Json]:
        """Return a mapping with known keys; anything else is a fault and an empty one."""
        if not isinstance(value, dict):
            self.fault(path, f"{what} is made of keys and values")
            return {}
        parts = cast("dict[str, Json]", value)
        for key in parts:
            if key not in keys:
                question = nearest(key, keys)
                self.fault((*path, key), f"{key[:100]!r} is no key of {what}{question}")
        return parts

    def letters(self, path: Way, value: Json) -> None:
        """Refuse control characters, wherever they stand."""
        if isinstance(value, str):
            problem = control_fault(value)
            if problem:
                self.fault(path, problem)
            return
        for key, part in _parts(value):
            self.letters((*path, key), part)

    def text(self, path: Way, at: Mapping[str, Json], key: str, *, has_slots: bool = True) -> str:
        """Return one text; anything else is a fault and an empty one."""
        value = at.get(key, "")
        if not isinstance(value, str):
            self.fault((*path, key), f"{key!r} is one text")
            return ""
        return self.slotted((*path, key), value) if has_slots else value

    def texts(
        self, path: Way, at: Mapping[str, Json], key: str, *, has_slots: bool = True
    ) -> tuple[str, ...]:
        """Return a list of texts; one text stands for a list of it."""
        value = at.get(key, "")
        listed = ([value] if value else []) if isinstance(value, str) else value
        if not isinstance(listed, list):
            self.fault((*path, key), f"{key!r} is a list of texts")
            return ()
        texts: list[str] = []
        for index, entry in enumerate(cast("list[Json]", listed)):
            if not isinstance(entry, str):
                self.fault((*path, key, index), f"an entry of {key!r} is one text")
                continue
            texts.append(self.slotted((*path, key, index), entry) if has_slots else entry)
        if len(texts) > LIST_LIMIT:
            self.fault((*path, key), f"{key!r} has more than {LIST_LIMIT} entries")
        return tuple(texts)

    def slotted(self, path: Way, text: str) -> str:
        """Return a text whose slots all name declared variables, else note the fault."""
        for name in placeholders.names(text):
            if name in self.declared:
                self.used.add(name)
            elif not name:
                self.fault(
                    path, r"a slot `{{ }}` is not closed or has no name; `\{{` is plain text"
                )
            else:
                question = nearest(name, self.declared) or "; the template declares none"
                self.fault(path, f"{{{{ {name[:100]} }}}} is not a variable{question}")
        return text

    def named(self, path: Way, at: Mapping[str, Json], key: str) -> dict[str, Json]:
        """Return what is made of keys and values; anything else is a fault and nothing."""
        value = at.get(key, "")
        if isinstance(value, dict):
            return cast("dict[str, Json]", value)
        if value != "":
            self.fault((*path, key), f"{key!r} is made of keys and values")
        return {}

    def listed(self, path: Way, at: Mapping[str, Json], key: str) -> list[Json]:
        """Return a list of anything; what is none is a fault and nothing."""
        value = at.get(key, "")
        if isinstance(value, list):
            return cast("list[Json]", value)
        if value != "":
            self.fault((*path, key), f"{key!r} is a list")
        return []

    def metadata(self, path: Way, at: Mapping[str, Json]) -> Mapping[str, Json]:
        """Return keys and values of any shape, with slots in their texts."""
        parts = self.named(path, at, "metadata")
        self._slotted_json((*path, "metadata"), parts)
        return parts

    def _slotted_json(self, path: Way, value: Json) -> None:
        if isinstance(value, str):
            self.slotted(path, value)
            return
        for key, part in _parts(value):
            self._slotted_json((*path, key), part)

    def flag(self, path: Way, at: Mapping[str, Json], key: str, usual: bool) -> bool:
        """Return true or false; anything else is a fault and the usual one."""
        if at.get(key, "") == "":
            return usual
        try:
            return parse_bool(key, at[key])
        except MalformedDocument as fault:
            self.fault((*path, key), fault.message)
            return usual

    def priority(self, path: Way, at: Mapping[str, Json]) -> int:
        """Return the priority of a piece of work."""
        if at.get("priority", "") == "":
            return DEFAULT_PRIORITY
        try:
            return parse_int("priority", at["priority"], least=PRIORITIES[0], most=PRIORITIES[-1])
        except MalformedDocument as fault:
            self.fault((*path, "priority"), fault.message)
            return DEFAULT_PRIORITY


def _parts(value: Json) -> Iterable[tuple[str | int, Json]]:
    """Return the parts of a mapping or a list, each with its key or its place."""
    if isinstance(value, dict):
        return cast("dict[str, Json]", value).items()
    return enumerate(cast("list[Json]", value))
