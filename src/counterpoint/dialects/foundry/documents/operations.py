"""Takes documents into the ledger.

Applies a document to its spec, through the verbs of single calls.
Rules: (1) what differs is found by the ids of nodes, and derived fields are no difference. (2) Structure comes first, then the
document is read again and all else compared, so that what was added or brought back is treated as any other node.
(3) Nothing passes a gate, a claim or a blocker of the core: a word of the file is a word of whoever applies it. (4) What is refused
is told with its node and field; the rest lands in one transaction, or nothing does if the whole was asked for. So that a refused
part leaves nothing half done, all is tried first and undone, until nothing more is refused.

Specs made from documents, whole or not at all.
A large one is made in hidden slices (core/operations/planning/staging.py); what needs ids comes in the transaction
that shows it: soft dependencies, blockers, the journal, and the status of the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from counterpoint.core.model.answers import Standing
from counterpoint.core.model.filters import Edit, Note
from counterpoint.core.model.work import TITLE_LIMIT, WORKABLE, Item
from counterpoint.core.operations.closing.part_status import (
    block,
    bring,
    open_blockers,
    refuse_other,
    unblock,
)
from counterpoint.core.operations.gates import refuse_stale_word
from counterpoint.core.operations.items import Items
from counterpoint.core.operations.journal import Journal
from counterpoint.core.operations.plans import Plans
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context, Verbs
from counterpoint.core.operations.recording.facets import item_named, labels_of, set_attributes
from counterpoint.core.operations.recording.links import shift
from counterpoint.core.operations.recording.moves import move
from counterpoint.core.operations.recording.unit import recording, transaction
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.documents.rules.comparing import (
    Difference,
    NodeChange,
    differences,
    paths_changed,
)
from counterpoint.dialects.foundry.documents.rules.importing import Mended, mended, with_kept
from counterpoint.dialects.foundry.journal.operations import Journals
from counterpoint.dialects.foundry.journal.rules import ENTRY_TYPE, SOURCE, note_kind
from counterpoint.dialects.foundry.models.specs import (
    ARCHIVED,
    DEPENDS,
    KEPT,
    NODE,
    PENDING,
    REMOVED,
    ROOT,
    SPEC,
    TYPE,
    Folder,
)
from counterpoint.dialects.foundry.nodes.queries import (
    Nodes,
    chunks,
    get_spec,
    in_words,
    node_name,
    spec_id,
    spec_renamed,
)
from counterpoint.dialects.foundry.nodes.rules.drafting import (
    Blocker,
    DocumentDraft,
    Place,
    added_draft,
    blocker_in,
    draft_of,
    folder_said,
    outside_of,
)
from counterpoint.dialects.foundry.nodes.rules.progress import folder_of
from counterpoint.dialects.foundry.nodes.rules.shape import (
    STATES,
    metadata_of,
    nodes_of,
    same,
    text_of,
)
from counterpoint.dialects.foundry.nodes.rules.tree import Tree, faults_of, refuse
from counterpoint.dialects.foundry.nodes.writing import (
    perform,
    placing,
    refuse_held_at,
    refuse_held_over,
    refuse_reordered,
    take_out,
)
from counterpoint.dialects.foundry.specs.operations import Lifecycle, whole
from counterpoint.dialects.foundry.specs.rules.editing import (
    FixAction,
    Replacement,
    fixed,
    recalculated,
    replaced,
)
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import Conflict, CounterpointError, InvalidInput, StaleVersion

APPLIED: Final = "spec.applied"
_LOOKED: Final = "task.looked"
_NEEDS: Final = "dependencies.blocked_by"
_PASSES: Final = 10
"""Attempts to apply the rest without what was refused."""
_STANDINGS: Final[Mapping[str, Standing]] = {
    "pending": "open",
    "in_progress": "active",
    "completed": "done",
}
_CORE: Final[Mapping[str, str]] = {
    "title": "title",
    "description": "body",
    "acceptance_criteria": "acceptance",
    "file_path": "areas",
}
"""Fields of the core, by their names in documents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A part of a document that was not applied, and why."""

    node: str
    field: str
    reason: str
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """The changes that a document made in its spec, or would make; fixes: corrections of the document beforehand."""

    spec: str
    changes: tuple[NodeChange, ...] = ()
    refused: tuple[Refusal, ...] = ()
    fixes: tuple[FixAction, ...] = ()


class Applying(Verbs):
    """Verbs that apply documents."""

    def apply(
        self,
        spec: str,
        document: Mapping[str, Json],
        *,
        whole: bool = False,
        dry_run: bool = False,
        because: str = "",
        facts: Mapping[str, Json] | None = None,
        folder: Folder | None = None,
    ) -> Applied:
        """Apply a document to a spec, and move the spec to a folder if one is given.

        whole: refuse all if a part is refused, with the error of the first. because: the reason of moves and removals.
        facts: added to the entry. Raises NotFound, MalformedDocument with all faults of the document.
        """
        with self._context.reading() as view:
            root = get_spec(view, spec)
        self._refuse_stale(root, document)
        act = _Act(
            root=root,
            document=document,
            because=because,
            facts=facts or {},
            whole=whole,
            folder=folder,
        )
        if whole:
            return perform(self._context, act.run, dry_run=dry_run)
        for _ in range(_PASSES):
            refused_count = len(act.refused)
            tried = perform(self._context, act.run, dry_run=True)
            if len(act.refused) == refused_count:
                break
        else:
            raise Conflict(
                "what is left of this document is refused again and again",
                hint="Apply it in parts.",
                refused=len(act.refused),
            )
        return tried if dry_run else perform(self._context, act.run)

    def _refuse_stale(self, root: Item, document: Mapping[str, Json]) -> None:
        """Refuse stale checks of nodes to be completed, before the transaction since git is asked."""
        with self._context.reading() as view:
            nodes = Nodes(view, root)
            done = [
                item
                for name, node in Tree(document).nodes.items()
                if node.get("status") == "completed"
                and (item := nodes.find(name)) is not None
                and item.category not in {"done", "review"}
                and item.is_workable
            ]
        for item in done:
            refuse_stale_word(self._context, item.id, "done")


@dataclass(slots=True, kw_only=True)
class _Act:
    """Applies one document; run again, it leaves out what was refused before."""

    root: Item
    document: Mapping[str, Json]
    because: str
    facts: Mapping[str, Json]
    whole: bool
    folder: Folder | None
    refused: dict[tuple[str, str], Refusal] = field(
        init=False, default_factory=dict[tuple[str, str], Refusal]
    )
    _done: list[NodeChange] = field(init=False, default_factory=list[NodeChange])

    def run(self, context: Context) -> Applied:
        """Apply what was not refused, in the transaction that is open."""
        self._done = []
        with recording(context, APPLIED, self.root.id) as change:
            change.open_session()
            current = whole(change.writing, self._root(change.writing))
            self._refuse(current)
            place_file = placing(context, paths_changed(current, self.document))
            steps = _Steps(context, self.root, self.document, self.because, place_file)
            first = differences(current, self.document, place_file)
            self._do(first.structure, steps)
        with context.reading() as view:
            current = whole(view, self._root(view))
            folder = folder_of(self._root(view).category, labels_of(view, self.root.id))
        self._do(differences(current, self.document, place_file).contents, steps)
        if self.folder not in {None, folder}:
            change_of = NodeChange(node=ROOT, field="folder", before=folder, after=self.folder)
            self._do([Difference("folder", change_of)], steps)
        elif folder == "pending" and self._is_to_rest(context):
            Lifecycle(context).rest(str(current["spec_id"]))
        with recording(context, APPLIED, self.root.id) as change:
            if self._done:
                change.add_facts(spec=str(current["spec_id"]), changes=len(self._done))
                change.add_facts(refused=len(self.refused), **self.facts)
        return Applied(
            spec=str(current["spec_id"]),
            changes=tuple(self._done),
            refused=tuple(self.refused.values()),
        )

    def _is_to_rest(self, context: Context) -> bool:
        """Return whether a spec whose document is pending was begun, though nobody works on a task of it."""
        if nodes_of(self.document).get(ROOT, {}).get("status") != "pending":
            return False
        at_work = ("active", "review")
        with context.reading() as view:
            is_begun = view.exists(Item, root=self.root.id, kind=WORKABLE, category=at_work)
            return self._root(view).category == "active" and not is_begun

    def _root(self, view: Reading) -> Item:
        return view.find(Item, self.root.id) or self.root

    def _refuse(self, current: Mapping[str, Json]) -> None:
        refuse(list(faults_of(self.document, Tree(self.document), outside_of(current))))
        if self.document.get("spec_id") != current["spec_id"]:
            raise InvalidInput(
                f"the document is of {self.document.get('spec_id')!r}, not of {current['spec_id']!r}"
            )

    def _do(self, differences: Sequence[Difference], steps: _Steps) -> None:
        for difference in differences:
            key = difference.change.node, difference.change.field
            if key in self.refused:
                continue
            try:
                steps.take(difference)
            except CounterpointError as fault:
                if self.whole:
                    raise
                self.refused[key] = Refusal(
                    node=difference.change.node,
                    field=difference.change.field,
                    reason=steps.said(fault),
                    code=str(fault.facts.get("error_code", fault.code)),
                )
            else:
                self._done.append(difference.change)


@dataclass(slots=True)
class _Steps:
    """Does one difference after the other, each as a single call would."""

    context: Context
    root: Item
    document: Mapping[str, Json]
    because: str
    place_file: Place
    tree: Tree = field(init=False)
    _made: set[str] = field(init=False, default_factory=set[str])

    def __post_init__(self) -> None:
        self.tree = Tree(self.document)

    def take(self, difference: Difference) -> None:
        """Apply one difference; raises any refusal of the core."""
        match difference.way:
            case "add":
                self._add(difference.change.node)
            case "move":
                self._put_below(
                    self._item(difference.change.node), self._item(str(difference.change.after))
                )
            case "order":
                self._order(difference.change.node)
            case "remove":
                self._remove(difference.change.node)
            case "status":
                self._status(difference.change)
            case "entry":
                self._entry(difference.change)
            case "folder":
                Lifecycle(self.context).move(self._spec, difference.change.after)
            case "write":
                self._write(difference.change)

    def said(self, fault: CounterpointError) -> str:
        """Return the message of a refusal, in the words of the spec."""
        with self.context.reading() as view:
            return in_words(Nodes(view, self.root), fault).message

    def _item(self, name: str) -> Item:
        with self.context.reading() as view:
            return Nodes(view, self.root).get(name)

    def _target(self, name: str) -> str:
        """Return the item that a dependency names: a node, or work outside of the spec."""
        with self.context.reading() as view:
            return Nodes(view, self.root).target(name).id

    def _write(self, node_change: NodeChange) -> None:
        """Edit a node's texts or dependencies; nodes that others hold keep theirs."""
        item = self._item(node_change.node)
        edit = self._edit_of(node_change)
        with recording(self.context, _LOOKED) as change:
            if node_change.field != _NEEDS:
                refuse_other(change, item)
            elif edit.add_needs:
                refuse_held_at(change, item)
        Items(self.context).edit(item.id, edit)

    def _put_below(self, item: Item, parent: Item) -> None:
        with recording(self.context, _LOOKED) as change:
            refuse_held_at(change, item)
            refuse_held_over(change, parent)
        Items(self.context).edit(item.id, Edit(parent=parent.id))

    def _add(self, name: str) -> None:
        """Add a node with its new descendants, or restore it if it was removed."""
        if name in self._made:
            return
        spec = self._spec
        parent = self._item(self.tree.owner[name])
        with self.context.reading() as view:
            below = self.tree.below(name)
            old_nodes = {
                descendant: item
                for descendant in below
                if (item := item_named(view, node_name(spec, descendant), NODE)) is not None
            }
        with recording(self.context, _LOOKED) as change:
            refuse_held_over(change, parent)
        if name in old_nodes:
            self._bring_back(name, old_nodes[name], parent)
        else:
            kind = "phase" if self._is_phase(name, parent) else "task"
            is_in_task = bool(parent.is_workable and parent.parent)
            tree = self._without(old_nodes) if old_nodes else self.tree
            draft = added_draft(spec, tree, name, kind, self.place_file, is_in_task=is_in_task)
            Plans(self.context).create(draft, parent.id)
            self._made |= {*tree.below(name)}

    def _is_phase(self, name: str, parent: Item) -> bool:
        return self.tree.nodes[name].get("type") == "phase" and not parent.is_workable

    @property
    def _spec(self) -> str:
        return str(self.document["spec_id"])

    def _without(self, old_nodes: Mapping[str, Item]) -> Tree:
        """Return the tree without restored nodes and their descendants: each is added by itself."""
        gone = {below for name in old_nodes for below in self.tree.below(name)}
        nodes = {
            name: {**node, "children": [kid for kid in self.tree.kids[name] if kid not in gone]}
            for name, node in self.tree.nodes.items()
            if name not in gone
        }
        return Tree({**self.document, "hierarchy": nodes})

    def _bring_back(self, name: str, item: Item, parent: Item) -> None:
        if item.root != self.root.id:
            with self.context.reading() as view:
                other = spec_id(view, view.find(Item, item.root) or item)
            raise Conflict(f"{name!r} is a node of {other} now")
        if item.status == REMOVED:
            Items(self.context).edit(item.id, Edit(status="open", reason=self.because))
        if item.parent != parent.id:
            self._put_below(item, parent)

    def _order(self, name: str) -> None:
        positions = {kid: index for index, kid in enumerate(self.tree.kids[name])}
        with recording(self.context, "spec.reordered", self._item(name).id) as change:
            change.open_session()
            siblings = change.select(Item, parent=change.subject, order="position,number")
            names = Nodes(change.writing, self.root).ids(sibling.id for sibling in siblings)
            before = [sibling.id for sibling in siblings]
            siblings.sort(key=lambda sibling: positions.get(names[sibling.id], len(positions)))
            refuse_reordered(change, before, [sibling.id for sibling in siblings])
            for index, sibling in enumerate(siblings):
                if sibling.position != index:
                    change.put(replace(sibling, position=index, updated_at=change.now))

    def _remove(self, name: str) -> None:
        with recording(self.context, "task.removed") as change:
            change.open_session()
            nodes = Nodes(change.writing, self.root)
            item = nodes.get(name)
            change.subject = item.id
            below = [node for some in nodes.below((item,)).values() for node in some]
            remaining = [
                other
                for other in nodes.ids(node.id for node in below).values()
                if other in self.tree.nodes
            ]
            if remaining:
                raise Conflict(f"{name} still holds {', '.join(remaining[:5])}")
            take_out(change, item, self.because or f"{name} was taken out of the document")

    def _status(self, node_change: NodeChange) -> None:
        to = str(node_change.after)
        with recording(self.context, "task.moved") as change:
            change.open_session()
            item = change.get(Item, Nodes(change.writing, self.root).get(node_change.node).id)
            change.subject = item.id
            if to == "blocked":
                refuse_other(change, item)
                blocker = blocker_in(metadata_of(self.tree.nodes[node_change.node]))
                details = {"blocker_type": blocker.type, "ticket": blocker.ticket}
                block(change, item, blocker.description, {k: v for k, v in details.items() if v})
            elif self.tree.kids[node_change.node]:
                refuse_other(change, item)
                item = unblock(change, item, open_blockers(change, item), self.because)
                if item.category == "active":
                    move(change, item, "open", self.because)
            else:
                bring(change, item, _STANDINGS[to], self.because)

    def _entry(self, change: NodeChange) -> None:
        entry = object_of(change.after)
        # The entry is the caller's; author and time of the document are stored beside it.
        origin = {key: entry[key] for key in ("author", "timestamp") if entry.get(key)}
        metadata = object_of(entry.get("metadata"))
        Journals(self.context).add(
            self._spec,
            str(entry.get("entry_type") or "note"),
            str(entry.get("title") or ""),
            str(entry.get("content") or ""),
            "" if change.node == ROOT else change.node,
            with_kept(metadata, origin) if origin else metadata,
        )

    def _edit_of(self, change: NodeChange) -> Edit:
        after: Json = change.after
        match change.field:
            case field if field == _NEEDS:
                return self._needs(change)
            case "dependencies.depends":
                values = [self._item(name).id for name in after]
                return Edit(attributes={DEPENDS: values or None})
            case field if field in _CORE:
                fields: dict[str, Any] = {_CORE[field]: after}
                return Edit(**fields)
            case field:
                name = {"type": TYPE, "fields": KEPT}.get(field, field.removeprefix("metadata."))
                return Edit(attributes={name: after})

    def _needs(self, change: NodeChange) -> Edit:
        before, after = set(change.before), set(change.after)
        names = {name: self._target(name) for name in before ^ after}
        return Edit(
            add_needs=tuple(names[name] for name in sorted(after - before)),
            remove_needs=tuple(names[name] for name in sorted(before - after)),
        )


IMPORTED: Final = "spec.imported"
_FIXES_TOLD: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedSpec:
    """A spec made from a document; root: its item, empty for a preview. fixes: corrections of the document."""

    spec: str
    root: str
    nodes: int
    remarks: tuple[str, ...]
    fixes: tuple[FixAction, ...]


class Importing(Verbs):
    """Verbs that import documents."""

    def look(self, document: Mapping[str, Json], folder: Folder | None = None) -> ImportedSpec:
        """Return what an import would make, without writing it; raises the same refusals."""
        drafted, fixes = self._draft(document, folder)
        _, stuck = Plans(self._context).look(drafted.draft)
        return _build_answer(drafted, "", fixes, stuck)

    def judge(self, document: Mapping[str, Json]) -> None:
        """Refuse a document that cannot become a spec; MalformedDocument with all faults."""
        draft_of(self._mend(document).document)

    def make(
        self, document: Mapping[str, Json], folder: Folder | None = None, source: str = ""
    ) -> ImportedSpec:
        """Make the spec of a document; what can be mended in it is. MalformedDocument with all faults, Conflict.

        folder: where its file lies; None: what its status says. source: the file that it came from.
        """
        drafted, fixes = self._draft(document, folder)
        with transaction(self._context):
            plan = Plans(self._context).create(drafted.draft)
            # The core makes items in the order of the draft's levels, which is that of the nodes.
            items = dict(zip(drafted.order, (item.id for item in plan.items), strict=True))
            with recording(self._context, IMPORTED, plan.root.id) as change:
                change.open_session()
                change.add_facts(spec=drafted.spec, nodes=len(items))
                if source:
                    change.add_facts(file=source)
                if fixes:
                    change.add_facts(**fix_facts(fixes))
                self._connect(change, drafted, items)
            self._write_down(drafted, items)
            self._settle(plan.root.id, drafted)
        return _build_answer(drafted, plan.root.id, fixes, plan.deadlocks)

    def _draft(
        self, document: Mapping[str, Json], folder: Folder | None
    ) -> tuple[DocumentDraft, tuple[FixAction, ...]]:
        mended_document = self._mend(document)
        # What is derived of all that lies below the root is no word of anybody.
        drafted = draft_of(
            mended_document.document, folder or folder_said(document), placing(self._context)
        )
        with self._context.reading() as view:
            existing = item_named(view, drafted.spec, SPEC)
            present = "" if existing else spec_renamed(view, drafted.spec)
        if present:
            raise Conflict(
                f"the spec of this id is called {present} since its title was redacted",
                hint="Take this file away: it has the words that were to go.",
                error_code="DUPLICATE_ENTRY",
            )
        if existing is not None:
            raise Conflict(
                f"there is a spec {drafted.spec!r} already",
                hint="Take it by another id, or have its file applied.",
                error_code="DUPLICATE_ENTRY",
                item=existing.id,
            )
        return drafted, mended_document.actions

    def _mend(self, document: Mapping[str, Json]) -> Mended:
        return mended(document, self._context.ports.clock.now())

    def _connect(self, change: Change, drafted: DocumentDraft, items: Mapping[str, str]) -> None:
        """Set the attributes that name items."""
        for name, others in drafted.depends.items():
            item = change.get(Item, items[name])
            set_attributes(change, item, {DEPENDS: [items[other] for other in others]})
        for name, blocker in drafted.blockers.items():
            put_blocker(change, change.get(Item, items[name]), blocker)

    def _write_down(self, drafted: DocumentDraft, items: Mapping[str, str]) -> None:
        """Store the journal, with authors and times of the document."""
        verbs, session = Journal(self._context), self._context.caller.actor.session
        for some in chunks(drafted.journal):
            with recording(self._context, "spec.journaled", items[ROOT]) as change:
                change.open_session()
                for entry in some:
                    item = items.get(text_of(entry.get("task_id")), items[ROOT])
                    change.put(verbs.draft(change, _note(entry, item), session, ()))
                change.add_facts(entries=len(some))

    def _settle(self, root: str, drafted: DocumentDraft) -> None:
        """Set the root's status by its folder; what is unfinished in a completed one stays."""
        verbs = Items(self._context)
        item = verbs.get(root)
        if drafted.folder == "completed":
            if not item.is_closed:
                verbs.edit(root, Edit(status="partial"))
        elif drafted.folder == "archived":
            parked = None if item.is_closed else STATES["archived"]
            verbs.edit(root, Edit(add_labels=(ARCHIVED,), status=parked))
        elif drafted.folder == "pending":
            if item.is_closed:
                verbs.edit(root, Edit(status="active"))
            verbs.edit(root, Edit(add_labels=(PENDING,), status="open" if item.is_closed else None))
        elif item.category != "active":
            verbs.edit(root, Edit(status="active"))


def _note(entry: Mapping[str, Json], item: str) -> Note:
    entry_type = text_of(entry.get("entry_type"))
    source = {name: text_of(entry.get(name)) for name in ("timestamp", "author")}
    return Note(
        kind=note_kind(entry_type),
        title=" ".join(text_of(entry.get("title")).split())[:TITLE_LIMIT],
        body=text_of(entry.get("content")),
        item=item,
        details={
            **object_of(entry.get("metadata")),
            ENTRY_TYPE: entry_type,
            SOURCE: {name: value for name, value in source.items() if value},
        },
    )


def put_blocker(change: Change, item: Item, blocker: Blocker) -> None:
    """Store within a change that an item is blocked."""
    fields: dict[str, Json] = {"blocker_type": blocker.type, "ticket": blocker.ticket}
    details = {name: value for name, value in fields.items() if value}
    note = Note(kind="blocker", body=blocker.description, item=item.id, details=details)
    session = change.context.caller.actor.session
    record = Journal(change.context).draft(change, note, session, ())
    change.put(record)
    shift(change, change.get(Item, item.id), 1)


def fix_facts(fixes: Sequence[FixAction]) -> dict[str, Json]:
    """Return the facts of an entry about corrections: how many, and the ids of the first."""
    return {"fixes": len(fixes), "fixed": [fix.id for fix in fixes[:_FIXES_TOLD]]}


def _build_answer(
    drafted: DocumentDraft, root: str, fixes: tuple[FixAction, ...], stuck: tuple[str, ...]
) -> ImportedSpec:
    return ImportedSpec(
        spec=drafted.spec,
        root=root,
        nodes=len(drafted.order),
        remarks=(*stuck, *drafted.remarks),
        fixes=fixes,
    )


T = TypeVar("T")
Document = dict[str, Json]

_TRIES: Final = 3
"""Attempts to rewrite a spec that others change meanwhile."""


class Editing(Verbs):
    """Verbs that rewrite a whole document."""

    def position(self) -> int:
        """Return the position of the last entry: the version to which the next change can be undone."""
        with self._context.reading() as view:
            return view.head().size - 1

    def fix(self, spec: str, *, dry_run: bool = False) -> tuple[Document, tuple[FixAction, ...]]:
        """Fix what needs no decision; return the fixed document and the actions; NotFound."""
        now = self._context.ports.clock.now()

        def mend(document: Document) -> tuple[Document, tuple[Document, tuple[FixAction, ...]]]:
            fixed_document, actions = fixed(document, now)
            return fixed_document, (fixed_document, actions)

        return self.rewrite(spec, mend, "fixed", dry_run=dry_run)

    def recalculate(self, spec: str, *, dry_run: bool = False) -> dict[str, Json]:
        """Add up the hours of phases and the spec; return what that changes; NotFound."""
        return self.rewrite(spec, recalculated, "hours added up", dry_run=dry_run)

    def replace(
        self,
        spec: str,
        find: str,
        replacement: str,
        *,
        scope: str = "all",
        use_regex: bool = False,
        case_sensitive: bool = True,
        dry_run: bool = False,
    ) -> Replacement:
        """Replace a text in titles and descriptions; NotFound, InvalidInput."""

        def rewrite(document: Document) -> tuple[Document, Replacement]:
            outcome = replaced(
                document,
                find,
                replacement,
                scope=scope,
                use_regex=use_regex,
                case_sensitive=case_sensitive,
            )
            return outcome.document, outcome

        return self.rewrite(spec, rewrite, "replaced", dry_run=dry_run)

    def rewrite(
        self,
        spec: str,
        make: Callable[[Document], tuple[Document, T]],
        because: str,
        *,
        dry_run: bool = False,
    ) -> T:
        """Apply a document that is made from the present one, all of it or nothing; return what `make` returned beside it.

        It is made before the transaction, since that may take long; where the spec has changed meanwhile, anew.
        Raises StaleVersion if it changes again and again, and what applying raises.
        """
        for _ in range(_TRIES):
            with self._context.reading() as view:
                before = whole(view, get_spec(view, spec))
            rewritten, answer = make(before)
            if same(before, rewritten):
                return answer
            if self._apply(spec, before, rewritten, because, dry_run=dry_run):
                return answer
        raise StaleVersion(f"{spec} changed again and again while it was rewritten")

    def _apply(
        self,
        spec: str,
        before: Mapping[str, Json],
        document: Mapping[str, Json],
        because: str,
        *,
        dry_run: bool,
    ) -> bool:
        """Apply a document, unless the spec has changed meanwhile; return whether it was applied."""

        def act(context: Context) -> bool:
            with recording(context, "spec.rewritten") as change:
                root = get_spec(change.writing, spec)
                if not same(whole(change.writing, root), dict(before)):
                    return False
            Applying(context).apply(spec, document, whole=True, because=because)
            return True

        return perform(self._context, act, dry_run=dry_run)
