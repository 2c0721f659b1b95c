"""What callers ask for: one frozen dataclass for each verb with many parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from counterpoint.core.model.evidence import Command
from counterpoint.core.model.journal import Outcomes, RecordKind, SubmissionKind
from counterpoint.core.model.work import Kind
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.frozen import frozen

Action = Literal["pause", "end", "resume", "continue"]


@frozen
class Report:
    """What a worker says at the end.

    ends: whether `partial` ends the item too; else it is put back for others to go on with.
    hands_in: whether `done` leads to the review in any case: somebody else ends the item.
    reason: why the very commit that was rejected is handed in again, empty for no reason; None: the face has no word for it, so
        that none is asked for.
    open_at_end: the tag of blockers that may stay open when the claim ends; empty: none may.
    """

    outcome: Outcomes
    summary: str
    achievements: tuple[str, ...] = ()
    limitations: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()
    met: tuple[int, ...] = ()
    ends: bool = False
    hands_in: bool = False
    reason: str | None = None
    open_at_end: str = ""


@frozen
class Note:
    """What somebody wants to write down; without a title the first line of the text serves."""

    kind: RecordKind
    body: str
    title: str = ""
    item: str = ""
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    details: Mapping[str, Json] = field(default_factory=dict[str, Json])


@frozen
class Judgment:
    """What a reviewer says about the content that has a hash, or about a commit.

    of, phase: what must have been handed in; empty: whatever was last. run: the run it comes from.
    """

    approves: bool
    reason: str
    fixes: tuple[str, ...] = ()
    subject: str = ""
    of: SubmissionKind | Literal[""] = ""
    phase: str = ""
    run: str = ""


@frozen
class Check:
    """What to run: gates of an item (all its check gates without names), or one free command."""

    item: str = ""
    gates: tuple[str, ...] = ()
    command: Command | None = None


@frozen
class Handover:
    """What a session says when it stops or goes on; `session` names the one to take up."""

    action: Action
    summary: str = ""
    next_steps: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    context: str = ""
    session: str = ""


@frozen
class Edit:
    """What is to be different; a field that is None stays as it is.

    checks: the commands of the checks it is to have, each as an argument list.
    waive: names of gates to waive, with `reason`.
    attributes: name → value, or None to take it away.
    """

    title: str | None = None
    body: str | None = None
    status: str | None = None
    priority: int | None = None
    assignee: str | None = None
    profile: str | None = None
    parent: str | None = None
    position: int | None = None
    add_labels: tuple[str, ...] = ()
    remove_labels: tuple[str, ...] = ()
    add_needs: tuple[str, ...] = ()
    remove_needs: tuple[str, ...] = ()
    areas: tuple[str, ...] | None = None
    acceptance: tuple[str, ...] | None = None
    checks: tuple[tuple[str, ...], ...] | None = None
    waive: tuple[str, ...] = ()
    reason: str = ""
    expected_version: int | None = None
    expected_status: str | None = None
    attributes: Mapping[str, Json] = field(default_factory=dict[str, Json])


@frozen
class ItemFilter:
    """Which items a list is of; empty fields ask for all, and of several values one must fit.

    ids: only these. attributes: values that must be kept with it. since: the moment before which
    none was made.
    """

    ids: tuple[str, ...] | None = None
    status: str | tuple[str, ...] = ""
    category: str | tuple[str, ...] = ""
    kind: str = ""
    label: str = ""
    parent: str | tuple[str, ...] = ""
    root: str = ""
    assignee: str = ""
    lifecycle: str = ""
    attributes: Mapping[str, Json] = field(default_factory=dict[str, Json])
    since: str = ""


@frozen
class ReadyFilter:
    """What kind of ready work is asked for; empty fields ask for all."""

    kinds: tuple[Kind, ...] = ("task", "issue")
    root: str = ""
    label: str = ""
    profile: str = ""
