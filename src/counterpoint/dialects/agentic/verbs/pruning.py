"""Pruning: removes the texts of plans archived long ago; the ledger stays whole.

Rule 1: only a plan that was archived before a day is pruned, and only by a person. Rule 2: every text
that any entry gave to the plan, its phases, tasks, records and values is taken away, unless something
else refers to it too. Rule 3: rows and commitments stay, so every proof holds; the
entry of a redaction tells what went. Rule 4: the plan's slug is free again, its values are dropped, and
what was open in it is cancelled. Rule 5: that is decided where the texts go: a plan in which anybody wrote since it was looked at
is left as it is, and the next run looks again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, cast

from counterpoint.core.ledger.entry import load_fields
from counterpoint.core.model.journal import StateEntry
from counterpoint.core.model.trust.erasures import Erasure
from counterpoint.core.model.work import Alias, Attribute, Item, Label
from counterpoint.core.operations.recording.authority import refuse_agent
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.facets import attribute_object, relabel
from counterpoint.core.operations.recording.moves import move
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.operations.trust.erasing import Erasures
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.agentic.nouns import ARCHIVED, PRUNED, RETENTION_DAYS, SLUG, Pruned
from counterpoint.kernel import canonical
from counterpoint.kernel.clock import Timestamp, later
from counterpoint.kernel.errors import StaleVersion

_DAY: Final = 86_400


class Pruning(Verbs):
    """Operations on plans that were archived long ago."""

    def look(self, days: int = RETENTION_DAYS) -> list[Pruned]:
        """Return the plans that were archived more than so many days ago, and their texts; by age."""
        with self._context.reading() as view:
            return [plan for plan, _ in _doomed(view, later(self._now(), -days * _DAY))]

    def prune(self, days: int = RETENTION_DAYS) -> list[Pruned]:
        """Take the texts of these plans away, and begin a receipt for each. Forbidden to agents."""
        with recording(self._context, "plans.counted") as change:
            refuse_agent(change, "take texts away", "Ask a person: `counterpoint plans prune`")
        pruned: list[Pruned] = []
        with self._context.reading() as view:
            doomed = _doomed(view, later(self._now(), -days * _DAY))
            size = view.head().size
            parts = {plan.item.id: view.select(Item, root=plan.item.id) for plan, _ in doomed}
        for plan, digests in doomed:
            check = partial(
                _refuse_written, since=size, items=[part.id for part in parts[plan.item.id]]
            )
            path, reason = f"items/{plan.item.id}", "its plan was pruned"
            try:
                erased = Erasures(self._context).of_texts(digests, path, reason, check)
            except StaleVersion:
                continue
            pruned.append(replace(plan, receipt=erased.receipt))
            with recording(self._context, "plan.pruned", plan.item.id) as change:
                # Who took it up again in between has it, without its texts.
                if change.find(Label, plan.item.id, ARCHIVED) is not None:
                    _drop(change, plan)
        return pruned

    def receipts_begun(self) -> list[str]:
        """Return the receipts of pruned plans that were never ended: whoever pruned was cut off, or refused by the disk."""
        with self._context.reading() as view:
            begun = view.select(Erasure, status="begun", order="number")
            pruned = {f"items/{label.item}" for label in view.select(Label, name=PRUNED)}
        return [receipt.id for receipt in begun if receipt.place in pruned]

    def _now(self) -> Timestamp:
        return self._context.ports.clock.now()


def _refuse_written(view: Reading, *, since: int, items: Collection[str]) -> None:
    """Pass if no entry from a place on says anything of a plan, its phases or tasks; StaleVersion."""
    names = [canonical.dump(item) for item in items]
    if any(name in data for data in view.entries(since) for name in names):
        raise StaleVersion("somebody wrote in the plan meanwhile")


def _drop(change: Change, plan: Pruned) -> None:
    item = change.get(Item, plan.item.id)
    names = {alias.name for alias in change.select(Alias, item=item.id) if alias.scope == SLUG}
    for name in names:
        change.drop(change.get(Alias, SLUG, name))
    for value in change.select(StateEntry, scope=item.id):
        change.drop(value)
    for part in change.select(Item, root=item.id):
        for attribute in change.select(Attribute, item=part.id):
            change.drop(attribute)
    relabel(change, item.id, add=(PRUNED,))
    if not item.is_closed:
        move(change, item, "cancelled")
    change.add_facts(slug=plan.slug, texts=plan.texts)


def _doomed(view: Reading, before: Timestamp) -> list[tuple[Pruned, tuple[str, ...]]]:
    """Return the plans that were archived before a moment, each with the texts that go with it."""
    pruned: list[Pruned] = []
    for label in view.select(Label, name=ARCHIVED):
        plan = view.find(Item, label.item)
        at = str(attribute_object(view, label.item, ARCHIVED).get("at", ""))
        gone = view.find(Label, label.item, PRUNED)
        if plan is not None and plan.kind == "plan" and gone is None and at and at < before:
            slugs = [a.name for a in view.select(Alias, item=plan.id) if a.scope == SLUG]
            slug = slugs[0] if slugs else plan.id
            pruned.append(Pruned(item=plan, slug=slug, archived_at=Timestamp(at), texts=0))
    pruned.sort(key=lambda plan: plan.archived_at)
    texts = _texts_of(view, pruned) if pruned else {}
    return [(replace(plan, texts=len(texts[plan.item.id])), texts[plan.item.id]) for plan in pruned]


def _texts_of(view: Reading, plans: list[Pruned]) -> dict[str, tuple[str, ...]]:
    """Return the digests that only these plans were ever given and that are still there, by plan."""
    parts = {
        item.id: plan.item.id for plan in plans for item in view.select(Item, root=plan.item.id)
    }
    sorter = _Sorter(parts, {plan.item.id: {} for plan in plans})
    for data in view.entries():
        if b'"$text"' in data:
            sorter.read(load_fields(data))
    return {
        plan: tuple(
            digest
            for digest in digests
            if digest not in sorter.others and view.text(digest) is not None
        )
        for plan, digests in sorter.digests_by_plan.items()
    }


@dataclass(slots=True)
class _Sorter:
    """Tells the texts of some plans from those of everything else, entry by entry.

    parts: item → its plan. digests_by_plan: in order of entry. others: digests that other rows have. owners: other rows that are a plan's.
    """

    parts: Mapping[str, str]
    digests_by_plan: dict[str, dict[str, None]]
    others: set[str] = field(default_factory=set[str])
    owners: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])

    def read(self, entry: Mapping[str, Any]) -> None:
        """Sort the texts of one more entry."""
        for row in entry.get("r", ()):
            values = cast("dict[str, Any]", row.get("v") or row.get("c") or {})
            plan = self._owner(row["t"], row["k"], values)
            for digest in _digests(values):
                if plan:
                    self.digests_by_plan[plan].setdefault(digest)
                else:
                    self.others.add(digest)

    def _owner(self, table: str, key: Mapping[str, Any], values: Mapping[str, Any]) -> str:
        """Return the plan that a row belongs to; empty if it is none of these."""
        name = str(key.get("id", ""))
        if table == "items":
            return self.parts.get(name, "")
        if table == "state":
            return self.parts.get(str(key["scope"]), "")
        if table == "briefs":
            return ""
        plan = self.parts.get(str(key.get("item", values.get("item", ""))), "")
        if plan and name:
            self.owners[table, name] = plan
        return plan or self.owners.get((table, name), "")


def _digests(values: Mapping[str, Any]) -> Iterator[str]:
    for value in values.values():
        if isinstance(value, dict) and "$text" in value:
            yield cast("dict[str, str]", value)["$text"]
