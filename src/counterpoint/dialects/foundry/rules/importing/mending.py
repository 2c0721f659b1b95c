"""A document of others mended on its way in, with what has no place kept.

Rules: (1) what `spec fix` mends is mended by the same rules, and told by the same ids. (2) What is left of a value that no word of
the format says is kept in the metadata of its node, or of the document, under `AS_IMPORTED`: a status, a type, a parent that there
is not. (3) So are dependencies and children that there are not, which only a person could mend otherwise. (4) Derived
values are derived again and kept nowhere. What is left then is refused by whoever makes a spec of the document (refusing.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from counterpoint.core.rules.drafting import ITEM_LIMIT
from counterpoint.core.rules.wording import few
from counterpoint.dialects.foundry.nouns.nodes import ROOT
from counterpoint.dialects.foundry.rules.editing.fixing import FixAction, fixed
from counterpoint.dialects.foundry.rules.entries import said_of
from counterpoint.dialects.foundry.rules.importing.drafting import (
    OF_BLOCKERS,
    metadata_root,
    outside_of,
)
from counterpoint.dialects.foundry.rules.importing.journaling import with_kept, written
from counterpoint.dialects.foundry.rules.importing.refusing import refuse
from counterpoint.dialects.foundry.rules.shape import (
    DEPENDENCY_TYPES,
    NODE_TYPES,
    Node,
    has_text,
    is_one_of,
    items_of,
    metadata_of,
    nodes_of,
    quoted,
    same,
    text_of,
)
from counterpoint.dialects.foundry.rules.validation.table import Diagnostic
from counterpoint.kernel.canonical import Json, object_of


@dataclass(frozen=True, slots=True)
class Mended:
    """A document as it can come in, if it can, and what was done to it."""

    document: Mapping[str, Json]
    actions: tuple[FixAction, ...] = ()


def mended(
    document: Mapping[str, Json], now: str, current: Mapping[str, Json] | None = None
) -> Mended:
    """Return a document with all mended that needs no decision of anybody; what was given stays as it is.

    now: a time of ISO 8601. current: the document of the spec as it stands; what is no better there stays as it is.
    Raises MalformedDocument if there are too many nodes or entries.
    """
    counts = {
        "hierarchy": len(object_of(document.get("hierarchy"))),
        "journal": len(items_of(document.get("journal"))),
    }
    refuse(
        [
            Diagnostic("FILE_TOO_LARGE", f"{count} is more than {ITEM_LIMIT}", name)
            for name, count in counts.items()
            if count > ITEM_LIMIT
        ]
    )
    present_fixes = {} if current is None else {fix.id: fix for fix in fixed(current, now)[1]}
    fixed_document, actions = fixed(_prepared(document), now)
    draft = _Draft(
        fixed_document,
        dict(nodes_of(fixed_document)),
        [action for action in actions if present_fixes.get(action.id) != action],
    )
    outside = outside_of(current or {})
    for action in actions:
        if present_fixes.get(action.id) == action and action.category == "metadata":
            draft.put_back(document, action.id.partition(":")[2])
        elif action.replaced is not None:
            draft.keep(action.replaced.node, {action.replaced.field: action.replaced.value})
    for name in list(draft.nodes):
        draft.set_children_aside(name)
        draft.set_dependencies_aside(name, outside)
        draft.keep_blocker(name)
    draft.keep_root(metadata_root(document))
    draft.write_journal({said_of(entry) for entry in items_of((current or {}).get("journal"))})
    return Mended(draft.document(), tuple(draft.actions))


@dataclass(slots=True)
class _Draft:
    """A document that is being mended; nodes are copied before they are changed."""

    top: dict[str, Json]
    nodes: dict[str, Node]
    actions: list[FixAction]
    changed: dict[str, Node] = field(default_factory=dict[str, Node])
    kept: dict[str, dict[str, Json]] = field(default_factory=dict[str, dict[str, Json]])

    def keep(self, name: str, values: Mapping[str, Json]) -> None:
        """Keep what has no other place with a node, or with the document; that of the root node is told apart."""
        if name == ROOT:
            current = self.kept.setdefault("", {})
            current[ROOT] = {**object_of(current.get(ROOT)), **values}
            return
        current = self.kept.setdefault(name, {})
        for key, value in values.items():
            is_both = isinstance(value, dict) and isinstance(current.get(key), dict)
            current[key] = {**object_of(current[key]), **object_of(value)} if is_both else value

    def put_back(self, document: Mapping[str, Json], name: str) -> None:
        """Let a node have the metadata that it had."""
        metadata = metadata_of(object_of(object_of(document["hierarchy"])[name]))
        self.change(name, metadata=metadata)

    def change(self, name: str, **values: Json) -> None:
        """Set fields of a node."""
        self.changed[name] = self.nodes[name] = {**self.nodes[name], **values}

    def tell(self, action: str, description: str, category: str) -> None:
        """Tell what was done."""
        self.actions.append(FixAction(action, description, category))

    def set_children_aside(self, name: str) -> None:
        """Take out of a list of children what is no node."""
        listed = items_of(self.nodes[name].get("children"))
        present, gone = _parted(listed, self.nodes)
        if not gone:
            return
        self.change(name, children=present)
        self.keep(name, {"children": gone})
        message = f"Kept children of {name} that there are not in its metadata: {few([*map(quoted, gone)])}"
        self.tell(f"hierarchy.set_aside_children:{name}", message, "hierarchy")

    def set_dependencies_aside(self, name: str, outside: Collection[str]) -> None:
        """Take out of the dependencies of a node what names no node, and types that there are not."""
        raw = self.nodes[name].get("dependencies")
        if not isinstance(raw, dict):
            return
        lists = {kind: value for kind, value in object_of(raw).items() if kind in DEPENDENCY_TYPES}
        gone: dict[str, Json] = {
            kind: value for kind, value in object_of(raw).items() if kind not in lists and value
        }
        for kind, listed in [*lists.items()]:
            present, missing = _parted(items_of(listed), self.nodes, outside)
            if missing:
                lists[kind], gone[kind] = present, missing
        if not gone:
            return
        self.change(name, dependencies=lists)
        self.keep(name, {"dependencies": gone})
        names = [node_id for value in gone.values() for node_id in items_of(value) or [value]]
        message = f"Kept dependencies of {name} that name no node in its metadata: {few([*map(quoted, names)])}"
        self.tell(f"dependency.set_aside:{name}", message, "dependency")

    def keep_blocker(self, name: str) -> None:
        """Keep what says why a node is blocked, and is no text."""
        if self.nodes[name].get("status") != "blocked" or name == ROOT:
            return
        metadata = metadata_of(self.nodes[name])
        odd = {
            key: metadata[key]
            for key in OF_BLOCKERS
            if not isinstance(metadata.get(key), str | None)
        }
        if odd:
            self.keep(name, odd)

    def keep_root(self, node: Node) -> None:
        """Keep what the document and its root node say otherwise: a spec has one title, and one value of each name."""
        if ROOT not in self.nodes:
            return
        title, own = self.top.get("title"), node.get("title")
        if not isinstance(title, str | None):
            self.keep("", {"title": title})
            self.top = {key: value for key, value in self.top.items() if key != "title"}
        elif has_text(title):
            if has_text(own) and text_of(own).strip() != text_of(title).strip():
                self.keep(ROOT, {"title": own})
            self.change(ROOT, title=title)
        if _is_other(node):
            self.keep(ROOT, {"type": node["type"]})
        top = metadata_of(self.top)
        metadata = metadata_of(self.nodes[ROOT])
        other = {
            key: value for key, value in metadata.items() if not same(value, top.get(key, value))
        }
        if other:
            self.keep(ROOT, {"metadata": other})
            self.change(ROOT, metadata={k: v for k, v in metadata.items() if k not in other})

    def write_journal(self, stored: Collection[tuple[str, ...]]) -> None:
        """Write the entries of the journal as they are kept; stored: what those say that are kept already."""
        journal = self.top.get("journal")
        if not isinstance(journal, list):
            return
        entries: list[Json] = []
        for number, entry in enumerate(items_of(journal)):
            if said_of(entry) in stored:
                entries.append(entry)
                continue
            as_written = written(entry, self.nodes)
            entries.append(as_written.entry)
            if as_written.told:
                self.tell(f"journal.normalize:{number}", as_written.told, "structure")
        self.top = {**self.top, "journal": entries}

    def document(self) -> dict[str, Json]:
        """Return the document as it is now, with what was kept in its metadata."""
        for name, values in self.kept.items():
            holder = self.nodes[name] if name else self.top
            if not isinstance(holder.get("metadata") or {}, dict):
                continue  # the document is refused for that
            metadata = with_kept(metadata_of(holder), values)
            if name:
                self.change(name, metadata=metadata)
            else:
                self.top = {**self.top, "metadata": metadata}
        if not self.changed:
            return self.top
        return {**self.top, "hierarchy": {**object_of(self.top["hierarchy"]), **self.changed}}


def _prepared(document: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return a document whose root is of the type that a root has, and without what is nothing in other words: it is missing."""
    changed: dict[str, Json] = {}
    for name, node in nodes_of(document).items():
        nothing = {"children"} if node.get("children", ()) is None else set[str]()
        if not isinstance(node.get("metadata", {}), dict) and not node["metadata"]:
            nothing.add("metadata")
        is_other = name == ROOT and _is_other(node)
        if nothing or is_other:
            fields = {key: value for key, value in node.items() if key not in nothing}
            changed[name] = {**fields, "type": "spec"} if is_other else fields
    if not changed:
        return document
    return {**document, "hierarchy": {**object_of(document["hierarchy"]), **changed}}


def _is_other(root: Node) -> bool:
    """Return whether a root is of a type that other nodes have."""
    return is_one_of(root.get("type"), NODE_TYPES) and root["type"] != "spec"


def _parted(listed: Iterable[Json], *known_names: Collection[str]) -> tuple[list[Json], list[Json]]:
    """Return what of a list is known, and what is not."""
    present: list[Json] = []
    gone: list[Json] = []
    for part in listed:
        is_there = isinstance(part, str) and any(part in names for names in known_names)
        (present if is_there else gone).append(part)
    return present, gone
