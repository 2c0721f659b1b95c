"""Verdicts that sent work back: what an item waits for until it is handed in anew."""

from __future__ import annotations

from collections.abc import Iterable

from counterpoint.core.model.journal import Submission, Verdict
from counterpoint.core.model.work import Item
from counterpoint.core.ports.store import Query, Reading
from counterpoint.core.rules.trust.callers import rejection_of
from counterpoint.kernel.acts import Act
from counterpoint.kernel.errors import Conflict


def rejections(view: Reading, items: Iterable[Item]) -> dict[str, Verdict]:
    """Return the verdict that sent each item back, of those that were and are not handed in anew."""
    some = {item.id: item for item in items}
    verdicts = [row for query in verdict_queries(some.values()) for row in query.rows(view)]
    last = {verdict.item: verdict for verdict in verdicts}
    rejected = tuple(name for name, verdict in last.items() if verdict.decision == "reject")
    if not rejected:
        return {}
    rows = view.select(Submission, item=rejected, order="number")
    handed = {row.item: row for row in rows}
    rejected_by = {
        name: rejection_of(some[name], last[name], handed.get(name)) for name in rejected
    }
    return {name: verdict for name, verdict in rejected_by.items() if verdict is not None}


def verdict_queries(items: Iterable[Item]) -> list[Query[Verdict]]:
    """Return what asks for the verdicts on those of some items that may have been sent back."""
    ids = tuple(dict.fromkeys(item.id for item in items if item.category in {"open", "active"}))
    return [Query(Verdict, {"item": ids}, "number")] if ids else []


def rejected_before(item: str, commit: str) -> Conflict:
    """Return the refusal to hand in the very state of an item that was rejected."""
    return Conflict(
        f"{item} was rejected at the commit {commit[:12]}, and nothing has changed since",
        hint=f"{Act.SAY_WHY}.",
    )
