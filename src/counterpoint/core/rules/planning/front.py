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


def front_of(text: str, words: Collection[str]) -> Front:
    """Return the front matter of a plan. words: the words that are attributes."""
    try:
        matter = read_front_matter(text)
    except MalformedDocument as fault:
        return Front(faults=[(fault.facts["line"], fault.facts["problem"])])
    if not matter.values:
        return Front()
    title = matter.values.get(TITLE)
    others = [word for word in matter.values if word.lower() not in {*words, TITLE, _DESCRIPTION}]
    remark = f"front matter: {few(others)} is kept as text of the description" if others else ""
    first = text.count("\n") - matter.body.count("\n")
    return Front(
        first=first,
        title=title.strip() if isinstance(title, str) else "",
        line=matter.line(TITLE),
        attributes=tuple(_attributes(matter, words)),
        text=tuple(_text(matter, others)),
        remarks=(remark,) if remark else (),
    )


def _attributes(matter: FrontMatter, words: Collection[str]) -> Iterator[tuple[int, str, str]]:
    for key, value in matter.values.items():
        word, line = key.lower(), matter.line(key)
        if word not in words:
            continue
        listed = cast("list[Json]", value) if isinstance(value, list) else [value]
        if word in _SENTENCES:
            for index, part in enumerate(listed):
                yield matter.line(key, index), word, _flat(part)
        else:
            yield line, word, ", ".join(map(_flat, listed))


def _text(matter: FrontMatter, others: Collection[str]) -> Iterator[str]:
    description = matter.values.get(_DESCRIPTION)
    if isinstance(description, str) and description.strip():
        yield from (*description.strip().splitlines(), "")
    for key in others:
        yield f"{key}: {_flat(matter.values[key])}"
    if others:
        yield ""


def _flat(value: Json) -> str:
    return " ".join(value.split()) if isinstance(value, str) else dump_any(value)
