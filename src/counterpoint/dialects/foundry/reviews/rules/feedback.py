"""How the answers of reviewers are read and written down.

What several reviewers come to, and what of a verdict its own findings allow.
Rule 1: a verdict stands if enough reviewers gave it; where none does, one more is asked, and then the strictest of all counts. Rule 2: a
verdict is never milder than what its reviewer has found: so words that talk a model into a verdict are not enough. Rule 3: what a
model says makes the verdict of the rules stricter, and never milder.

Remarks of reviewers: made one of several, written, read and turned into calls.
A remark stands in one of five sections, as clients of foundry know them. Rule 1: the same remark of several reviewers is one, with the
names of all. Rule 2: what is written is read again: nothing that a remark says can begin a section or another remark.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from counterpoint.dialects.foundry.models.runs import VERDICTS, Verdict
from counterpoint.dialects.foundry.research.rules.answers import objects_of, text_of, texts_of
from counterpoint.dialects.foundry.reviews.rules.material import (
    ALIGNMENTS,
    JUDGMENTS,
    Finding,
    Review,
    Weight,
)
from counterpoint.kernel.canonical import Json, object_of

DEVIATION: Final = "model_deviation"
UNSURE: Final = "model_unsure"
"""Types of findings that models have: what differs from the spec, and that one could not say."""
_WEIGHTS: Final[Mapping[str, Weight]] = {
    "critical": "fail",
    "high": "fail",
    "medium": "warn",
    "low": "note",
}
_HEAVY: Final[tuple[Weight, ...]] = ("note", "warn", "fail")
_MOST: Final = 50
_SAID: Final = 500


def needed(count: int, threshold: int = 0) -> int:
    """Return how many have to give the same verdict; threshold: what the caller says, 0 for more than half."""
    return min(threshold, count) if threshold else count // 2 + 1


def settled(votes: Mapping[str, str], order: Sequence[str], least: int) -> str:
    """Return the verdict that at least so many gave, the strictest if several are; empty without one. order: the mildest first."""
    counted = Counter(votes.values())
    return strictest([verdict for verdict, count in counted.items() if count >= least], order)


def strictest(verdicts: Sequence[str], order: Sequence[str]) -> str:
    """Return the strictest of some verdicts; empty without one."""
    return max(verdicts, key=order.index, default="")


def alignment_of(fields: Mapping[str, Json]) -> str:
    """Return the verdict about a spec beside its plan: what a reviewer says, as far as what he found allows it."""
    coverage, fidelity = object_of(fields.get("coverage")), object_of(fields.get("fidelity"))
    alignments = object_of(fields.get("metadata_alignment")).values()
    lacks = bool(texts_of(coverage.get("missing_items"), 1, 1)) or any(
        _count(coverage.get(f"plan_{what}_covered")) < _count(coverage.get(f"plan_{what}_total"))
        for what in ("phases", "tasks")
    )
    is_other = lacks or fidelity.get("status") == "diverged" or "missing" in alignments
    own = text_of(fields.get("verdict"), _SAID)
    return strictest([own, ALIGNMENTS[1 if is_other else 0]], ALIGNMENTS)


def judgment_of(fields: Mapping[str, Json]) -> str:
    """Return the verdict about work: what a reviewer says, as far as what he found allows it."""
    deviations = objects_of(fields.get("deviations"), _MOST)
    weights = {_WEIGHTS[text_of(deviation.get("severity"), 20)] for deviation in deviations}
    least = "fail" if "fail" in weights else "warn" if "warn" in weights else "pass"
    return strictest([text_of(fields.get("verdict"), 20), least], JUDGMENTS)


def as_verdict(judgment: str) -> Verdict:
    """Return the verdict of a gate that a judgment of models means: who cannot say lets nothing pass."""
    verdicts: dict[str, Verdict] = {verdict: verdict for verdict in VERDICTS}
    return verdicts.get(judgment, "fail")


def findings_of(answers: Mapping[str, Mapping[str, Json]], verdict: Verdict) -> tuple[Finding, ...]:
    """Return what reviewers found, by their names, each thing once, and nothing heavier than what they came to."""
    findings: dict[str, Finding] = {}
    for name, answer in answers.items():
        if answer.get("verdict") == "unknown":
            words = f"{name} could not say: {text_of(answer.get('summary'), _SAID)}"
            findings[f"?{name}"] = _finding(UNSURE, "fail", "", words, verdict)
        for deviation in objects_of(answer.get("deviations"), _MOST):
            node = text_of(deviation.get("node"), 100)
            words = text_of(deviation.get("description"), _SAID)
            weight = _WEIGHTS[text_of(deviation.get("severity"), 20)]
            message = f"{name}: {node} {words}" if node else f"{name}: {words}"
            key = f"{node} {' '.join(words.casefold().split())}"
            if key not in findings:
                findings[key] = _finding(DEVIATION, weight, node, message, verdict)
    return tuple(findings.values())


def stricter(first: Review, second: Review) -> Review:
    """Return what two reviewers found beside each other, with the stricter of their verdicts."""
    verdict = VERDICTS[max(VERDICTS.index(first.verdict), VERDICTS.index(second.verdict))]
    return Review(verdict=verdict, findings=(*first.findings, *second.findings))


def _finding(kind: str, weight: Weight, about: str, words: str, verdict: Verdict) -> Finding:
    most: Weight = "note" if verdict == "pass" else verdict
    lighter = _HEAVY[min(_HEAVY.index(weight), _HEAVY.index(most))]
    return Finding(type=kind, weight=lighter, about=about, description=words[:_SAID])


def _count(value: Json) -> int:
    return value if isinstance(value, int) else 0


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
            title=_unmarked_line(point.get("title"))
            or _unmarked_line(point.get("question"))
            or "(no title)",
            details={name: text for name in _DETAILS if (text := _unmarked_line(point.get(name)))},
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
            title = _unmarked_line(point[2]) or _unmarked_line(point[1])
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
        return replace(remark, details={**remark.details, name: _unmarked_line(text)})
    return remark


def _unmarked_line(value: Json) -> str:
    """Return a text as one line without the marks that a remark begins with."""
    return " ".join(text_of(value, _LONG).replace("**", "").split())


def _category(value: Json) -> str:
    category = _unmarked_line(value).replace("[", "(").replace("]", ")").replace("*", "")
    return category[:_WORD] or "General"


_DIMENSIONS: Final = ("success_criteria", "constraints", "risks", "open_questions")


def headed(title: str, facts: Sequence[tuple[str, str]], body: str) -> str:
    """Return a page with its title and what is known of it."""
    text = "\n".join(f"**{name}:** {_one_line(value)}  " for name, value in facts if value)
    return f"# {_one_line(title)}\n\n{text}\n\n{body.strip()}\n"


def remarks_page(summaries: Sequence[tuple[str, str]], remarks: Sequence[Remark]) -> str:
    """Return remarks, with what each reviewer says in short."""
    text = "\n".join(f"- **{name}:** {_one_line(text)}" for name, text in summaries)
    return f"## Summary\n\n{text}\n\n{as_markdown(remarks)}"


def beside_plan_page(name: str, fields: Mapping[str, Json]) -> str:
    """Return what a reviewer found of a spec beside its plan."""
    return f"## Review by {_one_line(name)}\n\n" + "\n".join(_beside_plan(fields))


def fidelity_page(
    findings: Sequence[Finding],
    answers: Mapping[str, Mapping[str, Json]],
    recommendations: Sequence[str],
) -> str:
    """Return what was found of work beside its spec; answers: what reviewers answered, recommendations: what is recommended."""
    lines = ["## Deviations\n"]
    lines += [
        f"- **[{finding.weight}]** {finding.type}: {_one_line(finding.description)}"
        for finding in findings
    ]
    lines += ["" if findings else "None\n"]
    for name, answer in answers.items():
        lines += [f"## Review by {_one_line(name)}\n", _one_line(answer.get("summary")), ""]
        for deviation in objects_of(answer.get("deviations"), _MOST):
            evidence = _one_line(deviation.get("evidence"))
            about = _one_line(deviation.get("node"))
            lines.append(
                f"- **[{deviation['severity']}]** {about} {_one_line(deviation.get('description'))}"
                + (f" ({evidence})" if evidence else "")
            )
        lines.append("")
    lines += [
        "## Recommendations\n",
        *(f"- {_one_line(recommendation)}" for recommendation in recommendations),
    ]
    return "\n".join(lines)


def _beside_plan(fields: Mapping[str, Json]) -> Iterator[str]:
    coverage, fidelity = object_of(fields.get("coverage")), object_of(fields.get("fidelity"))
    yield f"**Verdict:** {fields['verdict']}\n"
    yield f"{_one_line(fields.get('summary'))}\n"
    yield "### Coverage\n"
    for what in ("phases", "tasks"):
        done, total = coverage.get(f"plan_{what}_covered"), coverage.get(f"plan_{what}_total")
        yield f"- {what}: {done} of {total}"
    yield from (
        f"- missing: {_one_line(text)}"
        for text in texts_of(coverage.get("missing_items"), _MOST, _LONG)
    )
    yield f"\n### Fidelity\n\n- {fidelity.get('status')}"
    for issue in objects_of(fidelity.get("issues"), _MOST):
        yield f"- {_one_line(issue['plan_item'])} → {_one_line(issue['spec_item'])}: {_one_line(issue['concern'])}"
    alignment = object_of(fields.get("metadata_alignment"))
    yield "\n### Metadata\n"
    yield from (f"- {name.replace('_', ' ')}: {alignment.get(name)}" for name in _DIMENSIONS)
    yield "\n### Undocumented additions\n"
    yield from (
        f"- {_one_line(undocumented_addition['spec_item'])}"
        for undocumented_addition in objects_of(fields.get("undocumented_additions"), _MOST)
    )
    for title, name in (("Issues", "issues"), ("Recommendations", "recommendations")):
        yield f"\n### {title}\n"
        yield from (f"- {_one_line(text)}" for text in texts_of(fields.get(name), _MOST, _LONG))
    yield ""


def _one_line(value: Json) -> str:
    return " ".join(text_of(value, _LONG).split())
