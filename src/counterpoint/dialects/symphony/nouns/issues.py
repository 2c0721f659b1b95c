"""Issues of a board: what is asked for, and what is answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from counterpoint.core.model.answers import ItemView
from counterpoint.core.model.journal import Outcome
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import DEFAULT_PRIORITY, Item

Size = Literal["small", "medium", "large"]
Reported = Literal["review", "open", "blocked"]
"""What somebody who works on an issue may say of it: handed in, given up, in need of a person."""

RUNS = "runs"
"""The attribute of an issue that names the run of each of its claims that ended, by token."""
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
class IssueView(ItemView):
    """An issue in a list; `is_blocked` if a blocker is open or a sub-task is."""

    is_blocked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueDetails(IssueView):
    """An issue with what stands about it; runs: how its last claims ended, the last first."""

    parent: Item | None
    children: tuple[IssueView, ...]
    runs: tuple[Outcome, ...]
    claim: Claim | None


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
