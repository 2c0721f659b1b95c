"""Nodes as the tests of verbs look at them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from builders import Agent
from counterpoint.core.operations.recording.context import Context
from counterpoint.dialects.foundry.models.specs import Node
from counterpoint.dialects.foundry.nodes.queries import Nodes, get_spec, node_of

SPEC = "export-2026-01-02-001"


class Looking:
    """Verbs that a test looks with."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def node(self, name: str) -> Node:
        """Return a node."""
        with self._context.reading() as view:
            known = Nodes(view, get_spec(view, SPEC))
            return node_of(known, known.get(name))


@pytest.fixture
def node(ada: Agent, root: str) -> Callable[[str], Node]:
    """Answer what reads a node of a spec of two phases with two tasks each."""
    assert root
    return ada.core.use(Looking).node
