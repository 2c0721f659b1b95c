"""What answers tell of tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from counterpoint.core.model.trust.checking import Lacking
from counterpoint.core.model.work import Item
from counterpoint.dialects.foundry.models.specs import (
    JournalEntry,
    Node,
    NodeType,
    PhaseLine,
    Status,
    Tally,
)
from counterpoint.kernel.canonical import Json

STARTED_AT: Final = "started_at"
ACTUAL_HOURS: Final = "actual_hours"
RETRIES: Final = "retry_count"
FAILED_AT: Final = "failed_at"
FAILURE: Final = "failure_reason"
RESOLVED: Final = "resolved_blockers"
REQUIREMENTS: Final = "requirements"
COMPLEXITY: Final = "complexity"
ESTIMATE: Final = "estimated_hours"
BLOCKING_MODE: Final = "blocking_mode"
VERIFICATION_TYPE: Final = "verification_type"
COMMAND: Final = "command"
"""Values that are kept with a node."""
MANY_REQUIREMENTS: Final = 50
MANY_RESOLVED: Final = 10
"""How many blockers of before a node keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A node with the least that is told of one."""

    id: str
    title: str
    type: NodeType
    status: Status
    item: Item


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedNode:
    """A node that the caller is at. started_at: since when somebody was first. lacking: its commands that would not be run."""

    spec: str
    id: str
    title: str
    type: NodeType
    started_at: str
    warnings: tuple[str, ...] = ()
    lacking: Lacking | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedNode:
    """A node whose work was ended. completed_at: empty while a verdict is awaited.

    total: of the whole spec; nothing where that was not asked for. phase: what the node is in; empty without one. holders: what was completed with it.
    """

    spec: str
    id: str
    title: str
    status: Status
    completed_at: str
    total: Tally
    phase: str = ""
    phase_title: str = ""
    phase_is_done: bool = False
    holders: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocker:
    """What blocks a node. at: when it was told; ticket: empty without one."""

    id: str
    title: str
    type: str
    description: str
    at: str
    ticket: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnblockedNode:
    """A node that nothing blocks any more, with what did last."""

    spec: str
    id: str
    before: Blocker
    resolution: str
    status: Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What one node of a batch is to become. note: of its end, or why it failed."""

    id: str
    success: bool
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResult:
    """What became of one node of a batch. error: why nothing did; empty if something did."""

    id: str
    status: str
    completed_at: str = ""
    retries: int = 0
    failed_at: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedBatch:
    """Nodes that were started together. lacking: by node its commands that would not be run."""

    spec: str
    started: tuple[str, ...]
    at: str
    lacking: Mapping[str, Lacking] = field(default_factory=dict[str, Lacking])


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetBatch:
    """Nodes that are pending again. errors: why others are not, by id."""

    spec: str
    reset: tuple[str, ...]
    errors: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDraft:
    """A node to be made. position: its place among the children of its parent, from 0; None: the last.

    kept: the values that are kept with it under their own names.
    """

    parent: str
    title: str
    type: NodeType
    description: str = ""
    file_path: str = ""
    position: int | None = None
    kept: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedNode:
    """A node that was made."""

    spec: str
    id: str
    parent: str
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedNode:
    """What was taken out of a spec. children: how many were directly below it; leaves: how many tasks in all."""

    spec: str
    id: str
    children: int
    leaves: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedNode:
    """What moving a node did; places count from 1. size: how many nodes moved with it, itself too."""

    spec: str
    id: str
    origin: str
    goal: str
    before: int
    after: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedNode:
    """A node of which values were changed: what they were and what they are, by name. now: all of before."""

    spec: str
    id: str
    title: str
    type: NodeType
    status: Status
    before: Mapping[str, Json]
    after: Mapping[str, Json]
    now: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True, kw_only=True)
class Edges:
    """What a node waits for and what waits for it, by ids of nodes."""

    blocks: tuple[str, ...]
    blocked_by: tuple[str, ...]
    depends: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """A dependency that came or went, with all that both ends have now."""

    spec: str
    source: str
    target: str
    source_edges: Edges
    target_edges: Edges


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """What somebody may take up next; without a node why there is none. is_complete: whether nothing is left to do.

    lacking: commands of its checks that would not be run.
    """

    spec: str
    node: Node | None
    is_complete: bool
    message: str
    lacking: Lacking | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A node as others name it. file: the first file that it touches; empty without one."""

    id: str
    title: str
    status: Status
    type: NodeType
    file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """What a node waits for and what waits for it. more: how many more wait for it than are named."""

    spec: str
    id: str
    can_start: bool
    blocked_by: tuple[Beside, ...]
    depends: tuple[Beside, ...]
    blocks: tuple[Beside, ...]
    more: int = 0
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A node that holds others, with how far they are."""

    id: str
    title: str
    type: NodeType
    status: Status
    description: str
    tally: Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What lies around a node. nearest: nodes beside it, the nearest first, of `siblings` in all; place: from 1.

    blocked: why the phase is; empty if it is not.
    """

    before: Beside | None
    parent: Holder
    nearest: tuple[Beside, ...]
    siblings: int
    place: int
    phase: Holder | None
    phase_place: int
    blocked: tuple[str, ...]
    journal: tuple[JournalEntry, ...]
    entries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A node with all that whoever takes it up wants to know; without one as `Offered`."""

    offered: Offered
    waits: Waits | None = None
    around: Around | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedBatch:
    """Nodes that can be worked on at the same time. stale: those begun long ago. why: of each other candidate, why not."""

    spec: str
    prepared: tuple[Prepared, ...]
    is_complete: bool
    all_blocked: bool
    stale: tuple[tuple[str, str, str], ...]
    graph: Mapping[str, Json]
    tokens: int
    why: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePage:
    """Some nodes of a spec, in the order of its tree. after: the item of the last, to go on at; empty at the end."""

    spec: str
    nodes: tuple[Node, ...]
    after: str
    total: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Progressed:
    """How far a node is, with the phases of its spec."""

    spec: str
    id: str
    title: str
    type: NodeType
    status: Status
    tally: Tally
    phases: tuple[PhaseLine, ...]

    @property
    def current(self) -> PhaseLine | None:
        """The phase somebody is at, else the first that is pending."""
        return next(
            (
                phase
                for status in ("in_progress", "pending")
                for phase in self.phases
                if phase.status == status
            ),
            None,
        )
