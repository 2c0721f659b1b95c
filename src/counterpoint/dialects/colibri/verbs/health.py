"""How a project stands: what `doctor` would ask, in the time of one call."""

from __future__ import annotations

from typing import Final

from counterpoint.core.model.sessions import Session
from counterpoint.core.operations.recording.context import Context
from counterpoint.dialects.colibri.nouns import Action, Condition
from counterpoint.dialects.colibri.skill_files import SkillDirectory

_LOOKED_THROUGH: Final = 20_000
"""Entries up to which the whole file is looked through; a longer one is left to `doctor`."""


class Health:
    """Verbs for the condition of a project."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def look(self) -> Condition:
        """Return how the project stands."""
        ports = self._context.ports
        me = ports.host.name
        with self._context.reading() as view:
            size = view.head().size
            entered = view.counts(Action, "step")
            crashed = len(view.select(Action, outcome="crashed", code=me, order="number"))
            unsealed = view.counts(Session, "status", purpose="audit", status=("active", "paused"))
            tables = len(view.tables)
        faults = ports.store.faults() if size <= _LOOKED_THROUGH else []
        return Condition(
            entries=size,
            tables=tables,
            running=entered.get("enter", 0) - entered.get("exit", 0),
            crashed=crashed,
            unsealed=sum(unsealed.values()),
            skipped=tuple(one.source for one in ports.get(SkillDirectory).look().skipped),
            free_bytes=ports.host.free_bytes(),
            faults=tuple(faults),
        )
