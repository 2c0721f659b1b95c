"""What several tools show and ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, cast

from pydantic import Field

from counterpoint.core.rules.models.providers import ProviderOrder
from counterpoint.dialects.arguments import INTEGER, TEXT
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import page, present
from counterpoint.dialects.foundry.models import runs
from counterpoint.dialects.foundry.models.specs import SpecLine
from counterpoint.dialects.foundry.research.asking import Askable
from counterpoint.dialects.paging import (
    PAGE,
    RESERVE,
    clip,
    fit_parts,
    pages_of,
    part_of_list,
    size_of,
)
from counterpoint.kernel.canonical import Json, object_of

META: Final = 400
"""What the envelope around the data may take beside a cursor."""
_KEPT: Final = ""
"""The name in a cursor of what later pages have from it."""
SAID: Final = 1_500
"""The most bytes of a text in a list; `spec get` has all of it."""


def in_pages(
    call: Call,
    query: Sequence[Json],
    cursor: str,
    report: Mapping[str, Json],
    *lists: str,
    limit: int = 1_000,
    ahead: Mapping[str, Sequence[Json]] = {},
    keeps: Mapping[str, Json] = {},
    warnings: Sequence[str] = (),
) -> Json:
    """Return what a tool answers with a report of which some parts are lists that may be long.

    query: the action and what narrows it, of which a cursor is good for this very one. ahead: what stands before some lists on the first page.
    keeps: short parts of the report that later pages have from the cursor, since they would not be found out again.
    """
    pages = pages_of(call, cursor, *query, first=dict.fromkeys(lists, 0))
    earlier = object_of(pages.at.get(_KEPT))
    fields, remembered = {**report, **earlier}, earlier or dict(keeps)
    before: Mapping[str, Sequence[Json]] = {} if cursor else ahead
    beside = {name: value for name, value in fields.items() if name not in lists}
    whole = {name: cast("list[Json]", report[name]) for name in lists}
    opened = {
        name: part_of_list(entries, pages.at[name], limit)
        for name, entries in whole.items()
        if name in pages.at
    }
    taken = size_of(beside) + sum(size_of(list(part)) for part in before.values())
    parts, further = fit_parts(opened, PAGE - RESERVE - META - taken)
    for name in lists:
        fields[name] = [*before.get(name, ()), *cast("list[Json]", parts.get(name, []))]
    size = sum(len(cast("list[Json]", fields[name])) for name in lists)
    again = {**further, _KEPT: remembered} if further and remembered else further
    pagination = page(
        pages.cursor(again or None), size, sum(map(len, (*whole.values(), *ahead.values())))
    )
    return present(fields, pagination=pagination, warnings=warnings)


def clipped(value: Json) -> Json:
    """Return a value whose texts are not longer than a list shows them."""
    if isinstance(value, str):
        return clip(value, SAID)
    parts = object_of(value)
    return {name: clipped(part) for name, part in parts.items()} if parts else value


def spec_line(line: SpecLine, *, counted: bool) -> dict[str, Json]:
    """Return a spec as a list shows it."""
    fields: dict[str, Json] = {
        "spec_id": line.spec,
        "status": line.folder,
        "title": clip(line.root.title, SAID),
    }
    if not counted:
        return fields
    return {
        **fields,
        "total_tasks": line.tally.total,
        "completed_tasks": line.tally.completed,
        "progress_percentage": line.tally.percentage,
        "current_phase": line.current.id if line.current else None,
    }


def standing_of(call: Call) -> ProviderOrder:
    """Return who there is, and who is asked first; MalformedDocument."""
    return call.core.use(Askable).list_providers()


def llm_status(call: Call) -> Json:
    """Return what is told of models beside other things."""
    providers = call.core.use(Askable).find()
    names: list[Json] = [provider.name for provider in providers.first] if providers else []
    return {
        "configured": providers is None or any(provider.is_set for provider in providers.every),
        "available": bool(names),
        "providers": names,
        "priority": list(names),
    }


SessionId = Annotated[str, Field(max_length=80, description="Run that calls"), TEXT]
Policy = Annotated[runs.GatePolicy | None, Field(description="Of gates")]
Posture = Annotated[runs.Posture | None, Field(description="Profile of limits")]
Force = Annotated[bool, Field(description="In spite of it")]
ReasonCode = Annotated[str, Field(max_length=100, description=", ".join(runs.REASON_CODES)), TEXT]
ReasonDetail = Annotated[str, Field(max_length=20_000, description="Why"), TEXT]
Number = Annotated[int | None, Field(description="Limit"), INTEGER]
Percent = Annotated[int | None, Field(ge=0, le=100, description="Of the context"), INTEGER]
Flag = Annotated[bool | None, Field(description="Stop there")]
Bypass = Annotated[bool, Field(description="In spite of a run")]
BypassReason = Annotated[str, Field(max_length=2_000, description="Why"), TEXT]

RUN: Final[Mapping[str, Any]] = {"session_id": SessionId}
"""What every action of a tool takes that changes specs, beside its own arguments: the run that the call is a part of."""
LOCK: Final[Mapping[str, Any]] = {
    **RUN,
    "bypass_autonomy_lock": Bypass,
    "bypass_reason": BypassReason,
}
"""The same, with what lets a maintainer pass the lock of a run."""
