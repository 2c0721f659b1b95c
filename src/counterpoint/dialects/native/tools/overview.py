"""The tool `brief`: where the caller is and what matters, within a budget.

Each section of a brief has forms, the fullest first and nothing last. While the whole is over the
budget, the least important section that still has a shorter form takes it. Who the caller is, the
claim it holds and the next call are never cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from counterpoint.core.model.answers import Facets, ReadyItem, State
from counterpoint.core.model.sessions import Handoff, Session
from counterpoint.core.rules.sessions import may_write
from counterpoint.dialects.call import DATA, Call
from counterpoint.dialects.native.words import (
    Id,
    present_claim,
    present_contract,
    present_handoff,
    present_line,
    present_record,
    wanted,
)
from counterpoint.dialects.paging import PAGE, clip, size_of, sparse
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.tools import tool

BYTES_A_TOKEN = 4
_NAME = 80
_SHOWN = 5


@tool(reads=True)
def brief(
    call: Call,
    item: Annotated[Id, Field(description="Else the one held")] = "",
    budget_tokens: Annotated[int, Field(ge=200, le=8000, description="Size")] = 1500,
) -> Json:
    """Call first: your item, token, gates, last handoff, what matters, the next call."""
    return briefing(call, item, min(budget_tokens * BYTES_A_TOKEN, PAGE))


def briefing(call: Call, item: str, room: int) -> dict[str, Json]:
    """Return the brief of an item, or of what the caller holds, in so many bytes; NotFound."""
    seen = _look(call, item)
    fixed = {**_caller(call, seen), "next_call": next_call(call, seen)}
    sections = _sections(call, seen)
    return _cut(fixed, sections, room)


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefParts:
    """What a brief is made of."""

    state: State
    facets: Facets | None
    claims: tuple[dict[str, Json], ...]
    handoff: Handoff | None
    handed_by: Session | None
    offers: Sequence[ReadyItem]


def _look(call: Call, item: str) -> BriefParts:
    overview = call.core.overview
    held = overview.held()
    chosen = item or (held[0].item.id if held else call.core.caller.item)
    handoff = overview.last_handoff()
    return BriefParts(
        state=overview.state(),
        facets=overview.facets(chosen) if chosen else None,
        claims=tuple(present_claim(live.claim) for live in held),
        handoff=handoff,
        handed_by=overview.find(Session, handoff.session) if handoff else None,
        offers=call.core.ready.offers(wanted(call), _SHOWN),
    )


def _caller(call: Call, seen: BriefParts) -> dict[str, Json]:
    actor = call.core.caller.actor
    return sparse(
        project=seen.state.project.project,
        you=sparse(
            agent=clip(actor.name, _NAME), profile=clip(actor.profile, _NAME), session=actor.session
        ),
        claims=list(seen.claims[:3]),
        now=seen.state.now,
    )


def next_call(call: Call, seen: BriefParts) -> dict[str, Json]:
    """Return the call that goes on best from here; `…` stands for the caller's own words."""
    facets, mine = seen.facets, call.core.caller.actor.session
    tokens = {claim["item"]: claim["token"] for claim in seen.claims}
    if facets is not None and facets.item.id in tokens:
        return _while_working(facets, tokens[facets.item.id])
    other = seen.handed_by
    caller = call.core.caller
    # By its name it could be that of another window: only who may write in it left it.
    is_mine = other is not None and may_write(other, caller.actor, caller.capability)
    if other is not None and is_mine and other.status == "paused" and other.id != mine:
        return _call("handoff", action="continue", session=other.id)
    if facets is not None and facets.readiness.is_ready:
        return _call("start", id=facets.item.id)
    return _for_free_hands(seen)


def _for_free_hands(seen: BriefParts) -> dict[str, Json]:
    """Return what a caller can do who holds nothing and was given nothing."""
    if seen.offers:
        return _call("next", claim=True)
    if seen.state.in_review:
        return _call("show", id=seen.state.in_review[0].id, include=["submissions", "outcomes"])
    if not seen.state.roots:
        return _call("plan", markdown="# …\n- [ ] …", dry_run=True)
    return _call("next")


def _while_working(facets: Facets, token: Json) -> dict[str, Json]:
    checks = [gate for gate in facets.gates if gate.kind == "check" and gate.status == "closed"]
    if checks:
        return _call("verify", id=facets.item.id, token=token)
    return _call("finish", id=facets.item.id, token=token, outcome="done", summary="…")


def _call(name: str, **arguments: Json) -> dict[str, Json]:
    return {"tool": name, "arguments": arguments}


Section = tuple[str, tuple[Json, ...]]
"""A name and its forms, the fullest first; after the last the section is left out."""


def _sections(call: Call, seen: BriefParts) -> list[Section]:
    """Return the sections of a brief, the most important first."""
    sections = [*_of_item(call, seen.facets), *_of_profile(call), *_of_memory(call)]
    if seen.handoff is not None:
        forms = tuple(present_handoff(seen.handoff, room) for room in (2_400, 1_000, 300))
        sections.append(("handoff", forms))
    sections.append(("others_at_work", _forms(_others(call, seen.state), 10, 2)))
    blockers = [present_record(record) for record in seen.state.blockers]
    sections.append(("blockers", _forms(blockers, 10, 3)))
    ready = [sparse(id=one.item.id, title=clip(one.item.title, _NAME)) for one in seen.offers]
    sections.append(("ready", _forms(ready, _SHOWN, 2)))
    decisions = [
        present_record(record) for record in call.core.overview.recent("decision", limit=5)
    ]
    sections.append(("decisions", _forms(decisions, 5, 2)))
    sections.append(("learnings", _forms(_learnings(call, seen.facets), 5, 2)))
    review = [present_line(item, _NAME) for item in seen.state.in_review]
    sections.append(("in_review", _forms(review, 5, 1)))
    sections.append(("counts", (seen.state.counts,)))
    return [(name, forms) for name, forms in sections if forms and forms[0]]


def _others(call: Call, state: State) -> list[Json]:
    """Return what other sessions hold."""
    mine = call.core.caller.actor.session
    return [
        sparse(
            id=live.item.id,
            title=clip(live.item.title, _NAME),
            agent=clip(live.claim.agent, _NAME),
            until=live.claim.leased_until,
        )
        for live in state.live
        if live.claim.session != mine
    ]


def _of_item(call: Call, facets: Facets | None) -> list[Section]:
    if facets is None:
        return []
    item: Section = ("item", tuple(present_contract(facets, room) for room in (5_000, 1_800, 500)))
    parent = facets.item.parent
    if not parent:
        return [item]
    above = present_line(call.core.items.get(parent))
    return [item, ("phase", (above,))]


def _of_profile(call: Call) -> list[Section]:
    """Return the instructions of the caller's role, if the project knows the role."""
    name = call.core.caller.actor.profile
    found = call.core.projects.profile(name) if name else None
    if found is None or not found.instructions:
        return []
    return [("profile", tuple(clip(found.instructions, room) for room in (2_000, 500)))]


def _of_memory(call: Call) -> list[Section]:
    """Return what the caller's role remembers, the newest first; all of it is at its address."""
    role = call.core.caller.actor.profile
    pages = call.core.notebooks.offered(role).pages if role else ()
    forms: list[Json] = [
        [
            {"name": page.name, "scope": page.scope, "content": clip(page.content, room)}
            for page in pages[:_SHOWN]
        ]
        for room in (800, 200)
    ]
    return [("memory", tuple(forms))] if pages else []


def _learnings(call: Call, facets: Facets | None) -> list[Json]:
    """Return learnings that share words with the item's title, else the latest."""
    latest = call.core.overview.recent("learning", limit=5)
    if facets is None or not latest:
        return [present_record(record) for record in latest]
    try:
        found = call.core.overview.search(facets.item.title, kinds=("learning",), limit=5)
    except InvalidInput:
        return []
    rows = [one.row for one in found]
    return [present_record(row) for row in rows if isinstance(row, type(latest[0]))]


def _forms(entries: list[Json], *counts: int) -> tuple[Json, ...]:
    """Return a list with fewer and fewer entries, each form shorter than the one before."""
    lengths = dict.fromkeys(min(count, len(entries)) for count in counts)
    return tuple(entries[:length] for length in lengths if length)


_RECORDED = ("handoff", "blockers", "decisions", "learnings")


def _cut(fixed: Mapping[str, Json], sections: Sequence[Section], room: int) -> dict[str, Json]:
    """Return the fixed parts and the sections in the fullest forms that fit together."""
    costs = [[size_of({name: form}) for form in forms] + [0] for name, forms in sections]
    chosen = [0] * len(sections)
    left = room - size_of(fixed) - _OVERHEAD - sum(cost[0] for cost in costs)
    for place in range(len(sections) - 1, -1, -1):
        while left < 0 and chosen[place] < len(costs[place]) - 1:
            left += costs[place][chosen[place]] - costs[place][chosen[place] + 1]
            chosen[place] += 1
    shown = {
        name: forms[form]
        for (name, forms), form in zip(sections, chosen, strict=True)
        if form < len(forms)
    }
    cut = [name for (name, _), form in zip(sections, chosen, strict=True) if form]
    recorded = {name: shown.pop(name) for name in _RECORDED if name in shown}
    if recorded:
        shown["recorded"] = {"note": DATA, **recorded}
    return {**fixed, **shown, **sparse(cut=cut)}


_OVERHEAD = 260
"""Bytes for the note, the names of what was cut, and the brackets."""
