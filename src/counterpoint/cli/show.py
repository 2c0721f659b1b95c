"""The command that shows one thing by its id, with all that hangs on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, cast

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.output import Output, one_line
from counterpoint.cli.present import headline, key_of, lease, present, present_briefly
from counterpoint.core.coordinator import Core
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
from counterpoint.core.model.rows import Noun
from counterpoint.core.model.work import Item
from counterpoint.dialects.nouns import NOUNS
from counterpoint.kernel.canonical import Json, dump_any
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import NotFound

_DEPTH: Final = 4
_SIBLINGS: Final = 100
_HANGING: Final = 20


@click.command("show")
@click.argument("id_", metavar="ID")
@with_context
def show_command(context: CommandContext, *, id_: str) -> None:
    """Show an item, record, receipt, submission, verdict, handoff or session by its id."""
    noun = noun_of_id(id_, NOUNS)
    if noun is None:
        _print_item(context, id_)
        return
    found = context.core.overview.find(noun, id_)
    if found is None:
        raise NotFound(f"there is no {noun.__name__.lower()} {id_!r}")
    sort, fields = noun.__name__.lower(), present(found)
    changes = context.core.overview.find(Changeset, id_) if noun is Submission else None
    if context.out.json:
        beside = {"changeset": present(changes)} if changes else {}
        context.out.answer({"sort": sort, sort: fields, **beside})
        return
    context.out.line(f"{sort} {id_}", style="bold")
    _print_fields(context.out, fields)
    if changes is not None:
        _print_fields(context.out, present(changes))


def _print_fields(out: Output, fields: dict[str, Json]) -> None:
    wide = max(map(len, fields))
    for name, value in fields.items():
        text = value if isinstance(value, str) else _words(value)
        if text and name != "id":
            lines = text.splitlines() or [""]
            out.line(f"  {name:<{wide}}  {lines[0]}")
            for line in lines[1:]:
                out.line(f"  {'':<{wide}}  {line}")


def _words(value: Json) -> str:
    if isinstance(value, list):
        parts = cast("list[Json]", value)
        return "\n".join(part if isinstance(part, str) else dump_any(part) for part in parts)
    return dump_any(value) if value != {} else ""


def _print_item(context: CommandContext, id_: str) -> None:
    core, out = context.core, context.out
    facets = core.overview.facets(id_)
    tree = list(_below(core, facets.item, 1))
    hanging = list(_hanging(core, id_))
    if out.json:
        out.answer(_item(facets, tree, hanging))
        return
    item = facets.item
    out.line(f"{item.id}  {item.title}", style="bold")
    _print_fields(out, _facts(facets, context.app.clock.now()))
    if item.body:
        out.line()
        out.line(item.body)
    for title, lines in (
        ("Done when", [_tick(c.met, c.text) for c in facets.criteria]),
        (
            "Gates",
            [_tick(g.status != "closed", f"{g.name} ({g.kind}) {g.status}") for g in facets.gates],
        ),
        ("Below", [_branch(depth, child) for depth, child in tree]),
        *((title, [_entry(noun) for noun in nouns]) for title, nouns in hanging),
    ):
        _print_lines(out, title, lines)


def _below(core: Core, item: Item, depth: int) -> Iterator[tuple[int, Item]]:
    """Return the tree below an item, each with its depth, down to a few floors."""
    if depth > _DEPTH:
        return
    for child in core.overview.children(item.id, limit=_SIBLINGS):
        yield depth, child
        yield from _below(core, child, depth + 1)


def _hanging(core: Core, id_: str) -> Iterator[tuple[str, Sequence[Noun]]]:
    """Return the lists of what was written about an item, those that have something."""
    overview = core.overview
    outcomes: Sequence[Outcome] = overview.outcomes(id_)[-_HANGING:]
    lists: tuple[tuple[str, Sequence[Noun]], ...] = (
        ("Records", overview.rows(Record, item=id_, latest=True, limit=_HANGING)),
        ("Outcomes", outcomes),
        ("Receipts", overview.rows(Receipt, item=id_, latest=True, limit=_HANGING)),
        ("Submissions", overview.rows(Submission, item=id_, latest=True, limit=_HANGING)),
        ("Verdicts", overview.rows(Verdict, item=id_, latest=True, limit=_HANGING)),
    )
    yield from (found for found in lists if found[1])


def _facts(facets: Facets, now: Timestamp) -> dict[str, Json]:
    item, claim = facets.item, facets.claim
    held = f"{claim.agent} ({claim.session}), {lease(claim, now)}" if claim else ""
    return {
        "kind": item.kind,
        "status": item.status,
        "priority": str(item.priority),
        "parent": item.parent,
        "labels": ", ".join(facets.labels),
        "areas": ", ".join(facets.areas),
        "assignee": item.assignee,
        "profile": item.profile,
        "after": [f"{one.id} ({one.status}) {one.title}" for one in facets.needs],
        "needed by": ", ".join(facets.needed_by),
        "claim": held if claim and claim.is_held else "",
        "ready": "yes" if facets.readiness.is_ready else "no",
        "why": list(facets.readiness.reasons),
        "changed": item.updated_at,
    }


def _tick(is_met: bool, text: str) -> str:
    return f"[{'x' if is_met else ' '}] {text}"


def _branch(depth: int, item: Item) -> str:
    done = _tick(item.category == "done", f"{item.id}  {one_line(item.title)}")
    return f"{'  ' * (depth - 1)}{done}  ({item.status})"


def _entry(noun: Noun) -> str:
    match noun:
        case Record():
            return f"{noun.id}  {noun.kind}: {headline(noun)}"
        case Outcome():
            return f"#{noun.token}  {noun.outcome} by {noun.agent}: {headline(noun)}"
        case Receipt():
            return f"{noun.id}  exit {noun.exit_code}: {one_line(' '.join(noun.argv))}"
        case Verdict():
            return f"{noun.id}  {noun.decision} by {noun.agent}: {headline(noun)}"
        case _:
            return f"{key_of(noun)}  {headline(noun)}"


def _print_lines(out: Output, title: str, lines: list[str]) -> None:
    if lines:
        out.line()
        out.line(title, style="bold")
        for line in lines:
            out.line(f"  {line}")


def _item(
    facets: Facets, tree: list[tuple[int, Item]], hanging: list[tuple[str, Sequence[Noun]]]
) -> Json:
    found = {title.lower(): [present(noun) for noun in nouns] for title, nouns in hanging}
    return {
        "sort": "item",
        "item": present(facets.item),
        "labels": list(facets.labels),
        "after": [present_briefly(one) for one in facets.needs],
        "needed_by": list(facets.needed_by),
        "areas": list(facets.areas),
        "accept": [present(one) for one in facets.criteria],
        "gates": [present(one) for one in facets.gates],
        "claim": present(facets.claim) if facets.claim else None,
        "readiness": {
            "is_ready": facets.readiness.is_ready,
            "reasons": list(facets.readiness.reasons),
        },
        "below": [{**present_briefly(child), "depth": depth} for depth, child in tree],
        **{
            name: found.get(name, [])
            for name in ("records", "outcomes", "receipts", "submissions", "verdicts")
        },
    }
