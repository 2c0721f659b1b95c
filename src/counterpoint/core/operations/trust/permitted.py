"""Which commands of checks nobody has let be run: only looked at, and never run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from counterpoint.core.model.trust.checking import Lacking
from counterpoint.core.model.work import Gate, Item
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.unallowed import (
    find_unallowed,
    find_unallowed_checks,
    why_elsewhere,
)

_LOOKED_AT: Final = 1_000
"""Checks that are looked at for commands that nobody has let be run."""


class Permitted(Verbs):
    """Verbs for which commands may be run, asked before anybody needs them."""

    def lacking(self, commands: Iterable[Sequence[str]]) -> Lacking:
        """Return which commands would not be run now, and why; nothing is raised."""
        with self._context.reading() as view:
            return find_unallowed(self._context, view, commands)

    def lacking_of(self, items: Collection[str]) -> Mapping[str, Lacking]:
        """Return which commands of the closed checks of some items would not be run, by item; none for an item without any."""
        with self._context.reading() as view:
            return find_unallowed_checks(self._context, view, items)

    def lacking_now(self) -> Lacking:
        """Return the same of the commands that open checks of open items ask for, each with the first such item."""
        with self._context.reading() as view:
            if why := why_elsewhere(self._context, view):
                return Lacking(why=why)
            gates = view.select(Gate, kind="check", status="closed", limit=_LOOKED_AT)
            unallowed = find_unallowed(self._context, view, (gate.argv for gate in gates))
            lacks = {*unallowed.commands}
            items: dict[tuple[str, ...], str] = {}
            for gate in gates:
                if (
                    gate.argv in lacks
                    and gate.argv not in items
                    and _is_open(view.find(Item, gate.item))
                ):
                    items[gate.argv] = gate.item
        return replace(unallowed, commands=tuple(items), items=tuple(items.values()))


def _is_open(item: Item | None) -> bool:
    return item is not None and item.category not in {"done", "dropped"}
