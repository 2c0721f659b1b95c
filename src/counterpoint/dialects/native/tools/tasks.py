"""The tools `next`, `start` and `finish`: taking up work and ending it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, WithJsonSchema

from counterpoint.core.model import filters
from counterpoint.core.model.answers import Finished, Started
from counterpoint.dialects.call import Call
from counterpoint.dialects.continuing import next_call, present_news
from counterpoint.dialects.native.envelope import PHRASES
from counterpoint.dialects.native.words import (
    Counts,
    ItemId,
    Limit,
    Line,
    Lines,
    Report,
    Token,
    Word,
    call_for_awaiting,
    make_ready_filter,
    present_back,
    present_change,
    present_departure,
    present_line,
    present_offer,
    present_record,
    present_start,
    refuse_nothing,
)
from counterpoint.dialects.next_step import next_step, why_back
from counterpoint.dialects.paging import clip, fit_parts, part_of_list, sparse
from counterpoint.kernel.canonical import Json
from counterpoint.protocol.tools import tool

Minutes = Annotated[
    Annotated[int, Field(ge=1, le=1440), WithJsonSchema({"type": "integer"})] | None,
    Field(description="How long it is yours without another call: 1 to 1440, default 30"),
]
_SHOWN = 5


@tool(reads=False, idempotent=False, hidden=("kinds",))
def next_(
    call: Call,
    limit: Annotated[Limit, Field(le=20, description="Most entries, at most 20")] = 5,
    *,
    claim: Annotated[
        bool, Field(description="Claim the first one at once, as `start` does")
    ] = False,
    lease_minutes: Minutes = None,
    root: Annotated[ItemId, Field(description="Id of the top item; only its tree")] = "",
    label: Annotated[Word, Field(description="Only with this label")] = "",
    kinds: Annotated[
        tuple[Literal["task", "issue"], ...], Field(max_length=2, description="Kinds")
    ] = (),
) -> Json:
    """Offer work that is ready, most urgent first, with why; or claim the first at once."""
    asked_for = make_ready_filter(call, root=root, label=label, kinds=kinds)
    if claim:
        taken = call.core.claims.take_next(asked_for, lease_minutes)
        if taken is None:
            return _nothing(call, root)
        started, offer = taken
        return {**present_start(call, started), "why": [clip(reason, 200) for reason in offer.why]}
    offers = call.core.ready.offers(asked_for, limit)
    if not offers:
        return _nothing(call, root)
    back = {candidate.item.id: why_back(candidate) for candidate in call.core.awaiting.list()}
    lacking = call.core.permitted.lacking_of([offer.item.id for offer in offers])
    return {
        **_lost(call),
        "ready": [
            present_offer(offer, back.get(offer.item.id, ""), lacking.get(offer.item.id))
            for offer in offers
        ],
        "next_call": next_call("start", id=offers[0].item.id),
    }


def _lost(call: Call) -> dict[str, Json]:
    """Return which claims of the caller others ended, with what comes next."""
    news = present_news(call.core.claims.news(()), PHRASES)
    return {"meanwhile": news} if news else {}


def _nothing(call: Call, root: str) -> dict[str, Json]:
    """Return what stands in the way when there is nothing to do."""
    refuse_nothing(call, root)
    state = call.core.overview.state()
    open_items = call.core.overview.items(filters.ItemFilter(category="open", root=root), 0, 50)
    waiting = [item for item in open_items if item.is_workable][:_SHOWN]
    awaiting = call.core.awaiting.list()
    hint = (
        "Help with what is in the way, review what waits for it, or try again later."
        if waiting or state.live or awaiting
        else "Everything is done, or nothing is planned: make work with `plan`."
    )
    if any(candidate.step == "submit" and not candidate.is_mine for candidate in awaiting):
        hint += " Who hands in what others did cannot judge it."
    return {
        **_lost(call),
        "ready": [],
        **sparse(
            waiting=[_held_back(call, item.id) for item in waiting],
            active=[
                sparse(
                    id=live.item.id,
                    agent=live.claim.agent,
                    until=live.claim.leased_until,
                    gone=present_departure(live.departure),
                )
                for live in state.live[:_SHOWN]
            ],
            sent_back=present_back(awaiting),
            to_submit=[
                present_line(candidate.item) for candidate in awaiting if candidate.step == "submit"
            ][:_SHOWN],
            in_review=[
                present_line(candidate.item) for candidate in awaiting if candidate.step == "review"
            ][:_SHOWN],
            blockers=[present_record(record) for record in state.blockers[:_SHOWN]],
        ),
        "hint": hint,
    }


def _held_back(call: Call, item: str) -> dict[str, Json]:
    stored = call.core.items.get(item)
    reasons = call.core.ready.judge(stored).reasons
    return {"id": item, "title": clip(stored.title, 80), "why": [clip(r, 200) for r in reasons[:4]]}


@tool(reads=False, idempotent=False)
def start(
    call: Call,
    id: Annotated[ItemId, Field(description="Id of the item")],  # noqa: A002 -- the name that agents expect
    lease_minutes: Minutes = None,
) -> Json:
    """Claim an item before you work on it: answers what to do and `token`; again renews the lease."""
    started: Started = call.core.claims.start(id, lease_minutes)
    return present_start(call, started)


@tool(reads=False, hidden=("reason",))
def finish(
    call: Call,
    id: Annotated[ItemId, Field(description="Id of the item")],  # noqa: A002 -- the name that agents expect
    token: Token,
    outcome: Annotated[
        Literal["done", "partial", "failed", "skipped"],
        Field(description="partial: part is done, the rest is open again"),
    ],
    summary: Annotated[Report, Field(description="What was done, in a few sentences")],
    achievements: Annotated[Lines, Field(description="What works now")] = (),
    limitations: Annotated[Lines, Field(description="What is missing or weak")] = (),
    next_steps: Annotated[Lines, Field(description="What should follow")] = (),
    met: Annotated[
        Counts, Field(description="Numbers `n` of the acceptance criteria that are met")
    ] = (),
    reason: Annotated[Line, Field(description="Why it comes again as it was rejected")] = "",
) -> Json:
    """End your work on an item; answers what really changed in git, with remarks."""
    report = filters.Report(
        outcome=outcome,
        summary=summary,
        achievements=achievements,
        limitations=limitations,
        next_steps=next_steps,
        met=met,
        reason=reason,
    )
    return _present(call, call.core.tasks.finish(id, token, report))


def _present(call: Call, finished: Finished) -> dict[str, Json]:
    above = finished.parent
    waits = call.core.awaiting.above(finished.item)
    return {
        "item": present_line(finished.item),
        "outcome": finished.outcome.outcome,
        **_evidence(finished),
        **sparse(
            remarks=[clip(remark, 400) for remark in finished.outcome.remarks[:10]],
            released=list(finished.released),
            phase=present_line(above) if above else None,
            hint=next_step(waits, PHRASES),
            next_call=call_for_awaiting(waits) if waits else None,
        ),
    }


def _evidence(finished: Finished) -> dict[str, Json]:
    measured = finished.measured
    if measured is None:
        return {"already": "This call finished it before; `show` with `outcomes` has the evidence."}
    parts = {
        "files": part_of_list([present_change(change) for change in measured.files]),
        "commits": part_of_list(list(measured.commits)),
    }
    fields, unread = fit_parts(parts, 4_000)
    return {
        "evidence": {
            "method": measured.method,
            "file_count": measured.file_count,
            "added": measured.insertions,
            "removed": measured.deletions,
            **fields,
            **sparse(
                apart=[
                    {"by": part.by, "reason": part.reason, "files": len(part.paths)}
                    for part in measured.apart
                ],
                cut=sorted(unread),
            ),
        }
    }
