"""A document as the draft of a spec, and what is set once its items have ids.

`document_of` (nodes/rules/progress.py) is the way back. What comes out again as it came in: ids, titles, order, types, statuses, all
metadata, dependencies of each sort, the journal, when it was generated, and fields that nobody knows. What does not:

1. What is derived: counts, progress, the current phase, `last_updated`, the status of what has children, and both sides of a
   dependency where one was told. A group without nodes counts as a task here. The status, progress and phase that old files have in `metadata` go.
2. A node that is in progress begins as pending: nobody holds it here. A blocker is dated when it comes in.
3. A title that is blank is the id; one of several lines is one line. The spec has one title: that of the document.
4. Metadata of the root node becomes that of the document, which wins where both have a key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from posixpath import normpath
from typing import Final, cast

from counterpoint.core.model.drafts import Draft, place_name
from counterpoint.core.model.work import BODY_LIMIT, Kind
from counterpoint.core.rules.drafting import WORD_LIMIT, WORDS_LIMIT
from counterpoint.core.rules.wording import few
from counterpoint.dialects.foundry.models.specs import DEPENDS, KEPT, NODE, ROOT, SPEC, TYPE, Folder
from counterpoint.dialects.foundry.nodes.rules.shape import (
    DEPENDENCY_TYPES,
    RUN_TYPES,
    Node,
    dependencies_of,
    has_text,
    items_of,
    metadata_of,
    text_of,
    texts_of,
    word_of,
)
from counterpoint.dialects.foundry.nodes.rules.tree import (
    NAME_LIMIT,
    NODE_FIELDS,
    SPEC_FIELDS,
    Tree,
    faults_of,
    hard_needs,
    refuse,
    rollup,
    soft_edges,
)
from counterpoint.kernel.canonical import Json, object_of

_TOLD: Final = 20
_MOVED_UP: Final = ("status", "progress_percentage", "current_phase")
"""What old files have in `metadata`, and all others at the top."""
OF_BLOCKERS: Final = ("blocked_at", "blocker_type", "blocker_description", "blocker_ticket")
_FOLDERS: Final[Mapping[str, Folder]] = {
    "pending": "pending",
    "in_progress": "active",
    "blocked": "active",
    "completed": "completed",
    "archived": "archived",
}
_RESERVED: Final = frozenset((TYPE, DEPENDS, KEPT))

Place = Callable[[str], str]
"""Returns the path of a file as it lies in the worktree; empty for what leads out of that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocker:
    """What a document says of why a node is blocked."""

    description: str
    type: str
    ticket: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFields:
    """What the core keeps of a node's title and metadata; attributes: all that it has no place for."""

    title: str
    body: str
    acceptance: tuple[str, ...]
    areas: tuple[str, ...]
    attributes: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentDraft:
    """A document laid out as what makes a spec.

    order: the nodes in the order in which the core makes items of the draft. depends, blockers: by node, for when there
    are ids. journal: the entries that can be kept, the oldest first. remarks: what is read otherwise than it may be meant.
    """

    spec: str
    draft: Draft
    folder: Folder
    order: tuple[str, ...]
    depends: Mapping[str, tuple[str, ...]]
    blockers: Mapping[str, Blocker]
    journal: tuple[Mapping[str, Json], ...]
    remarks: tuple[str, ...] = field(default=())


def as_written(path: str) -> str:
    """Return the path of a file as it is, unless its words lead out of where it starts."""
    is_inside = not path.startswith("/") and normpath(path).split("/")[0] != ".."
    return path if is_inside and "\0" not in path else ""


def draft_of(
    document: Mapping[str, Json], folder: Folder | None = None, place_file: Place = as_written
) -> DocumentDraft:
    """Return what makes the spec of a document; MalformedDocument with all faults, each with its place.

    folder: where its file lies; None: what its status says.
    """
    tree = Tree(document)
    refuse(list(faults_of(document, tree)))
    spec = text_of(document.get("spec_id"))
    stands = rollup(tree)
    statuses = {
        name: stands.statuses.get(name) or text_of(node.get("status"))
        for name, node in tree.nodes.items()
    }
    drafts = _Drafts(document, tree, spec, statuses, place_file)
    return DocumentDraft(
        spec=spec,
        draft=drafts.whole(),
        folder=folder or folder_said(document) or "pending",
        order=tuple(_by_levels(tree)),
        depends={name: tuple(others) for name, others in soft_edges(tree.nodes).items() if others},
        blockers={
            name: blocker_in(metadata_of(tree.nodes[name]))
            for name in tree.reachable
            if statuses[name] == "blocked" and name != ROOT
        },
        journal=tuple(map(object_of, items_of(document.get("journal")))),
        remarks=(*_remarks(tree, statuses), *_journal_remarks(document.get("journal"))),
    )


def folder_said(document: Mapping[str, Json]) -> Folder | None:
    """Return the folder that the status of a document's root means; None if it means none."""
    return _FOLDERS.get(word_of(metadata_root(document).get("status")))


def fields_of(
    name: str,
    node: Mapping[str, Json],
    metadata: Mapping[str, Json],
    usual: str,
    place_file: Place = as_written,
) -> NodeFields:
    """Return what the core keeps of a node; usual: the type that it has where nothing says another."""
    remaining = dict(metadata)
    if node.get("status") == "blocked":
        remaining = {key: value for key, value in remaining.items() if key not in OF_BLOCKERS}
    body = remaining.get("description")
    if isinstance(body, str) and 0 < len(body) <= BODY_LIMIT:
        del remaining["description"]
    else:
        body = ""
    sentences = remaining.get("acceptance_criteria")
    if _are_words(sentences):
        del remaining["acceptance_criteria"]
    else:
        sentences = []
    path = text_of(remaining.get("file_path"))
    # One that leads out is kept as it came, and is nobody's area.
    path = place_file(path) if path.strip() and len(path) <= WORD_LIMIT else ""
    if 0 < len(path) <= WORD_LIMIT:
        del remaining["file_path"]
    else:
        path = ""
    plain = {key: value for key, value in remaining.items() if _is_attribute(key, value)}
    odd = {key: value for key, value in remaining.items() if key not in plain}
    extra = {key: value for key, value in node.items() if key not in NODE_FIELDS}
    fields: dict[str, Json] = {}
    if odd:
        fields["metadata"] = odd
    if extra:
        fields["node"] = extra
    if node.get("type") != usual:
        plain[TYPE] = node.get("type")
    if fields:
        plain[KEPT] = fields
    return NodeFields(
        title=title_of(name, node.get("title")),
        body=body,
        acceptance=tuple(texts_of(sentences)),
        areas=(path,) if path else (),
        attributes=plain,
    )


def root_fields(document: Mapping[str, Json], place_file: Place = as_written) -> NodeFields:
    """Return what the core keeps of the root of a document, and of what stands around its nodes."""
    node = metadata_root(document)
    top = {k: v for k, v in metadata_of(document).items() if k not in _MOVED_UP}
    title = text_of(document.get("title")) or text_of(node.get("title"))
    around = {key: value for key, value in document.items() if key not in SPEC_FIELDS}
    fields = fields_of(
        text_of(document.get("spec_id")),
        # A spec is blocked by its nodes alone: what its root says of a blocker stays metadata.
        {**node, "title": title, "type": "spec", "status": None},
        {**metadata_of(node), **top},
        "spec",
        place_file,
    )
    if not around:
        return fields
    extra = {**object_of(fields.attributes.get(KEPT)), "document": around}
    return NodeFields(
        title=fields.title,
        body=fields.body,
        acceptance=fields.acceptance,
        areas=fields.areas,
        attributes={**fields.attributes, KEPT: extra},
    )


def metadata_root(document: Mapping[str, Json]) -> Node:
    """Return the root node of a document."""
    return object_of(object_of(document.get("hierarchy")).get(ROOT))


def title_of(name: str, raw: Json) -> str:
    """Return a title as the core takes it: one line, and the id where there is none."""
    return (
        " ".join(text_of(raw).split())
        if len(text_of(raw).splitlines()) > 1
        else (text_of(raw).strip() or name)
    )


def added_draft(
    spec: str, tree: Tree, top: str, kind: Kind, place_file: Place, *, is_in_task: bool
) -> Draft:
    """Return the draft of a node that is new with all below it, all open; kind: that of its item.

    What waits, blocks or is completed is set by word, when all of it is there.
    """
    names = tree.below(top)
    kinds: dict[str, Kind] = {top: kind}
    for name in names[1:]:
        kinds[name] = kind_of(tree.nodes[name], kinds[tree.owner[name]])
    drafts: dict[str, Draft] = {}
    for name in reversed(names):
        in_task = is_in_task if name == top else kinds[tree.owner[name]] == "task"
        usual = usual_type(kinds[name], is_in_task=in_task)
        fields = fields_of(name, tree.nodes[name], metadata_of(tree.nodes[name]), usual, place_file)
        drafts[name] = Draft(
            kind=kinds[name],
            title=fields.title,
            name=place_name(name),
            body=fields.body,
            needs=(),
            acceptance=fields.acceptance,
            areas=fields.areas,
            aliases=((NODE, f"{spec}/{name}"),),
            attributes=fields.attributes,
            children=tuple(drafts.pop(kid) for kid in tree.kids[name]),
        )
    return drafts[top]


def outside_of(document: Mapping[str, Json]) -> frozenset[str]:
    """Return the ids that dependencies of a document name and that are no nodes of it."""
    tree = Tree(document)
    return frozenset(
        other
        for node in tree.nodes.values()
        for kind in DEPENDENCY_TYPES
        for other in dependencies_of(node, kind)
        if other not in tree.nodes
    )


def usual_type(kind: Kind, *, is_in_task: bool) -> str:
    """Return the type of a node by its kind and place, as `type_of` tells it of an item."""
    if kind == "phase":
        return "phase"
    return "subtask" if is_in_task else "task"


def kind_of(node: Node, above: Kind) -> Kind:
    """Return the kind of the item of a node below one of another kind: phases only stand where the core has them."""
    return "phase" if node.get("type") == "phase" and above in {"spec", "phase"} else "task"


class _Drafts:
    """Makes the drafts of the nodes of one document, from the leaves up."""

    def __init__(
        self,
        document: Mapping[str, Json],
        tree: Tree,
        spec: str,
        statuses: Mapping[str, str],
        place_file: Place,
    ) -> None:
        self._document = document
        self._place = place_file
        self._tree = tree
        self._spec = spec
        self._statuses = statuses
        self._kinds: dict[str, Kind] = {ROOT: "spec"}
        for name in tree.reachable[1:]:
            self._kinds[name] = kind_of(tree.nodes[name], self._kinds[tree.owner[name]])
        self._needs = hard_needs(tree.nodes)

    def whole(self) -> Draft:
        """Return the draft of the root with all below it."""
        drafts: dict[str, Draft] = {}
        for name in reversed(self._tree.reachable):
            children = tuple(drafts.pop(kid) for kid in self._tree.kids[name])
            drafts[name] = self._root(children) if name == ROOT else self._node(name, children)
        return drafts[ROOT]

    def _root(self, children: tuple[Draft, ...]) -> Draft:
        fields = root_fields(self._document, self._place)
        return Draft(
            kind="spec",
            title=fields.title,
            name=place_name(ROOT),
            body=fields.body,
            needs=(),
            acceptance=fields.acceptance,
            areas=fields.areas,
            lifecycle="declared",
            aliases=((SPEC, self._spec),),
            attributes=fields.attributes,
            children=children,
        )

    def _node(self, name: str, children: tuple[Draft, ...]) -> Draft:
        node, kind = self._tree.nodes[name], self._kinds[name]
        is_in_task = self._kinds[self._tree.owner[name]] == "task"
        usual = usual_type(kind, is_in_task=is_in_task)
        fields = fields_of(name, node, metadata_of(node), usual, self._place)
        return Draft(
            kind=kind,
            title=fields.title,
            name=place_name(name),
            body=fields.body,
            needs=tuple(place_name(need) for need in self._needs[name]),
            acceptance=fields.acceptance,
            areas=fields.areas,
            done=self._statuses[name] == "completed" and all(kid.done for kid in children),
            aliases=((NODE, f"{self._spec}/{name}"),),
            attributes=fields.attributes,
            children=children,
        )


def _by_levels(tree: Tree) -> Iterator[str]:
    level = [ROOT]
    while level:
        yield from level
        level = [kid for name in level for kid in tree.kids[name]]


def blocker_in(metadata: Mapping[str, Json]) -> Blocker:
    """Return what metadata says of why a node is blocked."""
    return Blocker(
        description=text_of(metadata.get("blocker_description")) or "blocked in the file",
        type=text_of(metadata.get("blocker_type")),
        ticket=text_of(metadata.get("blocker_ticket")),
    )


def _remarks(tree: Tree, statuses: Mapping[str, str]) -> Iterator[str]:
    begun = [
        name
        for name in tree.reachable
        if not tree.kids[name] and name != ROOT and statuses[name] == "in_progress"
    ]
    if begun:
        names = few(begun, _TOLD)
        yield f"in progress in the file, but nobody holds it here, so it waits to be taken: {names}"
    if statuses[ROOT] == "blocked" and "blocked" not in {
        status for name, status in statuses.items() if name != ROOT
    }:
        yield "blocked in the file, but none of its nodes is, so it is not blocked here: spec-root"


def _journal_remarks(journal: Json) -> Iterator[str]:
    """Return what is told of entries that an unattended run has written."""
    kinds = Counter(text_of(object_of(entry).get("entry_type")) for entry in items_of(journal))
    counts = [f"{kinds[kind]} of the type {kind}" for kind in RUN_TYPES if kinds[kind]]
    if counts:
        yield f"entries of the journal that runs have written come in as they are: {', '.join(counts)}"


def _are_words(value: Json) -> bool:
    if not isinstance(value, list):
        return False
    words = cast("list[Json]", value)
    return 0 < len(words) <= WORDS_LIMIT and all(
        has_text(word) and len(text_of(word)) <= WORD_LIMIT for word in words
    )


def _is_attribute(name: str, value: Json) -> bool:
    return value is not None and name not in _RESERVED and 0 < len(name) <= NAME_LIMIT
