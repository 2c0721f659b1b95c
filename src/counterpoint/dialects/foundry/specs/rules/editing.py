r"""Mends, estimates and replaces in a document.

Mending a document where it can be mended without a decision of anybody.
Every action has an id, which names what it is done to, and is told only if it changed something. What is not broken
stays the same object. Fixing what was fixed changes nothing. Where the type or the status of a node, or a link,
was mended, and where counts are wrong, all that follows from the leaves is derived again.

Find and replace over the titles and descriptions of a document.
What is looked for is a text, or a regular expression of RE2: strangers write these, and an engine that backtracks can be made
to take years by one of them. RE2 takes a time that grows with the text and with what the expression becomes inside of it;
both together are bounded here, also for an expression that looks far beyond what it matches, again and again.
Lookarounds and backward references are not understood.

In the replacement of an expression `\1` and `\g<name>` stand for what a group matched, `\n` and `\t` for a line's end
and a tab, and `\` before anything else for that; the replacement of a text stands for itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import re2

from counterpoint.dialects.foundry.models.specs import ROOT
from counterpoint.dialects.foundry.nodes.rules.shape import (
    DEPENDENCY_TYPES,
    FIELD_LIMIT,
    NODE_FIELDS,
    NODE_TYPES,
    SPEC_STATUSES,
    TEXT_LIMIT,
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
from counterpoint.dialects.foundry.nodes.rules.tree import Tree, parent_of, rolled_up
from counterpoint.dialects.foundry.specs.rules.validation import (
    DATES,
    OPPOSITE,
    agrees,
    is_time,
    missing_sides,
    statuses_of,
)
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import InvalidInput, NotFound

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
        once = {kind: _unique_texts(lists[kind]) for kind in DEPENDENCY_TYPES if kind in lists}
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


def _unique_texts(listed: Json) -> Json:
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


HOURS: Final = "actual_hours"
_DIGITS: Final = 2


def recalculated(document: Json) -> tuple[dict[str, Json], dict[str, Json]]:
    """Return a document whose phases and which itself say the sum of their leaves, and what that changes.

    Where no leaf says anything nothing is written: 0 hours would be another thing.
    """
    whole, tree = object_of(document), Tree(document)
    nodes: dict[str, Json] = {}
    phases: list[Json] = []
    total, changed = 0.0, 0
    for name in tree.phases():
        node = tree.nodes[name]
        hours = [
            leaf_hours
            for node_id in tree.below(name)
            if (leaf_hours := _hours(tree, node_id)) is not None
        ]
        comparison = _compared(metadata_of(node), sum(hours))
        total += sum(hours)
        if comparison["delta"] and hours:
            nodes[name] = _saying(node, comparison["calculated"])
            changed += 1
        phases.append(
            {
                "phase_id": name,
                "title": text_of(node.get("title")),
                **comparison,
                "task_count": len(hours),
            }
        )
    level = _compared(metadata_of(whole), total)
    is_changed = bool(level["delta"] and total)
    after = {**whole, "hierarchy": {**object_of(whole.get("hierarchy")), **nodes}}
    summary: dict[str, Json] = {
        "total_phases": len(phases),
        "phases_changed": changed,
        "spec_changed": is_changed,
    }
    if is_changed:
        after = _saying(after, level["calculated"])
    return after, {"spec_level": level, "phases": phases, "summary": summary}


def _hours(tree: Tree, name: str) -> float | None:
    """Return the hours of a leaf; None for what holds others, or says none."""
    hours = metadata_of(tree.nodes[name]).get(HOURS)
    return None if tree.kids[name] or not _is_number(hours) else float(hours or 0)


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _compared(metadata: Mapping[str, Json], hours: float) -> dict[str, Json]:
    stored = metadata.get(HOURS)
    before = float(stored or 0) if _is_number(stored) else 0.0
    return {
        "previous": stored if _is_number(stored) else None,
        "calculated": round(hours, _DIGITS),
        "delta": round(hours - before, _DIGITS),
    }


def _saying(node: Mapping[str, Json], hours: Json) -> Node:
    return {**node, "metadata": {**metadata_of(node), HOURS: hours}}


SCOPES: Final = ("all", "titles", "descriptions")
FIND_LIMIT: Final = 256
REPLACEMENTS_LIMIT: Final = 10_000
SAMPLES: Final = 10
_SIZE_LIMIT: Final = 1_000
"""Instructions that an expression may become."""
_WORK_LIMIT: Final = 200_000_000
"""Instructions times letters: what the slowest way through all texts takes a few seconds for."""
_LOOKING: Final = 4
"""What part of an expression each letter behind a match is looked at with, to see whether the match goes on."""
_LETTERS_SHOWN: Final = 200
_MARK: Final = re.compile(r"\\(?:([0-9]{1,2})|g<(\w{1,64})>|(.))", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "t": "\t"}

_Matcher = Callable[[str], tuple[str, int]]
"""Return a text with what is found replaced, and how often it was found."""


@dataclass(frozen=True, slots=True)
class Change:
    """One field in which something was replaced."""

    node_id: str
    field: str
    old: str
    new: str
    count: int

    def as_json(self) -> dict[str, Json]:
        """Return the change as a sample, with long texts cut."""
        return {
            "node_id": self.node_id,
            "field": self.field,
            "old": _cut(self.old),
            "new": _cut(self.new),
            "replacement_count": self.count,
        }


@dataclass(frozen=True, slots=True)
class Replacement:
    """A document with everything replaced, and where that was."""

    document: dict[str, Json]
    changes: tuple[Change, ...]

    def as_json(self) -> dict[str, Json]:
        """Return the counts, and a few of the changes."""
        return {
            "total_replacements": sum(change.count for change in self.changes),
            "nodes_affected": len({change.node_id for change in self.changes}),
            "changes": [change.as_json() for change in self.changes[:SAMPLES]],
            "changes_truncated": len(self.changes) > SAMPLES,
            "total_changes": len(self.changes),
        }


def replaced(
    document: Json,
    find: str,
    replace: str,
    *,
    scope: str = "all",
    use_regex: bool = False,
    case_sensitive: bool = True,
) -> Replacement:
    """Return a document with a text or an expression replaced; InvalidInput, NotFound if it is nowhere.

    error_code is INVALID_REGEX_PATTERN, PATTERN_TOO_BROAD or NO_MATCHES_FOUND.
    """
    _refuse(find, replace, scope)
    matcher = _Pattern(find, replace, use_regex=use_regex, case_sensitive=case_sensitive)
    writer = _Writer(matcher, scope)
    rewritten = writer.document(object_of(document))
    if not matcher.count:
        raise NotFound(
            f"{quoted(find)} is not in the {_told(scope)}", error_code="NO_MATCHES_FOUND"
        )
    return Replacement(rewritten, tuple(writer.changes))


def _refuse(find: str, replace: str, scope: str) -> None:
    faults: list[str] = []
    if scope not in SCOPES:
        faults.append(f"scope is one of {', '.join(SCOPES)}")
    if not 0 < len(find) <= FIND_LIMIT:
        faults.append(f"find has from 1 to {FIND_LIMIT} characters")
    if len(replace) > FIELD_LIMIT:
        faults.append(f"replace has at most {FIELD_LIMIT} characters")
    if faults:
        raise InvalidInput("; ".join(faults))


def _told(scope: str) -> str:
    return "titles and descriptions" if scope == "all" else scope


def _cut(text: str) -> str:
    return text if len(text) <= _LETTERS_SHOWN else f"{text[:_LETTERS_SHOWN]}…"


class _Pattern:
    """What is looked for, what it becomes, and how often it was found."""

    def __init__(self, find: str, replace: str, *, use_regex: bool, case_sensitive: bool) -> None:
        """Read an expression; InvalidInput says what is wrong with it."""
        import re2  # few calls replace anything, and all would wait for it

        options = re2.Options()
        options.log_errors = False  # a fault is told to the caller, never to standard error
        options.literal = not use_regex
        options.case_sensitive = case_sensitive
        try:
            self._compiled = re2.compile(find, options)
        except (re2.error, UnicodeEncodeError) as fault:
            raise _invalid(f"{quoted(find)} cannot be read as an expression of RE2") from fault
        if self._compiled.programsize > _SIZE_LIMIT:
            raise _invalid("the expression repeats too much")
        self._parts = _template(replace, self._compiled) if use_regex else [replace]
        self._looking = self._compiled.programsize // _LOOKING if use_regex else 0
        self._length = 0
        self._work = _WORK_LIMIT
        self.count = 0

    def __call__(self, text: str) -> tuple[str, int]:
        """Return a text with what is found replaced, and how often it was found; InvalidInput."""
        self._work -= self._compiled.programsize * len(text)
        if self._work < 0:
            raise _too_broad("the expression is too large to be looked for in so much text")
        self._length = len(text)
        try:
            replaced_text, count = self._compiled.subn(self._written, text)
        except UnicodeEncodeError:
            return text, 0  # half a character has no UTF-8, and can match nothing
        if len(replaced_text) > max(len(text), TEXT_LIMIT):
            raise InvalidInput(f"a text would have more than {TEXT_LIMIT} characters")
        return replaced_text, count

    def _written(self, match: re2.Match) -> str:
        if match.start() == match.end():
            raise _too_broad("the expression matches where there is no text")
        self.count += 1
        self._work -= self._looking * (self._length - match.end())
        if self.count > REPLACEMENTS_LIMIT or self._work < 0:
            raise _too_broad("it is found too often")
        return "".join(
            part if isinstance(part, str) else (match.group(part) or "") for part in self._parts
        )


def _invalid(message: str) -> InvalidInput:
    return InvalidInput(
        message,
        hint="Lookarounds and backward references are not understood; most else is.",
        error_code="INVALID_REGEX_PATTERN",
    )


def _too_broad(message: str) -> InvalidInput:
    return InvalidInput(message, hint="Look for something longer.", error_code="PATTERN_TOO_BROAD")


def _template(replace: str, compiled: re2.Pattern) -> list[str | int]:
    """Return the parts of a replacement: texts, and the numbers of groups; InvalidInput."""
    parts: list[str | int] = []
    end = 0
    for mark in _MARK.finditer(replace):
        parts.append(replace[end : mark.start()])
        end = mark.end()
        number, name, letter = mark.groups()
        if letter is not None:
            parts.append(_ESCAPES.get(letter, letter))
            continue
        group = int(number) if number else _group(name, compiled.groupindex)
        if not 0 <= group <= compiled.groups:
            raise _invalid(f"the replacement names the group {quoted(number or name)}")
        parts.append(group)
    return [*parts, replace[end:]]


def _group(name: str, groups: Mapping[str, int]) -> int:
    """Return the number of a group that is named or numbered; -1 if there is none."""
    if name.isdecimal() and name.isascii():
        return int(name[:4])
    return groups.get(name, -1)


class _Writer:
    """Replaces in the fields of a scope, and keeps where that was."""

    def __init__(self, matcher: _Matcher, scope: str) -> None:
        self._matcher = matcher
        self._in_titles = scope != "descriptions"
        self._in_descriptions = scope != "titles"
        self.changes: list[Change] = []

    def document(self, whole: Mapping[str, Json]) -> dict[str, Json]:
        """Return a document with everything replaced; what stays is the same object."""
        merged = {**whole, **self._fields(ROOT, whole)}
        changed: dict[str, Json] = {}
        for name, node in nodes_of(whole).items():
            fields = self._fields(name, node)
            if fields:
                changed[name] = {**node, **fields}
        self.changes = list(_unique_changes(self.changes))
        if changed:
            merged["hierarchy"] = {**object_of(whole.get("hierarchy")), **changed}
        return merged

    def _fields(self, name: str, node: Mapping[str, Json]) -> dict[str, Json]:
        """Return the fields of a node, or of the document, that become others."""
        fields: dict[str, Json] = {}
        if self._in_titles and "title" in node:
            title = self._text(name, "title", node["title"])
            if title is not node["title"]:
                if not has_text(title):
                    raise InvalidInput(f"{quoted(name)} would be left without a title")
                fields["title"] = title
        metadata = metadata_of(node)
        if self._in_descriptions and metadata:
            inner = {
                key: self._value(name, key, metadata[key])
                for key in ("description", "details")
                if key in metadata
            }
            if any(value is not metadata[key] for key, value in inner.items()):
                fields["metadata"] = {**metadata, **inner}
        return fields

    def _value(self, name: str, field: str, value: Json) -> Json:
        """Return a text, or a list of lines, with everything replaced."""
        if not isinstance(value, list):
            return self._text(name, field, value)
        lines: Sequence[Json] = items_of(value)
        rewritten = [
            self._text(name, f"{field}[{number}]", line) for number, line in enumerate(lines)
        ]
        is_same = all(line is other for line, other in zip(rewritten, lines, strict=True))
        return lines if is_same else rewritten

    def _text(self, name: str, field: str, value: Json) -> Json:
        if not isinstance(value, str):
            return value
        rewritten, count = self._matcher(value)
        if rewritten == value:
            return value
        self.changes.append(Change(name, field, value, rewritten, count))
        return text_of(rewritten)


def _unique_changes(changes: Sequence[Change]) -> Iterator[Change]:
    """Return the changes, without the title of the spec where the root told the same one."""
    seen: set[tuple[str, str, str]] = set()
    for change in changes:
        key = (change.node_id, change.field, change.old)
        if key not in seen:
            seen.add(key)
            yield change
