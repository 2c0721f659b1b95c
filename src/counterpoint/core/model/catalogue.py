"""Every noun of the core, in an order in which rows can be written.

A dialect of ours may have nouns of its own (`dialects/nouns.py`); whoever opens a store says which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any, Final, overload

from counterpoint.core.model.access import Token
from counterpoint.core.model.identity import (
    Confirmation,
    Connection,
    Contribution,
    Key,
    Succession,
)
from counterpoint.core.model.journal import (
    Changeset,
    Outcome,
    Profile,
    Receipt,
    Record,
    Reply,
    StartPoint,
    StateEntry,
    Submission,
    Transition,
    Verdict,
)
from counterpoint.core.model.rows import Noun
from counterpoint.core.model.sessions import Claim, Handoff, Session
from counterpoint.core.model.trust.heads import Epoch
from counterpoint.core.model.work import (
    Alias,
    Area,
    Attribute,
    Criterion,
    Dependency,
    Ending,
    Gate,
    Item,
    Label,
    Project,
    Staging,
)
from counterpoint.kernel.matching.expressions import expression


def lazy_import(module: str, name: str) -> Callable[[], Any]:
    """Return what answers the thing of a name in a module, which is loaded then."""
    return lambda: getattr(import_module(module), name)


class Tables(Mapping[str, type[Noun]]):
    """Nouns by their tables; some are loaded when they are first asked for."""

    def __init__(
        self, loaded: Sequence[type[Noun]], later: Mapping[str, Callable[[], type[Noun]]]
    ) -> None:
        """Take those that are loaded, and what loads each of the others."""
        self._known = {noun.table: noun for noun in loaded}
        self._later = later

    def __getitem__(self, table: str) -> type[Noun]:
        """Return the noun of a table; KeyError if there is none."""
        noun = self._known.get(table)
        # Two threads that load one have the same.
        return self._later[table]() if noun is None else noun

    def __iter__(self) -> Iterator[str]:
        """Return the names of the tables, and load nothing."""
        yield from self._known
        yield from self._later

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._known) + len(self._later)

    def __contains__(self, table: object) -> bool:
        """Whether there is such a table; it loads nothing."""
        return table in self._known or table in self._later


class Nouns(Sequence[type[Noun]]):
    """Nouns in the order in which rows can be written. tables: by their tables, where looking at one loads no other."""

    def __init__(
        self, loaded: Sequence[type[Noun]], later: Mapping[str, Callable[[], type[Noun]]]
    ) -> None:
        """Take those that are loaded, and what loads each of the others, by their tables."""
        self.tables = Tables(loaded, later)

    @cached_property
    def _every(self) -> tuple[type[Noun], ...]:
        return tuple(self.tables.values())

    @overload
    def __getitem__(self, index: int) -> type[Noun]: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[type[Noun], ...]: ...

    def __getitem__(self, index: int | slice) -> type[Noun] | tuple[type[Noun], ...]:
        """Return the noun in a place, or those of a slice."""
        return self._every[index]

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.tables)

    def followed_by(self, later: Mapping[str, Callable[[], type[Noun]]]) -> Nouns:
        """Return these and others behind them."""
        return Nouns((), {**{name: self._loading(name) for name in self.tables}, **later})

    def _loading(self, table: str) -> Callable[[], type[Noun]]:
        return lambda: self.tables[table]


def by_table(nouns: Sequence[type[Noun]]) -> Mapping[str, type[Noun]]:
    """Return nouns by their tables; none is loaded for it."""
    return nouns.tables if isinstance(nouns, Nouns) else {noun.table: noun for noun in nouns}


_USUAL: Final[tuple[type[Noun], ...]] = (
    Project,
    Epoch,
    Connection,
    Key,
    Confirmation,
    Session,
    Staging,
    Ending,
    Item,
    Label,
    Dependency,
    Area,
    Criterion,
    Gate,
    Contribution,
    Succession,
    Claim,
    StartPoint,
    Outcome,
    Handoff,
    Record,
    Receipt,
    Submission,
    Changeset,
    Verdict,
    StateEntry,
    Profile,
    Reply,
    Token,
    Alias,
    Attribute,
    Transition,
)

_MODEL: Final = "counterpoint.core.model"
NOUNS: Final = Nouns(
    _USUAL,
    {
        "thoughts": lazy_import(f"{_MODEL}.proofs", "Thought"),
        "seals": lazy_import(f"{_MODEL}.proofs", "Seal"),
        "runs": lazy_import(f"{_MODEL}.runs", "Run"),
        "run_events": lazy_import(f"{_MODEL}.runs", "StreamEvent"),
        "library": lazy_import(f"{_MODEL}.documents", "Document"),
        "passages": lazy_import(f"{_MODEL}.documents", "Passage"),
        "erasures": lazy_import(f"{_MODEL}.trust.erasures", "Erasure"),
        "model_uses": lazy_import(f"{_MODEL}.models", "ModelUse"),
        "model_days": lazy_import(f"{_MODEL}.models", "ModelDay"),
        "model_answers": lazy_import(f"{_MODEL}.models", "KeptAnswer"),
    },
)

OF_PLANS: tuple[type[Noun], ...] = (
    Label,
    Dependency,
    Area,
    Criterion,
    Gate,
    Contribution,
    Alias,
    Attribute,
)
"""What hangs on an item from its beginning on; each has a column `item`."""

_NUMBERED = expression(r".+-([a-z])[0-9]+")


def noun_of_id(name: str, others: Sequence[type[Noun]] = ()) -> type[Noun] | None:
    """Return what an id seems to name, from the letter before its number; None for an item.

    others: nouns of dialects that are known too.
    """
    if name.startswith("ses_"):
        return Session
    match = _NUMBERED.fullmatch(name)
    letter = match[1] if match else ""
    return next((noun for noun in (*NOUNS, *others) if letter and noun.letter == letter), None)
