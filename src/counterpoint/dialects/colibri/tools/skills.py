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
from counterpoint.dialects.paging import PAGE, RESERVE, fit_parts, pages_of, part_of_list
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
    starts = {"skills": 0, "skipped": 0}
    pages = pages_of(
        call, cursor, "skill_list", search, capability, greek_letter, limit, first=starts
    )
    at = pages.at
    report = call.core.use(Skills).report()
    skills = call.core.use(Skills).list(
        search=search, capability=capability or "", letter=greek_letter
    )
    parts = {
        "skills": part_of_list([present_skill(skill) for skill in skills], at["skills"], limit),
        "skipped": part_of_list(
            [present_skipped(file) for file in report.skipped], at["skipped"], limit
        ),
    }
    contents, next_starts = fit_parts(parts, _ROOM)
    ends = {"skills": len(skills), "skipped": len(report.skipped)}
    more = pages.cursor({**ends, **next_starts}) if next_starts else None
    return {
        "skills": contents.get("skills", []),
        "skipped": contents.get("skipped", []),
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
    pages = pages_of(call, cursor, "skill_get", name, skill.digest)
    body, more = pages.text(skill.body, _ROOM - 3_000)
    return {**present_skill(skill), "body": body, "next_cursor": more or None, "note": DATA}
