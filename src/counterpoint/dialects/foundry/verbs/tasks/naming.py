"""What items are called in the specs they are of, also where the core names them.

Rules: (1) in its own spec a node is called by its id alone, in any other by `<spec id>/<node id>`, as commands of people take it; the root of a
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
from counterpoint.dialects.foundry.verbs.queries import Nodes, node_name, spec_id, spec_named
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
"""How the core says what has another word here."""
_OF_NODES: Final = frozenset({"conflict", "gate", "forbidden"})
"""Kinds of refusals that turn on how work stands, or on who may do what with it."""


class Naming:
    """Verbs that tell what items are called."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def names(self, items: Sequence[Item]) -> list[tuple[str, str, str]]:
        """Return the ids of spec and node, and the title, of each item that is a node."""
        found: list[tuple[str, str, str]] = []
        with self._context.reading() as view:
            known: dict[str, Nodes] = {}
            for item in items:
                root = view.find(Item, item.root) if item.parent else None
                if root is None or root.kind not in ROOT_KINDS:
                    continue
                nodes = known.setdefault(root.id, Nodes(view, root))
                found.append((nodes.spec, nodes.id(item.id), item.title))
        return found

    def retold(self, refusal: CounterpointError, spec: str, node: str) -> CounterpointError:
        """Return a refusal in the words of specs, with the node that it is about.

        spec, node: those that the call names, empty for none: where the refusal names no item, it is about that node.
        """
        with self._context.reading() as view:
            known: Nodes | None = None
            with suppress(NotFound):
                known = Nodes(view, spec_named(view, spec)) if spec else None
            said, item = _retold(view, known, refusal)
            if item is None and known is not None and node and refusal.kind in _OF_NODES:
                item = known.find(node)
            if item is not None and isinstance(refusal, IllegalMove) and _is_strange(item):
                said = _of_other_states(item, _called(view, item, known))
            if item is not None and refusal.kind in _OF_NODES:
                said.facts = {ABOUT: _called(view, item), **_gates(view, item), **said.facts}
            return said


def in_words(known: Nodes, refusal: CounterpointError) -> CounterpointError:
    """Return a refusal of the core in the words of a spec."""
    return _retold(known.view, known, refusal)[0]


def texts_in_words(known: Nodes, texts: Sequence[str]) -> tuple[str, ...]:
    """Return texts of the core in the words of a spec."""
    prefix = _prefix(known.view)
    items = _items(known.view, known, ids_of(list(texts), prefix))
    return tuple(map(_rewording(known.view, known, prefix, items).text, texts))


def _retold(
    view: Reading, known: Nodes | None, refusal: CounterpointError
) -> tuple[CounterpointError, Item | None]:
    """Return a refusal of the core in the words of a spec, or of specs at all, and the item that it names first."""
    prefix = _prefix(view)
    items = _items(view, known, ids_in(refusal, prefix))
    return _rewording(view, known, prefix, items).refusal(refusal), next(iter(items), None)


def _rewording(view: Reading, known: Nodes | None, prefix: str, items: Iterable[Item]) -> Rewording:
    names = {item.id: _called(view, item, known) for item in items}
    return Rewording(prefix=prefix, names=names, states=state_words(), phrases=_PHRASES)


def _prefix(view: Reading) -> str:
    found = view.find(Project)
    return found.prefix if found else ""


def _items(view: Reading, known: Nodes | None, ids: Iterable[str]) -> list[Item]:
    """Return the items of some ids, but those that mean a node of the spec by its own id."""
    found = [view.find(Item, name) for name in ids if not (known and _is_own(known, name))]
    return [item for item in found if item is not None]


def _is_own(known: Nodes, name: str) -> bool:
    return known.view.find(Alias, NODE, node_name(known.spec, name)) is not None


def _is_strange(item: Item) -> bool:
    """Whether an item goes through states of another dialect, which no word of a spec is for."""
    return "open" not in item.states.moves


def _of_other_states(item: Item, name: str) -> IllegalMove:
    """Return why an item is not moved here that has states of its own."""
    return IllegalMove(
        f"{name} was made in another dialect, and goes through the states of that: it stands at {item.status!r}",
        hint=f"Have it brought on there, or {Act.TAKE_OTHER_WORK}.",
    )


def _gates(view: Reading, item: Item) -> dict[str, Json]:
    """Return the names of the gates of an item that are closed, for the commands with which people waive them."""
    closed = view.select(Gate, item=item.id, status="closed", order="name")
    return {WAIVABLE: [gate.name for gate in closed]} if closed else {}


def _called(view: Reading, item: Item, known: Nodes | None = None) -> str:
    if not item.parent:
        return spec_id(view, item)
    if known is not None and item.root == known.root.id:
        return known.id(item.id)
    root = view.find(Item, item.root)
    name = Nodes(view, root).id(item.id) if root else item.id
    # What came from another spec has that in its name; what has no id of foundry's is found by its own.
    return (
        name
        if root is None or name == item.id or "/" in name
        else node_name(spec_id(view, root), name)
    )
