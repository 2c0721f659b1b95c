"""The phases and tasks of a spec, and which of them verify, as runs ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from counterpoint.core.model.work import Attribute, Item
from counterpoint.core.operations.recording.facets import attributes_of, value_of
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.nouns.nodes import TYPE
from counterpoint.dialects.foundry.nouns.tasks import COMMAND
from counterpoint.dialects.foundry.rules.autonomy.structure import Structure
from counterpoint.dialects.foundry.rules.shape import text_of
from counterpoint.dialects.foundry.rules.standing import type_of
from counterpoint.dialects.foundry.verbs.queries import Nodes, chunks


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecShape:
    """The phases of a spec in their order; all fields but `structure` have items.

    tasks: below each phase, and those below none under an empty name. types: of all nodes.
    """

    nodes: Nodes
    structure: Structure
    phases: tuple[Item, ...]
    tasks: Mapping[str, Sequence[Item]]
    types: Mapping[str, str]

    def verifies(self, phase: Item) -> bool:
        """Whether one of the nodes of a phase is a verification."""
        return any(self.types[item.id] == "verify" for item in self.tasks[phase.id])


def shape_of(view: Reading, root: Item) -> SpecShape:
    """Return the phases and tasks of a spec, as its document has them too."""
    nodes = Nodes(view, root)
    items, below = nodes.tree()
    types = _types(view, items)
    phases = tuple(item for item in below.get(root.id, ()) if types[item.id] == "phase")
    tasks: dict[str, list[Item]] = {"": [], **{phase.id: [] for phase in phases}}
    at = ""
    # Each comes after its parent, and all of a phase before the next one.
    for item in items[1:]:
        if item.parent == root.id:
            at = item.id if item.id in tasks else ""
            if at:
                continue
        tasks[at].append(item)
    names = nodes.ids(item.id for item in items)
    phases_by_task = {
        names[item.id]: names[at] if at else "" for at, some in tasks.items() for item in some
    }
    structure = Structure(phases=tuple(names[phase.id] for phase in phases), tasks=phases_by_task)
    return SpecShape(nodes=nodes, structure=structure, phases=phases, tasks=tasks, types=types)


def command_in(view: Reading, item: str) -> str:
    """Return the command line of a verification; empty without one."""
    line = text_of(attributes_of(view, item).get(COMMAND))
    return line if line.strip() else ""


def _types(view: Reading, items: Sequence[Item]) -> dict[str, str]:
    stored_types: dict[str, str] = {}
    for some in chunks([item.id for item in items]):
        for attribute in view.select(Attribute, item=some, name=TYPE):
            stored_types[attribute.item] = str(value_of(attribute))
    workable = {item.id for item in items if item.is_workable and item.parent}
    return {
        item.id: type_of(
            item,
            {TYPE: stored_types[item.id]} if item.id in stored_types else {},
            is_in_task=item.parent in workable,
        )
        for item in items
    }
