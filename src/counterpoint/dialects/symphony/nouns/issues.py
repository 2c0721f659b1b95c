"""Issues of a board: what is asked for, and what is answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from counterpoint.core.model.journal import Outcome, Record
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import DEFAULT_PRIORITY, Item

Size = Literal["small", "medium", "large"]
Reported = Literal["review", "open", "blocked"]
"""What somebody who works on an issue may say of it: handed in, given up, in need of a person."""

DEPTH: int = 3
"""How many levels of issues there may be below each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueDraft:
    """An issue to be made; `needs` are ids or other names of issues that must be done first."""

    title: str
    description: str = ""
    priority: int = DEFAULT_PRIORITY
    labels: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    run: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueView:
    """An issue in a list; `is_blocked` if a blocker is open or a sub-task is."""

    item: Item
    labels: tuple[str, ...]
    is_blocked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueDetails:
    """An issue with everything small about it.

    runs: how each claim of it ended, the last first. claim: the last one. moved_to: the project and
    the id that it goes on under, if it was moved. moved_from: the name it had before.
    """

    line: IssueView
    needs: tuple[Item, ...]
    parent: Item | None
    children: tuple[IssueView, ...]
    blockers: tuple[Record, ...]
    runs: tuple[Outcome, ...]
    claim: Claim | None
    size: str
    names: tuple[str, ...]
    moved_to: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferredIssue:
    """An issue in the project it was moved to; origin is the id it had before.

    artifacts: the paths of the files that were copied. warnings: what did not go with it, in words.
    """

    item: Item
    origin: str
    labels: tuple[str, ...]
    artifacts: tuple[str, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueFilter:
    """Which issues a list is of; empty fields ask for all. is_blocked: None asks for both."""

    states: tuple[str, ...] = ()
    label: str = ""
    is_blocked: bool | None = None
