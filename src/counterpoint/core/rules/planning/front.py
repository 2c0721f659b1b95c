"""The front matter of a Markdown plan: its title, attributes and other words."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import cast

from counterpoint.core.rules.wording import few
from counterpoint.kernel.canonical import Json, dump_any
from counterpoint.kernel.errors import MalformedDocument
from counterpoint.kernel.yamltext import FrontMatter, read_front_matter

TITLE = "title"
_DESCRIPTION = "description"
_SENTENCES = frozenset({"accept", "verify"})
"""Attributes of which a list has one a line."""


@dataclass(frozen=True, slots=True)
class Front:
    """What stands above a plan.

    first: the number of lines it takes. attributes: line, word and value of each. text: lines for the description.
    """

    first: int = 0
    title: str = ""
    line: int = 0
    attributes: tuple[tuple[int, str, str], ...] = ()
    text: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    faults: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])


def front_of(text: str, known: Collection[str]) -> Front:
    """Return the front matter of a plan. known: the words that are attributes."""
    try:
        found = read_front_matter(text)
    except MalformedDocument as fault:
        return Front(faults=[(fault.facts["line"], fault.facts["problem"])])
    if not found.values:
        return Front()
    title = found.values.get(TITLE)
    others = [word for word in found.values if word.lower() not in {*known, TITLE, _DESCRIPTION}]
    told = f"front matter: {few(others)} is kept as text of the description" if others else ""
    first = text.count("\n") - found.body.count("\n")
    return Front(
        first=first,
        title=title.strip() if isinstance(title, str) else "",
        line=found.line(TITLE),
        attributes=tuple(_attributes(found, known)),
        text=tuple(_text(found, others)),
        remarks=(told,) if told else (),
    )


def _attributes(found: FrontMatter, known: Collection[str]) -> Iterator[tuple[int, str, str]]:
    for key, value in found.values.items():
        word, line = key.lower(), found.line(key)
        if word not in known:
            continue
        listed = cast("list[Json]", value) if isinstance(value, list) else [value]
        if word in _SENTENCES:
            for place, one in enumerate(listed):
                yield found.line(key, place), word, _flat(one)
        else:
            yield line, word, ", ".join(map(_flat, listed))


def _text(found: FrontMatter, others: Collection[str]) -> Iterator[str]:
    description = found.values.get(_DESCRIPTION)
    if isinstance(description, str) and description.strip():
        yield from (*description.strip().splitlines(), "")
    for key in others:
        yield f"{key}: {_flat(found.values[key])}"
    if others:
        yield ""


def _flat(value: Json) -> str:
    return " ".join(value.split()) if isinstance(value, str) else dump_any(value)
