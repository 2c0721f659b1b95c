"""Verbs that tell which work waits for a submission, a verdict or a repair."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any, Final, get_args

from counterpoint.core.model.access import Token
from counterpoint.core.model.answers import Awaiting, Step
from counterpoint.core.model.identity import Connection, Contribution, Succession
from counterpoint.core.model.journal import Verdict
from counterpoint.core.model.lifecycles import UNCLOSED
from counterpoint.core.model.work import WORKABLE, Gate, GateKind, Item, Kind
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.rejections import rejections, verdict_queries
from counterpoint.core.ports.store import Filter, Query, Reading
from counterpoint.core.rules.claims import is_declared, principal_id_of
from counterpoint.core.rules.identity import may_be_one
from counterpoint.core.rules.trust.callers import step_of

_PARTS: Final[tuple[Kind, ...]] = tuple(kind for kind in get_args(Kind) if kind not in WORKABLE)
_LOOKED_AT: Final = 50
"""How many parts that were begun, items in review and verdicts are looked at: it takes as long in any project."""


_IN_WORK: Final[Mapping[str, Filter]] = {"kind": _PARTS, "category": "active", "blockers": 0}
_BEGUN: Final = Query(Item, _IN_WORK, "priority,number", limit=_LOOKED_AT)
IN_REVIEW: Final = Query(Item, {"category": "review"}, "number", limit=_LOOKED_AT)
_JUDGED: Final = Query(Verdict, {}, "number desc", limit=_LOOKED_AT)
AWAITED: Final[tuple[Query[Any], ...]] = _BEGUN, IN_REVIEW, _JUDGED
"""What is asked to list what waits."""


class AwaitedWork(Verbs):
    """Verbs that tell what waits for somebody at its end."""

    def above(self, item: Item) -> Awaiting | None:
        """Return what the item waits for, or if it has ended the first above it that has not."""
        with self._context.reading() as view:
            part: Item | None = item
            while part is not None and part.is_closed:
                part = view.find(Item, part.parent) if part.parent else None
            return next(iter(self._told(view, {part.id: part})), None) if part else None

    def untold(self, items: Collection[str]) -> frozenset[str]:
        """Return which of some items only a person who signs can judge, of those that the caller had no part in.

        Nothing attests whoever worked there, or what started one of the two has ended, so that both may be one.
        """
        if not items:
            return frozenset()
        own = self._context.caller.connection
        with self._context.reading() as view:
            parts = view.select(Contribution, item=tuple(items), how="worked")
            workers = {part.principal for part in parts}
            connections = view.select(Connection, id=tuple(workers)) if workers and own else []
        doubtful = {worker.id for worker in connections if own and may_be_one(own, worker)}
        return frozenset(
            part.item for part in parts if is_declared(part.principal) or part.principal in doubtful
        )

    def renewals(self) -> list[Token]:
        """Return the tokens and credentials that end within a week, or have ended within the last, the first to end first."""
        now = self._context.ports.clock.now()
        with self._context.reading() as view:
            tokens = [token for token in view.select(Token, revoked_at="") if token.is_ending(now)]
        return sorted(tokens, key=lambda token: (token.expires_at, token.id))

    def _told(self, view: Reading, items: Mapping[str, Item]) -> list[Awaiting]:
        """Return what each of some items waits for, as many looks as for one."""
        if not items:
            return []
        ids = tuple(items)
        closed: dict[str, list[GateKind]] = defaultdict(list)
        gates = Query(Gate, {"item": ids, "holds": "finish", "status": "closed"})
        view.fetch((gates, *verdict_queries(items.values())))
        for gate in gates.rows(view):
            closed[gate.item].append(gate.kind)
        below = view.counts(Item, "parent", parent=ids, category=UNCLOSED)
        back = rejections(view, items.values())
        steps: dict[str, Step | None] = {
            item.id: step_of(
                item, closed[item.id], back.get(item.id), is_whole=item.id not in below
            )
            for item in items.values()
        }
        waiting: dict[str, Step] = {name: step for name, step in steps.items() if step is not None}
        own_items = self._mine(view, tuple(waiting)) if waiting else set[str]()
        return [
            Awaiting(
                item=items[name],
                step=step,
                rejection=back.get(name),
                is_whole=name not in below,
                is_mine=name in own_items,
            )
            for name, step in waiting.items()
        ]

    def _mine(self, view: Reading, items: tuple[str, ...]) -> set[str]:
        """Return in which items the caller, or who he was before, has a part."""
        principals: set[str] = set()
        waiting = {principal_id_of(self._context.caller.actor)}
        while waiting:
            principals |= waiting
            rows = view.select(Succession, principal=tuple(waiting))
            waiting = {row.former for row in rows} - principals
        parts = view.select(Contribution, item=items, principal=tuple(principals), how="worked")
        return {part.item for part in parts}

    def approvals(self) -> list[Item]:
        """Return what may not begin until somebody approves it, and is not closed; the oldest first."""
        with self._context.reading() as view:
            gates = view.select(
                Gate, holds="start", kind="review", status="closed", limit=_LOOKED_AT
            )
            ids = tuple({gate.item for gate in gates})
            return view.select(Item, id=ids, category="open", order="number") if ids else []

    def list(self) -> list[Awaiting]:
        """Return what waits: first what was sent back, then what is to be handed in, then what is to be judged."""
        with self._context.reading() as view:
            view.fetch(AWAITED)
            begun, handed, judged = _BEGUN.rows(view), IN_REVIEW.rows(view), _JUDGED.rows(view)
            back = tuple({verdict.item for verdict in judged if verdict.decision == "reject"})
            sent = view.select(Item, id=back, category=("open", "active")) if back else []
            waiting = self._told(view, {item.id: item for item in (*sent, *begun, *handed)})
        order_of = {"mend": 0, "submit": 1, "review": 2}
        return sorted(
            waiting,
            key=lambda waiting_item: (order_of[waiting_item.step], waiting_item.item.number),
        )
