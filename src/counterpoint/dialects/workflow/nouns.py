"""Workflows as they are asked for and answered: drafts, filters, lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from counterpoint.core.model.answers import Finished, Started
from counterpoint.core.model.journal import Outcome, Record
from counterpoint.core.model.work import Item
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseDraft:
    """A phase to open."""

    number: int
    name: str
    description: str = ""
    is_parallel: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDraft:
    """A task to begin.

    agent: who does it; empty: the caller. parent: the task that it is a part of.
    tree: the working tree that it is measured in, below the caller's; empty: the caller's.
    kept: attributes that are kept with it.
    """

    name: str
    goal: str
    agent: str = ""
    parent: str = ""
    areas: tuple[str, ...] = ()
    tree: str = ""
    kept: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskWords:
    """What a worker says of tests and packages at the end, held against the evidence.

    kept: all of it, as it is kept with the task.
    """

    tests: Literal["passed", "failed", "not_run", ""] = ""
    packages_added: tuple[str, ...] = ()
    kept: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedPhase:
    """A phase, and whether it was there already."""

    phase: Item
    was_there: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunTask:
    """A task that was made and claimed; warnings say what else goes on beside it."""

    started: Started
    phase: Item
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedTask:
    """A task that has ended: what changed, what the evidence says, the phase it is of.

    A renamed file is among the added ones by its present name, among the deleted by its previous.
    """

    finished: Finished
    began_at: Timestamp
    added: tuple[str, ...]
    modified: tuple[str, ...]
    deleted: tuple[str, ...]
    scope_match: bool
    unexpected_files: tuple[str, ...]
    warnings: tuple[str, ...]
    phase: Item


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedWork:
    """A workflow or a phase that has ended; metrics are those of a workflow."""

    item: Item
    metrics: Mapping[str, Json]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextFilter:
    """What is asked of a workflow's tasks and logs; empty fields ask for all.

    phase: the id of a phase. agent: who does or did the task. since: a moment; only what began or was
    written then or later.
    """

    phase: str = ""
    agent: str = ""
    since: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowView:
    """A workflow in a few words; current_phase is the number of the first that runs, else of the last."""

    item: Item
    kept: Mapping[str, Json]
    phases: int
    current_phase: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCounts:
    """How the tasks of a phase stand; partly done ones are completed too."""

    total: int
    success: int
    partial: int
    failed: int
    in_progress: int

    @property
    def completed(self) -> int:
        """Tasks that came to something."""
        return self.success + self.partial


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseView:
    """A phase with its numbers."""

    item: Item
    number: int
    is_parallel: bool
    tasks: TaskCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """A task with what it was declared with and how it ended, if it has."""

    item: Item
    phase: str
    kept: Mapping[str, Json]
    outcome: Outcome | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogView:
    """A record with the task that it is about."""

    record: Record
    task: Item
