"""Specs made from documents, whole or not at all.

A large one is made in hidden slices (core/operations/planning/staging.py); what needs ids comes in the transaction
that shows it: soft dependencies, blockers, the journal, and the status of the whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from counterpoint.core.model.filters import Edit, Note
from counterpoint.core.model.work import TITLE_LIMIT, Item
from counterpoint.core.operations.items import Items
from counterpoint.core.operations.journal import Journal
from counterpoint.core.operations.plans import Plans
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.facets import item_named, set_attributes
from counterpoint.core.operations.recording.links import shift
from counterpoint.core.operations.recording.unit import joined, recording
from counterpoint.dialects.foundry.nouns.nodes import ARCHIVED, DEPENDS, PENDING, ROOT, SPEC, Folder
from counterpoint.dialects.foundry.rules.editing.fixing import FixAction
from counterpoint.dialects.foundry.rules.entries import ENTRY_TYPE, SOURCE, note_kind
from counterpoint.dialects.foundry.rules.folders import STATES
from counterpoint.dialects.foundry.rules.importing.drafting import (
    Blocker,
    DocumentDraft,
    draft_of,
    folder_said,
)
from counterpoint.dialects.foundry.rules.importing.mending import Mended, mended
from counterpoint.dialects.foundry.rules.shape import text_of
from counterpoint.dialects.foundry.verbs.placing import placing
from counterpoint.dialects.foundry.verbs.queries import chunks, spec_renamed
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import Conflict

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


class Importing:
    """Verbs that import documents."""

    def __init__(self, context: Context) -> None:
        self._context = context

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
        with joined(self._context):
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
