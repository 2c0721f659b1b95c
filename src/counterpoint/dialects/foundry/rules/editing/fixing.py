"""Mending a document where it can be mended without a decision of anybody.

Every action has an id, which names what it is done to, and is told only if it changed something. What is not broken
stays the same object. Fixing what was fixed changes nothing. Where the type or the status of a node, or a link,
was mended, and where counts are wrong, all that follows from the leaves is derived again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from counterpoint.dialects.foundry.nouns.nodes import ROOT
from counterpoint.dialects.foundry.rules.rollup import rolled_up
from counterpoint.dialects.foundry.rules.shape import (
    DEPENDENCY_TYPES,
    NODE_FIELDS,
    NODE_TYPES,
    SPEC_STATUSES,
    VERIFICATION_TYPES,
    Node,
    has_text,
    is_one_of,
    items_of,
    metadata_of,
    nodes_of,
    quoted,
    same,
    text_of,
    word_of,
)
from counterpoint.dialects.foundry.rules.tree import Tree, parent_of
from counterpoint.dialects.foundry.rules.validation.document import DATES, is_time
from counterpoint.dialects.foundry.rules.validation.edges import (
    OPPOSITE,
    missing_sides,
)
from counterpoint.dialects.foundry.rules.validation.links import agrees
from counterpoint.dialects.foundry.rules.validation.node import statuses_of
from counterpoint.kernel.canonical import Json, object_of

_DONE_WORDS: Final = frozenset({"done", "complete", "finished", "closed"})
_STATUS_WORDS: Final = {
    "todo": "pending",
    "inprogress": "in_progress",
    "active": "in_progress",
    **dict.fromkeys(_DONE_WORDS, "completed"),
}
_TYPE_STARTS: Final = ("phase", "group", "task", "subtask", "verify", "research")
_DERIVING: Final = ("hierarchy.", "node.normalize_type", "node.add_missing", "status.", "counts.")
"""What the ids of actions begin with that others follow from."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """A value that a document says and no word of the format can; node: empty for the document itself."""

    node: str
    field: str
    value: Json


@dataclass(frozen=True, slots=True)
class FixAction:
    """One thing that was mended; replaced: what the document does not say any more."""

    id: str
    description: str
    category: str
    replaced: Replaced | None = None

    def as_json(self) -> dict[str, Json]:
        """Return the action as `spec fix` tells it."""
        return {"id": self.id, "description": self.description, "category": self.category}


@dataclass(slots=True)
class _Draft:
    """A document that is being mended; nodes are copied before they are changed, and once."""

    top: dict[str, Json]
    nodes: dict[str, Node]
    copied: set[str] = field(default_factory=set[str])
    actions: dict[str, FixAction] = field(default_factory=dict[str, FixAction])

    def note(
        self, action: str, description: str, category: str, replaced: Replaced | None = None
    ) -> None:
        """Tell what was done; once, if it was done in several places."""
        self.actions.setdefault(action, FixAction(action, description, category, replaced))

    def change(self, name: str, **values: Json) -> None:
        """Set fields of a node."""
        if name not in self.copied:
            self.copied.add(name)
            self.nodes[name] = {**self.nodes[name]}
        self.nodes[name].update(values)

    def document(self) -> dict[str, Json]:
        """Return the document as it is now."""
        if not self.copied:
            return self.top
        changed = {name: self.nodes[name] for name in self.copied}
        return {**self.top, "hierarchy": {**object_of(self.top["hierarchy"]), **changed}}


def fixed(document: Json, now: str) -> tuple[dict[str, Json], tuple[FixAction, ...]]:
    """Return a document with what can be mended mended, and what was done.

    now: a time of ISO 8601, for a time that cannot be read.
    """
    draft = _Draft(dict(object_of(document)), dict(nodes_of(document)))
    _fix_dates(draft, now)
    _fix_status(draft)
    for name in list(draft.nodes):
        _fix_node(draft, name)
    _fix_links(draft)
    _fix_edges(draft)
    return _derived(draft)


def verification_fixes(document: Json) -> list[tuple[str, Json, str]]:
    """Return the verify nodes whose type of verification is missing or wrong: id, what it is, what it should be."""
    fixes: list[tuple[str, Json, str]] = []
    for name, node in nodes_of(document).items():
        new_type = _verification_type(node)
        if new_type:
            fixes.append((name, metadata_of(node).get("verification_type"), new_type))
    return fixes


def _fix_dates(draft: _Draft, now: str) -> None:
    for name in DATES:
        if name in draft.top and not is_time(raw := draft.top[name]):
            read = _time_of(raw)
            draft.top[name] = read or now
            message = f"Wrote {name} in ISO 8601, in place of {quoted(raw)}"
            lost = None if read else _replaced("", name, raw)
            draft.note(f"date.normalize:{name}", message, "structure", lost)


def _time_of(value: Json) -> str:
    """Return a time that is written otherwise as ISO 8601; empty if it cannot be read."""
    text = text_of(value).strip()
    for written in (text, text.replace("/", "-"), text.replace(" UTC", "Z").replace(" GMT", "Z")):
        if is_time(written):
            return written
    for form in ("%d.%m.%Y", "%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y"):
        try:
            return datetime.strptime(text, form).date().isoformat()  # noqa: DTZ007 # a day has no zone
        except ValueError:
            continue
    return ""


def _fix_status(draft: _Draft) -> None:
    raw = draft.top.get("status", "pending")
    if not is_one_of(raw, SPEC_STATUSES):
        status, lost = _status_of("", raw, SPEC_STATUSES)
        draft.top["status"] = status
        message = f"Normalized the status of the spec: {quoted(raw)} is {status}"
        draft.note("status.normalize:spec", message, "node", lost)


def _fix_node(draft: _Draft, name: str) -> None:
    missing = [field_name for field_name in NODE_FIELDS if field_name not in draft.nodes[name]]
    if missing:
        draft.change(
            name, **{field_name: _default(draft, name, field_name) for field_name in missing}
        )
        draft.note(
            f"node.add_missing_fields:{name}", f"Added {', '.join(missing)} to {name}", "node"
        )
    node = draft.nodes[name]
    if not is_one_of(raw := node["type"], NODE_TYPES):
        new_type, lost = _type_of(name, raw)
        draft.change(name, type=new_type)
        message = f"Normalized the type of {name}: {quoted(raw)} is {new_type}"
        draft.note(f"node.normalize_type:{name}", message, "node", lost)
    if not is_one_of(raw := node["status"], statuses_of(name)):
        new_type, lost = _status_of(name, raw, statuses_of(name))
        draft.change(name, status=new_type)
        message = f"Normalized the status of {name}: {quoted(raw)} is {new_type}"
        draft.note(f"status.normalize:{name}", message, "node", lost)
    if not has_text(raw := node["title"]):
        draft.change(name, title=title_of(name))
        message = f"Made a title for {name}, in place of {quoted(raw)}"
        draft.note(f"node.generate_title:{name}", message, "node", _replaced(name, "title", raw))
    _fix_verification(draft, name)


def _default(draft: _Draft, name: str, field_name: str) -> Json:
    """Return what a field is set to that a node has not; derived counts are set right later."""
    if field_name == "type":
        return _type_of(name, None)[0]
    if field_name == "title":
        return title_of(name)
    if field_name == "parent":
        return None if name == ROOT else _parent_by_id(draft, name)
    plain: dict[str, Json] = {"status": "pending", "children": [], "metadata": {}}
    return plain.get(field_name, 0)


def _parent_by_id(draft: _Draft, name: str) -> str:
    """Return the parent that the id of a node speaks of, if there is one; else the root."""
    numbers = name.split("-")[1:]
    above = [f"task-{'-'.join(numbers[:-1])}", f"phase-{'-'.join(numbers[:1])}"]
    if name.startswith(("phase-", ROOT)):
        above = []
    return next((parent for parent in above if parent in draft.nodes and parent != name), ROOT)


def title_of(name: str) -> str:
    """Return a title made from an id: `Task 1-2` for `task-1-2`."""
    kind, _, number = name.partition("-")
    return f"{kind.capitalize()} {number}".strip() or "Untitled"


def _type_of(name: str, raw: Json) -> tuple[str, Replaced | None]:
    """Return the type that a node gets, and what was said that is none."""
    word, start = word_of(raw), name.partition("-")[0]
    usual = start if start in _TYPE_STARTS else "task"
    new_type = "spec" if name == ROOT else word if word in NODE_TYPES else usual
    return new_type, None if word == new_type else _replaced(name, "type", raw)


def _status_of(name: str, raw: Json, statuses: tuple[str, ...]) -> tuple[str, Replaced | None]:
    """Return the status that a node gets, and what was said that is none."""
    word = word_of(raw)
    status = word if word in statuses else _STATUS_WORDS.get(word, "")
    return (status, None) if status else ("pending", _replaced(name, "status", raw))


def _replaced(name: str, field: str, raw: Json) -> Replaced | None:
    """Return a value that goes, unless it says nothing."""
    says_nothing = (
        raw is None or raw in ("", [], {}) or (isinstance(raw, str) and not has_text(raw))
    )
    return None if says_nothing else Replaced(name, field, raw)


def _verification_type(node: Mapping[str, Json]) -> str:
    """Return what the type of a verification has to be set to; empty if it is right, or cannot be set."""
    if node.get("type") != "verify" or not isinstance(node.get("metadata", {}), dict):
        return ""
    raw = metadata_of(node).get("verification_type")
    if raw is None or raw == "":
        return "run-tests"
    return "" if is_one_of(raw, VERIFICATION_TYPES) else "manual"


def _fix_verification(draft: _Draft, name: str) -> None:
    new_type = _verification_type(draft.nodes[name])
    if not new_type:
        return
    metadata = metadata_of(draft.nodes[name])
    raw = metadata.get("verification_type")
    was_missing = new_type == "run-tests"
    draft.change(name, metadata={**metadata, "verification_type": new_type})
    kind = "fix_verification_type" if was_missing else "fix_invalid_verification_type"
    message = f"Set the verification type of {name} to {new_type}, in place of {quoted(raw)}"
    lost = _replaced(name, "verification_type", raw)
    draft.note(f"metadata.{kind}:{name}", message, "metadata", lost)


def _fix_links(draft: _Draft) -> None:
    if ROOT in draft.nodes and (raw := draft.nodes[ROOT].get("parent")) is not None:
        draft.change(ROOT, parent=None)
        message = f"Set the parent of spec-root to null, in place of {quoted(raw)}"
        lost = _replaced(ROOT, "parent", raw)
        draft.note("hierarchy.fix_root_parent", message, "hierarchy", lost)
    tree = Tree(draft.document())
    for name in tree.nodes:
        _fix_children(draft, tree, name)
    added: dict[str, list[str]] = {}
    for name, parent in tree.placements():
        added.setdefault(parent, []).append(name)
        if parent_of(draft.nodes[name]) == parent:
            message = f"Listed {name} below {parent}, its parent"
            draft.note(f"hierarchy.align:{parent}->{name}", message, "hierarchy")
        else:
            raw = draft.nodes[name].get("parent")
            draft.change(name, parent=parent)
            message = f"Attached {name} to {parent}, in place of {quoted(raw)}"
            lost = _replaced(name, "parent", raw)
            draft.note(f"hierarchy.attach_orphans:{name}", message, "hierarchy", lost)
    for parent, names in added.items():
        draft.change(parent, children=[*items_of(draft.nodes[parent].get("children")), *names])


def _fix_children(draft: _Draft, tree: Tree, name: str) -> None:
    """Leave in a list of children those that the node owns, once, and set their parent."""
    children: list[Json] = []
    seen: set[str] = set()
    listed = items_of(draft.nodes[name].get("children"))
    for child in listed:
        if not isinstance(child, str) or child not in tree.nodes:
            children.append(child)  # a child that there is not is for a person to decide
            continue
        if child in seen:
            draft.note(f"hierarchy.dedupe_children:{name}", "Listed each child once", "hierarchy")
            continue
        seen.add(child)
        message, lost = f"Took {child} out of {name}, which does not hold it", None
        if tree.owner.get(child) == name:
            children.append(child)
            if agrees(tree, name, child):
                continue
            raw = draft.nodes[child].get("parent")
            draft.change(child, parent=name)
            message = f"Made {name}, which lists {child}, its parent, in place of {quoted(raw)}"
            lost = None if text_of(raw) in tree.nodes else _replaced(child, "parent", raw)
        draft.note(f"hierarchy.align:{name}->{child}", message, "hierarchy", lost)
    if len(children) != len(listed):
        draft.change(name, children=children)


def _fix_edges(draft: _Draft) -> None:
    for name, node in list(draft.nodes.items()):
        raw = node.get("dependencies", {})
        if not isinstance(raw, dict):
            draft.change(name, dependencies=_empty())
            message = f"Made lists for {name}, in place of {quoted(raw)}"
            lost = _replaced(name, "dependencies", raw)
            draft.note(f"dependency.create_structure:{name}", message, "dependency", lost)
            continue
        lists = object_of(raw)
        once = {kind: _once(lists[kind]) for kind in DEPENDENCY_TYPES if kind in lists}
        if not all(same(lists[kind], unique) for kind, unique in once.items()):
            draft.change(name, dependencies={**lists, **once})
            draft.note(f"dependency.dedupe:{name}", f"Listed each once in {name}", "dependency")
    tree = Tree(draft.document())
    added: dict[tuple[str, str], list[str]] = {}
    for name, kind, other in missing_sides(tree):
        added.setdefault((other, OPPOSITE[kind]), []).append(name)
        blocker, dependent = (name, other) if kind == "blocks" else (other, name)
        draft.note(
            f"dependency.sync_bidirectional:{blocker}-{dependent}",
            f"{blocker} blocks {dependent}",
            "dependency",
        )
    for (name, kind), others in added.items():
        lists = object_of(draft.nodes[name].get("dependencies")) or _empty()
        draft.change(name, dependencies={**lists, kind: [*items_of(lists.get(kind)), *others]})


def _empty() -> dict[str, Json]:
    return {kind: [] for kind in DEPENDENCY_TYPES}


def _once(listed: Json) -> Json:
    """Return a list with each text once; whatever else there is stays."""
    if not isinstance(listed, list):
        return listed
    seen: set[str] = set()
    unique: list[Json] = []
    for part in items_of(listed):
        if isinstance(part, str):
            if part in seen:
                continue
            seen.add(part)
        unique.append(part)
    return unique


def _derived(draft: _Draft) -> tuple[dict[str, Json], tuple[FixAction, ...]]:
    document = draft.document()
    derived = rolled_up(document)
    is_due = any(action.startswith(_DERIVING) for action in draft.actions)
    if is_due or _counts(derived) != _counts(document):
        if not same(derived, document):
            draft.note("counts.recalculate", "Derived counts and statuses again", "counts")
        document = derived
    return document, tuple(draft.actions.values())


def _counts(document: Mapping[str, Json]) -> list[tuple[Json, Json]]:
    """Return what nodes say of their tasks, to be compared."""
    return [
        (_plain(node.get("total_tasks")), _plain(node.get("completed_tasks")))
        for node in nodes_of(document).values()
    ]


def _plain(value: Json) -> Json:
    """Return a number as it is, and another value as a word that no count is."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else "other"
