"""The states of every kind of work and the moves between them, as tables.

Rules: (1) every move of every item is an edge of one of these tables; code never decides a move by
branching on states. (2) A state belongs to one category; the core reasons about categories only, so
that a dialect can bring more states by bringing a table. (3) Diagrams are drawn from these tables.

    category   meaning                                         counts as closed   releases dependents
    open       can be started when nothing blocks it           no                 no
    active     somebody works on it                            no                 no
    review     the work is handed in and awaits a verdict      no                 no
    done       finished, or skipped on purpose                 yes                yes
    dropped    failed or cancelled                             yes                no
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from typing import Literal

from counterpoint.kernel.errors import IllegalMove, InvalidInput
from counterpoint.kernel.frozen import frozen

Category = Literal["open", "active", "review", "done", "dropped"]

UNCLOSED: tuple[Category, ...] = ("open", "active", "review")
CLOSED: tuple[Category, ...] = ("done", "dropped")

Guard = Literal["reflection", "reason"]
"""What a move asks beside its edge: a thought that looks back or decides; words that say why.

Thoughts are the core's, because every audit checks them (decision 0026), so any table may ask for one.
"""


@frozen
class Lifecycle:
    """A named table: for each state its category and the states that may follow it.

    parked: states of the category open in which nothing is taken up: the state itself is in the way.
    skips: states of the category done that leave work out on purpose. Every other one says that all
        is finished, so that gates and open work below are in the way.
    goals: what a verb's own word for a state means here, where the table has another for it.
    closes_itself: whether what holds other work closes with the last of it, or only by word.
    guards: for a state what a move into it asks when it is made on somebody's word.
    since: the state whose last entry a guard counts from. traced: whether every move is written down.
    retries: moves that begin another try.
    """

    name: str
    first: str
    categories: Mapping[str, Category]
    moves: Mapping[str, tuple[str, ...]]
    parked: frozenset[str] = frozenset()
    skips: frozenset[str] = frozenset()
    goals: Mapping[str, str] = field(default_factory=dict[str, str])
    closes_itself: bool = True
    guards: Mapping[str, Guard] = field(default_factory=dict[str, Guard])
    since: str = ""
    traced: bool = False
    retries: frozenset[tuple[str, str]] = frozenset()

    def named(self, word: str) -> str:
        """Return the state that a verb's word for one means in this table."""
        return self.goals.get(word, word)

    def allows(self, start: str, end: str) -> bool:
        """Whether the table has this edge."""
        return end in self.moves[start]

    def category(self, state: str) -> Category:
        """Return the category of a state; InvalidInput names the states there are."""
        try:
            return self.categories[state]
        except KeyError:
            states = ", ".join(self.categories)
            raise InvalidInput(
                f"there is no state {state!r}", hint=f"Use one of: {states}."
            ) from None

    def way(self, start: str, end: str, most: int = 3) -> tuple[str, ...]:
        """Return the states to go through from one to another, that one last; empty if it is there.

        Nothing is parked or closed on the way. IllegalMove if that takes more than so many moves.
        """
        ways: dict[str, tuple[str, ...]] = {start: ()}
        for _ in range(most):
            for origin, path in list(ways.items()):
                if path and (self.category(origin) in CLOSED or origin in self.parked):
                    continue
                for state in self.moves[origin]:
                    ways.setdefault(state, (*path, state))
            if end in ways:
                return ways[end]
        raise IllegalMove(f"there is no way from {start!r} to {end!r}", state=start)

    def is_undecided(self, state: str) -> bool:
        """Whether a dropped state may still become a done one, so that somebody has to decide."""
        return self.categories[state] == "dropped" and any(
            self.categories[end] == "done" for end in self.moves[state]
        )

    def check(self, start: str, end: str, subject: str) -> None:
        """Raise IllegalMove, naming the open moves, unless the table has this edge."""
        self.category(end)
        if end not in self.moves[start]:
            ways = ", ".join(self.moves[start]) or "nothing: it is final"
            raise IllegalMove(
                f"{subject} cannot go from {start!r} to {end!r}",
                hint=f"From {start!r} it may become: {ways}.",
                state=start,
                moves=list(self.moves[start]),
            )


TASK = Lifecycle(
    name="task",
    first="open",
    categories={
        "backlog": "open",
        "open": "open",
        "active": "active",
        "review": "review",
        "done": "done",
        "partial": "done",
        "skipped": "done",
        "failed": "dropped",
        "cancelled": "dropped",
    },
    moves={
        "backlog": ("open", "skipped", "cancelled"),
        "open": ("active", "backlog", "skipped", "cancelled"),
        "active": (
            "open",
            "backlog",
            "review",
            "done",
            "partial",
            "failed",
            "skipped",
            "cancelled",
        ),
        "review": ("open", "active", "done", "cancelled"),
        "done": ("open",),
        "partial": ("open",),
        "skipped": ("open",),
        "failed": ("open", "cancelled", "skipped"),
        "cancelled": ("open",),
    },
    parked=frozenset({"backlog"}),
    skips=frozenset({"partial", "skipped"}),
)
"""A piece of work that one session at a time works on."""

PART = Lifecycle(
    name="part",
    first="open",
    categories={
        "backlog": "open",
        "open": "open",
        "active": "active",
        "review": "review",
        "done": "done",
        "partial": "done",
        "skipped": "done",
        "failed": "dropped",
        "cancelled": "dropped",
    },
    moves={
        "backlog": ("open", "active", "done", "skipped", "cancelled"),
        "open": (
            "active",
            "backlog",
            "review",
            "done",
            "partial",
            "failed",
            "skipped",
            "cancelled",
        ),
        "active": (
            "open",
            "backlog",
            "review",
            "done",
            "partial",
            "failed",
            "skipped",
            "cancelled",
        ),
        "review": ("active", "done", "failed", "cancelled"),
        "done": ("active",),
        "partial": ("active",),
        "skipped": ("open",),
        "failed": ("active", "cancelled", "skipped"),
        "cancelled": ("open",),
    },
    parked=frozenset({"backlog"}),
    skips=frozenset({"partial", "skipped"}),
)
"""A phase or a root item: it contains other work, and closes when all of that has closed and its gates are met."""

DECLARED = replace(PART, name="declared", closes_itself=False)
"""A phase or a root item that somebody closes: it stays open when all work below it has closed."""

SESSION = Lifecycle(
    name="session",
    first="active",
    categories={
        "active": "active",
        "paused": "open",
        "handed_off": "done",
        "completed": "done",
        "failed": "dropped",
    },
    moves={
        "active": ("paused", "handed_off", "completed", "failed"),
        "paused": ("active", "handed_off", "completed", "failed"),
        "handed_off": (),
        "completed": (),
        "failed": (),
    },
)
"""What an agent writes in. After its end it accepts no more writes."""

GATE = Lifecycle(
    name="gate",
    first="closed",
    categories={"closed": "open", "met": "done", "waived": "done"},
    moves={"closed": ("met", "waived"), "met": ("closed",), "waived": ("closed",)},
)
"""A condition on an item: closed until it is met or waived."""

_TABLES = (TASK, PART, DECLARED, SESSION, GATE)
LIFECYCLES: dict[str, Lifecycle] = {table.name: table for table in _TABLES}
_NO_WORK = frozenset({SESSION.name, GATE.name})
_SOURCES: list[Callable[[str], None]] = []
_ANNOUNCED: dict[str, Callable[[], Lifecycle]] = {}


def lifecycle(name: str) -> Lifecycle:
    """Return the table of a name; InvalidInput if there is none."""
    if name in _ANNOUNCED:
        LIFECYCLES.setdefault(name, _ANNOUNCED[name]())
    for bring in () if name in LIFECYCLES else tuple(_SOURCES):
        bring(name)
    table = LIFECYCLES.get(name)
    if table is None:
        raise InvalidInput(
            f"there is no lifecycle {name!r}", hint="Install the dialect that brings it."
        )
    return table


def add_source(bring: Callable[[str], None]) -> None:
    """Have a table that is not known looked for: `bring` registers the one of a name if it can."""
    if bring not in _SOURCES:
        _SOURCES.append(bring)


def announce(name: str, load: Callable[[], Lifecycle]) -> None:
    """Have the table of a name, which is one of ours, loaded when it is first asked for."""
    _ANNOUNCED[name] = load


def register(table: Lifecycle) -> None:
    """Make a table of work that a dialect brings known.

    Raises ValueError if its name means another already, or one of its states is of another category elsewhere.
    """
    for state, category in table.categories.items():
        for other in tables_of_work():
            if other.categories.get(state, category) != category:
                raise ValueError(
                    f"the state {state!r} is {other.categories[state]} in {other.name!r}"
                )
    if LIFECYCLES.setdefault(table.name, table) != table:
        raise ValueError(f"there is a lifecycle {table.name!r} already")


def category_of(status: str) -> Category:
    """Return the category of a state of work, which means the same in every table that has it.

    To be asked only where no category is kept beside the state: an item has its own. A state of a
    table whose dialect is not installed is neither waiting nor over, so it is active.
    """
    for table in tables_of_work():
        if status in table.categories:
            return table.categories[status]
    return "active"


def tables_of_work() -> Iterator[Lifecycle]:
    """Return the tables of work that are known, those that were announced among them."""
    for name in _ANNOUNCED:
        lifecycle(name)
    # Another thread may bring one meanwhile.
    return (table for table in tuple(LIFECYCLES.values()) if table.name not in _NO_WORK)
