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
        fields: dict[str, Json] = {
            "section": self.section,
            "category": self.category,
            "title": self.title,
            **self.details,
        }
        return {**fields, "identified_by": list(self.by)} if self.by else fields


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
            category=_category(point.get("category")),
            title=_line(point.get("title")) or _line(point.get("question")) or "(no title)",
            details={name: text for name in _DETAILS if (text := _line(point.get(name)))},
            by=(by,) if by else (),
        )
        for section in SECTIONS
        for point in objects_of(answer.get(section), _MOST)
    )


def merged(remark_lists: Sequence[Sequence[Remark]]) -> tuple[Remark, ...]:
    """Return the remarks of several reviewers, each once, those of more of them first."""
    remarks: dict[tuple[str, str], Remark] = {}
    for remark in (remark for some in remark_lists for remark in some):
        key = remark.section, " ".join(remark.title.casefold().split())
        before = remarks.get(key)
        names = tuple(dict.fromkeys((*(before.by if before else ()), *remark.by)))
        remarks[key] = replace(before or remark, by=names)
    order = list(SECTIONS)
    return tuple(
        sorted(remarks.values(), key=lambda remark: (order.index(remark.section), -len(remark.by)))
    )


def counted(remarks: Sequence[Remark]) -> dict[str, int]:
    """Return how many remarks stand in each section."""
    return {name: sum(remark.section == name for remark in remarks) for name in SECTIONS}


def in_short(counts: Mapping[str, int]) -> str:
    """Return how many remarks there are in words."""
    parts = [f"{counts[name]} {words}" for name, words in _COUNTED.items() if counts[name]]
    return ", ".join(parts) or "No issues identified"


def as_markdown(remarks: Sequence[Remark]) -> str:
    """Return remarks as text, in their sections."""
    return "\n".join(line for name in SECTIONS for line in _section(name, remarks))


def read_markdown(text: str) -> tuple[Remark, ...]:
    """Return the remarks that stand in the sections of a text; none where it has no such section."""
    sections: dict[str, Section] = {words.casefold(): name for name, words in SECTIONS.items()}
    section: Section | None = None
    remarks: list[Remark] = []
    for line in text.splitlines():
        if head := _HEAD.match(line):
            section = sections.get(head[1].casefold())
        elif section is not None and (point := _POINT.match(line)):
            title = _line(point[2]) or _line(point[1])
            if title and title.rstrip(".") != _NONE:
                category = _category(point[1] if point[2] else "")
                remarks.append(Remark(section=section, category=category, title=title))
        elif section is not None and remarks and (detail := _DETAIL.match(line)):
            remarks[-1] = _with(remarks[-1], detail[1].strip().casefold(), detail[2])
    return tuple(remarks)


def modifications_of(remarks: Sequence[Remark], spec: str) -> tuple[Modification, ...]:
    """Return the changes that remarks ask for; spec: of which. Praise asks for none."""
    return tuple(_modification(remark, spec) for remark in remarks if remark.section != "praise")


def _modification(remark: Remark, spec: str) -> Modification:
    text = remark.details.get("fix") or remark.details.get("description") or remark.title
    node = _NODE.search(f"{remark.title} {' '.join(remark.details.values())}")
    about: dict[str, Json] = {"spec_id": spec}
    if remark.section == "questions":
        tool, action = "authoring", "question-add"
        about["text"] = remark.title
    elif remark.category.casefold() in {"risk", "security"}:
        tool, action = "authoring", "risk-add"
        about["description"] = remark.details.get("description") or remark.title
        if fix := remark.details.get("fix"):
            about["mitigation"] = fix
    elif node and not node[0].startswith("phase"):
        tool, action = "task", "add-requirement"
        about |= {"task_id": node[0], "requirement_type": "technical", "text": text}
    else:
        tool, action = "journal", "add"
        about |= {"entry_type": "note", "title": remark.title[:200], "content": text}
    return Modification(remark=remark, tool=tool, action=action, arguments=about)


def _section(name: Section, remarks: Sequence[Remark]) -> Iterator[str]:
    yield f"## {SECTIONS[name]}\n"
    own = [remark for remark in remarks if remark.section == name]
    if not own:
        yield f"{_NONE}\n"
    for remark in own:
        yield f"- **[{remark.category}]** {remark.title}"
        for key, text in remark.details.items():
            yield f"  - **{key.capitalize()}:** {text}"
        if remark.by:
            yield f"  - **{_BY.capitalize()}:** {', '.join(remark.by)}"
    if own:
        yield ""


def _with(remark: Remark, name: str, text: str) -> Remark:
    if name == _BY:
        return replace(remark, by=tuple(part.strip() for part in text.split(",") if part.strip()))
    if name in _DETAILS:
        return replace(remark, details={**remark.details, name: _line(text)})
    return remark


def _line(value: Json) -> str:
    """Return a text as one line without the marks that a remark begins with."""
    return " ".join(text_of(value, _LONG).replace("**", "").split())


def _category(value: Json) -> str:
    category = _line(value).replace("[", "(").replace("]", ")").replace("*", "")
    return category[:_WORD] or "General"
