"""The order of tools: what a session has called, and whether a call may come now."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from counterpoint.core.model.rows import load_object
from counterpoint.core.model.sessions import Session
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.dialects.agentic.rules import precedence
from counterpoint.dialects.agentic.rules.precedence import CallHistory, ToolOrder
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import OutOfOrder

Exists = Callable[[str, str], bool]
"""(kind of thing, id) → whether there is one."""

_TOOL = "tool "


class Precedence(Verbs):
    """Verbs for what has to come first; without a table they ask nothing and count nothing."""

    def check(
        self, tool: str, arguments: Mapping[str, Json], exists: Exists, *, session: str = ""
    ) -> None:
        """Refuse a call of a tool that comes too early; OutOfOrder with what is missing.

        exists: answers whether there is a thing, in the words of whoever wrote the table.
        session: the one that is asked about; the caller's own if empty.
        """
        table = self._context.ports.get(ToolOrder).table
        requirements = table.get(tool, ())
        if not requirements:
            return
        session_id = session or self._context.caller.actor.session
        called = self.called(session_id)
        state, keys = self._standing(session_id)
        filled = {name for name, value in arguments.items() if value not in (None, "")}
        seen = CallHistory(
            called=called, state=state, context=frozenset(keys | filled), exists=exists
        )
        missing = precedence.find_unmet(requirements, seen, arguments)
        if missing:
            order = precedence.suggested_order(tool, missing, table, called)
            descriptions = [precedence.describe(requirement) for requirement in missing]
            needs = "; ".join(
                f"{requirement.kind} {' or '.join(requirement.names)}" for requirement in missing
            )
            raise OutOfOrder(
                f"{tool} needs something else first: {needs}",
                missing=descriptions,
                suggested_order=order,
            )

    def note(self, tool: str, *, session: str = "") -> None:
        """Remember that a session has called a tool, and was answered."""
        if not self._context.ports.get(ToolOrder).table:
            return
        session_id = session or self._context.caller.actor.session
        with self._context.reading() as view:
            count = view.meter(session_id, _TOOL + tool)
        if not count:
            ports = self._context.ports
            with ports.store.writing(self._context.project) as writing:
                writing.use(session_id, _TOOL + tool, 1)

    def called(self, session: str) -> frozenset[str]:
        """Return the tools that a session has called since there is a table."""
        with self._context.reading() as view:
            measures = view.measures(session)
        return frozenset(name.removeprefix(_TOOL) for name in measures if name.startswith(_TOOL))

    def _standing(self, session: str) -> tuple[str, set[str]]:
        """Return how a session stands, and the keys of what it was given that have a value."""
        with self._context.reading() as view:
            row = view.find(Session, session)
        if row is None:
            return "", set()
        details = load_object(row.details)
        return row.status, {name for name, value in details.items() if value not in (None, "")}
