"""The board: columns by category, in lanes by phase, agent or label.

1. `lanes=phase|agent|label` makes a lane of each; without it there is one. `below=ID` leaves out what is not directly below an item.
2. `open=48` (or another category) shows so many cards of that column; `from=12` begins with that lane.
3. An agent's lane has what it holds and what is assigned to it: what nobody has stands on the board without lanes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

from counterpoint.board.forms import read_number
from counterpoint.board.pages import CATEGORIES, Answer
from counterpoint.board.reads import CARDS, BoardReads, Column
from counterpoint.core.model.lifecycles import Category
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Item, Label
from counterpoint.core.ports.store import Filter
from counterpoint.kernel.frozen import frozen

LANES: Final = 12
LANE_CARDS: Final = 6
MAX_CARDS: Final = 240
MAX_LANE_ITEMS: Final = 1_000
"""Items of an agent or a label that its lane is made of, the latest."""
LANE_TITLES: Final = {"phase": "by phase", "agent": "by agent", "label": "by label"}


@frozen
class Lane:
    """The columns of a phase, an agent or a label. key: its id, or the word; item: the phase. more: by category the address of more cards."""

    key: str
    columns: tuple[Column, ...]
    more: Mapping[str, str]
    item: Item | None = None


class LaneReads(BoardReads):
    """What lanes are made of, each with the filter of its items."""

    def find_phases(self, whole: str) -> list[tuple[str, Item | None, dict[str, Filter]]]:
        """Return the phases below an item, or all that are not closed."""
        if not whole:
            phases = [part for part, _ in self.phases() if part.kind == "phase"]
        else:
            with self._context.reading() as view:
                phases = view.select(Item, parent=whole, kind="phase", order="position,number")
        return [(phase.id, phase, {"parent": phase.id}) for phase in phases]

    def find_agents(self) -> list[tuple[str, Item | None, dict[str, Filter]]]:
        """Return who holds something or has something assigned."""
        ids: dict[str, list[str]] = defaultdict(list)
        with self._context.reading() as view:
            for claim in view.select(Claim, state="live", order="item", limit=MAX_LANE_ITEMS):
                ids[claim.agent or claim.session].append(claim.item)
            for name in filter(None, view.counts(Item, "assignee")):
                assigned = view.select(
                    Item, assignee=name, order="number desc", limit=MAX_LANE_ITEMS
                )
                ids[name] += [item.id for item in assigned if item.id not in ids[name]]
        return [(name, None, {"id": tuple(ids[name])}) for name in sorted(ids)]

    def find_labels(self) -> list[tuple[str, Item | None, dict[str, Filter]]]:
        """Return the labels, that of most items first."""
        with self._context.reading() as view:
            counts = view.counts(Label, "name")
            names = sorted(counts, key=lambda name: (-counts[name], name))
            rows = {
                name: view.select(Label, name=name, order="item desc", limit=MAX_LANE_ITEMS)
                for name in names[: 10 * LANES]
            }
        return [(name, None, {"id": tuple(row.item for row in rows[name])}) for name in rows]


def read_board(answer: Answer) -> dict[str, Any]:
    """Return the columns of each lane; of one whole, if the query names it."""
    query, reads = answer.query, answer.core.use(LaneReads)
    parent, by = query.get("below", ""), query.get("lanes", "")
    whole = answer.core.items.named(parent) if parent else None
    below: dict[str, Filter] = {"parent": whole.id} if whole else {}
    rows: Sequence[tuple[str, Item | None, dict[str, Filter]]] = [("", None, {})]
    if by == "phase":
        rows, below = reads.find_phases(whole.id if whole else ""), {}
    elif by in LANE_TITLES:
        rows = reads.find_agents() if by == "agent" else reads.find_labels()
    first = _number(query.get("from", ""), 0)
    shown_rows = rows[first : first + LANES]
    usual = LANE_CARDS if by in LANE_TITLES else CARDS
    limits: dict[Category, int] = {
        name: _number(query.get(name, ""), usual, MAX_CARDS) for name in CATEGORIES
    }
    columns = [reads.columns(limits, {**where, **below}) for _, _, where in shown_rows]
    return {
        "lanes": [
            Lane(key=key, item=item, columns=tuple(lane), more=_addresses_of_more(query, lane))
            for (key, item, _), lane in zip(shown_rows, columns, strict=True)
        ],
        "by": by if by in LANE_TITLES else "",
        "lane_titles": LANE_TITLES,
        "whole": whole,
        "phases": [part for part, _ in reads.phases()],
        "following": _address(query, **{"from": first + LANES}) if rows[first + LANES :] else "",
        "before": _address(query, **{"from": max(0, first - LANES)}) if first else "",
        "query": urlencode(query),
        "seen": answer.state.ledger_size,
    }


def _number(text: str, usual: int, most: int = 10**6) -> int:
    number = read_number(text)
    return usual if number is None else min(number, most)


def _addresses_of_more(query: Mapping[str, str], columns: Sequence[Column]) -> dict[str, str]:
    return {
        column.category: _address(query, **{column.category: len(column.cards) + CARDS})
        for column in columns
        if len(column.cards) < min(column.total, MAX_CARDS)
    }


def _address(query: Mapping[str, str], **changes: int) -> str:
    return f"/board?{urlencode({**query, **changes})}"
