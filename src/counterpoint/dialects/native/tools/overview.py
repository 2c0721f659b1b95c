"""The tool `brief`: where the caller is and what matters, within a budget.

Each section of a brief has forms, the fullest first and nothing last. While the whole is over the
budget, the least important section that still has a shorter form takes it. Who the caller is, the
claim it holds and the next call are never cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated

from pydantic import Field

from counterpoint.core.model.answers import Brief, Continuation, Facets, News, State
from counterpoint.dialects.call import DATA, Call
from counterpoint.dialects.continuing import (
    CONTINUE,
    MEANWHILE,
    next_call,
    present_left,
    present_news,
)
from counterpoint.dialects.lacking import unallowed_of
from counterpoint.dialects.native.envelope import PHRASES
from counterpoint.dialects.native.words import (
    ItemId,
    call_for_awaiting,
    make_ready_filter,
    present_back,
    present_claim,
    present_contract,
    present_departure,
    present_handoff,
    present_line,
    present_record,
    while_working,
)
from counterpoint.dialects.paging import PAGE, clip, size_of, sparse
from counterpoint.kernel.canonical import Json
from counterpoint.protocol.tools import tool

BYTES_A_TOKEN = 4
_NAME = 80
_SHOWN = 5


@tool(reads=True)
def brief(
    call: Call,
    item: Annotated[ItemId, Field(description="Id of an item; default: the one you hold")] = "",
    budget_tokens: Annotated[
        int, Field(ge=200, le=8000, description="How long the answer may be")
    ] = 1500,
) -> Json:
    """Call first: your item, token, gates, last handoff, what matters, the next call."""
    return briefing(call, item, min(budget_tokens * BYTES_A_TOKEN, PAGE))


def briefing(call: Call, item: str, budget: int) -> dict[str, Json]:
    """Return the brief of an item, or of what the caller holds, in so many bytes; NotFound."""
    with call.core.one_moment():
        seen = call.core.briefs.load(item, make_ready_filter(call), _SHOWN)
        fixed = {**_caller(call, seen), "next_call": _next_call(call, seen)}
        sections = _sections(call, seen)
    return _cut(fixed, sections, budget)


def meanwhile(news: Iterable[News]) -> list[Json]:
    """Return what others did with what the caller holds or held; claims that people freed stand apart, as `released`."""
    return present_news((entry for entry in news if entry.kind != "released"), PHRASES)


def _caller(call: Call, seen: Brief) -> dict[str, Json]:
    actor = call.core.caller.actor
    return sparse(
        project=seen.state.project.project,
        you=sparse(
            agent=clip(actor.name, _NAME), profile=clip(actor.profile, _NAME), session=actor.session
        ),
        claims=list[Json]([present_claim(live.claim) for live in seen.held[:3]]),
        now=seen.state.now,
        ledger_ahead=asdict(seen.state.ahead) if seen.state.ahead else None,
    )


def _next_call(call: Call, seen: Brief) -> dict[str, Json]:
    """Return the call that goes on best from here; `…` stands for the caller's own words."""
    facets = seen.facets
    tokens = {live.item.id: live.claim.token for live in seen.held}
    if facets is not None and facets.item.id in tokens:
        return while_working(facets, tokens[facets.item.id])
    if session := _before(call, seen):
        return next_call("handoff", action="continue", session=session)
    own = next(
        (
            candidate
            for candidate in seen.awaiting
            if candidate.is_mine and candidate.step != "review"
        ),
        None,
    )
    if own is not None and (next_step := call_for_awaiting(own)):
        return next_step
    if facets is not None and facets.readiness.is_ready:
        return next_call("start", id=facets.item.id)
    return _for_free_hands(seen)


def _before(call: Call, seen: Brief) -> str:
    """Return the session that the caller had before and has to take up; empty if there is none."""
    begun = [
        continuation.session
        for continuation in seen.begun
        if continuation.held or continuation.session.status == "paused"
    ]
    return begun[0].id if begun and begun[0].id != call.core.caller.actor.session else ""


def _for_free_hands(seen: Brief) -> dict[str, Json]:
    """Return what a caller can do who holds nothing and was given nothing."""
    if seen.offers:
        return next_call("next", claim=True)
    to_judge = [
        candidate
        for candidate in seen.awaiting
        if candidate.step == "review" and not candidate.is_mine
    ]
    if to_judge:
        return next_call("show", id=to_judge[0].item.id, include=["submissions", "outcomes"])
    if not seen.state.roots:
        return next_call("plan", markdown="# …\n- [ ] …", dry_run=True)
    return next_call("next")


Section = tuple[str, tuple[Json, ...]]
"""A name and its forms, the fullest first; after the last the section is left out."""


def _sections(call: Call, seen: Brief) -> list[Section]:
    """Return the sections of a brief, the most important first."""
    freed = [asdict(release) for release in seen.released]
    sections: list[Section] = [("released", _forms(list[Json](freed), _SHOWN, 1))]
    sections += [(MEANWHILE, _forms(meanwhile(seen.news), _SHOWN, 1))]
    sections += [*_awaiting(seen), *_of_item(call, seen.facets), *_of_profile(call)]
    sections += _of_memory(call)
    if seen.handoff is not None:
        forms = tuple(present_handoff(seen.handoff, budget) for budget in (2_400, 1_000, 300))
        sections.append(("handoff", forms))
    sections.append(("others_at_work", _forms(_others(call, seen.state), 10, 2)))
    blockers = [present_record(record) for record in seen.state.blockers]
    sections.append(("blockers", _forms(blockers, 10, 3)))
    ready = [
        sparse(
            id=offer.item.id,
            title=clip(offer.item.title, _NAME),
            checks=unallowed_of(seen.lacking.get(offer.item.id)),
        )
        for offer in seen.offers
    ]
    sections.append(("ready", _forms(ready, _SHOWN, 2)))
    decisions = [present_record(record) for record in seen.decisions]
    sections.append(("decisions", _forms(decisions, 5, 2)))
    learnings = [present_record(record) for record in seen.learnings]
    sections.append(("learnings", _forms(learnings, 5, 2)))
    review = [
        present_line(candidate.item, _NAME)
        for candidate in seen.awaiting
        if candidate.step == "review"
    ]
    sections.append(("in_review", _forms(review, 5, 1)))
    sections.append(("counts", (seen.state.counts,)))
    begun = tuple(_begun(seen.begun, *budget) for budget in ((_SHOWN, 800), (2, 200), (1, 0)))
    sections.insert(0, (CONTINUE, begun if begun[0] else ()))
    return [(name, forms) for name, forms in sections if forms and forms[0]]


def _awaiting(seen: Brief) -> list[Section]:
    """Return what was sent back, the caller's own first, and what is to be handed in."""
    own_first = sorted(seen.awaiting, key=lambda awaiting: not awaiting.is_mine)
    back = tuple(
        form
        for budget, most in ((600, 5), (250, 2), (80, 1))
        if (form := present_back(own_first, budget, most))
    )
    to_submit = [present_line(each.item, _NAME) for each in own_first if each.step == "submit"]
    return [("sent_back", back), ("to_submit", _forms(to_submit, 5, 1))]


def _begun(begun: Sequence[Continuation], most: int, budget: int) -> list[Json]:
    """Return what the caller can go on with: what it holds, by which number, since when, and what was left for it."""
    return [
        sparse(
            id=live.item.id,
            title=clip(live.item.title, _NAME),
            token=live.claim.token,
            since=live.claim.claimed_at,
            session=continuation.session.id,
            left=present_left(continuation.left, budget) if budget else None,
        )
        for continuation in begun
        for live in continuation.held
    ][:most]


def _others(call: Call, state: State) -> list[Json]:
    """Return what other sessions hold."""
    caller = call.core.caller
    own_session = "" if caller.is_shared else caller.actor.session
    return [
        sparse(
            id=live.item.id,
            title=clip(live.item.title, _NAME),
            agent=clip(live.claim.agent, _NAME),
            until=live.claim.leased_until,
            gone=present_departure(live.departure),
        )
        for live in state.live
        if live.claim.session != own_session
    ]


def _of_item(call: Call, facets: Facets | None) -> list[Section]:
    if facets is None:
        return []
    item: Section = (
        "item",
        tuple(present_contract(facets, budget) for budget in (5_000, 1_800, 500)),
    )
    parent = facets.item.parent
    if not parent:
        return [item]
    above = present_line(call.core.items.get(parent))
    return [item, ("phase", (above,))]


def _of_profile(call: Call) -> list[Section]:
    """Return the instructions of the caller's role, if the project knows the role."""
    name = call.core.caller.actor.profile
    profile = call.core.projects.profile(name) if name else None
    if profile is None or not profile.instructions:
        return []
    return [("profile", tuple(clip(profile.instructions, budget) for budget in (2_000, 500)))]


def _of_memory(call: Call) -> list[Section]:
    """Return what the caller's role remembers, the newest first; all of it is at its address."""
    role = call.core.caller.actor.profile
    pages = call.core.notebooks.offered(role).pages if role else ()
    forms: list[Json] = [
        [
            {"name": page.name, "scope": page.scope, "content": clip(page.content, budget)}
            for page in pages[:_SHOWN]
        ]
        for budget in (800, 200)
    ]
    return [("memory", tuple(forms))] if pages else []


def _forms(entries: list[Json], *counts: int) -> tuple[Json, ...]:
    """Return a list with fewer and fewer entries, each form shorter than the one before."""
    lengths = dict.fromkeys(min(count, len(entries)) for count in counts)
    return tuple(entries[:length] for length in lengths if length)


_RECORDED = ("handoff", "blockers", "decisions", "learnings")


def _cut(fixed: Mapping[str, Json], sections: Sequence[Section], budget: int) -> dict[str, Json]:
    """Return the fixed parts and the sections in the fullest forms that fit together."""
    costs = [[size_of({name: form}) for form in forms] + [0] for name, forms in sections]
    chosen = [0] * len(sections)
    bytes_left = budget - size_of(fixed) - _OVERHEAD - sum(cost[0] for cost in costs)
    for index in range(len(sections) - 1, -1, -1):
        while bytes_left < 0 and chosen[index] < len(costs[index]) - 1:
            bytes_left += costs[index][chosen[index]] - costs[index][chosen[index] + 1]
            chosen[index] += 1
    fields = {
        name: forms[form]
        for (name, forms), form in zip(sections, chosen, strict=True)
        if form < len(forms)
    }
    cut = [name for (name, _), form in zip(sections, chosen, strict=True) if form]
    recorded = {name: fields.pop(name) for name in _RECORDED if name in fields}
    if recorded:
        fields["recorded"] = recorded
    first = {CONTINUE: fields.pop(CONTINUE)} if CONTINUE in fields else {}
    # Titles, memory and what was sent back are texts of others as much as records are.
    return {**first, **fixed, **fields, "note": DATA, **sparse(cut=cut)}


_OVERHEAD = 260
"""Bytes for the note, the names of what was cut, and the brackets."""
