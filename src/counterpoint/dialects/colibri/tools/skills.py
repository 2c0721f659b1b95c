"""The tools for what a project teaches its agents as skills."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from counterpoint.dialects.call import DATA, Call
from counterpoint.dialects.colibri.verbs.skills import Skills
from counterpoint.dialects.colibri.words import (
    LIMIT,
    Cursor,
    Id,
    Limit,
    present_skill,
    present_skipped,
)
from counterpoint.dialects.paging import (
    PAGE,
    RESERVE,
    part_of_list,
    part_of_text,
    seal,
    shared,
    unseal,
)
from counterpoint.kernel.canonical import Json
from counterpoint.protocol.tools import tool

Capability = Literal["read", "write", "spawn", "audit", "admin"]
_ROOM = PAGE - RESERVE


@tool(reads=True)
def skill_list(
    call: Call,
    *,
    search: Annotated[str, Field(max_length=200, description="Part of name or description")] = "",
    capability: Annotated[Capability | None, Field(description="Only with this one")] = None,
    greek_letter: Annotated[str, Field(max_length=1, description="Only with this one")] = "",
    limit: Limit = LIMIT,
    cursor: Cursor = "",
) -> Json:
    """List skills as their files are now, and the files that were skipped and why."""
    query: dict[str, Json] = {"skills": [search, capability, greek_letter, limit]}
    at = unseal(call, query, cursor, {"skills": 0, "skipped": 0})
    report = call.core.use(Skills).report()
    skills = call.core.use(Skills).list(
        search=search, capability=capability or "", letter=greek_letter
    )
    parts = {
        "skills": part_of_list([present_skill(one) for one in skills], at["skills"], limit),
        "skipped": part_of_list(
            [present_skipped(one) for one in report.skipped], at["skipped"], limit
        ),
    }
    shown, rest = shared(parts, _ROOM)
    ends = {"skills": len(skills), "skipped": len(report.skipped)}
    more = seal(call, query, {**ends, **rest}) if rest else None
    return {
        "skills": shown.get("skills", []),
        "skipped": shown.get("skipped", []),
        "total": len(skills),
        "roots": list(report.roots),
        "pruned": list(report.pruned),
        "next_cursor": more,
    }


@tool(reads=True)
def skill_get(
    call: Call,
    name: Annotated[Id, Field(description="The skill")],
    *,
    cursor: Cursor = "",
) -> Json:
    """Read one skill with its text, page by page."""
    skill = call.core.use(Skills).get(name)
    query: dict[str, Json] = {"skill": name, "sha256": skill.digest}
    at = unseal(call, query, cursor, 0)
    shown, rest = shared({"body": part_of_text(skill.body, at)}, _ROOM - 3_000)
    more = seal(call, query, rest["body"]) if rest else None
    return {
        **present_skill(skill),
        "body": shown.get("body", ""),
        "next_cursor": more,
        "note": DATA,
    }
