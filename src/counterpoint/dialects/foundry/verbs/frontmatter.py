"""The head of a spec: read and changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from counterpoint.core.model.filters import Edit
from counterpoint.core.model.work import Attribute, Item
from counterpoint.core.operations.items import Items
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.facets import set_attributes, value_of
from counterpoint.core.operations.recording.moves import touched
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.nouns.specs import REVISIONS, SpecList
from counterpoint.dialects.foundry.rules.frontmatter import (
    DESCRIPTION,
    PATHS,
    TITLE,
    extended,
    numbered,
    refuse_frontmatter,
    revised,
)
from counterpoint.dialects.foundry.verbs.performing import perform
from counterpoint.dialects.foundry.verbs.queries import get_spec, spec_id
from counterpoint.dialects.foundry.verbs.specs import Specs
from counterpoint.kernel.canonical import Json

_Changed = tuple[list[Json], dict[str, Json]]
"""A list after a change, and the details of the change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PutValue:
    """A value of a spec's head, with the one before it."""

    spec: str
    value: Json
    before: Json


class Frontmatter:
    """Verbs for the title, the metadata and the lists of a spec."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def put(self, spec: str, key: str, value: Json, *, dry_run: bool = False) -> PutValue:
        """Set the value of a key; None removes it.

        Raises NotFound, InvalidInput for a derived key and for an invalid value, PathOutside.
        """
        refuse_frontmatter(key, value)
        if key in PATHS and isinstance(value, str):
            value = Specs(self._context).plan_file(value)

        def act(context: Context) -> PutValue:
            # Opened here so that nobody changes the value before it is set.
            with recording(context, "spec.looked") as change:
                root = get_spec(change.writing, spec)
                before = _value(change.writing, root, key)
                name = spec_id(change.writing, root)
            Items(context).edit(root.id, _edit(key, value))
            return PutValue(spec=name, value=value, before=before)

        return perform(self._context, act, dry_run=dry_run)

    def entries(self, spec: str, kind: SpecList) -> tuple[str, list[dict[str, Json]]]:
        """Return the id of the spec, and the entries of a list with their ids and positions; NotFound."""
        with self._context.reading() as view:
            root = get_spec(view, spec)
            return spec_id(view, root), numbered(kind, _value(view, root, kind.key))

    def add(
        self, spec: str, kind: SpecList, entry: Json, *, dry_run: bool = False
    ) -> tuple[str, dict[str, Json]]:
        """Add an entry to a list; return the id of the spec, and the entry with its id and position.

        Raises NotFound, InvalidInput, Conflict for a duplicate.
        """

        def after(before: Json) -> _Changed:
            return extended(kind, before, entry), {}

        name, (entries, _) = self._change(spec, kind.key, after, dry_run=dry_run)
        return name, numbered(kind, entries)[-1]

    def revise(
        self, spec: str, version: str, changes: str, author: str = "", *, dry_run: bool = False
    ) -> tuple[str, dict[str, Json]]:
        """Add a revision to the history of a spec, by the caller unless an author is named; NotFound, Conflict."""
        by = author or self._context.caller.actor.name
        date = self._context.ports.clock.now()

        def after(before: Json) -> _Changed:
            return revised(before, version, changes, date, by)

        name, (_, revision) = self._change(spec, REVISIONS, after, dry_run=dry_run)
        return name, revision

    def _change(
        self,
        spec: str,
        key: str,
        after: Callable[[Json], _Changed],
        *,
        dry_run: bool,
    ) -> tuple[str, _Changed]:
        """Read and change a list in one transaction."""

        def act(context: Context) -> tuple[str, _Changed]:
            with recording(context, "spec.noted") as change:
                change.open_session()
                root = change.get(Item, get_spec(change.writing, spec).id)
                change.subject = root.id
                changed = after(_value(change.writing, root, key))
                set_attributes(change, root, {key: changed[0]})
                change.put(touched(change, root))
                change.add_facts(field=key)
                return spec_id(change.writing, root), changed

        return perform(self._context, act, dry_run=dry_run)


def _value(view: Reading, root: Item, key: str) -> Json:
    if key == TITLE:
        return root.title
    if key == DESCRIPTION:
        return root.body or None
    attribute = view.find(Attribute, root.id, key)
    return value_of(attribute) if attribute else None


def _edit(key: str, value: Json) -> Edit:
    if key == TITLE:
        return Edit(title=str(value))
    if key == DESCRIPTION:
        return Edit(body="" if value is None else str(value))
    return Edit(attributes={key: value})
