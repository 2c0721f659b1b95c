"""Work of other programs, as any reader of their files gives it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal, NamedTuple

from counterpoint.core.model.work import DEFAULT_PRIORITY
from counterpoint.kernel.frozen import frozen

Weight = Literal["loss", "change", "trifle"]
"""How much a remark matters: `loss`: something is left out; `change`: it is imported otherwise; `trifle`: no work is concerned."""


class Remark(NamedTuple):
    """What is not imported as it stands in a source. where: the file and the line, as far as there are any."""

    problem: str
    where: str = ""
    weight: Weight = "change"

    def __str__(self) -> str:
        """Return the remark in one line, its place first."""
        return f"{self.where}: {self.problem}" if self.where else self.problem


@frozen
class ForeignNote:
    """Something that was written there about an item. at: when, in the words of the source."""

    text: str
    author: str = ""
    at: str = ""


Naming = Literal["id", "title", "number"]


@frozen
class ForeignItem:
    """One piece of work there.

    id: what it is called there, unlike all others of its tool. short: a shorter name, where it is free.
    parent, needs: such ids; no parent: the root. state: in our words. said: in theirs.
    is_phase: whether it only holds others. checks, approval, review, artifact, profile: as in a plan (core/model/drafts.py). facts: what has no place here, and is kept beside it: dates, addresses.
    where: its place in the source, for what is said of it. naming: what the id was made of; one that is made of a title, or of a number
    that counts lines, says nothing of which item is meant when the source comes again (core/rules/planning/matching.py).
    """

    id: str
    title: str
    body: str = ""
    parent: str = ""
    state: str = "open"
    said: str = ""
    priority: int = DEFAULT_PRIORITY
    assignee: str = ""
    labels: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    acceptance: tuple[str, ...] = ()
    areas: tuple[str, ...] = ()
    is_phase: bool = False
    checks: tuple[tuple[str, ...], ...] = ()
    approval: bool = False
    review: bool = False
    artifact: bool = False
    profile: str = ""
    notes: tuple[ForeignNote, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict[str, str])
    short: str = ""
    where: str = ""
    naming: Naming = "id"


@frozen
class ForeignWork:
    """All that one source has.

    tool: the name of the importer, which is the scope of the aliases. key: what the source is called among those of the tool.
    remarks: what the reader could not import as it stands.
    """

    tool: str
    key: str
    title: str
    body: str = ""
    items: tuple[ForeignItem, ...] = ()
    remarks: tuple[Remark, ...] = ()


@frozen
class Source:
    """Where foreign work came from.

    place: the file or folder, as it is told. name: how the source is to be called, if somebody said; items are known below it then.
    """

    place: str
    name: str = ""


@frozen
class Difference:
    """What differs of one item.

    id: what it is called there. item: its id here, empty where it would be made. fields: their names. why: in words, if it was left as it is.
    """

    id: str
    item: str
    fields: tuple[str, ...] = ()
    why: str = ""


@frozen
class Arrival:
    """What an import did, or would do.

    root: the item that holds all; empty if it would be made. created: how many items. records: how many were written down.
    changed: what the source changed and is so here now. kept: what both changed, or what a rule refused; it is as it was here.
    gone: ids that the source has no more. deadlocks: what keeps a part from ever being taken up.
    """

    root: str
    items: int
    created: int = 0
    records: int = 0
    changed: tuple[Difference, ...] = ()
    kept: tuple[Difference, ...] = ()
    gone: tuple[str, ...] = ()
    remarks: tuple[Remark, ...] = ()
    deadlocks: tuple[str, ...] = ()
