"""What there is of work: how it stands, lists of it, what can be taken up now."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Final, get_args

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.grouping import examples
from counterpoint.cli.local_time import localize
from counterpoint.cli.output import Output, one_line
from counterpoint.cli.paging import pageable
from counterpoint.cli.present import (
    NO_WORK,
    closed_in_words,
    headline,
    key_of,
    lease,
    nothing_open,
    present,
    present_briefly,
)
from counterpoint.cli.work.asking import named_filter, searchable_kinds, tree_top
from counterpoint.cli.work.names import ASSIGNEE, ITEM, LABEL, STATUS
from counterpoint.cli.work.status import show_state, waiting_mark
from counterpoint.core.coordinator import Core
from counterpoint.core.model.answers import ReadyItem
from counterpoint.core.model.filters import ItemFilter, ReadyFilter
from counterpoint.core.model.lifecycles import UNCLOSED
from counterpoint.core.model.trust.checking import Lacking
from counterpoint.core.model.work import Item, Kind
from counterpoint.dialects.lacking import lines_of, unallowed_of
from counterpoint.dialects.unknown_words import refuse_unknown, unknown
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import SystemClock

_CATEGORIES: Final = ("open", "active", "review", "done", "dropped")
_HEADINGS: Final = ("id", "kind", "status", "priority", "title")
_REFRESH: Final = 2.0
"""Seconds between two looks."""
_LIMITS: Final = click.IntRange(1, 1000)
_LOOKED_AT: Final = 50
"""Open items that are looked at where nothing is ready."""
_WAITING: Final = 5
"""How many of them are shown with what is in their way."""


@click.command("status", epilog=examples("counterpoint status", "counterpoint status --json"))
@click.option("--long", "is_long", is_flag=True, help="Also who you are, and all counts.")
@click.option("--watch", is_flag=True, help="Refresh it until Ctrl-C.")
@with_context
def status_command(context: CommandContext, *, is_long: bool, watch: bool) -> None:
    """Show how the project stands, and what waits for you."""
    if not watch:
        show_state(context, is_long=is_long)
        return
    if context.out.json or not context.out.terminal:
        raise click.UsageError("--watch needs a terminal; `log --follow` works everywhere.")
    while True:
        click.clear()
        show_state(context, is_long=is_long)
        time.sleep(_REFRESH)


@click.command(
    "list",
    epilog=examples(
        "counterpoint list",
        "counterpoint list --category active",
        "counterpoint list --parent 3 --label docs",
        "counterpoint list --ready --json",
    ),
)
@click.option(
    "--status", default="", metavar="STATE", type=STATUS, help="Only items in this state."
)
@click.option("--category", type=click.Choice(_CATEGORIES), help="Only items of this category.")
@click.option("--kind", type=click.Choice(get_args(Kind)), help="Only items of this kind.")
@click.option("--label", default="", metavar="WORD", type=LABEL, help="Only items with this label.")
@click.option(
    "--parent", default="", metavar="ID", type=ITEM, help="Only items directly below this one."
)
@click.option("--root", default="", metavar="ID", type=ITEM, help="Only items of this tree.")
@click.option(
    "--assignee", default="", metavar="NAME", type=ASSIGNEE, help="Only items of this assignee."
)
@click.option("--ready", is_flag=True, help="Only items that can be started now, as in `next`.")
@click.option("--all", "with_closed", is_flag=True, help="Also what is done or dropped.")
@click.option("--limit", type=_LIMITS, default=50, show_default=True, help="How many at most.")
@click.option("--cursor", default="", metavar="ID", help="Continue after this item.")
@pageable
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
    with_closed: bool,
    limit: int,
    cursor: str,
) -> None:
    """List items.

    Open work comes as a tree, with a filter as a plain list. With --json it is a plain list by number, of closed
    items too.
    """
    if ready:
        if status or category or kind or parent or assignee:
            raise click.UsageError("--ready goes with --label, --root, --limit and --cursor only.")
        ready_filter = ReadyFilter(label=label, root=tree_top(context.core, root))
        _print_offers(context, ready_filter, limit, cursor, in_order=True)
        return
    core = context.core
    chosen = ItemFilter(
        status=status,
        category=category or "",
        kind=kind or "",
        label=label,
        parent=named_filter(core, parent, "--parent"),
        root=tree_top(core, root),
        assignee=assignee,
    )
    is_narrowed = chosen != ItemFilter()
    if not context.out.json and chosen == ItemFilter(root=chosen.root):
        _print_tree(context, chosen.root, limit, cursor, with_closed=with_closed)
        return
    if not (context.out.json or with_closed or status or category):
        chosen = replace(chosen, category=UNCLOSED)
    after = core.items.get(cursor).number if cursor else 0
    page = core.overview.items(chosen, after, limit + 1)
    items, more = page[:limit], len(page) > limit
    if not items:
        refuse_unknown(core, option="--", status=status, label=label, assignee=assignee)
    context.out.rows(
        {"items": [present_briefly(item) for item in items], "cursor": _cursor(items, more)},
        _HEADINGS,
        [_line(item) for item in items],
        nothing="There are no such items." if is_narrowed else NO_WORK,
    )
    _print_more(context.out, items, more)


def _print_tree(
    context: CommandContext, root: str, limit: int, cursor: str, *, with_closed: bool
) -> None:
    """Print open work, or all of it, in the order of its trees; say what is left out."""
    core, out = context.core, context.out
    after = core.items.get(cursor).id if cursor else ""
    page = core.overview.tree(
        () if with_closed else UNCLOSED, root=root, after=after, limit=limit + 1
    )
    lines, more = page[:limit], len(page) > limit
    if lines:
        out.table(_HEADINGS, [_line(item, depth) for depth, item in lines])
    elif not after:
        out.line(nothing_open(core.overview.counts()))
    _print_more(out, [item for _, item in lines], more)
    closed = closed_in_words(core.overview.counts(root))
    if closed and not with_closed and lines and not more:
        out.aside(f"{closed} left out: add `--all`.")


def _line(item: Item, depth: int = 0) -> tuple[str, ...]:
    """Return the cells of an item: its title further right the deeper it stands."""
    return item.id, item.kind, item.status, f"{item.priority}", f"{'  ' * depth}{_title(item)}"


def _title(item: Item) -> str:
    return f"{one_line(item.title)}{waiting_mark(item)}"


def _cursor(items: list[Item], more: bool) -> str | None:
    return items[-1].id if more else None


def _print_more(out: Output, items: list[Item], more: bool) -> None:
    if more and not out.json:
        out.aside(f"There is more: add `--cursor {items[-1].id}`.")


@click.command("next", epilog=examples("counterpoint next", "counterpoint next --root 1 --limit 3"))
@click.option("--label", default="", metavar="WORD", type=LABEL, help="Only items with this label.")
@click.option("--root", default="", metavar="ID", type=ITEM, help="Only items of this tree.")
@click.option("--profile", default="", metavar="NAME", help="Only items that this role may take.")
@click.option("--limit", type=_LIMITS, default=10, show_default=True, help="How many at most.")
@click.option("--cursor", default="", metavar="ID", help="Continue after this item.")
@with_context
def next_command(
    context: CommandContext, *, label: str, root: str, profile: str, limit: int, cursor: str
) -> None:
    """Show what can be started now, most urgent first, and why."""
    ready_filter = ReadyFilter(label=label, root=tree_top(context.core, root), profile=profile)
    _print_offers(context, ready_filter, limit, cursor)


def _print_offers(
    context: CommandContext,
    ready_filter: ReadyFilter,
    limit: int,
    cursor: str,
    *,
    in_order: bool = False,
) -> None:
    last = context.core.items.get(cursor) if cursor else None
    after = (last.priority, last.number) if last else None
    rows = context.core.ready.offers(ready_filter, limit + 1, after, in_order=in_order)
    offers, more = rows[:limit], len(rows) > limit
    core, out = context.core, context.out
    items = [offer.item for offer in offers]
    live_items = core.overview.held_anywhere()
    lacking = core.permitted.lacking_of([item.id for item in items])
    waiting = [] if items else [*_waiting_items(core, ready_filter.root)]
    if not items:
        refuse_unknown(core, option="--", label=ready_filter.label)
    if live_items and not out.json:
        now = SystemClock().now()
        out.line("You hold", style="bold")
        out.table(
            ("id", "lease", "title"),
            [
                (live.item.id, lease(live.claim, now), one_line(live.item.title))
                for live in live_items
            ],
        )
        out.line()
    out.rows(
        {
            "ready": [_offer(offer, lacking.get(offer.item.id)) for offer in offers],
            "cursor": _cursor(items, more),
            "held": [present(live.claim) for live in live_items],
            "waiting": [
                {"item": present_briefly(item), "why": list(reasons)} for item, reasons in waiting
            ],
        },
        ("id", "priority", "title", "why"),
        [
            (o.item.id, f"{o.item.priority}", one_line(o.item.title), localize("; ".join(o.why)))
            for o in offers
        ],
        nothing=_nothing(core),
    )
    if not out.json:
        for name, lacks in lacking.items():
            out.aside(f"{name}: {unallowed_of(lacks)}", style="yellow")
        if waiting:
            out.table(
                ("id", "title", "why"),
                [
                    (waiting_item.id, one_line(waiting_item.title), localize("; ".join(reasons)))
                    for waiting_item, reasons in waiting
                ],
            )
    _print_more(out, items, more)


def _waiting_items(core: Core, root: str) -> Iterator[tuple[Item, tuple[str, ...]]]:
    """Return the first open tasks that cannot be started, each with what is in its way."""
    page = core.overview.items(ItemFilter(category="open", root=root), 0, _LOOKED_AT)
    for item in [item for item in page if item.is_workable][:_WAITING]:
        yield item, core.ready.judge(item).reasons


def _nothing(core: Core) -> str:
    """Return what to do where nothing is ready."""
    counts = core.overview.counts()
    if not any(
        sum(counts.get(kind, {}).get(category, 0) for category in UNCLOSED) for kind in counts
    ):
        return nothing_open(counts)
    return "Nothing is ready. What waits is listed by `counterpoint list --category open`."


def _offer(offer: ReadyItem, lacking: Lacking | None) -> dict[str, Json]:
    return {
        "item": present_briefly(offer.item),
        "why": list(offer.why),
        "unblocks": offer.unblocks,
        "not_allowed": lines_of(lacking),
    }


@click.command(
    "find", epilog=examples("counterpoint find parser", "counterpoint find date --kind decision")
)
@click.argument("words", nargs=-1, required=True)
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only this kind; repeatable.")
@click.option("--item", default="", metavar="ID", type=ITEM, help="Only results about this item.")
@click.option("--limit", type=_LIMITS, default=20, show_default=True, help="How many at most.")
@pageable
@with_context
def find_command(
    context: CommandContext,
    *,
    words: tuple[str, ...],
    kinds: tuple[str, ...],
    item: str,
    limit: int,
) -> None:
    """Search items, records, outcomes, handoffs and verdicts.

    The best matches come first, by words and by meaning.
    """
    core = context.core
    about = named_filter(core, item, "--item")
    if wrong := [kind for kind in kinds if kind not in searchable_kinds()]:
        raise unknown("--kind", wrong[0], searchable_kinds())
    core.embedding.keep_up()
    hits = core.overview.search(" ".join(words), kinds=kinds, item=about, limit=limit)
    answer = [
        {
            "id": key_of(hit.row),
            "kind": hit.kind,
            "item": hit.item,
            "score": hit.score,
            "row": present(hit.row),
        }
        for hit in hits
    ]
    context.out.rows(
        {"found": answer},
        ("id", "kind", "item", "what"),
        [(key_of(hit.row), hit.kind, hit.item, headline(hit.row)) for hit in hits],
        nothing="Nothing has these words.",
    )
