"""How files are mended when they come in, and told apart from what was written.

Entries of a journal that others wrote, as the ledger keeps them.
What an entry has and a record of the ledger has no place for is kept in its metadata under `AS_IMPORTED`. So an entry
that was written out comes in as the same.

Rules: (1) what `spec fix` mends is mended by the same rules, and told by the same ids. (2) What is left of a value that no word of
the format says is kept in the metadata of its node, or of the document, under `AS_IMPORTED`: a status, a type, a parent that there
is not. (3) So are dependencies and children that there are not, which only a person could mend otherwise. (4) Derived
values are derived again and kept nowhere. What is left then is refused by whoever makes a spec of the document (nodes/rules/tree.py).

The record of the files of specs, and the meaning of a file that differs from it.
A file is ours if it has the SHA-256 that was written last, or was to be written when the process ended. Any other is an edit: it is
applied if the ledger has not moved for that spec since, and it was made from what was written last or from something later: whoever
edits by hand keeps the `last_updated` that he opened. Any other is a conflict, which is told and left alone. So is a file
that is no document, or of which a part is refused. An edit that a run or a role keeps out (`locked`) waits: it is looked at again
when that is over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Final, Literal

from counterpoint.core.model.work import TITLE_LIMIT
from counterpoint.core.rules.drafting import ITEM_LIMIT
from counterpoint.core.rules.wording import few, first_line
from counterpoint.dialects.foundry.journal.rules import ENTRY_TYPE, SOURCE, said_of
from counterpoint.dialects.foundry.models.specs import AS_IMPORTED, ROOT
from counterpoint.dialects.foundry.nodes.rules.drafting import (
    OF_BLOCKERS,
    metadata_root,
    outside_of,
    title_of,
)
from counterpoint.dialects.foundry.nodes.rules.faults import Diagnostic
from counterpoint.dialects.foundry.nodes.rules.shape import (
    DEPENDENCY_TYPES,
    JOURNAL_TYPES,
    NODE_TYPES,
    RUN_TYPES,
    Node,
    has_text,
    is_one_of,
    items_of,
    metadata_of,
    moment_of,
    nodes_of,
    quoted,
    same,
    text_of,
)
from counterpoint.dialects.foundry.nodes.rules.tree import refuse
from counterpoint.dialects.foundry.specs.rules.editing import FixAction, fixed
from counterpoint.dialects.foundry.specs.rules.validation import is_time
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json, dump_any, object_of
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import InvalidInput

_TEXTS: Final = ("timestamp", "entry_type", "title", "content", "author")
_FIELDS: Final = frozenset({*_TEXTS, "metadata", "task_id"})
_TYPES: Final = frozenset({*JOURNAL_TYPES, *RUN_TYPES})


@dataclass(frozen=True, slots=True)
class WrittenEntry:
    """An entry as it is kept; told: what was done to it, empty for nothing."""

    entry: dict[str, Json]
    told: str = ""


def written(entry: Json, nodes: Collection[str]) -> WrittenEntry:
    """Return an entry of a file as it is kept; nodes: those that it may be about. What is no object is the text of a note."""
    if not isinstance(entry, dict):
        entry = {"content": entry if isinstance(entry, str) else dump_any(entry)}
        return WrittenEntry(written(entry, nodes).entry, "Made a note of what was no entry")
    entry_fields = object_of(entry)
    odd: dict[str, Json] = {key: value for key, value in entry_fields.items() if key not in _FIELDS}
    odd |= {
        key: entry_fields[key]
        for key in _TEXTS
        if not isinstance(entry_fields.get(key), str | None)
    }
    if has_text(when := entry_fields.get("timestamp")) and not is_time(when):
        odd["timestamp"] = when
    title, content = title_of("", entry_fields.get("title")), text_of(entry_fields.get("content"))
    if len(title) > TITLE_LIMIT:
        odd["title"], title = title, title[:TITLE_LIMIT].strip()
    kind = text_of(entry_fields.get("entry_type"))
    if kind and kind not in _TYPES:
        odd["entry_type"], kind = kind, ""
    metadata, more = _metadata(entry_fields.get("metadata"))
    fields: dict[str, Json] = {
        "timestamp": "" if "timestamp" in odd else text_of(entry_fields.get("timestamp")),
        "entry_type": kind or "note",
        "title": title or first_line(content, TITLE_LIMIT),
        "content": content,
        "author": text_of(entry_fields.get("author")),
    }
    about: Json = entry_fields.get("task_id")
    if isinstance(about, str) and about in nodes:
        fields["task_id"] = about
    elif about not in (None, ""):
        odd["task_id"] = about
    odd |= more
    fields["metadata"] = with_kept(metadata, odd) if odd else metadata
    return WrittenEntry(fields, f"Kept in metadata what has no place: {few([*odd])}" if odd else "")


def _metadata(raw: Json) -> tuple[dict[str, Json], dict[str, Json]]:
    """Return the metadata of an entry, and what of it has no place: it is no object, or has a name of a record's own."""
    if not isinstance(raw, dict):
        return {}, {} if raw is None else {"metadata": raw}
    fields = object_of(raw)
    own = {key: fields[key] for key in (ENTRY_TYPE, SOURCE) if key in fields}
    return {key: value for key, value in fields.items() if key not in own}, (
        {"metadata": own} if own else {}
    )


def with_kept(metadata: Mapping[str, Json], values: Mapping[str, Json]) -> dict[str, Json]:
    """Return metadata with values that a file said beside what they keep of one already."""
    before = metadata.get(AS_IMPORTED, {})
    earlier = object_of(before) if isinstance(before, dict) else {AS_IMPORTED: before}
    return {**metadata, AS_IMPORTED: {**earlier, **values}}


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


TroubleKind = Literal["conflict", "invalid", "refused", "double", "locked"]
Meaning = Literal["ours", "edit", "conflict"]
_VERSION: Final = 1
_OF_WRITING: Final = frozenset({"last_updated", "journal"})


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile:
    """The file of a spec as it was written last, or as it came in.

    pending: the SHA-256 that was to come next. updated: its `last_updated`. stands: the SHA-256 of the document for which it
    stands, where that says the same in other words; empty if it is that document.
    """

    folder: str
    sha256: str
    position: int
    mtime: int = 0
    size: int = -1
    pending: str = ""
    updated: str = ""
    stands: str = ""

    @property
    def documents(self) -> frozenset[str]:
        """The SHA-256 of each document that the ledger may have if it has not moved since."""
        return frozenset({self.sha256, self.pending, self.stands})


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Why the file of a spec is left alone; sha256: of the file at that time."""

    kind: TroubleKind
    message: str
    folder: str
    sha256: str


@dataclass(slots=True, kw_only=True)
class Record:
    """What is known of the files of a project; position: up to where the ledger was looked at."""

    position: int = -1
    files: dict[str, WrittenFile] = field(default_factory=dict[str, WrittenFile])
    troubles: dict[str, Trouble] = field(default_factory=dict[str, Trouble])


def meaning_of(sha256: str, written: WrittenFile | None, now: str) -> Meaning:
    """Return what a file with a SHA-256 means; now: that of the document as the ledger has it."""
    if sha256 == now or (written is not None and sha256 in {written.sha256, written.pending}):
        return "ours"
    if written is not None and now in written.documents:
        return "edit"
    return "conflict"


def is_older(updated: Json, last: Json) -> bool:
    """Return whether a `last_updated` is older than the last one, or says no time."""
    if updated == last:
        return False
    moments = [_moment(text) for text in (updated, last)]
    return moments[0] is None or (moments[1] is not None and moments[0] < moments[1])


def says_the_same(file: Mapping[str, Json], now: Mapping[str, Json]) -> bool:
    """Return whether a file of a later version may stay as it is: but for the time and the journal it is the document."""
    of_file, of_now = (
        {name: value for name, value in document.items() if name not in _OF_WRITING}
        for document in (file, now)
    )
    return not is_older(now["last_updated"], file.get("last_updated")) and of_file == of_now


def dump_record(record: Record) -> bytes:
    """Return a record as it is kept."""
    return canonical.dump_any(
        {
            "version": _VERSION,
            "position": record.position,
            "files": {name: asdict(file) for name, file in record.files.items()},
            "troubles": {name: asdict(trouble) for name, trouble in record.troubles.items()},
        }
    ).encode()


def load_record(data: bytes) -> Record:
    """Parse a stored record; an invalid one counts as empty."""
    try:
        fields = object_of(canonical.load(data))
        if fields.get("version") != _VERSION:
            return Record()
        return Record(
            position=int(fields["position"]),
            files={name: WrittenFile(**file) for name, file in _objects(fields["files"])},
            troubles={name: Trouble(**trouble) for name, trouble in _objects(fields["troubles"])},
        )
    except (InvalidInput, KeyError, TypeError, ValueError):
        return Record()


def _moment(value: Json) -> Timestamp | None:
    return moment_of(value) if isinstance(value, str) else None


def _objects(value: Json) -> list[tuple[str, dict[str, Json]]]:
    return [(name, object_of(part)) for name, part in object_of(value).items()]
