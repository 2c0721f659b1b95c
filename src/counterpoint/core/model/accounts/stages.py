"""Strict tasks: each of their moves, and what can be done next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from counterpoint.core.model.answers import ItemView, Readiness
from counterpoint.core.model.rows import (
    Agent,
    Id,
    InSession,
    Noun,
    Prose,
    Word,
)
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
    agent: Agent
    session: InSession
    attempt: int
    mark: int
    at: Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class NextMove:
    """What can be done about a strict task: the states it may go to, and what is in the way."""

    task: ItemView
    moves: tuple[str, ...]
    readiness: Readiness
