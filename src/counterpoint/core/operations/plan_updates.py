"""Brings an open plan to what its file says now.

Rules: (1) lines find their items as planning/matching.py says; where they cannot be told apart nothing is changed. (2) New lines are
new items; what changed is an edit, with the rights and refusals of one. (3) A box that is ticked is told of: work ends by `finish`.
What has ended stays as it is. (4) What the file does not say of texts, labels, priority or profile stays; a check, review, approval,
artifact, area or acceptance sentence that went from it is taken away, as `edit` would. (5) Items whose lines went are told of and
stay; `prune` cancels those that are open and that nobody holds. What was added beside the file never had a line, and stays. (6) All lands together, or nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from counterpoint.core.ledger.entry import Entry
from counterpoint.core.model.answers import PlanChange, PlanUpdate
from counterpoint.core.model.drafts import PLAN_NAME, Draft
from counterpoint.core.model.filters import Edit
from counterpoint.core.model.identity import Contribution
from counterpoint.core.model.lifecycles import CLOSED
from counterpoint.core.model.rows import Prose, Proses
from counterpoint.core.model.work import (
    CREATED,
    WORKABLE,
    Area,
    Attribute,
    Criterion,
    Dependency,
    Gate,
    Item,
    Label,
)
from counterpoint.core.operations.items import Items
from counterpoint.core.operations.planning.putting import (
    holder_of,
    put_edges,
    put_items,
)
from counterpoint.core.operations.plans import judge_draft
from counterpoint.core.operations.readiness import ready_among
from counterpoint.core.operations.recording.authority import authority_of
from counterpoint.core.operations.recording.context import Context, Verbs
from counterpoint.core.operations.recording.facets import value_of
from counterpoint.core.operations.recording.holders import Holders
from counterpoint.core.operations.recording.links import shift
from counterpoint.core.operations.recording.moves import bump_version
from counterpoint.core.operations.recording.unit import perform, recording
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.claims import principal_id_of
from counterpoint.core.rules.drafting import PlannedItem
from counterpoint.core.rules.planning.matching import KnownItem, Matches, children_of, match_plan
from counterpoint.core.rules.trust.callers import ENTITLED
from counterpoint.kernel.acts import Act
from counterpoint.kernel.errors import Conflict, Forbidden, InvalidInput

_CHUNK: Final = 500
_ENDED: Final = 50
"""Plans that ended last among which one of the name or title is looked for."""
_OPEN: Final = ("open", "active", "review")
_WHY_PRUNED: Final = "Its line went from the plan."
_WHY_WAIVED: Final = "The plan does not ask for it any more."
_GATES: Final = ("review", "approval", "artifact")


def find_open_plan(view: Reading, draft: Draft, parent: str) -> Item | None:
    """Return the open plan that a draft means: that of its name, else of its title; Conflict if several have it."""
    if draft.kind in WORKABLE:
        return None
    items = view.select(Item, parent=parent, kind=draft.kind, category=_OPEN, order="number")
    names = _names_of(view, [item.id for item in items])
    same_name = [item for item in items if draft.name in {item.id, names.get(item.id)}]
    if draft.name and same_name:
        return _only(same_name, f"the name {draft.name!r}")
    title = Prose(draft.title.strip())
    titled = [
        item
        for item in items
        if item.title == title and names.get(item.id, draft.name) == draft.name
    ]
    return _only(titled, f"the title {draft.title!r}") if titled else None


def _only(items: Sequence[Item], what: str) -> Item:
    if len(items) > 1:
        ids = ", ".join(item.id for item in items)
        raise Conflict(
            f"{ids} are open and have {what}: which of them this plan brings up to date cannot be told",
            hint="Give the plan a name of its own, `# Title {#name}`, or make another one with `again`.",
        )
    return items[0]


def _names_of(view: Reading, items: Sequence[str]) -> dict[str, str]:
    names: dict[str, str] = {}
    for start in range(0, len(items), _CHUNK):
        some = tuple(items[start : start + _CHUNK])
        for row in view.select(Attribute, item=some, name=PLAN_NAME):
            names[row.item] = str(value_of(row))
    return names


class PlanUpdates(Verbs):
    """Verbs for plans that are given again."""

    def apply(
        self, draft: Draft, parent: str = "", *, prune: bool = False, dry_run: bool = False
    ) -> PlanUpdate | None:
        """Bring the open plan that a draft means to what it says now; None if there is none.

        prune: cancel the open items whose lines went; for a person, a maintainer or the maker of the plan. dry_run: write nothing.
        Raises what `create` and `edit` would, Conflict if several plans are meant, Forbidden.
        """
        with self._context.reading() as view:
            holder_of(view, parent, draft)
            root = find_open_plan(view, draft, parent)
            if root is None:
                if prune:
                    raise InvalidInput(
                        f"there is no open plan {draft.title!r} to prune",
                        hint="Leave `prune` out to make the plan.",
                    )
                return None
            planned, stuck = judge_draft(view, draft)
        update = perform(
            self._context,
            lambda context: PlanUpdater(context, planned, root).run(prune=prune),
            dry_run=dry_run,
        )
        return replace(update, deadlocks=stuck)

    def remarks_of_ended(self, draft: Draft, parent: str = "") -> tuple[str, ...]:
        """Return what is told where a draft makes a plan anew because the one it means has ended; nothing else."""
        if draft.kind in WORKABLE:
            return ()
        title = Prose(draft.title.strip())
        with self._context.reading() as view:
            if find_open_plan(view, draft, parent) is not None:
                return ()
            ended = view.select(
                Item,
                parent=parent,
                kind=draft.kind,
                category=CLOSED,
                order="number desc",
                limit=_ENDED,
            )
            names = _names_of(view, [item.id for item in ended]) if draft.name else {}
        for item in ended:
            if names.get(item.id) == draft.name if draft.name else item.title == title:
                remark = f"{item.id} is {item.status} already, so this is a new plan beside it"
                return (f"{remark}; `counterpoint reopen {item.id}` opens the old one",)
        return ()


def ask_for(context: Context, item: str, gates: Sequence[str]) -> None:
    """Put gates to an item that was made without them. gates: of `review`, `approval`, `artifact`."""
    with recording(context, "item.edited", item) as change:
        change.open_session()
        after = bump_version(change, change.get(Item, item))
        change.put(after)
        for name in gates:
            change.put(
                Gate(
                    project=after.project,
                    item=item,
                    name=name,
                    kind="artifact" if name == "artifact" else "review",
                    holds="start" if name == "approval" else "finish",
                    argv=Proses(()),
                    status="closed",
                    proof="",
                    reason=Prose(""),
                    updated_at=change.now,
                )
            )
            if name == "approval":
                after = shift(change, after, 1)
        change.add_facts(gates=list(gates))


class PlanUpdater:
    """Brings one plan up to date, within a transaction that the caller has opened."""

    def __init__(self, context: Context, planned: Sequence[PlannedItem], root: Item) -> None:
        self.context = context
        self.planned = planned
        self.root = root
        self.verbs = Items(context)
        self.created: list[str] = []
        self.changes: dict[str, list[str]] = {}
        self.remarks: list[str] = []
        self.gone: list[str] = []
        self.added: list[str] = []
        self.pruned: list[str] = []
        self.rows = _Rows(context, root)
        self.beside: set[str] = set()
        self.matches = self._match()
        self.ids = self.matches.ids

    def run(self, *, prune: bool) -> PlanUpdate:
        """Do it; the refusals of `create` and `edit`."""
        before = dict(self.ids)
        self._remark_unsure()
        self._create()
        for index, item in before.items():
            self._edit(index, self.rows.items[item])
        self._connect(before)
        self._leave(prune=prune)
        return self._told()

    def _match(self) -> Matches:
        """Return which items the lines mean; one that was added beside the plan is meant by its own title or name only."""
        while True:
            matches = match_plan(self.planned, self.rows.known, self.root.id)
            beside = self._find_beside(matches) - self.beside
            if not beside:
                return matches
            self.beside |= beside
            self.rows.known = [
                replace(item, is_begun=True) if item.id in beside else item
                for item in self.rows.known
            ]

    def _find_beside(self, matches: Matches) -> set[str]:
        """Return the items, of those that no line has or that have another title or place than theirs, that no plan file made.

        They are older than the plan, or an entry of their own made them, or they stand below such an item.
        """
        places = {item: index for index, item in matches.ids.items()}
        beside: set[str] = set()
        with self.context.reading() as view:
            for row in self.rows.known:
                part = self.planned[places[row.id]] if row.id in places else None
                above = matches.ids.get(part.parent) if part and part.parent is not None else None
                if part and (part.draft.title.strip(), above) == (row.title, row.parent):
                    continue
                if (
                    row.parent in beside
                    or self.rows.items[row.id].number < self.root.number
                    or view.sequences(subject=row.id, action=CREATED, limit=1)
                ):
                    beside.add(row.id)
        return beside

    def _told(self) -> PlanUpdate:
        context = self.context
        with context.reading() as view:

            def items(ids: Iterable[str]) -> tuple[Item, ...]:
                return tuple(
                    item for item_id in ids if (item := view.find(Item, item_id)) is not None
                )

            created = items(self.created)
            holders = Holders(view, context)
            return PlanUpdate(
                root=view.find(Item, self.root.id) or self.root,
                created=created,
                ready=tuple(item.id for item in ready_among(view, created, holders)),
                changed=tuple(
                    PlanChange(item=item, fields=tuple(self.changes[item.id]))
                    for item in items(self.changes)
                ),
                gone=items(self.gone),
                beside=items(self.added),
                pruned=items(self.pruned),
                remarks=tuple(self.remarks),
            )

    def _tell(self, index: int, remark: str) -> None:
        line = self.planned[index].draft.line
        self.remarks.append(f"line {line}: {remark}" if line else remark)

    def _remark_unsure(self) -> None:
        for index in sorted(self.matches.unsure_places):
            draft = self.planned[index].draft
            self._tell(
                index,
                f"{draft.title[:80]!r} stands several times in one place and cannot be told apart, so nothing of it is changed;"
                " give each a `{#name}`",
            )

    # New lines.

    def _create(self) -> None:
        """Make the items of lines that mean none yet, each tree of them at once."""
        below = children_of(self.planned)
        for root_index, part in enumerate(self.planned):
            is_known = root_index in self.ids or root_index in self.matches.unsure_places
            if is_known or part.parent is None or part.parent not in self.ids:
                continue
            places = [root_index]
            for at in places:
                places += [child for child in below[at] if self._is_new(child)]
            names = {at: index for index, at in enumerate(places)}
            tree = [
                replace(
                    self.planned[at],
                    parent=names.get(self.planned[at].parent or 0) if at != root_index else None,
                    position=self.planned[at].position,
                    needs=(),
                    outside=(),
                )
                for at in places
            ]
            self._put(tree, places, self.ids[part.parent])

    def _is_new(self, index: int) -> bool:
        return index not in self.ids and index not in self.matches.unsure_places

    def _put(self, tree: Sequence[PlannedItem], places: Sequence[int], parent: str) -> None:
        items: list[Item] = []
        with recording(self.context, "plan.extended") as change:
            change.open_session()
            put_items(change, tree, items, tree, parent)
            put_edges(change, tree, [item.id for item in items], range(len(tree)))
            change.subject = items[0].id
            change.add_facts(items=len(items))
            change.add_texts(title=items[0].title)
        for index, item in zip(places, items, strict=True):
            self.ids[index] = item.id
            self.created.append(item.id)
        position = self.planned[places[0]].position
        if items[0].position > position:
            self.verbs.edit(items[0].id, Edit(position=position))

    # Changed lines.

    def _edit(self, index: int, item: Item) -> None:
        draft = self.planned[index].draft
        fields = self._fields(index, item, draft)
        gates = [
            name for name in _GATES if getattr(draft, name) and name not in self.rows.gates[item.id]
        ]
        dropped = tuple(
            name
            for name in _GATES
            if not getattr(draft, name) and self.rows.gates[item.id].get(name) == "closed"
        )
        if item.is_closed:
            if fields or gates or dropped:
                what = ", ".join(sorted({*fields, *gates, *dropped}))
                self._tell(index, f"{item.id} {item.title[:80]!r} is {item.status}, so its {what} stays; {Act.REOPEN.value} to change it")  # fmt: skip
            if item.category == "dropped":
                self._tell(index, f"{item.id} {item.title[:80]!r} is {item.status} and stands in the plan: {Act.REOPEN.value}, or take the line out")  # fmt: skip
            return
        if draft.done and draft.kind in WORKABLE:
            self._tell(index, f"{item.id} {item.title[:80]!r} is ticked and is {item.status} here; work ends by `finish`")  # fmt: skip
        if "approval" in gates and item.category != "open":
            gates.remove("approval")
            self._tell(index, f"{item.id} has begun, so nobody approves its start any more")
        if fields or dropped:
            attributes = {PLAN_NAME: draft.name} if "name" in fields else {}
            fields.pop("name", None)
            reason = _WHY_WAIVED if dropped else ""
            edit = Edit(**fields, waive=dropped, reason=reason, attributes=attributes)
            self.verbs.edit(item.id, edit)
            changed = ["labels" if field == "add_labels" else field for field in fields]
            self.changes[item.id] = [*changed, *(["name"] if attributes else []), *dropped]
        if gates:
            ask_for(self.context, item.id, gates)
            self.changes.setdefault(item.id, []).extend(gates)

    def _fields(self, index: int, item: Item, draft: Draft) -> dict[str, Any]:
        """Return what of an item is to change, by the names of `Edit`; `name` beside them."""
        rows, fields = self.rows, dict[str, Any]()
        texts = {
            "title": draft.title.strip(),
            "body": draft.body,
            "priority": draft.priority,
            "profile": draft.profile,
        }
        for name, value in texts.items():
            if value != "" and value != getattr(item, name):
                fields[name] = value
        if labels := tuple(label for label in draft.labels if label not in rows.labels[item.id]):
            fields["add_labels"] = labels
        if set(draft.areas) != set(rows.areas[item.id]):
            fields["areas"] = draft.areas
        if tuple(draft.acceptance) != tuple(rows.acceptance[item.id]):
            fields["acceptance"] = draft.acceptance
        if set(draft.checks) != set(rows.checks[item.id]):
            fields["checks"] = draft.checks
        parent = self.planned[index].parent
        above = self.ids.get(parent, "") if parent is not None else item.parent
        if above and above != item.parent:
            fields["parent"] = above
        # In an export the id stands in the place of the name.
        names = {"", item.id, rows.names.get(item.id)}
        if draft.name not in names and "\n" not in draft.name:
            fields["name"] = draft.name
        return fields

    def _connect(self, before: dict[int, str]) -> None:
        """Let items wait for what the plan says now; what is outside of it stays."""
        plan_items = {
            *self.ids.values(),
            *(item.id for item in self.rows.known),
        } - self.matches.unsure_ids
        for index, item in self.ids.items():
            part = self.planned[index]
            needs = {self.ids[need] for need in part.needs if need in self.ids} | {*part.outside}
            current = set(self.rows.needs[item])
            row = self.rows.items.get(item)
            if row is not None and row.is_closed:
                continue
            add = tuple(sorted(needs - current))
            remove = tuple(sorted((current & plan_items) - needs))
            if add or remove:
                self.verbs.edit(item, Edit(add_needs=add, remove_needs=remove))
                if index in before:
                    self.changes.setdefault(item, []).append("after")

    # Lines that went.

    def _leave(self, *, prune: bool) -> None:
        """Tell of items whose lines went, or cancel them."""
        means = {*self.ids.values()} | self.matches.unsure_ids
        missing = [item.id for item in self.rows.known if item.id not in means]
        missing = [item_id for item_id in missing if not self.rows.items[item_id].is_closed]
        self.added = [item_id for item_id in missing if item_id in self.beside]
        is_open = [item_id for item_id in missing if item_id not in self.beside]
        if not prune:
            self.gone = is_open
            return
        if is_open:
            self._refuse_stranger()
        below: dict[str, list[str]] = defaultdict(list)
        for row in self.rows.known:
            below[row.parent].append(row.id)
        free: set[str] = set()
        for row in reversed(self.rows.known):
            item = self.rows.items[row.id]
            if row.id in is_open and item.category == "open" and free >= set(below[row.id]):
                free.add(row.id)
        for row in is_open:
            if row not in free:
                self.gone.append(row)
            elif self.rows.items[row].parent not in free:
                self.verbs.edit(row, Edit(status="cancelled", reason=_WHY_PRUNED))
        self.pruned = [item_id for item_id in is_open if item_id in free]

    def _refuse_stranger(self) -> None:
        """Raise Forbidden unless a person, a maintainer or the maker of the plan prunes it."""
        with self.context.reading() as view:
            if authority_of(view, self.context) in ENTITLED:
                return
            places = view.sequences(subject=self.root.id, action=CREATED, limit=1)
            entries = (
                Entry.from_bytes(next(view.entries(sequence, sequence + 1))) for sequence in places
            )
            own_principal = principal_id_of(self.context.caller.actor)
            if any(principal_id_of(entry.actor) == own_principal for entry in entries):
                return
        raise Forbidden(
            f"{self.context.caller.actor.name} did not make {self.root.id} and cannot prune it",
            hint="Leave `prune` out: what went from the plan then stays. A person or who made the plan can prune it.",
        )


class _Rows:
    """A plan as it is: its items, and what an update compares of them, read in one statement each."""

    def __init__(self, context: Context, root: Item) -> None:
        self.names: dict[str, str] = {}
        self.labels: dict[str, list[str]] = defaultdict(list)
        self.areas: dict[str, list[str]] = defaultdict(list)
        self.acceptance: dict[str, list[str]] = defaultdict(list)
        self.checks: dict[str, list[tuple[str, ...]]] = defaultdict(list)
        self.gates: dict[str, dict[str, str]] = defaultdict(dict)
        self.needs: dict[str, list[str]] = defaultdict(list)
        begun: set[str] = set()
        with context.reading() as view:
            below = list(_below(view, root))
            self.items = {item.id: item for item in (root, *below)}
            ids = list(self.items)
            self.names = _names_of(view, ids)
            for start in range(0, len(ids), _CHUNK):
                some = tuple(ids[start : start + _CHUNK])
                self._read(view, some)
                begun |= {item for (item,) in view.cells(Contribution, ("item",), item=some, how="worked")}  # fmt: skip
        self.known = [
            KnownItem(
                id=item.id,
                parent=item.parent,
                kind=item.kind,
                title=str(item.title),
                name=self.names.get(item.id, ""),
                is_begun=item.id in begun or item.category != "open",
            )
            for item in below
        ]

    def _read(self, view: Reading, some: tuple[str, ...]) -> None:
        for label in view.select(Label, item=some):
            self.labels[label.item].append(label.name)
        for area in view.select(Area, item=some):
            self.areas[area.item].append(area.pattern)
        for sentence in view.select(Criterion, item=some, order="item,position"):
            self.acceptance[sentence.item].append(str(sentence.text))
        for need in view.select(Dependency, item=some):
            self.needs[need.item].append(need.needs)
        for gate in view.select(Gate, item=some, order="item,name"):
            if gate.kind == "check":
                self.checks[gate.item].append(tuple(gate.argv))
            else:
                self.gates[gate.item][gate.name] = gate.status


def _below(view: Reading, root: Item) -> Iterator[Item]:
    """Return all below an item by levels, in their places."""
    parents: tuple[str, ...] = (root.id,)
    while parents:
        level: list[Item] = []
        for start in range(0, len(parents), _CHUNK):
            some = parents[start : start + _CHUNK]
            level += view.select(Item, parent=some, order="position,number")
        yield from level
        parents = tuple(item.id for item in level)
