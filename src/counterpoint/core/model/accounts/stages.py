"""Strict tasks: each of their moves, and what can be done next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from counterpoint.core.model.answers import Readiness
from counterpoint.core.model.rows import Id, Name, Noun, Prose, Word
from counterpoint.core.model.work import Item
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition(Noun):
    """One move of an item whose table wants its moves written down.

    number: its place among the moves of the item, from 1. origin, goal: the states before and after.
    reason, agent, session: why and by whom.
    attempt: the how-manieth try this belongs to, from 1; it rises when a check sends the work back.
    mark: the number of the last record of the project before the move: what was written since then
        has a higher one, whatever any clock said.
    """

    table: ClassVar[str] = "transitions"
    key: ClassVar[tuple[str, ...]] = ("project", "item", "number")

    item: Id
    number: int
    origin: Word
    goal: Word
    reason: Prose
    agent: Name
    session: Id
    attempt: int
    mark: int
    at: Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictTaskDraft:
    """A strict task as somebody asks for it; `names` are other names for it, as (scope, name)."""

    title: str
    body: str = ""
    assignee: str = ""
    names: tuple[tuple[str, str], ...] = ()
    kept: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictTask:
    """An item with its other names by scope, what is kept with it, and its tries."""

    item: Item
    names: Mapping[str, str]
    kept: Mapping[str, Json]
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictTaskFilter:
    """Which strict tasks a list is of.

    kept: values that must be kept with them. deleted: whether those taken away are in it too.
    unclosed: only those that something is still to be done about.
    """

    status: str = ""
    kept: Mapping[str, Json] = field(default_factory=dict[str, Json])
    deleted: bool = False
    unclosed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NextMove:
    """What can be done about a strict task: the states it may go to, and what is in the way."""

    task: StrictTask
    moves: tuple[str, ...]
    readiness: Readiness
