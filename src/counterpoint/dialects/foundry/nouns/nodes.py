"""Specs and their nodes: what an item is called and how it stands here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from counterpoint.core.model.work import Item
from counterpoint.kernel.canonical import Json

Folder = Literal["pending", "active", "completed", "archived"]
"""Where the file of a spec lies; the folder says how the whole stands."""
Status = Literal["pending", "in_progress", "completed", "blocked"]
NodeType = Literal["spec", "phase", "group", "task", "subtask", "verify", "research"]

SPEC: Final = "spec"
"""The scope of the ids of specs."""
NODE: Final = "node"
"""The scope of the ids of nodes, each as `<spec id>/<node id>`."""
FORMER: Final = "former_spec"
"""The scope of the digests of ids that specs had before their titles were taken away."""
ROOT: Final = "spec-root"
"""The id that the root of every spec has in it."""
TYPE: Final = "type"
"""The value that says what a node is, where its kind and its place do not."""
DEPENDS: Final = "depends"
"""The value with the ids of the items that a node had better come after."""
KEPT: Final = "kept"
"""The value with what a document has and neither the core nor another value can hold: fields that nobody knows, and
metadata that is null or is named as one of these values."""
AS_IMPORTED: Final = "as_imported"
"""Where metadata have what a file said and no field of a spec can say."""
ARCHIVED: Final = "archived"
"""The label of a spec that was put away."""
PENDING: Final = "pending"
"""The label of a spec that nobody has activated, whatever was begun in it."""
REMOVED: Final = "cancelled"
"""The state of an item that is no node any more: its history stays, the document leaves it out."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How many leaves there are below a node, and how many of them need nothing more."""

    total: int = 0
    completed: int = 0

    @property
    def percentage(self) -> int:
        """Completed leaves of a hundred, rounded down; 0 without leaves."""
        return 100 * self.completed // self.total if self.total else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """An item as a node of its spec; all names in it are ids of nodes.

    parent: empty for the root. children: in their order. metadata: what the document holds under that name.
    tally: of a leaf itself. kept: what the document holds beside all this.
    """

    item: Item
    id: str
    type: NodeType
    status: Status
    parent: str
    children: tuple[str, ...]
    metadata: Mapping[str, Json]
    blocks: tuple[str, ...]
    blocked_by: tuple[str, ...]
    depends: tuple[str, ...]
    tally: Tally
    kept: Mapping[str, Json] = field(default_factory=dict[str, Json])
