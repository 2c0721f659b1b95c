"""Work: the small header of an item, and its facets in tables of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Final, Literal

from counterpoint.core.model.access import Independence
from counterpoint.core.model.lifecycles import CLOSED, Category, Lifecycle, lifecycle
from counterpoint.core.model.rows import (
    Agent,
    Digest,
    Id,
    InSession,
    JsonText,
    Name,
    Noun,
    Number,
    Partial,
    Prose,
    Proses,
    Root,
    Searched,
    Time,
    Touched,
    Version,
    Word,
)
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.frozen import frozen

Kind = Literal["issue", "workflow", "plan", "spec", "phase", "task"]

ROOT_KINDS: tuple[Kind, ...] = ("issue", "workflow", "plan", "spec", "task")
"""The kinds that may stand at the top of a tree."""

WORKABLE: tuple[Kind, ...] = ("task", "issue")
"""The kinds that a session claims and works on; the others hold them."""

TITLE_LIMIT = 500
BODY_LIMIT = 100_000
DEPTH_LIMIT = 50
"""How many levels a tree of work may have."""
PRIORITIES = range(5)
"""0 is the most urgent, 4 the least."""
DEFAULT_PRIORITY = 2


@frozen
class Project(Noun):
    """What isolates one body of work from another; its id is also its ledger's name.

    prefix: what the ids of its items begin with; unique in a store.
    ledger: random; no other ledger has it, whatever its project is called.
    public_key: the key that signs its checkpoints and receipts, as hex; empty if the signer could not be
        asked when it was opened.
    reviews: how surely a judge has to be somebody else.
    trusted: the digest of what a person trusted of its configuration last (rules/trust/commands.py); empty: nothing.
    search_path: the folders in which that person's programs are found.
    """

    table: ClassVar[str] = "projects"
    key: ClassVar[tuple[str, ...]] = ("project",)

    title: Prose
    prefix: Id
    ledger: Id
    public_key: Digest
    created_at: Timestamp
    reviews: Independence = "attested"
    trusted: Digest = ""
    search_path: Name = ""

    @property
    def heading(self) -> str:
        """What it is headed by: its title, which is the name of its folder; the id of a further project of that folder."""
        if self.title.lower() != self.project:
            from counterpoint.kernel.naming import project_name_of

            return self.title if project_name_of(self.title) == self.project else self.project
        return self.title


@frozen
class Item(Noun):
    """The header of one piece of work.

    number: counts the items of the project; with the prefix it makes the id.
    parent: the item that holds this one; empty for a root. root: the top of the tree.
    position: the place among the siblings, from 0.
    blockers: how many open things are in the way: unfinished dependencies, closed gates that hold
        the start, open blocker records, a parked state, and a parent that itself has any (counted once).
    held: how many of `blockers` come from the parent: 0 or 1.
    """

    table: ClassVar[str] = "items"
    key: ClassVar[tuple[str, ...]] = ("project", "id")
    indexes: ClassVar[tuple[str, ...]] = (
        "number",
        "lifecycle,number",
        "parent,category",
        "parent,kind,status",
        "parent,position",
        "root,kind,parent",
        # Ready work in the order in which it is offered: one look into this index (decision 0010).
        "kind,category,blockers,priority,number",
    )
    partial: ClassVar[Partial | None] = Partial(
        column="category",
        words=("open", "active"),
        indexes=("root,kind,category,blockers,priority,number",),
    )
    searched: ClassVar[Searched | None] = Searched(
        title=("title",), body="body", about="id", kind="kind"
    )

    id: Id
    number: Number
    kind: Kind
    title: Prose
    lifecycle: Word
    status: Word
    category: Category
    parent: Id
    root: Root
    position: int
    priority: int
    blockers: int
    held: int
    assignee: Name
    profile: Name
    body: Prose
    version: Version
    created_at: Timestamp
    updated_at: Touched
    closed_at: Time

    @property
    def states(self) -> Lifecycle:
        """The table of states this item moves on."""
        return lifecycle(self.lifecycle)

    @property
    def state_key(self) -> tuple[str, str]:
        """The state and its category, by which progress is counted."""
        return self.status, self.category

    @property
    def is_closed(self) -> bool:
        """Whether nothing more is to be done."""
        return self.category in CLOSED

    @property
    def reopened_status(self) -> str:
        """The state in which it goes on when it is opened again."""
        goes_on = not self.is_workable and self.states.allows(self.status, "active")
        return "active" if goes_on else "open"

    @property
    def is_workable(self) -> bool:
        """Whether a session can claim it."""
        return self.kind in WORKABLE

    def moved(self, status: str, at: Timestamp) -> Item:
        """Return this item in another state; IllegalMove unless its table has the edge."""
        self.states.check(self.status, status, self.id)
        category = self.states.category(status)
        ended = at if category in CLOSED else ""
        return replace(self, status=status, category=category, closed_at=ended)


@frozen
class Label(Noun):
    """One word on an item."""

    table: ClassVar[str] = "labels"
    key: ClassVar[tuple[str, ...]] = ("project", "item", "name")
    indexes: ClassVar[tuple[str, ...]] = ("name,item",)

    item: Id
    name: Name


@frozen
class Alias(Noun):
    """Another name that an item is known by: in each scope a name means one item.

    scope: the sort of name, such as `slug` or `uuid`.
    """

    table: ClassVar[str] = "aliases"
    key: ClassVar[tuple[str, ...]] = ("project", "scope", "name")
    indexes: ClassVar[tuple[str, ...]] = ("name", "item")

    scope: Word
    name: Name
    item: Id


@frozen
class Attribute(Noun):
    """A named value that is kept with an item: any JSON, as text; no rule of the core reads it.

    item: empty for one of the project itself, such as its repository (core/operations/projects.py).
    """

    table: ClassVar[str] = "attributes"
    key: ClassVar[tuple[str, ...]] = ("project", "item", "name")

    item: Id
    name: Name
    value: JsonText


@frozen
class Dependency(Noun):
    """`item` cannot start before `needs` is done."""

    table: ClassVar[str] = "dependencies"
    key: ClassVar[tuple[str, ...]] = ("project", "item", "needs")
    indexes: ClassVar[tuple[str, ...]] = ("needs,item",)

    item: Id
    needs: Id


@frozen
class Area(Noun):
    """A part of the tree an item will touch: a folder, a file, or a glob with `*` and `**`."""

    table: ClassVar[str] = "areas"
    key: ClassVar[tuple[str, ...]] = ("project", "item", "pattern")

    item: Id
    pattern: Name


@frozen
class Criterion(Noun):
    """A sentence that must be true when the item is done."""

    table: ClassVar[str] = "criteria"
    key: ClassVar[tuple[str, ...]] = ("project", "item", "position")

    item: Id
    position: int
    text: Prose
    met: bool


GateKind = Literal["check", "review", "artifact"]
Holds = Literal["start", "finish"]


@frozen
class Gate(Noun):
    """A condition on an item that somebody other than its worker, or a command, must meet.

    kind: `check` is met by a receipt of its command with exit code 0, `review` by an approving
        verdict, `artifact` by a submission.
    holds: what it holds back, the start of the item or its end.
    independence: how surely whoever waived it is none of those who work on the item.
    """

    table: ClassVar[str] = "gates"
    key: ClassVar[tuple[str, ...]] = ("project", "item", "name")

    item: Id
    name: Name
    kind: GateKind
    holds: Holds
    argv: Proses
    status: Word
    proof: Id
    reason: Prose
    updated_at: Touched
    independence: Word = ""

    def moved(
        self,
        status: str,
        at: Timestamp,
        *,
        proof: str = "",
        reason: str = "",
        independence: str = "",
    ) -> Gate:
        """Return this gate in another state; the same state only takes the fresher proof."""
        if status != self.status:
            lifecycle("gate").check(self.status, status, f"gate {self.name!r} of {self.item}")
        return replace(
            self,
            status=status,
            proof=proof,
            reason=Prose(reason),
            updated_at=at,
            independence=independence,
        )


CREATED: Final = "plan.created"
DRAFTED: Final = "plan.drafted"
ABANDONED: Final = "plan.abandoned"
CLOSING: Final = "tree.closing"
THINNED: Final = "tree.thinned"
UNSEEN: Final = frozenset((DRAFTED, ABANDONED, CLOSING, THINNED))
"""Actions of entries of which followers hear nothing: CREATED, and the end of an `Ending`, tell of what they did."""
StagingStatus = Literal["hidden", "made", "gone"]


@frozen
class Staging(Noun):
    """A large plan under way: its items are put in slices, and nobody sees them before the last.

    first, last: the numbers that its items have, put or not; nothing else ever gets one of them.
    status: `hidden`, then `made` when all see them, or `gone` when it was given up and they are taken away.
    until: when whoever makes it counts as gone, unless he has put another slice; empty once he goes on no more.
    """

    table: ClassVar[str] = "stagings"
    key: ClassVar[tuple[str, ...]] = ("project", "first")
    indexes: ClassVar[tuple[str, ...]] = ("last",)
    partial: ClassVar[Partial | None] = Partial(
        column="status", words=("hidden",), indexes=("first,last",)
    )

    first: int
    last: int
    status: StagingStatus
    until: Time
    agent: Agent
    session: InSession
    begun_at: Timestamp


@frozen
class Ending(Noun):
    """A large tree that is being closed in slices, from the leaves up; that it will be is durable, and nobody disturbs it.

    since: the entry that began it. item: the top of the tree, which closes last. goal: the state it gets.
    status: `begun`, then `ended` when the top has closed.
    until: when whoever closes it counts as gone, unless he has closed another slice; empty at the end.
    """

    table: ClassVar[str] = "endings"
    key: ClassVar[tuple[str, ...]] = ("project", "since")
    partial: ClassVar[Partial | None] = Partial(
        column="status", words=("begun",), indexes=("item",)
    )

    since: int
    item: Id
    goal: Word
    reason: Prose
    status: Literal["begun", "ended"]
    until: Time
    agent: Agent
    session: InSession
    begun_at: Timestamp
