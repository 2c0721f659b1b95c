"""Which commands of checks nobody has let be run: only looked at, and never run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from counterpoint.core.model.trust.checking import Lacking
from counterpoint.core.model.work import Gate, Item, Project
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.trust.commands import is_listed, is_trusted
from counterpoint.kernel.errors import MalformedDocument

_LOOKED_AT: Final = 1_000
"""Checks that are looked at for commands that nobody has let be run."""


class Permitted:
    """Verbs for which commands may be run, asked before anybody needs them."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def lacking(self, commands: Iterable[Sequence[str]]) -> Lacking:
        """Return which commands would not be run now, and why; nothing is raised."""
        with self._context.reading() as view:
            return self._lacking(view, commands)

    def _lacking(self, view: Reading, commands: Iterable[Sequence[str]]) -> Lacking:
        ports = self._context.ports
        wanted = tuple(dict.fromkeys(tuple(argv) for argv in commands))
        if ports.checking is None:
            return Lacking()
        try:
            said = ports.checking()
        except MalformedDocument as fault:
            return Lacking(commands=wanted, why=fault.message)
        found = view.find(Project)
        trusted, path = (found.trusted, found.search_path) if found else ("", "")
        if not is_trusted(said, trusted, path):
            return Lacking(commands=wanted, why="counterpoint.toml is not what was trusted last")
        if said.free:
            return Lacking()
        return Lacking(commands=tuple(argv for argv in wanted if not is_listed(said, argv)))

    def lacking_now(self) -> Lacking:
        """Return the same of the commands that open checks of open items ask for."""
        with self._context.reading() as view:
            gates = view.select(Gate, kind="check", status="closed", limit=_LOOKED_AT)
            found = self._lacking(view, (gate.argv for gate in gates))
            lacks = {*found.commands}
            open_ = {
                gate.argv: None
                for gate in gates
                if gate.argv in lacks and _is_open(view.find(Item, gate.item))
            }
        return replace(found, commands=tuple(open_))


def _is_open(item: Item | None) -> bool:
    return item is not None and item.category not in {"done", "dropped"}
