"""What pages read that no other face asks for: columns of cards, and what a judge looks at."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from counterpoint.core.model.answers import Obstacle, Progress
from counterpoint.core.model.journal import Outcome, Receipt, Record, Submission, Verdict
from counterpoint.core.model.lifecycles import UNCLOSED, Category
from counterpoint.core.model.presence import Departure
from counterpoint.core.model.rows import N
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Item, Label
from counterpoint.core.operations.readiness import obstacles
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.holders import Holders
from counterpoint.core.ports.store import Filter
from counterpoint.core.queries.overview import ItemReader
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.frozen import frozen

CARDS: Final = 24
"""How many items a column shows."""
_ORDERS: Final[dict[Category, str]] = {"done": "number desc", "dropped": "number desc"}
_HANGING: Final = 40


@frozen
class Card:
    """An item on the board, with what a glance at it tells.

    obstacles: what is in its way, for one that is open. claim, departure: who holds it, and that the holder is gone.
    """

    item: Item
    labels: tuple[str, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()
    claim: Claim | None = None
    departure: Departure | None = None


@frozen
class Column:
    """The first items of a category, and how many it has in all."""

    category: Category
    cards: tuple[Card, ...]
    total: int


@frozen
class Attachments:
    """What hangs on an item that a judge looks at, the latest first."""

    outcomes: tuple[Outcome, ...]
    receipts: tuple[Receipt, ...]
    submissions: tuple[Submission, ...]
    verdicts: tuple[Verdict, ...]
    records: tuple[Record, ...]


class BoardReads:
    """Reads of the pages, each from one look at the store."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @property
    def now(self) -> Timestamp:
        """The time of the ledger."""
        return self._context.ports.clock.now()

    def columns(self, limits: Mapping[Category, int], where: Mapping[str, Filter]) -> list[Column]:
        """Return the columns of the board, of so many cards each; where: only items like these."""
        if where.get("id") == ():
            return [Column(category=category, cards=(), total=0) for category in limits]
        with self._context.reading() as view:
            totals = view.counts(Item, "category", **where)
            items = {
                category: view.select(
                    Item,
                    category=category,
                    order=_ORDERS.get(category, "priority,number"),
                    after=(),
                    limit=limit,
                    **where,
                )
                if totals.get(category)
                else []
                for category, limit in limits.items()
            }
            cards = self._cards([item for column in items.values() for item in column])
            return [
                Column(
                    category=category,
                    cards=tuple(cards[item.id] for item in items[category]),
                    total=totals.get(category, 0),
                )
                for category in limits
            ]

    def cards(self, items: Sequence[Item]) -> list[Card]:
        """Return items as cards."""
        return [*self._cards(items).values()]

    def _cards(self, items: Sequence[Item]) -> dict[str, Card]:
        ids = tuple(item.id for item in items)
        if not ids:
            return {}
        with self._context.reading() as view:
            labels: dict[str, list[str]] = defaultdict(list)
            for label in view.select(Label, item=ids):
                labels[label.item].append(label.name)
            active = tuple(item.id for item in items if item.category == "active")
            claims = view.select(Claim, item=active, state="live") if active else []
            holders = Holders(view, self._context)
            holders.load(claims)
            claims_by_item = {claim.item: claim for claim in claims}
            return {
                item.id: Card(
                    item=item,
                    labels=tuple(labels[item.id]),
                    obstacles=tuple(obstacles(view, item)) if item.category == "open" else (),
                    claim=(claim := claims_by_item.get(item.id)),
                    departure=holders.departure(claim),
                )
                for item in items
            }

    def attachments(self, item: str) -> Attachments:
        """Return what was handed in, measured, judged and written down of an item."""
        with self._context.reading() as view:

            def latest(noun: type[N]) -> tuple[N, ...]:
                return tuple(view.select(noun, item=item, order="number desc", limit=_HANGING))

            return Attachments(
                outcomes=tuple(view.select(Outcome, item=item, order="token desc", limit=_HANGING)),
                receipts=latest(Receipt),
                submissions=latest(Submission),
                verdicts=latest(Verdict),
                records=latest(Record),
            )

    def phases(self, limit: int = _HANGING) -> list[tuple[Item, Progress]]:
        """Return the phases that are not closed, else the roots, each with how what is below it stands."""
        with self._context.reading() as view:
            reader = ItemReader(view)
            wholes = view.select(
                Item, kind=("phase", "plan"), category=UNCLOSED, order="number", limit=limit
            )
            return [(whole, reader.progress(whole.id)) for whole in wholes]

    def needed(self, ids: Sequence[str]) -> list[Item]:
        """Return the items of some ids that are there."""
        with self._context.reading() as view:
            return view.select(Item, id=tuple(ids)) if ids else []


def share_done(progress: Progress) -> tuple[int, int]:
    """Return how many parts of a whole are done or dropped, and how many there are."""
    counts = Counter(progress.by_category())
    return counts["done"] + counts["dropped"], progress.total
