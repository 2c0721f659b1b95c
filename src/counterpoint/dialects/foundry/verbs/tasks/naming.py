"""What items are called in the specs they are of."""

from __future__ import annotations

from collections.abc import Sequence

from counterpoint.core.model.work import ROOT_KINDS, Item
from counterpoint.core.operations.recording.context import Context
from counterpoint.dialects.foundry.verbs.queries import Nodes


class Naming:
    """Verbs that tell what items are called."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def names(self, items: Sequence[Item]) -> list[tuple[str, str, str]]:
        """Return the ids of spec and node, and the title, of each item that is a node."""
        found: list[tuple[str, str, str]] = []
        with self._context.reading() as view:
            known: dict[str, Nodes] = {}
            for item in items:
                root = view.find(Item, item.root) if item.parent else None
                if root is None or root.kind not in ROOT_KINDS:
                    continue
                nodes = known.setdefault(root.id, Nodes(view, root))
                found.append((nodes.spec, nodes.id(item.id), item.title))
        return found
