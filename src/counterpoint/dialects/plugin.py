"""What a dialect of somebody else is made of: the public interface of dialects.

A package adds a dialect by an entry point of the group `counterpoint.dialects` that names a `Dialect`:

    [project.entry-points."counterpoint.dialects"]
    checklist = "checklist:DIALECT"

`counterpoint mcp --surface checklist` then speaks it. A dialect adds tools, words and tables of states,
and no tables to the database: what it keeps, it keeps through the verbs of `call.core`. So a ledger
whose dialect is not installed can still be verified, rebuilt and shown; only moves of items on a table
of states that is missing are refused. A state that another table of work has too must be of the same
category there, or the table is refused. `examples/dialect` has one to begin from.

Public are this module, the groups of verbs that `call.core` has by name, and what those take and answer:
the modules of `counterpoint.core.model`. All else may change without notice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from counterpoint.core.coordinator import Core
from counterpoint.core.model.lifecycles import Lifecycle
from counterpoint.dialects.call import Call, within
from counterpoint.dialects.envelope import PEOPLE, fitting_facts, hint_of, message_of
from counterpoint.kernel.acts import Act, Phrases
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError
from counterpoint.protocol.surface import Surface
from counterpoint.protocol.tools import tool
from counterpoint.settings import Settings

__all__ = [
    "GROUP",
    "PEOPLE",
    "Act",
    "Call",
    "CounterpointError",
    "Dialect",
    "Json",
    "Lifecycle",
    "Phrases",
    "Renamed",
    "Settings",
    "Surface",
    "fitting_facts",
    "hint_of",
    "message_of",
    "tool",
    "within",
]

GROUP = "counterpoint.dialects"
"""The group of entry points that dialects are found by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Renamed:
    """An item that got a name without words, since its title is gone. left: where the former name stays, in words without it."""

    item: str
    former: str = field(repr=False)
    name: str
    left: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """A dialect by its name: how its surface is built, and the tables of states that it brings.

    build: makes the surface for the settings that it varies by. types: the tools of each role by
    name, all of them under an empty one; empty if all roles have the same. lifecycles: made known when
    the dialect is first asked for; our own dialects use `dialects/nouns.py` instead, since every command
    must know their states without having asked for any dialect. rename: gives each item whose title was redacted a name without words, if
    the names that it had in this dialect are made of titles.
    """

    name: str
    build: Callable[[Settings], Surface[Call]]
    varies_by: tuple[str, ...] = ()
    types: Callable[[], dict[str, list[str]]] = dict
    lifecycles: tuple[Lifecycle, ...] = ()
    rename: Callable[[Core], list[Renamed]] | None = None
