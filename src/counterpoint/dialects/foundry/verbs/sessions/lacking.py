"""Commands of verifications that a run would request in vain."""

from __future__ import annotations

from counterpoint.core.model.trust.checking import Lacking
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.trust.permitted import Permitted
from counterpoint.core.rules.planning.commands import command_of
from counterpoint.dialects.foundry.verbs.queries import get_spec
from counterpoint.dialects.foundry.verbs.sessions.shape import command_in, shape_of


class Commands:
    """Verbs for the commands that the verifications of a spec run."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def lacking(self, spec: str) -> Lacking:
        """Return which commands of unfinished verifications may not be run here, and why; NotFound."""
        with self._context.reading() as view:
            shape = shape_of(view, get_spec(view, spec))
            lines = [
                command_in(view, item.id)
                for items in shape.tasks.values()
                for item in items
                if item.category != "done" and shape.types[item.id] == "verify"
            ]
        orders = [command_of(line) for line in lines if line]
        return Permitted(self._context).lacking(argv for argv, fault in orders if not fault)
