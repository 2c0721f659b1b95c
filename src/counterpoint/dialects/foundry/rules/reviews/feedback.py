"""Remarks of reviewers: made one of several, written, read and turned into calls.

A remark stands in one of five sections, as clients of foundry know them. Rule 1: the same remark of several reviewers is one, with the
names of all. Rule 2: what is written is read again: nothing that a remark says can begin a section or another remark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from counterpoint.dialects.foundry.rules.research.answers import objects_of, text_of
from counterpoint.kernel.canonical import Json

Section = Literal[
    "critical_blockers", "major_suggestions", "minor_suggestions", "questions", "praise"
]
SECTIONS: Final[Mapping[Section, str]] = {
    "critical_blockers": "Critical Blockers",
    "major_suggestions": "Major Suggestions",
    "minor_suggestions": "Minor Suggestions",
    "questions": "Questions",
    "praise": "Praise",
}
_COUNTED: Final[Mapping[Section, str]] = {
    "critical_blockers": "critical blocker(s)",
    "major_suggestions": "major suggestion(s)",
    "minor_suggestions": "minor suggestion(s)",
    "questions": "question(s)",
    "praise": "praise item(s)",
}
_DETAILS: Final = ("description", "impact", "fix", "context", "needed", "why")
_BY: Final = "identified by"
_NONE: Final = "None identified"
_MOST: Final = 50
_LONG: Final = 2_000
_WORD: Final = 100
_HEAD: Final = re.compile(r"^##\s+(.+?)\s*$")
_POINT: Final = re.compile(r"^-\s+\*\*\[?([^\]*]*)\]?\*\*\s*:?\s*(.*)$")
_DETAIL: Final = re.compile(r"^\s+-\s+\*\*([^*:]+):?\*\*:?\s*(.*)$")
_NODE: Final = re.compile(r"\b(?:task|verify|research|phase)-\d+(?:-\d+)*\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One remark. details: by their names, `description`, `impact`, `fix`, `context`, `needed` or `why`. by: who made it."""

    section: Section
    category: str
    title: str
    details: Mapping[str, str] = field(default_factory=dict[str, str])
    by: tuple[str, ...] = ()

    def told(self) -> dict[str, Json]:
        """Return it as an answer has it."""
        told: dict[str, Json] = {
            "section": self.section,
            "category": self.category,
            "title": self.title,
            **self.details,
        }
        return {**told, "identified_by": list(self.by)} if self.by else told


@dataclass(frozen=True, slots=True, kw_only=True)
class Modification:
    """A change that a remark asks for: the call that makes it, as it can be made."""

    remark: Remark
    tool: str
    action: str
    arguments: Mapping[str, Json]


def remarks_of(answer: Mapping[str, Json], by: str = "") -> tuple[Remark, ...]:
    """Return the remarks of an answer that has their form. by: who answered it."""
    return tuple(
        Remark(
            section=section,
            category=_category(one.get("category")),
            title=_line(one.get("title")) or _line(one.get("question")) or "(no title)",
            details={name: text for name in _DETAILS if (text := _line(one.get(name)))},
            by=(by,) if by else (),
        )
        for section in SECTIONS
        for one in objects_of(answer.get(section), _MOST)
    )


def merged(said: Sequence[Sequence[Remark]]) -> tuple[Remark, ...]:
    """Return the remarks of several reviewers, each once, those of more of them first."""
    found: dict[tuple[str, str], Remark] = {}
    for one in (one for some in said for one in some):
        key = one.section, " ".join(one.title.casefold().split())
        before = found.get(key)
        names = tuple(dict.fromkeys((*(before.by if before else ()), *one.by)))
        found[key] = replace(before or one, by=names)
    order = list(SECTIONS)
    return tuple(sorted(found.values(), key=lambda one: (order.index(one.section), -len(one.by))))


def counted(remarks: Sequence[Remark]) -> dict[str, int]:
    """Return how many remarks stand in each section."""
    return {name: sum(one.section == name for one in remarks) for name in SECTIONS}


def in_short(counts: Mapping[str, int]) -> str:
    """Return how many remarks there are in words."""
    told = [f"{counts[name]} {words}" for name, words in _COUNTED.items() if counts[name]]
    return ", ".join(told) or "No issues identified"


def as_markdown(remarks: Sequence[Remark]) -> str:
    """Return remarks as text, in their sections."""
    return "\n".join(line for name in SECTIONS for line in _section(name, remarks))


def read_markdown(text: str) -> tuple[Remark, ...]:
    """Return the remarks that stand in the sections of a text; none where it has no such section."""
    named: dict[str, Section] = {words.casefold(): name for name, words in SECTIONS.items()}
    here: Section | None = None
    found: list[Remark] = []
    for line in text.splitlines():
        if head := _HEAD.match(line):
            here = named.get(head[1].casefold())
        elif here is not None and (point := _POINT.match(line)):
            title = _line(point[2]) or _line(point[1])
            if title and title.rstrip(".") != _NONE:
                category = _category(point[1] if point[2] else "")
                found.append(Remark(section=here, category=category, title=title))
        elif here is not None and found and (detail := _DETAIL.match(line)):
            found[-1] = _with(found[-1], detail[1].strip().casefold(), detail[2])
    return tuple(found)


def modifications_of(remarks: Sequence[Remark], spec: str) -> tuple[Modification, ...]:
    """Return the changes that remarks ask for; spec: of which. Praise asks for none."""
    return tuple(_modification(one, spec) for one in remarks if one.section != "praise")


def _modification(one: Remark, spec: str) -> Modification:
    text = one.details.get("fix") or one.details.get("description") or one.title
    node = _NODE.search(f"{one.title} {' '.join(one.details.values())}")
    about: dict[str, Json] = {"spec_id": spec}
    if one.section == "questions":
        tool, action = "authoring", "question-add"
        about["text"] = one.title
    elif one.category.casefold() in {"risk", "security"}:
        tool, action = "authoring", "risk-add"
        about["description"] = one.details.get("description") or one.title
        if fix := one.details.get("fix"):
            about["mitigation"] = fix
    elif node and not node[0].startswith("phase"):
        tool, action = "task", "add-requirement"
        about |= {"task_id": node[0], "requirement_type": "technical", "text": text}
    else:
        tool, action = "journal", "add"
        about |= {"entry_type": "note", "title": one.title[:200], "content": text}
    return Modification(remark=one, tool=tool, action=action, arguments=about)


def _section(name: Section, remarks: Sequence[Remark]) -> Iterator[str]:
    yield f"## {SECTIONS[name]}\n"
    own = [one for one in remarks if one.section == name]
    if not own:
        yield f"{_NONE}\n"
    for one in own:
        yield f"- **[{one.category}]** {one.title}"
        for key, text in one.details.items():
            yield f"  - **{key.capitalize()}:** {text}"
        if one.by:
            yield f"  - **{_BY.capitalize()}:** {', '.join(one.by)}"
    if own:
        yield ""


def _with(one: Remark, name: str, text: str) -> Remark:
    if name == _BY:
        return replace(one, by=tuple(part.strip() for part in text.split(",") if part.strip()))
    if name in _DETAILS:
        return replace(one, details={**one.details, name: _line(text)})
    return one


def _line(value: Json) -> str:
    """Return a text as one line without the marks that a remark begins with."""
    return " ".join(text_of(value, _LONG).replace("**", "").split())


def _category(value: Json) -> str:
    said = _line(value).replace("[", "(").replace("]", ")").replace("*", "")
    return said[:_WORD] or "General"
