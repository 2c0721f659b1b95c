"""The native words: types of arguments, and how nouns are shown to agents.

Lengths are checked for every text and list, but only ranges of numbers and closed sets of words are
shown in a schema: a limit that is rarely met is cheaper in a refusal than in every listing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, cast

from pydantic import AfterValidator, Field, WithJsonSchema

from counterpoint.core.model.answers import Awaiting, Facets, ReadyItem, Started
from counterpoint.core.model.evidence import FileChange
from counterpoint.core.model.filters import ReadyFilter
from counterpoint.core.model.journal import Receipt, Record, Verdict
from counterpoint.core.model.presence import Departure
from counterpoint.core.model.sessions import Claim, Handoff
from counterpoint.core.model.trust.checking import Lacking
from counterpoint.core.model.work import Criterion, Gate, Item
from counterpoint.core.rules.planning.attributes import find_shell_word
from counterpoint.core.rules.wording import NUMBER, id_of_name
from counterpoint.dialects import arguments
from counterpoint.dialects.arguments import HIGHEST, INTEGER, TEXT, TEXTS
from counterpoint.dialects.call import DATA, Call
from counterpoint.dialects.continuing import next_call
from counterpoint.dialects.lacking import unallowed_of
from counterpoint.dialects.next_step import why_back
from counterpoint.dialects.paging import (
    Part,
    clip,
    fit_parts,
    part_of_list,
    part_of_text,
    sparse,
)
from counterpoint.dialects.unknown_words import refuse_unknown
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.visible import json_text

_INTEGERS = WithJsonSchema({"type": "array", "items": {"type": "integer"}})

Id = Annotated[str, Field(max_length=80), TEXT]


class ItemName(str):
    """What an item is called in place of its id: its number, or its id in another spelling."""

    __slots__ = ()


def _item_name(text: str) -> str:
    """Return a text that is no plain id as the name that `resolve` looks up."""
    is_name = NUMBER.fullmatch(text.removeprefix("#")) or id_of_name(text) not in {None, text}
    return ItemName(text) if is_name else text


def _number(text: str) -> str:
    return text if text.startswith("#") else _item_name(text)


ItemId = Annotated[str, Field(max_length=80), AfterValidator(_item_name), TEXT]
ItemIds = Annotated[tuple[ItemId, ...], Field(max_length=50), TEXTS]
AnyId = Annotated[str, Field(max_length=80), AfterValidator(_number), TEXT]
"""The id of anything; `#12` is an entry of the ledger."""


def item_id(call: Call, name: str) -> str:
    """Return the id of an item by what it is called; an id without any look at the ledger, and what names none as it is."""
    item = call.core.items.named(name) if isinstance(_item_name(name), ItemName) else None
    return item.id if item else str(name)


def resolve(call: Call, values: dict[str, Any]) -> dict[str, Any]:
    """Put the ids of items in place of their other names."""
    return {name: _resolved(call, value) for name, value in values.items()}


def _resolved(call: Call, value: Any) -> Any:
    if isinstance(value, ItemName):
        return item_id(call, value)
    if isinstance(value, tuple):
        return tuple(_resolved(call, part) for part in cast("tuple[Any, ...]", value))
    return value


Word = Annotated[str, Field(max_length=100), TEXT]
Title = Annotated[str, Field(max_length=300), TEXT]
Name = Annotated[str, Field(min_length=1, max_length=300), TEXT]
Line = Annotated[str, Field(max_length=500), TEXT]
Summary = Annotated[str, Field(max_length=5_000), TEXT]
Report = Annotated[
    str, Field(min_length=1, max_length=5_000), AfterValidator(arguments.not_blank), TEXT
]
Body = arguments.Text
Text = arguments.Said
Cursor = Annotated[str, Field(max_length=500, description="From the page before, to read on"), TEXT]
Limit = Annotated[arguments.Limit, Field(description="Most entries a page, at most 100")]
Lines = Annotated[tuple[Line, ...], Field(max_length=50), TEXTS]
Words = Annotated[tuple[Word, ...], Field(max_length=50), TEXTS]
Ids = Annotated[tuple[Id, ...], Field(max_length=50), TEXTS]
Argv = Annotated[
    tuple[Annotated[str, Field(max_length=4_000)], ...], Field(min_length=1, max_length=200), TEXTS
]


def _check(argv: tuple[str, ...]) -> tuple[str, ...]:
    if fault := find_shell_word(argv):
        raise ValueError(fault)
    return argv


Argvs = Annotated[
    tuple[Annotated[Argv, AfterValidator(_check)], ...],
    Field(max_length=50),
    WithJsonSchema({"type": "array", "items": {"type": "array", "items": {"type": "string"}}}),
]
Token = Annotated[
    int,
    Field(ge=1, le=HIGHEST, description="The number that `start` answered; proves your claim"),
    INTEGER,
]
AnyToken = Annotated[
    Token | None, Field(description="The number that `start` answered; proves your claim")
]
Count = arguments.Count
Priority = Annotated[int, Field(ge=0, le=4), INTEGER]
Counts = Annotated[tuple[Count, ...], Field(max_length=200), _INTEGERS]

TITLE = 120
"""The most bytes of a title in a list."""
ENTRY = 2_000
"""The most bytes of one entry of a list of texts."""


def make_ready_filter(
    call: Call, *, root: str = "", label: str = "", kinds: tuple[Any, ...] = ()
) -> ReadyFilter:
    """Return what work the caller asks for; a profile limits it to its own."""
    profile = call.core.caller.actor.profile
    if kinds:
        return ReadyFilter(kinds=kinds, root=root, label=label, profile=profile)
    return ReadyFilter(root=root, label=label, profile=profile)


def refuse_nothing(call: Call, *items: str, **words: str) -> None:
    """Refuse what an empty list was narrowed to, if there is no such item or word: NotFound, InvalidInput."""
    for item in filter(None, items):
        call.core.items.get(item)
    refuse_unknown(call.core, **words)


def present_line(item: Item, budget: int = TITLE) -> dict[str, Json]:
    """Return an item as one entry of a list; `in_the_way` counts what holds it back."""
    return sparse(
        id=item.id,
        kind=item.kind,
        title=clip(item.title, budget),
        status=item.status,
        priority=item.priority,
        parent=item.parent,
        assignee=item.assignee,
        in_the_way=item.blockers or None,
    )


def present_offer(
    offer: ReadyItem, back: str = "", lacking: Lacking | None = None
) -> dict[str, Json]:
    """Return ready work, with why. back: why it was sent back. lacking: commands of its checks that nobody has allowed."""
    line = present_line(offer.item)
    del line["status"]
    return {
        **line,
        "why": [clip(reason, 200) for reason in offer.why[:5]],
        **sparse(sent_back=back, checks=unallowed_of(lacking)),
    }


def present_back(awaiting: Iterable[Awaiting], budget: int = 400, most: int = 5) -> dict[str, Json]:
    """Return what was sent back, what to mend first, labelled as data; empty if nothing was."""
    verdicts = [
        present_verdict(back.rejection, budget, most)
        | sparse(id=back.item.id, title=clip(back.item.title, TITLE), yours=back.is_mine or None)
        for back in awaiting
        if back.rejection is not None
    ]
    return {"note": DATA, "items": list[Json](verdicts[:most])} if verdicts else {}


def call_for_awaiting(awaiting: Awaiting) -> dict[str, Json] | None:
    """Return the call that brings an item on that waits for somebody; None if that is for others."""
    if awaiting.step == "review":
        return None
    first = sparse(first=why_back(awaiting))
    if awaiting.is_whole and not awaiting.item.is_workable:
        return next_call("submit", id=awaiting.item.id, summary="…") | first
    return next_call("next", claim=True, root=awaiting.item.root) | first


def while_working(facets: Facets, token: Json) -> dict[str, Json]:
    """Return the call that brings an item on whose claim the caller holds: its checks, then its end."""
    checks = [gate for gate in facets.gates if gate.kind == "check" and gate.status == "closed"]
    if checks:
        return next_call("verify", id=facets.item.id, token=token)
    return next_call("finish", id=facets.item.id, token=token, outcome="done", summary="…")


def present_claim(claim: Claim) -> dict[str, Json]:
    """Return a claim with the token that proves it."""
    return {"item": claim.item, "token": claim.token, "until": claim.leased_until}


def present_departure(departure: Departure | None) -> dict[str, Json] | None:
    """Return since when a holder is gone, and when others may take over what it holds; None if it is not known to be."""
    return {"since": departure.since, "free_at": departure.free_at} if departure else None


def present_header(facets: Facets) -> dict[str, Json]:
    """Return the small and certain facts of an item."""
    item, claim = facets.item, facets.claim
    is_held = claim is not None and claim.is_held
    return {
        **present_line(item, 400),
        **sparse(
            root=item.root if item.root != item.id else "",
            profile=item.profile,
            version=item.version,
            updated_at=item.updated_at,
            closed_at=item.closed_at,
            progress=facets.progress.by_category(),
            held_by=sparse(
                agent=claim.agent,
                session=claim.session,
                until=claim.leased_until,
                gone=present_departure(facets.departure),
            )
            if is_held and claim
            else None,
            sent_back=present_verdict(facets.rejection) if facets.rejection else None,
            ready=facets.readiness.is_offered,
            in_its_way=[clip(reason, 200) for reason in facets.readiness.reasons[:8]]
            if not facets.readiness.is_ready and not item.is_closed
            else None,
        ),
    }


def present_verdict(verdict: Verdict, budget: int = 400, most: int = 5) -> dict[str, Json]:
    """Return what sent something back, what to mend first."""
    return sparse(
        fix=[clip(fix, budget) for fix in verdict.fixes[:most]],
        rejected_by=clip(verdict.agent, TITLE),
        because=clip(verdict.reason, budget),
        verdict=verdict.id,
        independence="self" if verdict.independence == "self" else "",
    )


def present_facets(facets: Facets) -> dict[str, Json]:
    """Return what hangs on an item, by the name of each part."""
    return {
        "description": facets.item.body,
        "accept": [present_criterion(criterion) for criterion in facets.criteria],
        "gates": [present_gate(gate) for gate in facets.gates],
        "areas": [clip(area, ENTRY) for area in facets.areas],
        "after": [sparse(id=need.id, status=need.status) for need in facets.needs],
        "needed_by": list(facets.needed_by),
        "labels": [clip(label, ENTRY) for label in facets.labels],
        "names": [f"{scope}: {clip(name, ENTRY)}" for scope, name in facets.names.items()],
        "attributes": [
            {"name": name, "value": clip(json_text(value), ENTRY)}
            for name, value in facets.attributes.items()
        ],
    }


def present_contract(facets: Facets, budget: int) -> dict[str, Json]:
    """Return an item with all a worker must know, in so many bytes; `cut` names what is clipped."""
    header = present_header(facets)
    fields, unread = fit_parts(parts_of(facets), budget)
    return {**header, **fields, **sparse(cut=sorted(unread))}


def parts_of(facets: Facets) -> dict[str, Part]:
    """Return what hangs on an item as parts of an answer."""
    return {
        name: part_of_text(part) if isinstance(part, str) else part_of_list(part)
        for name, part in present_facets(facets).items()
    }


def present_criterion(criterion: Criterion) -> dict[str, Json]:
    """Return an acceptance sentence with its number."""
    return {"n": criterion.position, "text": clip(criterion.text, ENTRY), "met": criterion.met}


def present_gate(gate: Gate) -> dict[str, Json]:
    """Return a gate; a check with its command."""
    return sparse(
        name=clip(gate.name, TITLE),
        kind=gate.kind,
        status=gate.status,
        holds=gate.holds if gate.holds == "start" else "",
        command=clip(" ".join(gate.argv), ENTRY),
        proof=gate.proof,
        independence=gate.independence,
        reason=clip(gate.reason, 500),
    )


def present_record(record: Record, budget: int = 200) -> dict[str, Json]:
    """Return a record as one entry of a list; its text, clipped, where the title says less."""
    title = clip(record.title, TITLE)
    return sparse(
        id=record.id,
        kind=record.kind,
        item=record.item,
        title=title,
        text="" if record.body.strip() == record.title else clip(record.body, budget),
        status=record.status,
        agent=clip(record.agent, TITLE),
        at=record.created_at,
    )


def present_handoff(handoff: Handoff, budget: int) -> dict[str, Json]:
    """Return a handoff in so many bytes; `cut` names what is clipped."""
    header = sparse(
        id=handoff.id,
        action=handoff.action,
        session=handoff.session,
        agent=clip(handoff.agent, TITLE),
        item=handoff.item,
        at=handoff.created_at,
    )
    fields, unread = fit_parts(
        {name: _part(text) for name, text in present_handoff_texts(handoff).items()}, budget
    )
    return {**header, **fields, **sparse(cut=sorted(unread))}


def present_handoff_texts(handoff: Handoff) -> dict[str, Json]:
    """Return what a handoff says, by the name of each part."""
    return {
        "summary": handoff.summary,
        "next_steps": [clip(step, ENTRY) for step in handoff.next_steps],
        "blockers": [clip(blocker, ENTRY) for blocker in handoff.blockers],
        "context": handoff.context,
    }


def _part(content: Json) -> Part:
    return part_of_text(content) if isinstance(content, str) else part_of_list(content)


def present_receipt(receipt: Receipt, output: int = 0) -> dict[str, Json]:
    """Return a receipt; with the last bytes of the output if any are asked for."""
    return sparse(
        id=receipt.id,
        item=receipt.item,
        gate=clip(receipt.gate, TITLE),
        command=clip(" ".join(receipt.argv), 400),
        passed=receipt.exit_code == 0 and not receipt.timed_out,
        exit_code=receipt.exit_code,
        timed_out=receipt.timed_out or None,
        ended_for=receipt.ended_for,
        program=clip(receipt.program, 200),
        sandbox=receipt.sandbox,
        commit=receipt.commit,
        ended_at=receipt.ended_at,
        remarks=receipt.remarks,
        output_bytes=receipt.output_bytes,
        output_end=_end_of(receipt.output, output) if output else "",
    )


def _end_of(text: str, budget: int) -> str:
    """Return the last part of a text that fits, for a failure stands at the end."""
    backwards = clip(text[::-1], budget)
    return backwards[::-1]


def present_change(change: FileChange) -> dict[str, Json]:
    """Return one changed file."""
    return sparse(
        path=clip(change.path, 400),
        change=change.kind,
        was=clip(change.previous, 400),
        added=change.insertions,
        removed=change.deletions,
    )


def _lacking_of(call: Call, facets: Facets) -> Lacking | None:
    """Return which commands of the closed checks of an item would not be run; None without such checks."""
    commands = [
        gate.argv for gate in facets.gates if gate.kind == "check" and gate.status == "closed"
    ]
    return call.core.permitted.lacking(commands) if commands else None


def present_start(call: Call, started: Started, budget: int = 6_000) -> dict[str, Json]:
    """Return work that was begun: its contract, the token, and the tree it began from."""
    point = started.snapshot
    facets = call.core.overview.facets(started.item.id)
    return {
        "claim": present_claim(started.claim),
        **sparse(renewed=started.renewed or None, taken_over_from=started.taken_over_from),
        "item": present_contract(facets, budget),
        "start": sparse(method=point.method, commit=point.commit, branch=clip(point.branch, 200)),
        **sparse(
            warnings=[clip(warning, 300) for warning in started.warnings[:5]],
            checks=unallowed_of(_lacking_of(call, facets)),
        ),
        "next_call": while_working(facets, started.claim.token),
    }
