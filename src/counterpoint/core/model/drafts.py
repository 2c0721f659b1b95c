"""Drafts: work as somebody describes or hands it in, before it has ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Final

from counterpoint.core.model.journal import SubmissionKind
from counterpoint.core.model.work import DEFAULT_PRIORITY, Kind
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.frozen import frozen

PLAN_NAME: Final = "plan_name"
"""The attribute that keeps the `{#name}` of an item, by which a plan finds it again."""


def place_name(path: str) -> str:
    """Return a name for the draft at a place of its tree; no title can equal it: titles have one line."""
    return f"place\n{path}"


@frozen
class Draft:
    """One item to be made, with all below it.

    name: how others of the same tree refer to it; the title serves too where it is unique.
    needs: names, titles or ids of existing items that must be done first; None means the usual
        order: a phase after the phase before it, a task after nothing.
    checks: commands, as argument lists, that must pass before it can be finished.
    approval: whether an approving verdict is needed before it starts, review: before it ends;
        artifact: whether a submission is.
    assignee: the name of who is to do it. profile: the role that is.
    status: the state it begins in; empty: the first of its table. lifecycle: the table of states it moves
        on; empty: the usual one of its kind.
    aliases: other names for it, as (scope, name). attributes: values that are kept with it.
    line: where it stands in the document it was read from; 0 if there was none. remarks: at the top of a
        tree what was read otherwise than it may be meant.
    """

    kind: Kind
    title: str
    name: str = ""
    body: str = ""
    needs: tuple[str, ...] | None = None
    areas: tuple[str, ...] = ()
    acceptance: tuple[str, ...] = ()
    checks: tuple[tuple[str, ...], ...] = ()
    labels: tuple[str, ...] = ()
    priority: int = DEFAULT_PRIORITY
    assignee: str = ""
    profile: str = ""
    approval: bool = False
    review: bool = False
    artifact: bool = False
    done: bool = False
    children: tuple[Draft, ...] = ()
    status: str = ""
    lifecycle: str = ""
    aliases: tuple[tuple[str, str], ...] = ()
    attributes: Mapping[str, Json] = field(default_factory=dict[str, Json])
    line: int = 0
    remarks: tuple[str, ...] = ()

    def walk(self) -> Iterator[Draft]:
        """Return this draft and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()


@frozen
class SubmissionDraft:
    """What is handed in, as it was measured; the fields are those of a submission.

    session, agent: who did the work; empty: the caller.
    """

    of: SubmissionKind
    item: str
    summary: str
    phase: str = ""
    path: str = ""
    sha256: str = ""
    size: int = 0
    commit: str = ""
    tree: str = ""
    branch: str = ""
    base: str = ""
    run: str = ""
    session: str = ""
    agent: str = ""
    details: Mapping[str, Json] = field(default_factory=dict[str, Json])
