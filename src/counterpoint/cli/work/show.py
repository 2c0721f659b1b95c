"""The command that shows one thing by its id, with everything related to it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, cast

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.grouping import examples
from counterpoint.cli.local_time import (
    SECOND,
    local_time,
    local_time_with_zone,
    local_zone,
    localize,
    time_heading,
)
from counterpoint.cli.output import Output, one_line, terminal_columns, wrap_text
from counterpoint.cli.paging import pageable
from counterpoint.cli.present import (
    headline,
    key_of,
    lease,
    own_work,
    present,
    present_briefly,
    present_entry,
)
from counterpoint.cli.work.names import ANY, item_id
from counterpoint.cli.work.trees import tick, tree_below
from counterpoint.core.coordinator import Core
from counterpoint.core.ledger.entry import Entry
from counterpoint.core.model.answers import Facets
from counterpoint.core.model.catalogue import noun_of_id
from counterpoint.core.model.journal import (
    Changeset,
    Outcome,
    Receipt,
    Record,
    Submission,
    Verdict,
)
from counterpoint.core.model.rows import Noun, load_object
from counterpoint.core.model.runs import INPUT, MISSING, TOOL, EventFilter, Run, StreamEvent
from counterpoint.core.model.sessions import Session
from counterpoint.core.model.work import Gate, Item
from counterpoint.dialects.lacking import unallowed_lines
from counterpoint.dialects.nouns import NOUNS
from counterpoint.kernel.canonical import Json, dump_any, object_of
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import NotFound
from counterpoint.kernel.matching.expressions import expression

_ALL: Final = 1_000_000
_HANGING: Final = 20
_WIDEST: Final = 400
_DIGITS: Final = 16


@click.command(
    "show",
    epilog=examples(
        "counterpoint show 4", "counterpoint show harbour-v1", "counterpoint show '#12'"
    ),
)
@click.argument("id_", metavar="ID", type=ANY)
@click.option(
    "--all",
    "whole",
    is_flag=True,
    help="Show everything that was recorded about an item, or reported of a session.",
)
@pageable
@with_context
def show_command(context: CommandContext, *, id_: str, whole: bool) -> None:
    """Show an item, record or other thing by its id.

    ID names an item (by any of its names), record, receipt, submission, verdict, handoff or session. '#12' is
    the ledger entry with that number; ITEM@TOKEN shows how the claim with that token ended.
    """
    show(context, id_, whole=whole)


def show(context: CommandContext, id_: str, *, whole: bool) -> None:
    """Say all that belongs to one thing; NotFound."""
    noun = noun_of_id(id_, NOUNS)
    if id_.startswith("#"):
        _print_one(context.out, "entry", id_, present_entry(_entry_of(context.core, id_)))
        return
    item, _, token = id_.rpartition("@")
    ended_item = item_id(context.core, item) if item and _number(token) > 0 else ""
    if ended_item and (ended := context.core.overview.find(Outcome, ended_item, _number(token))):
        _print_one(context.out, "outcome", id_, present(ended))
        return
    if noun is None:
        _print_item(context, item_id(context.core, id_), whole=whole or context.out.json)
        return
    row = context.core.overview.find(noun, id_)
    if row is None:
        raise NotFound(f"there is no {noun.__name__.lower()} {id_!r}")
    changes = context.core.overview.find(Changeset, id_) if noun is Submission else None
    beside = {"changeset": present(changes)} if changes else {}
    run = context.core.overview.find(Run, id_) if noun is Session else None
    if run is not None and context.out.json:
        beside["calls"] = _calls(context.core, run, whole=whole)
    _print_one(context.out, noun.__name__.lower(), id_, present(row), beside)
    if run is not None and not context.out.json:
        _print_calls(context, run, whole=whole)


def _calls(core: Core, run: Run, *, whole: bool) -> dict[str, Json]:
    """Return what hooks reported of a session, the last of it or all."""
    events = [
        present(event) | {"payload": _payload(event)} for event in _events(core, run, whole=whole)
    ]
    return {"total": run.events, "events": [*events]}


def _events(core: Core, run: Run, *, whole: bool) -> Sequence[StreamEvent]:
    first = 0 if whole else max(0, run.events - _HANGING)
    return core.runs.events(EventFilter(run=run.id), _ALL, first).events


def _payload(event: StreamEvent) -> Json:
    return load_object(event.payload) or str(event.payload)


def _print_calls(context: CommandContext, run: Run, *, whole: bool) -> None:
    events = _events(context.core, run, whole=whole)
    more = len(events) < run.events
    lines = [_call(event) for event in events]
    after = [f"and before that: counterpoint show {run.id} --all"] if more else []
    _print_lines(
        context.out, time_heading(f"Calls that hooks reported, {run.events:,}"), lines + after
    )


def _call(event: StreamEvent) -> str:
    """Return a call of a tool in a line, or how many are missing."""
    payload = load_object(event.payload)
    if MISSING in payload:
        return f"#{event.number}  {dump_any(payload[MISSING])} missing, of {payload.get('of')}"
    cut = " (cut)" if event.is_cut else ""
    what = payload.get(INPUT, payload.get("unread", "" if payload else event.payload))
    words = what if isinstance(what, str) else dump_any(what)
    tool = payload.get(TOOL, payload.get("hook_event_name", ""))
    return f"#{event.number}  {local_time(event.time, SECOND)}  {tool}{cut}  {one_line(words, _WIDEST)}".rstrip()


def _entry_of(core: Core, name: str) -> Entry:
    sequence = _number(name[1:])
    if sequence < 0:
        raise NotFound(f"there is no entry {name[:60]!r}", hint="Entries count from #0.")
    return core.audit.entry(sequence)


def _number(digits: str) -> int:
    """Return a number that somebody typed; -1 for any other word."""
    is_one = digits.isascii() and digits.isdecimal() and len(digits) < _DIGITS
    return int(digits) if is_one else -1


def _print_one(
    out: Output,
    sort: str,
    id_: str,
    fields: dict[str, Json],
    beside: Mapping[str, dict[str, Json]] = MappingProxyType({}),
) -> None:
    if out.json:
        out.answer({"sort": sort, sort: fields, **beside})
        return
    times = any(_is_time(value) for part in (fields, *beside.values()) for value in part.values())
    out.line(f"{sort} {id_}{f', times in {local_zone()}' if times else ''}", style="bold")
    for part in (fields, *beside.values()):
        _print_fields(out, part)


_END: Final = ("summary", "achievements", "limitations", "warnings")
"""What is shown of the end of a whole; JSON has all of it."""
_UTC: Final = expression(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_NARROWEST: Final = 20
"""Columns that a value takes at least."""


def _is_time(value: Json) -> bool:
    return isinstance(value, str) and _UTC.fullmatch(value) is not None


def _print_fields(out: Output, fields: dict[str, Json]) -> None:
    wide = max(map(len, fields))
    for name, value in fields.items():
        text = value if isinstance(value, str) else _words(value)
        if _is_time(value):
            text = local_time(text, SECOND)
        if text and name != "id":
            lines = text.splitlines() or [""]
            if out.terminal:
                columns = max(terminal_columns() - wide - len("    "), _NARROWEST)
                lines = [
                    part for line in lines for part in wrap_text(line, columns, cuts_words=False)
                ]
            out.line(f"  {name:<{wide}}  {lines[0]}")
            for line in lines[1:]:
                out.line(f"  {'':<{wide}}  {line}")


def _words(value: Json) -> str:
    if isinstance(value, list):
        parts = cast("list[Json]", value)
        return "\n".join(part if isinstance(part, str) else dump_any(part) for part in parts)
    return dump_any(value) if value != {} else ""


def _print_item(context: CommandContext, id_: str, *, whole: bool) -> None:
    core, out = context.core, context.out
    facets = core.overview.facets(id_)
    tree = tree_below(core, facets.item)
    hanging = list(_hanging(core, id_, _ALL if whole else _HANGING + 1))
    if out.json:
        out.answer(_item(facets, tree, hanging))
        return
    item = facets.item
    lacking = None if item.is_closed else core.permitted.lacking_of([id_]).get(id_)
    out.line(f"{item.id}  {item.title}", style="bold")
    _print_fields(out, _facts(facets, context.app.clock.now()))
    if item.body:
        out.line()
        out.line(item.body)
    gates = [tick(gate.status != "closed", _gate(gate)) for gate in facets.gates]
    for title, lines in (
        ("Done when", [tick(c.met, c.text) for c in facets.criteria]),
        ("Gates", gates + unallowed_lines(lacking)),
        ("Below", [_branch(depth, child) for depth, child in tree]),
    ):
        _print_lines(out, title, lines)
    _print_end(out, _end_of(facets))
    for title, nouns in hanging:
        rows = nouns if whole else nouns[:_HANGING]
        more = [f"and more: counterpoint show {id_} --all"] if len(nouns) > len(rows) else []
        _print_lines(out, title, [line for noun in rows for line in _lines(noun)] + more)


def _end_of(facets: Facets) -> dict[str, Json]:
    """Return what was said of a whole as it ended; of a task its outcomes say it."""
    outcome = object_of(facets.attributes.get("outcome"))
    return {
        **{name: part for name, part in outcome.items() if name != "words"},
        **object_of(outcome.get("words")),
    }


def _print_end(out: Output, end: dict[str, Json]) -> None:
    fields = {name: end[name] for name in _END if end.get(name)}
    if fields:
        out.line()
        out.line("Outcome", style="bold")
        _print_fields(out, fields)


def _hanging(core: Core, id_: str, limit: int) -> Iterator[tuple[str, Sequence[Noun]]]:
    """Return the lists of what was written about an item, those that have something, the latest first."""
    overview = core.overview
    outcomes: Sequence[Outcome] = overview.outcomes(id_)[::-1][:limit][::-1]
    lists: tuple[tuple[str, Sequence[Noun]], ...] = (
        ("Records", overview.rows(Record, item=id_, latest=True, limit=limit)),
        ("Outcomes", outcomes),
        ("Receipts", overview.rows(Receipt, item=id_, latest=True, limit=limit)),
        ("Submissions", overview.rows(Submission, item=id_, latest=True, limit=limit)),
        ("Verdicts", overview.rows(Verdict, item=id_, latest=True, limit=limit)),
    )
    yield from (group for group in lists if group[1])


def _facts(facets: Facets, now: Timestamp) -> dict[str, Json]:
    item, claim = facets.item, facets.claim
    holding = (
        f"{claim.agent} ({claim.session}), {lease(claim, now, facets.departure)}" if claim else ""
    )
    return {
        "kind": item.kind,
        "status": item.status,
        "priority": str(item.priority),
        "parent": item.parent,
        "labels": ", ".join(facets.labels),
        "areas": ", ".join(facets.areas),
        "assignee": item.assignee,
        "profile": item.profile,
        "after": [f"{need.id} ({need.status}) {need.title}" for need in facets.needs],
        "needed by": ", ".join(facets.needed_by),
        "claim": holding if claim and claim.is_held else "",
        "ready": "yes" if facets.readiness.is_offered else "no",
        "why": [localize(reason) for reason in facets.readiness.reasons],
        "changed": local_time_with_zone(item.updated_at),
    }


def _gate(gate: Gate) -> str:
    """Return a gate in words; a check with its command."""
    # A gate that is closed sounds as if it were done with.
    stands = "not met yet" if gate.status == "closed" else gate.status
    stands += own_work(gate)
    stage = "before it may begin" if gate.holds == "start" else ""
    words = " ".join(word for word in (f"{gate.name} ({gate.kind})", stands, stage) if word)
    return f"{words}: {one_line(shlex.join(gate.argv))}" if gate.argv else words


def _branch(depth: int, item: Item) -> str:
    done = tick(item.category == "done", f"{item.id}  {one_line(item.title)}")
    return f"{'  ' * (depth - 1)}{done}  ({item.status})"


def _lines(noun: Noun) -> list[str]:
    fixes = noun.fixes if isinstance(noun, Verdict) else ()
    remarks = noun.remarks if isinstance(noun, Receipt) else ()
    below = [f"  to mend: {one_line(fix, _WIDEST)}" for fix in fixes]
    return [_entry(noun), *below, *(f"  {remark}" for remark in remarks)]


def _entry(noun: Noun) -> str:
    match noun:
        case Record():
            return f"{noun.id}  {noun.kind}: {headline(noun)}"
        case Outcome():
            return f"#{noun.token}  {noun.outcome} by {noun.agent}: {headline(noun)}"
        case Receipt():
            why = f" ({noun.ended_for})" if noun.ended_for else ""
            return f"{noun.id}  exit {noun.exit_code}{why}: {one_line(' '.join(noun.argv))}"
        case Verdict():
            return f"{noun.id}  {noun.decision} by {noun.agent}{own_work(noun)}: {headline(noun)}"
        case _:
            return f"{key_of(noun)}  {headline(noun)}"


def _print_lines(out: Output, title: str, lines: list[str]) -> None:
    if lines:
        out.line()
        out.line(title, style="bold")
        for line in lines:
            out.line(f"  {line}")


def _item(
    facets: Facets, tree: Sequence[tuple[int, Item]], hanging: list[tuple[str, Sequence[Noun]]]
) -> Json:
    groups = {title.lower(): [present(noun) for noun in nouns] for title, nouns in hanging}
    return {
        "sort": "item",
        "item": present(facets.item),
        "labels": list(facets.labels),
        "after": [present_briefly(need) for need in facets.needs],
        "needed_by": list(facets.needed_by),
        "areas": list(facets.areas),
        "accept": [present(criterion) for criterion in facets.criteria],
        "gates": [present(gate) for gate in facets.gates],
        "claim": present(facets.claim) if facets.claim else None,
        "readiness": {
            "is_ready": facets.readiness.is_offered,
            "reasons": list(facets.readiness.reasons),
        },
        "outcome": _end_of(facets) or None,
        "below": [{**present_briefly(child), "depth": depth} for depth, child in tree],
        **{
            name: groups.get(name, [])
            for name in ("records", "outcomes", "receipts", "submissions", "verdicts")
        },
    }
