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
    told = "\n".join(f"**{name}:** {_line(value)}  " for name, value in facts if value)
    return f"# {_line(title)}\n\n{told}\n\n{body.strip()}\n"


def remarks_page(summaries: Sequence[tuple[str, str]], remarks: Sequence[Remark]) -> str:
    """Return remarks, with what each reviewer says in short."""
    told = "\n".join(f"- **{name}:** {_line(text)}" for name, text in summaries)
    return f"## Summary\n\n{told}\n\n{as_markdown(remarks)}"


def beside_plan_page(name: str, found: Mapping[str, Json]) -> str:
    """Return what a reviewer found of a spec beside its plan."""
    return f"## Review by {_line(name)}\n\n" + "\n".join(_beside_plan(found))


def fidelity_page(
    findings: Sequence[Finding], said: Mapping[str, Mapping[str, Json]], asked: Sequence[str]
) -> str:
    """Return what was found of work beside its spec; said: what reviewers answered, asked: what is recommended."""
    lines = ["## Deviations\n"]
    lines += [f"- **[{one.weight}]** {one.type}: {_line(one.description)}" for one in findings]
    lines += ["" if findings else "None\n"]
    for name, answer in said.items():
        lines += [f"## Review by {_line(name)}\n", _line(answer.get("summary")), ""]
        for one in objects_of(answer.get("deviations"), _MOST):
            evidence = _line(one.get("evidence"))
            about = _line(one.get("node"))
            lines.append(
                f"- **[{one['severity']}]** {about} {_line(one.get('description'))}"
                + (f" ({evidence})" if evidence else "")
            )
        lines.append("")
    lines += ["## Recommendations\n", *(f"- {_line(one)}" for one in asked)]
    return "\n".join(lines)


def _beside_plan(found: Mapping[str, Json]) -> Iterator[str]:
    coverage, fidelity = object_of(found.get("coverage")), object_of(found.get("fidelity"))
    yield f"**Verdict:** {found['verdict']}\n"
    yield f"{_line(found.get('summary'))}\n"
    yield "### Coverage\n"
    for what in ("phases", "tasks"):
        done, total = coverage.get(f"plan_{what}_covered"), coverage.get(f"plan_{what}_total")
        yield f"- {what}: {done} of {total}"
    yield from (
        f"- missing: {_line(one)}" for one in texts_of(coverage.get("missing_items"), _MOST, _LONG)
    )
    yield f"\n### Fidelity\n\n- {fidelity.get('status')}"
    for one in objects_of(fidelity.get("issues"), _MOST):
        yield f"- {_line(one['plan_item'])} → {_line(one['spec_item'])}: {_line(one['concern'])}"
    kept = object_of(found.get("metadata_alignment"))
    yield "\n### Metadata\n"
    yield from (f"- {name.replace('_', ' ')}: {kept.get(name)}" for name in _DIMENSIONS)
    yield "\n### Undocumented additions\n"
    yield from (
        f"- {_line(one['spec_item'])}"
        for one in objects_of(found.get("undocumented_additions"), _MOST)
    )
    for title, name in (("Issues", "issues"), ("Recommendations", "recommendations")):
        yield f"\n### {title}\n"
        yield from (f"- {_line(one)}" for one in texts_of(found.get(name), _MOST, _LONG))
    yield ""


def _line(value: Json) -> str:
    return " ".join(text_of(value, _LONG).split())
