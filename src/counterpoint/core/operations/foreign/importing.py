"""Imports foreign work: new items, changes and comments.

Rules (docs/decisions/0056): (1) nothing is written before all of a source was judged. (2) New items come by `Plans.create`, so a large source
comes in slices that nobody sees before the last. (3) Everything after that is an edit of one item or some records, each a
transaction of its own; what a rule refuses is told and left, and the rest goes on. (4) Whoever repeats an import that was cut off goes on
where it ended, for each step first looks at what is here.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from counterpoint.core.model.answers import CreatedPlan
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit, Note
from counterpoint.core.model.foreign import Arrival, Difference, ForeignItem, ForeignWork, Source
from counterpoint.core.model.work import BODY_LIMIT, TITLE_LIMIT, Alias, Item
from counterpoint.core.operations.foreign.exporting import (
    ItemComparison,
    SourceItems,
    compare_items,
    known_items,
    tags_of,
)
from counterpoint.core.operations.items import Items
from counterpoint.core.operations.journal import Journal
from counterpoint.core.operations.plan_updates import ask_for
from counterpoint.core.operations.plans import Plans
from counterpoint.core.operations.recording.context import Context, Verbs
from counterpoint.core.operations.recording.facets import attributes_of
from counterpoint.core.operations.recording.unit import transaction
from counterpoint.core.rules.planning.attributes import command_line
from counterpoint.core.rules.planning.foreign import (
    SettledWork,
    clean_text,
    draft_below,
    drafts_of,
    list_given_up,
    settle,
    words_of,
)
from counterpoint.core.rules.planning.matching import (
    ATTRIBUTE,
    FLAGS,
    GATES,
    has_ids_of_its_own,
    last_of,
    notes_of,
    rename_items,
)
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import Conflict, CounterpointError

_CHUNK = 100
_ASKED = 1_000
"""Records that are written in one transaction."""

Progress = Callable[[int], None]
Aliases = Mapping[str, Sequence[tuple[str, str]]]


class ForeignImports(Verbs):
    """Verbs for work of other programs."""

    def look(self, work: ForeignWork, source: Source) -> Arrival:
        """Return what `bring` would do; the same refusals, nothing written."""
        arriving = self._prepared(work, source, lambda _: None)
        return arriving.told(arriving.looked())

    def bring(
        self, work: ForeignWork, source: Source, progress: Progress = lambda _: None
    ) -> Arrival:
        """Bring the work of a source in, or what is new and changed in it since it came last.

        progress: is told how many items and records are settled. Raises MalformedDocument with every fault and its place,
        Conflict for a source of the same name from elsewhere, and for ids that another source of the tool has.
        """
        arriving = self._prepared(work, source, progress)
        arriving.make()
        arriving.bring_up()
        arriving.write_down()
        return arriving.told(())

    def _prepared(self, work: ForeignWork, source: Source, progress: Progress) -> _SourceImport:
        settled = settle(work)
        imported = self._here(settled, source)
        if imported.root is not None and not has_ids_of_its_own(work):
            settled = settle(
                rename_items(work, settled.items, known_items(self._context, imported))
            )
        return _SourceImport(self._context, settled, source, imported, progress)

    def _here(self, settled: SettledWork, source: Source) -> SourceItems:
        tool, prefix = settled.work.tool, _prefix(settled.work, source)
        key = source.name or settled.work.key
        with self._context.reading() as view:
            alias = view.find(Alias, _scope_of_sources(tool), key)
            root = view.find(Item, alias.item) if alias else None
            names = dict(view.cells(Alias, ("name", "item"), scope=tool))
            ids = {
                name.removeprefix(prefix): item
                for name, item in names.items()
                if name.startswith(prefix)
            }
            if root is None:
                taken = next((name for name in settled.items if name in ids), "")
                if taken:
                    raise Conflict(
                        f"{taken} of another source of {tool} is {ids[taken]} already",
                        hint="Give this source a name of its own with `--as NAME`.",
                    )
                return SourceItems(None, {})
            origin = object_of(attributes_of(view, root.id).get(ATTRIBUTE)).get("place")
            own = {item for (item,) in view.cells(Item, ("id",), root=root.root)}
        if not source.name and origin != source.place:
            raise Conflict(
                f"{root.id} came from {origin}, and this is {source.place}",
                hint=f"Repeat it with `--as NAME` if it is another source, with `--as {key}` if"
                " that has moved here.",
            )
        # Other sources of the tool may have ids that begin alike.
        return SourceItems(
            root, {k: item for k, item in ids.items() if item in own or k in settled.items}
        )


@dataclass(slots=True)
class _SourceImport:
    """One import under way."""

    context: Context
    settled: SettledWork
    source: Source
    here: SourceItems
    progress: Progress
    new: list[str] = field(init=False)
    records: int = 0
    count: int = 0
    changed: list[Difference] = field(default_factory=list[Difference])
    kept: list[Difference] = field(default_factory=list[Difference])
    stuck: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        """Know what is new before anything is made."""
        self.new = [name for name in self.settled.items if name not in self.here.ids]

    def told(self, looked: Sequence[str]) -> Arrival:
        """Return what was done. looked: what a look has found in the way."""
        root = self.here.root
        return Arrival(
            root=root.id if root else "",
            items=len(self.settled.items),
            created=len(self.new),
            records=self.records,
            changed=tuple(self.changed),
            kept=tuple(self.kept),
            gone=tuple(sorted(set(self.here.ids) - set(self.settled.items))),
            remarks=tuple(self.settled.remarks),
            deadlocks=tuple(dict.fromkeys((*looked, *self.stuck, *list_given_up(self.settled)))),
        )

    def looked(self) -> list[str]:
        """Find out what would be done; answer of what would be in its way."""
        verbs, stuck = Plans(self.context), list[str]()
        for _, parent, draft in self._drafts():
            stuck += verbs.look(draft, parent)[1]
        new = set(self.new)
        for difference in compare_items(self.context, self.settled, self.here, new):
            self._tell(difference)
        tags_by_item = tags_of(self.context, self.here.ids.values())
        for name, item in self.settled.items.items():
            tags = tags_by_item[self.here.ids.get(name, "")]
            self.records += sum(note.tags[-1] not in tags for note in self._notes(name, item))
        return stuck

    def make(self) -> None:
        """Make what is new."""
        verbs = Plans(self.context)
        root = self.here.root
        if root is not None and self.new and root.is_closed:
            Items(self.context).edit(root.id, Edit(status="active", reason=self._reason))
        for name, parent, draft in self._drafts():
            self._reopen(name)
            created = self._made(verbs, draft, parent)
            if created is None:
                continue
            self.stuck += created.deadlocks
            if self.here.root is None:
                self.here.root = created.root
            self._learn(tuple(item.id for item in created.items))
            self._count(len(created.items))

    def _made(self, verbs: Plans, draft: Draft, parent: str) -> CreatedPlan | None:
        """Make a tree; None if a rule refuses what is to go below something that is here, which is told."""
        if self.here.root is None:
            return verbs.create(draft, parent)
        try:
            return verbs.create(draft, parent)
        except CounterpointError as fault:
            self.kept.append(_left(draft.aliases[0][1], parent, fault))
            return None

    def _reopen(self, name: str) -> None:
        """Open what new items go below, where it is open there again."""
        if name not in self.here.ids or self.settled.items[name].is_phase:
            return
        item = Items(self.context).get(self.here.ids[name])
        if item.is_closed and not self.settled.is_closed(name):
            self._move(name, self.settled.items[name].state)

    def _learn(self, item_ids: tuple[str, ...]) -> None:
        """Know which item each id there means now."""
        prefix, scope = _prefix(self.settled.work, self.source), self.settled.work.tool
        with self.context.reading() as view:
            for start in range(0, len(item_ids), _ASKED):
                # A database takes no more than 32,766 values in one question.
                some = item_ids[start : start + _ASKED]
                names = view.cells(Alias, ("name", "item"), scope=scope, item=some)
                self.here.ids.update((name.removeprefix(prefix), item) for name, item in names)

    def _drafts(self) -> Iterator[tuple[str, str, Draft]]:
        """Return what is to be made, each with what it goes below, by its id there and by its id here."""
        aliases, attributes = self._aliases(), {name: self._kept(name) for name in self.new}
        if self.here.root is not None:
            root = self.here.root.id
            new = dict.fromkeys(self.new)
            for parent, draft in drafts_of(self.settled, new, aliases, attributes, self.here.ids):
                yield parent, self.here.ids.get(parent, root), draft
            return
        work = self.settled.work
        yield (
            "",
            "",
            Draft(
                kind="plan",
                title=words_of(work.title)[:TITLE_LIMIT] or work.key,
                body=clean_text(work.body)[:BODY_LIMIT],
                aliases=((_scope_of_sources(work.tool), self.source.name or work.key),),
                attributes={ATTRIBUTE: {"tool": work.tool, "place": self.source.place}},
                children=draft_below(self.settled, aliases, attributes),
            ),
        )

    def _aliases(self) -> Aliases:
        tool, prefix = self.settled.work.tool, _prefix(self.settled.work, self.source)
        scope = f"{tool}-short"
        with self.context.reading() as view:
            taken = {name for (name,) in view.cells(Alias, ("name",), scope=scope)}
        aliases: dict[str, list[tuple[str, str]]] = {}
        for name in self.new:
            aliases[name] = [(tool, f"{prefix}{name}")]
            short = self.settled.items[name].short
            if short and short not in taken:
                taken.add(short)
                aliases[name].append((scope, short))
        return aliases

    def _kept(self, name: str) -> dict[str, Json]:
        item = self.settled.items[name]
        attribute: dict[str, Json] = {
            "tool": self.settled.work.tool,
            "id": name,
            "last": last_of(item),
        }
        if item.facts:
            attribute["facts"] = dict(item.facts)
        if item.said:
            attribute["state"] = item.said
        return {ATTRIBUTE: attribute}

    def bring_up(self) -> None:
        """Bring each item to what the source says: states and edges of new ones, and what changed of the others."""
        new = set(self.new)
        self._connect(new)
        for name in self.settled.later(new):
            self._move(name, self.settled.items[name].state)
        for difference in compare_items(self.context, self.settled, self.here, new):
            self._apply(difference)
            self._count(1)

    def _connect(self, new: Collection[str]) -> None:
        """Let new items wait for what was made after them."""
        ids = self.here.ids
        missing = compare_items(
            self.context, self.settled, self.here, set(self.settled.items) - set(new)
        )
        for difference in missing:
            needs = {ids[need] for need in self.settled.items[difference.id].needs if need in ids}
            if lacking := tuple(sorted(needs - difference.needs)):
                self._edit(difference.id, Edit(add_needs=lacking))

    def _apply(self, difference: ItemComparison) -> None:
        self._tell(difference)
        merged = difference.merged
        if not merged.names:
            if merged.is_stale:
                self._edit(difference.id, Edit(attributes=self._told_last(difference)))
            return
        if "state" in merged.fields and not self._move(difference.id, merged.fields["state"]):
            del self.changed[-1]
            return
        self._bring_gates(difference)
        ids, root = self.here.ids, self.here.root
        others = {"state", "parent", *GATES}
        fields = {k: v for k, v in merged.fields.items() if k not in others}
        parent = merged.fields.get("parent")
        edit = Edit(
            **fields,
            parent=None if parent is None else ids.get(parent, root.id if root else ""),
            add_labels=merged.add.get("labels", ()),
            remove_labels=merged.remove.get("labels", ()),
            add_needs=tuple(ids[n] for n in merged.add.get("needs", ()) if n in ids),
            remove_needs=tuple(ids[n] for n in merged.remove.get("needs", ()) if n in ids),
            attributes=self._told_last(difference),
        )
        if not merged.names:
            # All that the source changed was left as it is here.
            del self.changed[-1]
        elif not self._edit(difference.id, edit):
            del self.changed[-1]

    def _bring_gates(self, difference: ItemComparison) -> None:
        """Ask of an item what the source asks of it now; each that is not taken over is told with what changes it, and told again."""
        merged, item = difference.merged, self.here.ids[difference.id]
        for name in [name for name in GATES if name in merged.fields]:
            value = merged.fields[name]
            why = self._reason_to_leave(difference, name, value)
            if not why:
                try:
                    self._bring_gate(item, name, value)
                    continue
                except CounterpointError as fault:
                    why = fault.message
            del merged.fields[name]
            merged.keep(name, difference.last)
            self._leave_gate(difference, name, value, why)
        self.changed[-1] = replace(self.changed[-1], fields=merged.names)

    def _leave_gate(self, difference: ItemComparison, name: str, value: Any, why: str) -> None:
        """Tell what the source asks of an item otherwise than it is asked here, and what changes that."""
        item = Items(self.context).get(self.here.ids[difference.id])
        cure = _cure(item, name, value)
        untaken = Difference(id=difference.id, item=item.id, fields=(name,), why=f"{why}{cure}")
        self.kept.append(untaken)

    def _reason_to_leave(self, difference: ItemComparison, name: str, value: object) -> str:
        """Return why what is asked of an item stays as it is here; empty if it may change."""
        item = Items(self.context).get(self.here.ids[difference.id])
        if item.is_closed:
            return f"it is {item.status} here"
        if name == "approval" and value and item.category != "open":
            return "it has begun here, so nobody approves its start any more"
        if name in FLAGS and not value and name not in difference.closed_gates:
            return "it was decided here"
        return ""

    def _bring_gate(self, item: str, name: str, value: Any) -> None:
        if name in FLAGS and value:
            ask_for(self.context, item, (name,))
        elif name in FLAGS:
            Items(self.context).edit(item, Edit(waive=(name,), reason=self._reason))
        else:
            Items(self.context).edit(item, Edit(**{name: value}))

    def _told_last(self, difference: ItemComparison) -> dict[str, Json]:
        """Return the attribute of an item with what came last now."""
        return {
            ATTRIBUTE: {
                **object_of(self._kept(difference.id)[ATTRIBUTE]),
                "last": difference.merged.last,
            }
        }

    def _tell(self, difference: ItemComparison) -> None:
        item = self.here.ids[difference.id]
        why = "changed there and here; it is as it was here"
        if fields := tuple(name for name in difference.merged.conflicts if name not in GATES):
            self.kept.append(Difference(id=difference.id, item=item, fields=fields, why=why))
        for name in [name for name in difference.merged.conflicts if name in GATES]:
            value = getattr(self.settled.items[difference.id], name)
            self._leave_gate(difference, name, value, why)
        if difference.merged.names:
            self.changed.append(
                Difference(id=difference.id, item=item, fields=difference.merged.names)
            )

    def _move(self, name: str, state: str) -> bool:
        """Move an item to a state, by way of others if need be; answer whether it is there."""
        verbs = Items(self.context)
        item = verbs.get(self.here.ids[name])
        try:
            for step in item.states.way(item.status, state):
                verbs.edit(item.id, Edit(status=step, reason=self._reason))
        except CounterpointError as fault:
            self.kept.append(replace(_left(name, item.id, fault), fields=("state",)))
            return False
        return True

    def _edit(self, name: str, edit: Edit) -> bool:
        item = self.here.ids[name]
        try:
            Items(self.context).edit(item, edit)
        except CounterpointError as fault:
            self.kept.append(_left(name, item, fault))
            return False
        return True

    @property
    def _reason(self) -> str:
        return f"So it is in {self.settled.work.tool}."

    def write_down(self) -> None:
        """Keep what was said of items there, each once."""
        tags = tags_of(self.context, self.here.ids.values())
        new_notes = [
            note
            for name, item in self.settled.items.items()
            if name in self.here.ids
            for note in self._notes(name, item)
            if note.tags[-1] not in tags[note.item]
        ]
        verbs = Journal(self.context)
        for start in range(0, len(new_notes), _CHUNK):
            some = new_notes[start : start + _CHUNK]
            with transaction(self.context):
                for note in some:
                    verbs.append(note)
            self.records += len(some)
            self._count(len(some))

    def _notes(self, name: str, item: ForeignItem) -> Iterator[Note]:
        return notes_of(self.settled.work.tool, item, self.here.ids.get(name, ""))

    def _count(self, more: int) -> None:
        self.count += more
        self.progress(self.count)


def _cure(item: Item, name: str, value: Any) -> str:
    """Return what a person types to have an item as the source has it; empty if nothing does."""
    if item.is_closed:
        return f"; `counterpoint reopen {item.id}` opens it"
    if name == "checks":
        words = " ".join(f"--check {shlex.quote(command_line(argv))}" for argv in value)
        if not words:
            return f"; `counterpoint waive {item.id} check-1 --reason WHY`, and so on, opens them"
        return f"; `counterpoint edit {item.id} {words}` changes it"
    if name == "profile":
        return f"; `counterpoint edit {item.id} --profile {shlex.quote(value)}` changes it"
    return "" if value else f"; `counterpoint waive {item.id} {name} --reason WHY` opens that gate"


def _left(name: str, item: str, fault: CounterpointError) -> Difference:
    return Difference(id=name, item=item, why=fault.message)


def _scope_of_sources(tool: str) -> str:
    return f"{tool}-source"


def _prefix(work: ForeignWork, source: Source) -> str:
    """Return what the ids of a source have before them: nothing, unless somebody calls it otherwise than it calls itself."""
    return f"{source.name}/" if source.name not in {"", work.key} else ""
