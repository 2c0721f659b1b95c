"""Specs and their nodes: aliases, attributes, folders, and what answers tell of them."""

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


PURPOSE: Final = "purpose"
"""The value that says what a phase is for."""
MISSION: Final = "mission"
REVISIONS: Final = "revision_history"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecList:
    """A list that is kept with a spec.

    key: its name in the metadata. letter: what the ids of its entries begin with. text: what holds the words of an entry
    that is an object. what: how one entry is called.
    """

    key: str
    letter: str
    what: str
    text: str = "text"


OBJECTIVES: Final = SpecList(key="objectives", letter="o", what="objective")
ASSUMPTIONS: Final = SpecList(key="assumptions", letter="a", what="assumption")
CONSTRAINTS: Final = SpecList(key="constraints", letter="c", what="constraint")
QUESTIONS: Final = SpecList(key="open_questions", letter="q", what="question")
CRITERIA: Final = SpecList(key="success_criteria", letter="sc", what="success criterion")
RISKS: Final = SpecList(key="risks", letter="r", what="risk", text="description")
LISTS: Final = (OBJECTIVES, ASSUMPTIONS, CONSTRAINTS, QUESTIONS, CRITERIA, RISKS)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecDraft:
    """A spec to be made; the paths are those of its plan and of the review of that, as they were given."""

    name: str
    plan_path: str
    plan_review_path: str
    template: str
    category: str = ""
    mission: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseItself:
    """A phase apart from what is done of it. item: its item. is_gated: whether a closed gate holds its own end back."""

    item: str
    id: str
    title: str
    status: Status
    is_gated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseLine:
    """A phase as a list of phases shows it."""

    id: str
    title: str
    status: Status
    tally: Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecLine:
    """A spec as a list shows it. current: the phase somebody is at, else the first that is pending. status: how the whole stands.

    awaiting: nodes that a closed gate keeps from their end, where all tasks are done.
    """

    root: Item
    spec: str
    folder: Folder
    tally: Tally = field(default_factory=Tally)
    current: PhaseLine | None = None
    status: str = ""
    awaiting: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Where the file of the spec lies in the project."""
        return path_of(self.folder, self.spec)


def path_of(folder: str, spec: str) -> str:
    """Return where the file of a spec in a folder lies in the project."""
    return f"specs/{folder}/{spec}.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDraft:
    """A task of a new phase; kept: the values that are kept with it under their own names."""

    title: str
    type: str = "task"
    description: str = ""
    acceptance: tuple[str, ...] = ()
    file_path: str = ""
    kept: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseDraft:
    """A phase to be made, with its tasks.

    position: its place among the phases, from 0; None: the last. link_previous: whether it waits for the one before it.
    kept: the values that are kept with it beside its purpose.
    """

    title: str
    description: str = ""
    purpose: str = ""
    position: int | None = None
    link_previous: bool = True
    tasks: tuple[TaskDraft, ...] = ()
    kept: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeNode:
    """A node that was made, by its id."""

    id: str
    title: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MadePhase:
    """What adding a phase has made. linked: the phase it waits for; empty for none. scaffold: the tasks nobody asked for."""

    spec: str
    id: str
    title: str
    position: int
    linked: str
    tasks: tuple[MadeNode, ...]
    scaffold: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedPhase:
    """What removing a phase took out of a spec."""

    spec: str
    id: str
    title: str
    children: int
    tally: Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Relinked:
    """A dependency between two phases that came or went with a move."""

    action: str
    origin: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedPhase:
    """What moving a phase did; places count from 1."""

    spec: str
    id: str
    title: str
    before: int
    after: int
    relinked: tuple[Relinked, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedSpec:
    """What moving a spec to a folder did; skipped: how many nodes were left out with that."""

    spec: str
    before: Folder
    after: Folder
    skipped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """An entry of a journal; task: the id of the node it is about, empty for the spec.

    number: that of the record it is made of, by which entries are ordered.
    """

    number: int
    record: str
    timestamp: str
    entry_type: str
    title: str
    content: str
    author: str
    task: str
    metadata: Mapping[str, Json]
