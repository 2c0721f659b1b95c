"""What beginning and ending the parts of a workflow answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from counterpoint.core.model.answers import Finished, Started
from counterpoint.core.model.work import Item
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskWords:
    """What a worker says of tests and packages at the end, held against the evidence.

    details: all of it, as stored with the task.
    """

    tests: Literal["passed", "failed", "not_run", ""] = ""
    packages_added: tuple[str, ...] = ()
    details: Mapping[str, Json] = field(default_factory=dict[str, Json])


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
