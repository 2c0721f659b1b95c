"""Looking at work: the state of the project, lists, what is ready, search."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Final, get_args

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.output import Output, one_line
from counterpoint.cli.present import (
    agree,
    ahead_in_words,
    counted,
    headline,
    key_of,
    lease,
    present,
    present_briefly,
    span,
)
from counterpoint.cli.trust.caller import said, shown
from counterpoint.cli.trust.enrolling import recoveries
from counterpoint.core.coordinator import Core
from counterpoint.core.model.answers import Awaiting, ReadyItem, State
from counterpoint.core.model.filters import ItemFilter, ReadyFilter
from counterpoint.core.model.trust.heads import Unsigned
from counterpoint.core.model.work import Item, Kind
from counterpoint.dialects.lacking import said_of_lacking
from counterpoint.dialects.next_step import why_back
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp

_CATEGORIES: Final = ("open", "active", "review", "done", "dropped")
_LIMITS: Final = click.IntRange(1, 1000)
_REFRESH: Final = 2.0


@click.command("status")
@click.option("--watch", is_flag=True, help="Show it again and again, until Ctrl-C.")
@with_context
def status_command(context: CommandContext, *, watch: bool) -> None:
    """Show the state of the project: counts, who is at what, what is in the way."""
    if not watch:
        _print_status(context)
        return
    if context.out.json or not context.out.terminal:
        raise click.UsageError("--watch needs a terminal; `log --follow` works everywhere.")
    while True:
        click.clear()
        _print_status(context)
        time.sleep(_REFRESH)


def _print_status(context: CommandContext) -> None:
    core = context.core
    state, awaiting = core.overview.state(), core.awaiting.list()
    unsigned = core.signing.unsigned()
    facets = [core.overview.facets(root.id) for root in state.roots]
    progress = {one.item.id: one.progress.by_category() for one in facets}
    if context.out.json:
        context.out.answer(
            {
                **_state(state, progress, unsigned),
                "awaiting": [
                    {
                        "item": present_briefly(one.item),
                        "step": one.step,
                        "rejection": present(one.rejection) if one.rejection else None,
                    }
                    for one in awaiting
                ],
                "you": shown(context.app, core),
                "recovered": [*recoveries(core)],
                "checks": said_of_lacking(core.gates.lacking_now()),
            }
        )
        return
    out = context.out
    age = f", the last {span(state.now, state.last_entry_at)} ago" if state.last_entry_at else ""
    out.line(f"{state.project.title}: {counted(state.ledger_size, 'entry')} in the ledger{age}")
    if state.ahead:
        out.line(f"Clock: {ahead_in_words(state.ahead)}", style="yellow")
    out.line(f"Reviews: {state.project.reviews}")
    out.line(f"You: {said(context.app, core)}")
    for warning in _warnings(core):
        out.line(warning, style="yellow")
    if unsigned.broken:
        out.line(f"Broken: {unsigned.why}; run `counterpoint audit verify`.", style="red")
    elif unsigned.waiting or unsigned.why:
        out.aside(_waiting(unsigned, state))
    counts = [
        (kind, *(str(found.get(category, 0)) for category in _CATEGORIES))
        for kind, found in state.counts.items()
    ]
    _section(out, "Work", ("kind", *_CATEGORIES), counts, "There is no work yet.")
    roots = [
        (root.id, root.kind, root.status, _share(progress[root.id]), one_line(root.title))
        for root in state.roots
    ]
    _section(out, "At the top", ("id", "kind", "status", "done", "title"), roots)
    live = [
        (one.item.id, one.claim.agent, lease(one.claim, state.now), one_line(one.item.title))
        for one in state.live
    ]
    _section(out, "Held now", ("id", "by", "lease", "title"), live, "Nobody holds anything.")
    blockers = [(one.id, one.item, one.agent, headline(one)) for one in state.blockers]
    _section(out, "Blockers", ("id", "item", "by", "what"), blockers)
    _section(
        out,
        "Waiting for somebody",
        ("id", "for what", "title"),
        [(one.item.id, _for_what(one), one_line(one.item.title)) for one in awaiting],
    )


def _warnings(core: Core) -> Iterator[str]:
    """Return what a person should look after, of keys and of commands."""
    yield from (f"Keys: {key}" for key in recoveries(core))
    if lacks := said_of_lacking(core.gates.lacking_now()):
        yield f"Checks: {lacks}"


def _for_what(found: Awaiting) -> str:
    if found.step == "mend":
        return f"its repair, {one_line(why_back(found, 200), 200)}"
    if found.step == "review":
        return "a review"
    return "an agent that submits it, or your `counterpoint approve`"


def _waiting(unsigned: Unsigned, state: State) -> str:
    age = f", for {span(Timestamp(unsigned.since), state.now)}" if unsigned.since else ""
    why = f": {unsigned.why}" if unsigned.why else ""
    return f"{agree(unsigned.waiting, 'entry', 'waits')} for a signature{age}{why}"


def _section(
    out: Output,
    title: str,
    headings: tuple[str, ...],
    rows: list[tuple[str, ...]],
    nothing: str = "",
) -> None:
    if rows or nothing:
        out.line()
        out.line(title, style="bold")
        if rows:
            out.table(headings, rows)
        else:
            out.line(nothing)


def _share(progress: dict[str, int]) -> str:
    total = sum(progress.values())
    return f"{progress.get('done', 0)}/{total}" if total else "-"


def _state(state: State, progress: dict[str, dict[str, int]], unsigned: Unsigned) -> Json:
    return {
        "project": present(state.project) | {"id": state.project.project},
        "counts": state.counts,
        "roots": [{**present_briefly(root), "progress": progress[root.id]} for root in state.roots],
        "live": [
            {
                "claim": present(one.claim),
                "item": present_briefly(one.item),
                "lease": lease(one.claim, state.now),
            }
            for one in state.live
        ],
        "blockers": [present(one) for one in state.blockers],
        "in_review": [present_briefly(one) for one in state.in_review],
        "ledger": {
            "size": state.ledger_size,
            "last_entry_at": state.last_entry_at,
            "ahead": asdict(state.ahead) if state.ahead else None,
            "signed": unsigned.signed,
            "waiting_since": unsigned.since,
            "not_signed_because": unsigned.why,
            "broken": unsigned.broken,
        },
        "now": state.now,
    }


@click.command("list")
@click.option("--status", default="", metavar="STATE", help="Only items in this state.")
@click.option("--category", type=click.Choice(_CATEGORIES), help="Only items of this category.")
@click.option("--kind", type=click.Choice(get_args(Kind)), help="Only items of this kind.")
@click.option("--label", default="", metavar="WORD", help="Only items with this label.")
@click.option("--parent", default="", metavar="ID", help="Only items directly below this one.")
@click.option("--root", default="", metavar="ID", help="Only items of this tree.")
@click.option("--assignee", default="", metavar="NAME", help="Only items of this assignee.")
@click.option("--ready", is_flag=True, help="Only what can be taken up now; as `next` shows it.")
@click.option("--limit", type=_LIMITS, default=50, show_default=True)
@click.option("--cursor", default="", metavar="ID", help="Go on after this item.")
@with_context
def list_command(
    context: CommandContext,
    *,
    status: str,
    category: str | None,
    kind: str | None,
    label: str,
    parent: str,
    root: str,
    assignee: str,
    ready: bool,
    limit: int,
    cursor: str,
) -> None:
    """List items by number, or by readiness."""
    if ready:
        if status or category or kind or parent or assignee:
            raise click.UsageError("--ready goes with --label, --root, --limit and --cursor only.")
        _print_offers(context, ReadyFilter(label=label, root=root), limit, cursor)
        return
    chosen = ItemFilter(
        status=status,
        category=category or "",
        kind=kind or "",
        label=label,
        parent=parent,
        root=root,
        assignee=assignee,
    )
    after = context.core.items.get(cursor).number if cursor else 0
    found = context.core.items.list(chosen, after, limit + 1)
    items, more = found[:limit], len(found) > limit
    context.out.rows(
        {"items": [present_briefly(item) for item in items], "cursor": _cursor(items, more)},
        ("id", "kind", "status", "priority", "title"),
        [(i.id, i.kind, i.status, f"{i.priority}", _title(i)) for i in items],
        nothing="There are no such items.",
    )
    _print_more(context.out, items, more)


def _title(item: Item) -> str:
    return f"{one_line(item.title)} [waits]" if _waits(item) else one_line(item.title)


def _waits(item: Item) -> bool:
    return item.category == "open" and item.blockers > 0


def _cursor(items: list[Item], more: bool) -> str | None:
    return items[-1].id if more else None


def _print_more(out: Output, items: list[Item], more: bool) -> None:
    if more and not out.json:
        out.aside(f"There is more: add `--cursor {items[-1].id}`.")


@click.command("next")
@click.option("--label", default="", metavar="WORD", help="Only items with this label.")
@click.option("--root", default="", metavar="ID", help="Only items of this tree.")
@click.option("--profile", default="", metavar="NAME", help="Only what this role may take.")
@click.option("--limit", type=_LIMITS, default=10, show_default=True)
@click.option("--cursor", default="", metavar="ID", help="Go on after this item.")
@with_context
def next_command(
    context: CommandContext, *, label: str, root: str, profile: str, limit: int, cursor: str
) -> None:
    """Show what can be taken up now, the first thing first, and why."""
    _print_offers(context, ReadyFilter(label=label, root=root, profile=profile), limit, cursor)


def _print_offers(context: CommandContext, wanted: ReadyFilter, limit: int, cursor: str) -> None:
    last = context.core.items.get(cursor) if cursor else None
    after = (last.priority, last.number) if last else None
    found = context.core.ready.offers(wanted, limit + 1, after)
    offers, more = found[:limit], len(found) > limit
    items = [offer.item for offer in offers]
    context.out.rows(
        {"ready": [_offer(o) for o in offers], "cursor": _cursor(items, more)},
        ("id", "priority", "title", "why"),
        [
            (o.item.id, f"{o.item.priority}", one_line(o.item.title), "; ".join(o.why))
            for o in offers
        ],
        nothing="Nothing is ready. `counterpoint list --category open` shows what waits.",
    )
    _print_more(context.out, items, more)


def _offer(offer: ReadyItem) -> dict[str, Json]:
    return {"item": present_briefly(offer.item), "why": list(offer.why), "unblocks": offer.unblocks}


@click.command("find")
@click.argument("words", nargs=-1, required=True)
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only this kind; repeatable.")
@click.option("--item", default="", metavar="ID", help="Only what hangs on this item.")
@click.option("--limit", type=_LIMITS, default=20, show_default=True)
@with_context
def find_command(
    context: CommandContext,
    *,
    words: tuple[str, ...],
    kinds: tuple[str, ...],
    item: str,
    limit: int,
) -> None:
    """Find items, records, outcomes, handoffs and verdicts by their words, best first."""
    found = context.core.overview.search(" ".join(words), kinds=kinds, item=item, limit=limit)
    answer = [
        {
            "id": key_of(one.row),
            "kind": one.kind,
            "item": one.item,
            "score": one.score,
            "row": present(one.row),
        }
        for one in found
    ]
    context.out.rows(
        {"found": answer},
        ("id", "kind", "item", "what"),
        [(key_of(one.row), one.kind, one.item, headline(one.row)) for one in found],
        nothing="Nothing has these words.",
    )
