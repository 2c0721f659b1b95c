"""Lists of work: what there is, what can be taken up now, what has some words."""

from __future__ import annotations

from typing import Final, get_args

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.output import Output, one_line
from counterpoint.cli.present import headline, key_of, present, present_briefly
from counterpoint.core.model.answers import ReadyItem
from counterpoint.core.model.filters import ItemFilter, ReadyFilter
from counterpoint.core.model.work import Item, Kind
from counterpoint.kernel.canonical import Json

_CATEGORIES: Final = ("open", "active", "review", "done", "dropped")
_LIMITS: Final = click.IntRange(1, 1000)


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
    """List items."""
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
    """Show what can be started now, most urgent first, and why."""
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
    """Search items, records, outcomes, handoffs and verdicts.

    What has most of the words, or means nearly the same, comes first.
    """
    context.core.embedding.keep_up()
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
