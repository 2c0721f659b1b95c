"""Reviews as the Markdown that lies beside specs and plans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from counterpoint.dialects.foundry.rules.autonomy.reviewer import Finding
from counterpoint.dialects.foundry.rules.research.answers import objects_of, text_of, texts_of
from counterpoint.dialects.foundry.rules.reviews.feedback import Remark, as_markdown
from counterpoint.kernel.canonical import Json, object_of

_MOST: Final = 50
_LONG: Final = 2_000
_DIMENSIONS: Final = ("success_criteria", "constraints", "risks", "open_questions")


def headed(title: str, facts: Sequence[tuple[str, str]], body: str) -> str:
    """Return a page with its title and what is known of it."""
    text = "\n".join(f"**{name}:** {_line(value)}  " for name, value in facts if value)
    return f"# {_line(title)}\n\n{text}\n\n{body.strip()}\n"


def remarks_page(summaries: Sequence[tuple[str, str]], remarks: Sequence[Remark]) -> str:
    """Return remarks, with what each reviewer says in short."""
    text = "\n".join(f"- **{name}:** {_line(text)}" for name, text in summaries)
    return f"## Summary\n\n{text}\n\n{as_markdown(remarks)}"


def beside_plan_page(name: str, fields: Mapping[str, Json]) -> str:
    """Return what a reviewer found of a spec beside its plan."""
    return f"## Review by {_line(name)}\n\n" + "\n".join(_beside_plan(fields))


def fidelity_page(
    findings: Sequence[Finding],
    answers: Mapping[str, Mapping[str, Json]],
    recommendations: Sequence[str],
) -> str:
    """Return what was found of work beside its spec; answers: what reviewers answered, recommendations: what is recommended."""
    lines = ["## Deviations\n"]
    lines += [
        f"- **[{finding.weight}]** {finding.type}: {_line(finding.description)}"
        for finding in findings
    ]
    lines += ["" if findings else "None\n"]
    for name, answer in answers.items():
        lines += [f"## Review by {_line(name)}\n", _line(answer.get("summary")), ""]
        for deviation in objects_of(answer.get("deviations"), _MOST):
            evidence = _line(deviation.get("evidence"))
            about = _line(deviation.get("node"))
            lines.append(
                f"- **[{deviation['severity']}]** {about} {_line(deviation.get('description'))}"
                + (f" ({evidence})" if evidence else "")
            )
        lines.append("")
    lines += [
        "## Recommendations\n",
        *(f"- {_line(recommendation)}" for recommendation in recommendations),
    ]
    return "\n".join(lines)


def _beside_plan(fields: Mapping[str, Json]) -> Iterator[str]:
    coverage, fidelity = object_of(fields.get("coverage")), object_of(fields.get("fidelity"))
    yield f"**Verdict:** {fields['verdict']}\n"
    yield f"{_line(fields.get('summary'))}\n"
    yield "### Coverage\n"
    for what in ("phases", "tasks"):
        done, total = coverage.get(f"plan_{what}_covered"), coverage.get(f"plan_{what}_total")
        yield f"- {what}: {done} of {total}"
    yield from (
        f"- missing: {_line(text)}"
        for text in texts_of(coverage.get("missing_items"), _MOST, _LONG)
    )
    yield f"\n### Fidelity\n\n- {fidelity.get('status')}"
    for issue in objects_of(fidelity.get("issues"), _MOST):
        yield f"- {_line(issue['plan_item'])} → {_line(issue['spec_item'])}: {_line(issue['concern'])}"
    alignment = object_of(fields.get("metadata_alignment"))
    yield "\n### Metadata\n"
    yield from (f"- {name.replace('_', ' ')}: {alignment.get(name)}" for name in _DIMENSIONS)
    yield "\n### Undocumented additions\n"
    yield from (
        f"- {_line(undocumented_addition['spec_item'])}"
        for undocumented_addition in objects_of(fields.get("undocumented_additions"), _MOST)
    )
    for title, name in (("Issues", "issues"), ("Recommendations", "recommendations")):
        yield f"\n### {title}\n"
        yield from (f"- {_line(text)}" for text in texts_of(fields.get(name), _MOST, _LONG))
    yield ""


def _line(value: Json) -> str:
    return " ".join(text_of(value, _LONG).split())
