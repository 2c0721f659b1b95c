"""The lists that are kept with a spec: assumptions, constraints, risks and more."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from counterpoint.dialects.arguments import TEXT
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import present
from counterpoint.dialects.foundry.nouns.specs import (
    ASSUMPTIONS,
    CONSTRAINTS,
    CRITERIA,
    QUESTIONS,
    RISKS,
    SpecList,
)
from counterpoint.dialects.foundry.rules.shape import FIELD_LIMIT
from counterpoint.dialects.foundry.tools.shown import clipped, in_pages
from counterpoint.dialects.foundry.verbs.frontmatter import Frontmatter
from counterpoint.dialects.foundry.words import Cursor, DryRun, SpecId
from counterpoint.dialects.paging import sparse
from counterpoint.kernel.canonical import Json
from counterpoint.protocol.actions import Action, action

Words = Annotated[str, Field(min_length=1, max_length=FIELD_LIMIT, description="What to add"), TEXT]
Level = Literal["low", "medium", "high"]
Sort = Annotated[str, Field(min_length=1, max_length=100, description="Any word"), TEXT]
Author = Annotated[str, Field(min_length=1, max_length=200, description="Who said so"), TEXT]


def _listed(
    call: Call, spec_id: str, kind: SpecList, name: str, cursor: str, sort: str = ""
) -> Json:
    """Return the entries of a list; sort: only assumptions of this type."""
    spec, entries = call.core.use(Frontmatter).entries(spec_id, kind)
    chosen = [clipped(entry) for entry in entries if sort in {"", entry.get("type")}]
    report: dict[str, Json] = {"spec_id": spec, name: chosen, "total_count": len(chosen)}
    if kind is ASSUMPTIONS:
        report["filter_type"] = sort or None
    return in_pages(call, (f"authoring {kind.what}-list", spec_id, sort), cursor, report, name)


def _added(call: Call, spec_id: str, kind: SpecList, text: str, *, dry_run: bool) -> Json:
    spec, entry = call.core.use(Frontmatter).add(spec_id, kind, text, dry_run=dry_run)
    return present(
        {"spec_id": spec, "text": clipped(text), "dry_run": dry_run, "index": entry["index"]}
    )


@action(reads=False, idempotent=False, plain=True)
def assumption_add(
    call: Call,
    spec_id: SpecId,
    text: Words,
    assumption_type: Sort = "",
    author: Author = "",
    *,
    dry_run: DryRun = False,
) -> Json:
    """Add what is taken for granted."""
    more = sparse(type=assumption_type, author=author)
    spec, entry = call.core.use(Frontmatter).add(
        spec_id, ASSUMPTIONS, {"text": text, **more} if more else text, dry_run=dry_run
    )
    return present(
        {
            "spec_id": spec,
            "assumption_id": entry["id"],
            "text": clipped(text),
            "type": assumption_type or None,
            "dry_run": dry_run,
            **sparse(author=author),
        }
    )


@action(reads=True, plain=True)
def assumption_list(
    call: Call, spec_id: SpecId, assumption_type: Sort = "", cursor: Cursor = ""
) -> Json:
    """List assumptions, of one type or all."""
    return _listed(call, spec_id, ASSUMPTIONS, "assumptions", cursor, assumption_type)


@action(reads=False, idempotent=False, plain=True)
def constraint_add(call: Call, spec_id: SpecId, text: Words, *, dry_run: DryRun = False) -> Json:
    """Add a constraint."""
    return _added(call, spec_id, CONSTRAINTS, text, dry_run=dry_run)


@action(reads=True, plain=True)
def constraint_list(call: Call, spec_id: SpecId, cursor: Cursor = "") -> Json:
    """List constraints."""
    return _listed(call, spec_id, CONSTRAINTS, "constraints", cursor)


@action(reads=False, idempotent=False, plain=True)
def risk_add(
    call: Call,
    spec_id: SpecId,
    description: Words,
    likelihood: Annotated[Level | None, Field(description="How likely")] = None,
    impact: Annotated[Level | None, Field(description="How bad")] = None,
    mitigation: Annotated[
        str, Field(min_length=1, max_length=FIELD_LIMIT, description="What helps"), TEXT
    ] = "",
    *,
    dry_run: DryRun = False,
) -> Json:
    """Add a risk."""
    risk: dict[str, Json] = {
        "description": description,
        **sparse(likelihood=likelihood, impact=impact, mitigation=mitigation),
    }
    spec, entry = call.core.use(Frontmatter).add(spec_id, RISKS, risk, dry_run=dry_run)
    return present(
        {"spec_id": spec, "dry_run": dry_run, "risk": clipped(risk), "index": entry["index"]}
    )


@action(reads=True, plain=True)
def risk_list(call: Call, spec_id: SpecId, cursor: Cursor = "") -> Json:
    """List risks."""
    return _listed(call, spec_id, RISKS, "risks", cursor)


@action(reads=False, idempotent=False, plain=True)
def question_add(call: Call, spec_id: SpecId, text: Words, *, dry_run: DryRun = False) -> Json:
    """Add an open question."""
    return _added(call, spec_id, QUESTIONS, text, dry_run=dry_run)


@action(reads=True, plain=True)
def question_list(call: Call, spec_id: SpecId, cursor: Cursor = "") -> Json:
    """List open questions."""
    return _listed(call, spec_id, QUESTIONS, "questions", cursor)


@action(reads=False, idempotent=False, plain=True)
def success_criterion_add(
    call: Call, spec_id: SpecId, text: Words, *, dry_run: DryRun = False
) -> Json:
    """Add a success criterion."""
    return _added(call, spec_id, CRITERIA, text, dry_run=dry_run)


@action(reads=True, plain=True)
def success_criteria_list(call: Call, spec_id: SpecId, cursor: Cursor = "") -> Json:
    """List success criteria."""
    return _listed(call, spec_id, CRITERIA, "success_criteria", cursor)


LISTS: Final[tuple[Action[Call], ...]] = (
    assumption_add,
    assumption_list,
    constraint_add,
    constraint_list,
    risk_add,
    risk_list,
    question_add,
    question_list,
    success_criterion_add,
    success_criteria_list,
)
