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
    found: list[tuple[str, Json, str]] = []
    for name, node in nodes_of(document).items():
        wanted = _verification_type(node)
        if wanted:
            found.append((name, metadata_of(node).get("verification_type"), wanted))
    return found


def _fix_dates(draft: _Draft, now: str) -> None:
    for name in DATES:
        if name in draft.top and not is_time(said := draft.top[name]):
            read = _time_of(said)
            draft.top[name] = read or now
            told = f"Wrote {name} in ISO 8601, in place of {quoted(said)}"
            lost = None if read else _replaced("", name, said)
            draft.note(f"date.normalize:{name}", told, "structure", lost)


def _time_of(value: Json) -> str:
    """Return a time that is written otherwise as ISO 8601; empty if it cannot be read."""
    said = text_of(value).strip()
    for written in (said, said.replace("/", "-"), said.replace(" UTC", "Z").replace(" GMT", "Z")):
        if is_time(written):
            return written
    for form in ("%d.%m.%Y", "%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y"):
        try:
            return datetime.strptime(said, form).date().isoformat()  # noqa: DTZ007 # a day has no zone
        except ValueError:
            continue
    return ""


def _fix_status(draft: _Draft) -> None:
    said = draft.top.get("status", "pending")
    if not is_one_of(said, SPEC_STATUSES):
        wanted, lost = _status_of("", said, SPEC_STATUSES)
        draft.top["status"] = wanted
        told = f"Normalized the status of the spec: {quoted(said)} is {wanted}"
        draft.note("status.normalize:spec", told, "node", lost)


def _fix_node(draft: _Draft, name: str) -> None:
    missing = [one for one in NODE_FIELDS if one not in draft.nodes[name]]
    if missing:
        draft.change(name, **{one: _default(draft, name, one) for one in missing})
        draft.note(
            f"node.add_missing_fields:{name}", f"Added {', '.join(missing)} to {name}", "node"
        )
    node = draft.nodes[name]
    if not is_one_of(said := node["type"], NODE_TYPES):
        wanted, lost = _type_of(name, said)
        draft.change(name, type=wanted)
        told = f"Normalized the type of {name}: {quoted(said)} is {wanted}"
        draft.note(f"node.normalize_type:{name}", told, "node", lost)
    if not is_one_of(said := node["status"], statuses_of(name)):
        wanted, lost = _status_of(name, said, statuses_of(name))
        draft.change(name, status=wanted)
        told = f"Normalized the status of {name}: {quoted(said)} is {wanted}"
        draft.note(f"status.normalize:{name}", told, "node", lost)
    if not has_text(said := node["title"]):
        draft.change(name, title=title_of(name))
        told = f"Made a title for {name}, in place of {quoted(said)}"
        draft.note(f"node.generate_title:{name}", told, "node", _replaced(name, "title", said))
    _fix_verification(draft, name)


def _default(draft: _Draft, name: str, one: str) -> Json:
    """Return what a field is set to that a node has not; derived counts are set right later."""
    if one == "type":
        return _type_of(name, None)[0]
    if one == "title":
        return title_of(name)
    if one == "parent":
        return None if name == ROOT else _parent_by_id(draft, name)
    plain: dict[str, Json] = {"status": "pending", "children": [], "metadata": {}}
    return plain.get(one, 0)


def _parent_by_id(draft: _Draft, name: str) -> str:
    """Return the parent that the id of a node speaks of, if there is one; else the root."""
    numbers = name.split("-")[1:]
    above = [f"task-{'-'.join(numbers[:-1])}", f"phase-{'-'.join(numbers[:1])}"]
    if name.startswith(("phase-", ROOT)):
        above = []
    return next((one for one in above if one in draft.nodes and one != name), ROOT)


def title_of(name: str) -> str:
    """Return a title made from an id: `Task 1-2` for `task-1-2`."""
    kind, _, number = name.partition("-")
    return f"{kind.capitalize()} {number}".strip() or "Untitled"


def _type_of(name: str, said: Json) -> tuple[str, Replaced | None]:
    """Return the type that a node gets, and what was said that is none."""
    word, start = word_of(said), name.partition("-")[0]
    usual = start if start in _TYPE_STARTS else "task"
    wanted = "spec" if name == ROOT else word if word in NODE_TYPES else usual
    return wanted, None if word == wanted else _replaced(name, "type", said)


def _status_of(name: str, said: Json, known: tuple[str, ...]) -> tuple[str, Replaced | None]:
    """Return the status that a node gets, and what was said that is none."""
    word = word_of(said)
    wanted = word if word in known else _STATUS_WORDS.get(word, "")
    return (wanted, None) if wanted else ("pending", _replaced(name, "status", said))


def _replaced(name: str, field: str, said: Json) -> Replaced | None:
    """Return a value that goes, unless it says nothing."""
    says_nothing = (
        said is None or said in ("", [], {}) or (isinstance(said, str) and not has_text(said))
    )
    return None if says_nothing else Replaced(name, field, said)


def _verification_type(node: Mapping[str, Json]) -> str:
    """Return what the type of a verification has to be set to; empty if it is right, or cannot be set."""
    if node.get("type") != "verify" or not isinstance(node.get("metadata", {}), dict):
        return ""
    said = metadata_of(node).get("verification_type")
    if said is None or said == "":
        return "run-tests"
    return "" if is_one_of(said, VERIFICATION_TYPES) else "manual"


def _fix_verification(draft: _Draft, name: str) -> None:
    wanted = _verification_type(draft.nodes[name])
    if not wanted:
        return
    metadata = metadata_of(draft.nodes[name])
    said = metadata.get("verification_type")
    was_missing = wanted == "run-tests"
    draft.change(name, metadata={**metadata, "verification_type": wanted})
    kind = "fix_verification_type" if was_missing else "fix_invalid_verification_type"
    told = f"Set the verification type of {name} to {wanted}, in place of {quoted(said)}"
    lost = _replaced(name, "verification_type", said)
    draft.note(f"metadata.{kind}:{name}", told, "metadata", lost)


def _fix_links(draft: _Draft) -> None:
    if ROOT in draft.nodes and (said := draft.nodes[ROOT].get("parent")) is not None:
        draft.change(ROOT, parent=None)
        told = f"Set the parent of spec-root to null, in place of {quoted(said)}"
        lost = _replaced(ROOT, "parent", said)
        draft.note("hierarchy.fix_root_parent", told, "hierarchy", lost)
    tree = Tree(draft.document())
    for name in tree.nodes:
        _fix_children(draft, tree, name)
    added: dict[str, list[str]] = {}
    for name, parent in tree.placements():
        added.setdefault(parent, []).append(name)
        if parent_of(draft.nodes[name]) == parent:
            told = f"Listed {name} below {parent}, its parent"
            draft.note(f"hierarchy.align:{parent}->{name}", told, "hierarchy")
        else:
            said = draft.nodes[name].get("parent")
            draft.change(name, parent=parent)
            told = f"Attached {name} to {parent}, in place of {quoted(said)}"
            lost = _replaced(name, "parent", said)
            draft.note(f"hierarchy.attach_orphans:{name}", told, "hierarchy", lost)
    for parent, names in added.items():
        draft.change(parent, children=[*items_of(draft.nodes[parent].get("children")), *names])


def _fix_children(draft: _Draft, tree: Tree, name: str) -> None:
    """Leave in a list of children those that the node owns, once, and set their parent."""
    kept: list[Json] = []
    seen: set[str] = set()
    listed = items_of(draft.nodes[name].get("children"))
    for child in listed:
        if not isinstance(child, str) or child not in tree.nodes:
            kept.append(child)  # a child that there is not is for a person to decide
            continue
        if child in seen:
            draft.note(f"hierarchy.dedupe_children:{name}", "Listed each child once", "hierarchy")
            continue
        seen.add(child)
        told, lost = f"Took {child} out of {name}, which does not hold it", None
        if tree.owner.get(child) == name:
            kept.append(child)
            if agrees(tree, name, child):
                continue
            said = draft.nodes[child].get("parent")
            draft.change(child, parent=name)
            told = f"Made {name}, which lists {child}, its parent, in place of {quoted(said)}"
            lost = None if text_of(said) in tree.nodes else _replaced(child, "parent", said)
        draft.note(f"hierarchy.align:{name}->{child}", told, "hierarchy", lost)
    if len(kept) != len(listed):
        draft.change(name, children=kept)


def _fix_edges(draft: _Draft) -> None:
    for name, node in list(draft.nodes.items()):
        held = node.get("dependencies", {})
        if not isinstance(held, dict):
            draft.change(name, dependencies=_empty())
            told = f"Made lists for {name}, in place of {quoted(held)}"
            lost = _replaced(name, "dependencies", held)
            draft.note(f"dependency.create_structure:{name}", told, "dependency", lost)
            continue
        lists = object_of(held)
        once = {kind: _once(lists[kind]) for kind in DEPENDENCY_TYPES if kind in lists}
        if not all(same(lists[kind], found) for kind, found in once.items()):
            draft.change(name, dependencies={**lists, **once})
            draft.note(f"dependency.dedupe:{name}", f"Listed each once in {name}", "dependency")
    tree = Tree(draft.document())
    added: dict[tuple[str, str], list[str]] = {}
    for name, kind, other in missing_sides(tree):
        added.setdefault((other, OPPOSITE[kind]), []).append(name)
        one, two = (name, other) if kind == "blocks" else (other, name)
        draft.note(
            f"dependency.sync_bidirectional:{one}-{two}", f"{one} blocks {two}", "dependency"
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
    kept: list[Json] = []
    for one in items_of(listed):
        if isinstance(one, str):
            if one in seen:
                continue
            seen.add(one)
        kept.append(one)
    return kept


def _derived(draft: _Draft) -> tuple[dict[str, Json], tuple[FixAction, ...]]:
    made = draft.document()
    derived = rolled_up(made)
    is_due = any(one.startswith(_DERIVING) for one in draft.actions)
    if is_due or _counts(derived) != _counts(made):
        if not same(derived, made):
            draft.note("counts.recalculate", "Derived counts and statuses again", "counts")
        made = derived
    return made, tuple(draft.actions.values())


def _counts(document: Mapping[str, Json]) -> list[tuple[Json, Json]]:
    """Return what nodes say of their tasks, to be compared."""
    return [
        (_plain(node.get("total_tasks")), _plain(node.get("completed_tasks")))
        for node in nodes_of(document).values()
    ]


def _plain(value: Json) -> Json:
    """Return a number as it is, and another value as a word that no count is."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else "other"
