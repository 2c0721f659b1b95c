"""The surroundings of an item: its ancestors, names, labels and kept values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from counterpoint.core.model.rows import REDACTED, Prose
from counterpoint.core.model.work import Alias, Attribute, Item, Label
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.ports.store import Reading
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import Conflict, InvalidInput, StaleVersion

ATTRIBUTE_LIMIT: Final = 64_000
"""Bytes of JSON text that one attribute may have."""
NAME_LIMIT: Final = 200
"""Characters that another name may have."""


def line_of(view: Reading | Change, item: str) -> Iterator[Item]:
    """Return an item and all above it, the nearest first; nothing for what is no item."""
    while item and (current := view.find(Item, item)) is not None:
        yield current
        item = current.parent


def items_by_id(view: Reading, items: Iterable[str]) -> dict[str, Item]:
    """Return items by their ids; without those that are not there."""
    ids = tuple(dict.fromkeys(items))
    if len(ids) > 1:
        return {item.id: item for item in view.select(Item, id=ids)}
    item = view.find(Item, *ids) if ids else None
    return {} if item is None else {item.id: item}


def item_named(view: Reading, name: str, scope: str = "") -> Item | None:
    """Return the item of an id, or of another name (in one scope only, if it is told), or None."""
    item = None if scope else view.find(Item, name)
    if item is not None:
        return item
    only = {"scope": scope} if scope else {}
    aliases = view.select(Alias, name=name, limit=2, **only)
    return view.find(Item, aliases[0].item) if len(aliases) == 1 else None


def names_of(view: Reading, item: str) -> dict[str, str]:
    """Return the other names of an item, by scope."""
    return {alias.scope: alias.name for alias in view.select(Alias, item=item)}


def attributes_of(view: Reading, item: str) -> dict[str, Json]:
    """Return the values that are kept with an item, by name; a redacted one is its mark."""
    return {attribute.name: value_of(attribute) for attribute in view.select(Attribute, item=item)}


def attribute_object(view: Reading, item: str, name: str) -> dict[str, Json]:
    """Return a value kept with an item that is an object; empty if it is none, or was redacted."""
    attribute = view.find(Attribute, item, name)
    return canonical.object_of(value_of(attribute)) if attribute else {}


def labels_of(view: Reading, item: str) -> tuple[str, ...]:
    """Return the labels of an item."""
    return tuple(label.name for label in view.select(Label, item=item))


def value_of(attribute: Attribute) -> Json:
    """Return the value of an attribute."""
    return REDACTED if attribute.value == REDACTED else canonical.load(attribute.value)


def give_name(change: Change, item: Item, scope: str, name: str) -> None:
    """Let an item be known by another name too; Conflict if it means another item already."""
    if not 0 < len(name) <= NAME_LIMIT:
        raise InvalidInput(f"a {scope} has from 1 to {NAME_LIMIT} characters")
    alias = change.find(Alias, scope, name)
    if alias is not None and alias.item != item.id:
        if change.find(Item, alias.item) is None:
            raise StaleVersion(
                f"the {scope} {name!r} goes to a plan that is being made",
                hint="Wait a minute and repeat the call, or choose another one.",
            )
        raise _taken(alias)
    change.put(Alias(project=item.project, scope=scope, name=name, item=item.id))


def refuse_taken(view: Reading, names: Iterable[tuple[str, str]]) -> None:
    """Raise Conflict if one of some names, each with its scope, means an item already."""
    for scope, name in names:
        alias = view.find(Alias, scope, name)
        if alias is not None:
            raise _taken(alias)


def _taken(alias: Alias) -> Conflict:
    return Conflict(
        f"the {alias.scope} {alias.name!r} means {alias.item} already",
        hint="Choose another one.",
        item=alias.item,
    )


def set_attributes(change: Change, item: Item, values: Mapping[str, Json]) -> None:
    """Keep values with an item; one that is None is taken away."""
    for name, value in values.items():
        attribute = change.find(Attribute, item.id, name)
        if value is None:
            if attribute is not None:
                change.drop(attribute)
            continue
        text = canonical.dump_any(value)
        if len(text.encode()) > ATTRIBUTE_LIMIT:
            raise InvalidInput(f"{name!r} has more than {ATTRIBUTE_LIMIT} bytes of JSON")
        change.put(Attribute(project=item.project, item=item.id, name=name, value=Prose(text)))


def relabel(change: Change, item: str, add: Iterable[str] = (), drop: Iterable[str] = ()) -> None:
    """Give an item labels and take others away; what is so already stays."""
    for name in dict.fromkeys(add):
        if change.find(Label, item, name) is None:
            change.put(Label(project=change.context.project, item=item, name=name))
    for name in drop:
        label = change.find(Label, item, name)
        if label is not None:
            change.drop(label)
