"""Names of items in their specs, also in texts of the core.

Rules: (1) in its own spec a node is named by its id alone, in any other by `<spec id>/<node id>`, as commands of people take it; the root of a
spec by the id of the spec. (2) What is a node's own id in the spec that a call is about means that node, even if an item has that id in the core.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from counterpoint.core.model.work import ROOT_KINDS, Alias, Gate, Item, Project
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.nouns.nodes import NODE
from counterpoint.dialects.foundry.rules.standing import state_words
from counterpoint.dialects.foundry.verbs.queries import Nodes, get_spec, node_name, spec_id
from counterpoint.dialects.rewording import Rewording, ids_in, ids_of
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError, IllegalMove, NotFound

ABOUT: Final = "about"
"""The fact with the node that a refusal is about, as commands of people take it."""
WAIVABLE: Final = "waivable"
"""The fact with the closed gates of that node: the hint names it where there is one, and nothing else does."""
_PHRASES: Final = {
    "the item cannot be made: ": "the node cannot be made: ",
    "the plan cannot be made: ": "the nodes cannot be made: ",
    "Mend the lines named in the message": "Correct what the message names",
}
"""Phrases of the core that foundry words differently."""
_OF_NODES: Final = frozenset({"conflict", "gate", "forbidden"})
"""Kinds of refusals that turn on how work stands, or on who may do what with it."""


class Naming:
    """Verbs that tell what items are called."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def names(self, items: Sequence[Item]) -> list[tuple[str, str, str]]:
        """Return the ids of spec and node, and the title, of each item that is a node."""
        names: list[tuple[str, str, str]] = []
        with self._context.reading() as view:
            nodes_by_root: dict[str, Nodes] = {}
            for item in items:
                root = view.find(Item, item.root) if item.parent else None
                if root is None or root.kind not in ROOT_KINDS:
                    continue
                nodes = nodes_by_root.setdefault(root.id, Nodes(view, root))
                names.append((nodes.spec, nodes.id(item.id), item.title))
        return names

    def reword(self, refusal: CounterpointError, spec: str, node: str) -> CounterpointError:
        """Reword a refusal for users of specs, with the node that it is about.

        spec, node: named by the call, empty for none: where the refusal names no item, it is about that node.
        """
        with self._context.reading() as view:
            spec_nodes: Nodes | None = None
            with suppress(NotFound):
                spec_nodes = Nodes(view, get_spec(view, spec)) if spec else None
            reworded, item = _reword(view, spec_nodes, refusal)
            if item is None and spec_nodes is not None and node and refusal.kind in _OF_NODES:
                item = spec_nodes.find(node)
            if item is not None and isinstance(refusal, IllegalMove) and _is_strange(item):
                reworded = _of_other_states(item, _name_of(view, item, spec_nodes))
            if item is not None and refusal.kind in _OF_NODES:
                reworded.facts = {
                    ABOUT: _name_of(view, item),
                    **_list_closed_gates(view, item),
                    **reworded.facts,
                }
            return reworded


def in_words(nodes: Nodes, refusal: CounterpointError) -> CounterpointError:
    """Reword a refusal of the core for users of a spec."""
    return _reword(nodes.view, nodes, refusal)[0]


def texts_in_words(nodes: Nodes, texts: Sequence[str]) -> tuple[str, ...]:
    """Reword texts of the core for users of a spec."""
    prefix = _prefix(nodes.view)
    items = _load_items(nodes.view, nodes, ids_of(list(texts), prefix))
    return tuple(map(_build_rewording(nodes.view, nodes, prefix, items).text, texts))


def _reword(
    view: Reading, nodes: Nodes | None, refusal: CounterpointError
) -> tuple[CounterpointError, Item | None]:
    """Return a reworded refusal of the core, and the item that it names first."""
    prefix = _prefix(view)
    items = _load_items(view, nodes, ids_in(refusal, prefix))
    return _build_rewording(view, nodes, prefix, items).refusal(refusal), next(iter(items), None)


def _build_rewording(
    view: Reading, nodes: Nodes | None, prefix: str, items: Iterable[Item]
) -> Rewording:
    names = {item.id: _name_of(view, item, nodes) for item in items}
    return Rewording(prefix=prefix, names=names, states=state_words(), phrases=_PHRASES)


def _prefix(view: Reading) -> str:
    project = view.find(Project)
    return project.prefix if project else ""


def _load_items(view: Reading, nodes: Nodes | None, ids: Iterable[str]) -> list[Item]:
    """Return the items of some ids, without ids that mean a node of the spec."""
    items = [view.find(Item, name) for name in ids if not (nodes and _is_own(nodes, name))]
    return [item for item in items if item is not None]


def _is_own(nodes: Nodes, name: str) -> bool:
    return nodes.view.find(Alias, NODE, node_name(nodes.spec, name)) is not None


def _is_strange(item: Item) -> bool:
    """Whether an item has states of another dialect, which specs have no word for."""
    return "open" not in item.states.moves


def _of_other_states(item: Item, name: str) -> IllegalMove:
    """Return the refusal for an item that has states of another dialect."""
    return IllegalMove(
        f"{name} was made in another dialect, and goes through the states of that: it stands at {item.status!r}",
        hint=f"Have it brought on there, or {Act.TAKE_OTHER_WORK}.",
    )


def _list_closed_gates(view: Reading, item: Item) -> dict[str, Json]:
    """Return the names of an item's closed gates, for the commands with which people waive them."""
    closed = view.select(Gate, item=item.id, status="closed", order="name")
    return {WAIVABLE: [gate.name for gate in closed]} if closed else {}


def _name_of(view: Reading, item: Item, nodes: Nodes | None = None) -> str:
    if not item.parent:
        return spec_id(view, item)
    if nodes is not None and item.root == nodes.root.id:
        return nodes.id(item.id)
    root = view.find(Item, item.root)
    name = Nodes(view, root).id(item.id) if root else item.id
    # A node of another spec has that in its name; an item without an id of foundry's is named by its own.
    return (
        name
        if root is None or name == item.id or "/" in name
        else node_name(spec_id(view, root), name)
    )
