"""Looking at items in lists, at one with all about it, and at the project."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property
from itertools import dropwhile, islice
from typing import Any, Final, Literal, TypeVar

from counterpoint.core.ledger.lines import REDACTION, list_redacted
from counterpoint.core.model.answers import (
    Continuation,
    Facets,
    Found,
    ItemView,
    Live,
    Progress,
    State,
)
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import ItemFilter
from counterpoint.core.model.journal import Outcome, Record, RecordKind, Transition
from counterpoint.core.model.lifecycles import Category, tables_of_work
from counterpoint.core.model.rows import REDACTED, N, Prose, columns
from counterpoint.core.model.sessions import Claim, Handoff, Session
from counterpoint.core.model.work import (
    Alias,
    Area,
    Attribute,
    Criterion,
    Dependency,
    Gate,
    Item,
    Label,
    Project,
)
from counterpoint.core.operations.auditing.ahead import ahead_of
from counterpoint.core.operations.recording.change import missing
from counterpoint.core.operations.recording.connection_sessions import (
    FIRST_CLAIMS,
    last_handoff,
    last_written_queries,
    list_resumable_sessions,
    live_claims,
)
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.facets import (
    item_named,
    items_by_id,
    labels_of,
    value_of,
)
from counterpoint.core.operations.recording.holders import Holders
from counterpoint.core.operations.rejections import rejections, verdict_queries
from counterpoint.core.ports.store import Filter, Query, Reading
from counterpoint.core.queries.awaiting import IN_REVIEW
from counterpoint.core.rules.fitting import asked_words, drop_common_words, fold, nearness
from counterpoint.kernel import canonical
from counterpoint.kernel.errors import InvalidInput

Part = Literal[
    "labels",
    "names",
    "attributes",
    "needs",
    "criteria",
    "blockers",
    "outcome",
    "attempt",
    "progress",
]
"""What a view can show beside the item itself."""
_SMALL: Final[tuple[Part, ...]] = ("labels", "names", "attributes", "needs", "criteria", "progress")
_NOUNS: Final[Mapping[str, type[Any]]] = {
    "labels": Label,
    "names": Alias,
    "attributes": Attribute,
    "needs": Dependency,
    "criteria": Criterion,
    "outcome": Outcome,
    "attempt": Transition,
}
"""What hangs on an item, by the part of a view that shows it."""
_LOOKED_AT: Final = 100
"""How many records are compared with a text."""
_CHUNK: Final = 100
"""How many items are read together."""
Hanging = TypeVar(
    "Hanging", Label, Alias, Attribute, Dependency, Criterion, Outcome, Transition, Record
)
Shown = TypeVar("Shown")


class ItemReader:
    """Views of items within one look at the store.

    Each sort of part is read with one statement for a whole page, and the open blockers, few in any
    project, once for all pages.
    """

    def __init__(self, view: Reading) -> None:
        self._view = view

    def one(self, item: Item, *parts: Part, below: str = "") -> ItemView:
        """Return the view of one item; see `views`."""
        return self.views((item,), *parts, below=below)[0]

    def views(self, items: Sequence[Item], *parts: Part, below: str = "") -> list[ItemView]:
        """Return items with some parts of what hangs on them.

        below: the kind of the items that `progress` counts; empty for all. With `blockers` it counts
            those that are blocked too.
        """
        self._view.fetch(hanging_queries(items, parts))
        views = {part: self._part(part, items, parts, below) for part in parts}
        return [
            ItemView(
                item=item,
                **{part: by_item[item.id] for part, by_item in views.items() if item.id in by_item},
            )
            for item in items
        ]

    def _part(
        self, part: Part, items: Sequence[Item], parts: Sequence[Part], below: str
    ) -> Mapping[str, Any]:
        """Return what a part of the views is, by the id of each item that has it."""
        views: Mapping[str, Any]
        match part:
            case "labels":
                views = _each(
                    self._rows(Label, items), lambda rows: tuple(label.name for label in rows)
                )
            case "names":
                views = _each(
                    self._rows(Alias, items),
                    lambda rows: {alias.scope: alias.name for alias in rows},
                )
            case "attributes":
                views = _each(
                    self._rows(Attribute, items),
                    lambda rows: {attribute.name: value_of(attribute) for attribute in rows},
                )
            case "needs":
                views = self._needs(items)
            case "criteria":
                views = _each(self._rows(Criterion, items), tuple)
            case "blockers":
                views = _each(self._blockers, tuple)
            case "outcome":
                views = _each(self._rows(Outcome, items), lambda rows: rows[-1])
            case "attempt":
                views = _each(
                    self._rows(Transition, items),
                    lambda rows: max(transition.attempt for transition in rows),
                )
            case _:
                blocked = "blockers" in parts
                views = {item.id: self.progress(item.id, below, blocked=blocked) for item in items}
        return views

    def find(
        self,
        item_filter: ItemFilter,
        *parts: Part,
        order: str = "number",
        after: Sequence[str | int] = (),
        size: int = _CHUNK,
    ) -> Iterator[ItemView]:
        """Return views of what a filter finds, as long as somebody asks for more; see `pages`."""
        all_parts = (*parts, "attributes") if item_filter.attributes else parts
        for items in self.pages(item_filter, order=order, after=after, size=size):
            for item_view in self.views(items, *all_parts):
                attributes = item_view.attributes
                if all(
                    attributes.get(name) == value for name, value in item_filter.attributes.items()
                ):
                    yield item_view

    def pages(
        self,
        item_filter: ItemFilter,
        *,
        order: str = "number",
        after: Sequence[str | int] = (),
        size: int = _CHUNK,
    ) -> Iterator[list[Item]]:
        """Return what the columns and the label of a filter find, page after page.

        order, after: columns of items, and the values of the last one seen. size: how many are read at once.
        """
        columns = self._columns(item_filter)
        while columns is not None:
            items = self._view.select(Item, order=order, after=after, limit=size, **columns)
            yield [item for item in items if item.created_at >= item_filter.since]
            if len(items) < size:
                return
            after = [getattr(items[-1], column.split()[0]) for column in order.split(",")]

    def walk(self, categories: tuple[Category, ...], root: str = "") -> Iterator[tuple[int, Item]]:
        """Return trees line by line, each with its level, as long as somebody asks for more.

        An item of another category is passed over together with what is below it.
        """
        equal: dict[str, Filter] = {"category": categories} if categories else {}
        if root:
            roots = iter(self._view.select(Item, id=root))
        else:
            roots = self._siblings(parent="", **equal)
        levels = [roots]
        while levels:
            item = next(levels[-1], None)
            if item is None:
                levels.pop()
                continue
            yield len(levels) - 1, item
            levels.append(self._siblings(parent=item.id, **equal))

    def _siblings(self, **equal: Filter) -> Iterator[Item]:
        """Return the items below one parent in their order, page after page."""
        after: tuple[int, ...] = ()
        while True:
            page = self._view.select(
                Item, order="position,number", after=after, limit=_CHUNK, **equal
            )
            yield from page
            if len(page) < _CHUNK:
                return
            after = (page[-1].position, page[-1].number)

    def count(self, item_filter: ItemFilter) -> int:
        """Return how many items have the columns that a filter asks for."""
        columns = self._columns(item_filter)
        return (
            sum(self._view.counts(Item, "kind", **columns).values()) if columns is not None else 0
        )

    def progress(
        self, parents: str | tuple[str, ...], kind: str = "", *, blocked: bool = False
    ) -> Progress:
        """Return how the items directly below some stand; `blocked`: also which have open blockers."""
        only: dict[str, Filter] = {"kind": kind} if kind else {}
        states = self._view.counts_by(Item, ("status", "category"), parent=parents, **only)
        parent_ids = (parents,) if isinstance(parents, str) else parents
        stuck = Counter(
            item.state_key
            for item in (self._blocked if blocked and states else ())
            if item.parent in parent_ids and kind in {"", item.kind}
        )
        return Progress(states=states, blocked=stuck)

    @cached_property
    def _blockers(self) -> dict[str, list[Record]]:
        blockers: dict[str, list[Record]] = defaultdict(list)
        for record in self._view.select(Record, kind="blocker", status="open", order="number"):
            blockers[record.item].append(record)
        return blockers

    @cached_property
    def _blocked(self) -> list[Item]:
        about = tuple(name for name in self._blockers if name)
        return self._view.select(Item, id=about) if about else []

    def _needs(self, items: Sequence[Item]) -> dict[str, list[Item]]:
        edges = self._rows(Dependency, items)
        about = tuple({edge.needs for some in edges.values() for edge in some})
        items_by_id = {item.id: item for item in self._view.select(Item, id=about)} if about else {}
        return {
            item: [items_by_id[edge.needs] for edge in some if edge.needs in items_by_id]
            for item, some in edges.items()
        }

    def _rows(self, noun: type[Hanging], items: Sequence[Item]) -> dict[str, list[Hanging]]:
        rows_by_item: dict[str, list[Hanging]] = defaultdict(list)
        for ids in _padded(items):
            for row in self._view.select(noun, item=ids):
                rows_by_item[row.item].append(row)
        return rows_by_item

    def _columns(self, item_filter: ItemFilter) -> dict[str, Filter] | None:
        """Return what a filter asks of the columns of items; None if nothing can fit."""
        chosen: dict[str, Filter] = {
            name: value
            for name in ("status", "category", "kind", "parent", "root", "assignee", "lifecycle")
            if (value := getattr(item_filter, name))
        }
        ids = item_filter.ids
        if item_filter.label:
            labelled = {label.item for label in self._view.select(Label, name=item_filter.label)}
            ids = tuple(labelled if ids is None else labelled.intersection(ids))
        if ids is not None:
            chosen["id"] = ids
        return chosen if ids != () else None


def _padded(items: Sequence[Item]) -> Iterator[tuple[str, ...]]:
    """Return ids in chunks; always as many, so that the database prepares one statement for all pages."""
    for start in range(0, len(items), _CHUNK):
        ids = [item.id for item in items[start : start + _CHUNK]]
        yield tuple(ids + ids[-1:] * (_CHUNK - len(ids) if len(items) > 1 else 0))


def hanging_queries(items: Sequence[Item], parts: Iterable[str]) -> Iterator[Query[Any]]:
    """Return what asks for the rows that parts of views are made of."""
    nouns = dict.fromkeys(_NOUNS[part] for part in parts if part in _NOUNS)
    for ids in _padded(items):
        yield from (Query(noun, {"item": ids}) for noun in nouns)


def _each(
    rows: Mapping[str, list[Hanging]], convert: Callable[[list[Hanging]], Shown]
) -> dict[str, Shown]:
    """Return what the rows of each item are shown as."""
    return {item: convert(some) for item, some in rows.items()}


def recent_query(
    kind: RecordKind, *, item: str = "", limit: int = 20, **equal: Filter
) -> Query[Record]:
    """Return what asks for the latest records of a kind."""
    equal |= {"kind": kind}
    if item:
        equal["item"] = item
    elif kind != "blocker":
        # Only blockers have one, and the index that holds records of a kind in order asks for it.
        equal["status"] = ""
    return Query(Record, equal, "number desc", limit=limit)


_SHOWN: Final = 20
_OPEN_BLOCKERS: Final = Query(Record, {"kind": "blocker", "status": "open"}, "number", limit=_SHOWN)
_ROOTS: Final = Query(Item, {"parent": ""}, "number desc", limit=_SHOWN)
_PROJECT: Final = Query(Project, {}, limit=1)
_UNRECORDED: Final = Prose("[not as recorded: `counterpoint audit verify`]")
STATE: Final[tuple[Query[Any], ...]] = _PROJECT, FIRST_CLAIMS, _OPEN_BLOCKERS, IN_REVIEW, _ROOTS
"""What is asked for the state of the project."""


def mark_unrecorded(view: Reading, items: list[Item]) -> list[Item]:
    """Return items, those whose title is gone though no entry tells that it was taken away with a title that says so.

    Only the audit looks at whole tables; here it is asked where a title is gone, which is rare.
    """
    suspects = {item.id for item in items if item.title == REDACTED}
    if not suspects:
        return items
    redactions = view.sequences(action=REDACTION, after=-1, limit=view.head().size)
    gone = {
        commitment
        for sequence in redactions
        for entry in view.entries(sequence, sequence + 1)
        for commitment in list_redacted(canonical.load(entry))
    }
    names = [column.name for column in columns(Item)]
    tables = (dict(zip(names, row, strict=True)) for row in view.table(Item))
    unrecorded = {
        row["id"]
        for row in tables
        if row["id"] in suspects
        and not any(commitment.startswith(str(row["title"])) for commitment in gone)
    }
    return [replace(item, title=_UNRECORDED) if item.id in unrecorded else item for item in items]


class Overview(Verbs):
    """Verbs for looking."""

    def facets(self, item: str) -> Facets:
        """Return an item, by any of its names, with everything small that hangs on it; NotFound."""
        # Who looks at the whole asks this of no item.
        from counterpoint.core.operations.readiness import judge_for_caller, open_children_query

        with self._context.reading() as view:
            holders = Holders(view, self._context)
            current = item_named(view, item)
            if current is None:
                raise missing(Item, item)
            current = mark_unrecorded(view, [current])[0]
            item = current.id
            hanging: Mapping[str, Filter] = {"item": item}
            areas, gates = Query(Area, hanging), Query(Gate, hanging)
            needed_by = Query(Dependency, {"needs": item}, limit=50)
            view.fetch(
                (
                    *hanging_queries([current], _SMALL),
                    *(areas, gates, needed_by, Query(Claim, hanging, limit=1)),
                    *verdict_queries([current]),
                    open_children_query(item),
                )
            )
            seen = ItemReader(view).one(current, *_SMALL)
            return Facets(
                **{part.name: getattr(seen, part.name) for part in fields(seen)},
                needed_by=tuple(edge.item for edge in needed_by.rows(view)),
                areas=tuple(area.pattern for area in areas.rows(view)),
                gates=tuple(gates.rows(view)),
                claim=(claim := view.find(Claim, item)),
                rejection=rejections(view, [current]).get(item),
                readiness=judge_for_caller(view, current, holders),
                departure=holders.departure(claim),
            )

    def state(self) -> State:
        """Return the state of the project; NotFound before it is opened."""
        with self._context.reading() as view:
            view.fetch(STATE)
            project = view.find(Project)
            if project is None:
                raise missing(Project, self._context.project)
            head, now = view.head(), self._context.ports.clock.now()
            return State(
                project=project,
                counts=_counts(view),
                live=_with_departures(
                    Holders(view, self._context),
                    _with_items(view, FIRST_CLAIMS.rows(view)),
                ),
                blockers=tuple(_OPEN_BLOCKERS.rows(view)),
                in_review=tuple(IN_REVIEW.rows(view)[:_SHOWN]),
                roots=tuple(mark_unrecorded(view, _ROOTS.rows(view))),
                ledger_size=head.size,
                last_entry_at=head.time,
                now=now,
                ahead=ahead_of(view, head, now),
            )

    def progress(self, items: Sequence[Item]) -> dict[str, Progress]:
        """Return how what is directly below each of some items stands, by their ids."""
        with self._context.reading() as view:
            reader = ItemReader(view)
            return {item.id: reader.progress(item.id) for item in items}

    def items(self, criteria: ItemFilter, after: int, limit: int) -> list[Item]:
        """Return items by number, beyond a number. A status `dropped` means all of that category, as counts say it."""
        if criteria.status == "dropped":
            criteria = replace(criteria, status="", category="dropped")
        with self._context.reading() as view:
            views = ItemReader(view).find(criteria, after=(after,), size=limit)
            return mark_unrecorded(view, [item_view.item for item_view in islice(views, limit)])

    def counts(self, root: str = "") -> dict[str, dict[str, int]]:
        """Return how many items of each kind are in each category; root: only of this tree."""
        with self._context.reading() as view:
            return _counts(view, root)

    def tree(
        self, categories: tuple[Category, ...], *, root: str = "", after: str = "", limit: int
    ) -> list[tuple[int, Item]]:
        """Return the items of some categories in the order of their trees, each with its level from 0.

        categories: none for all. root: only this item and what is below it. after: the lines behind this item.
        """
        with self._context.reading() as view:
            items = ItemReader(view).walk(categories, root)
            lines = iter(dropwhile(lambda line: line[1].id != after, items)) if after else items
            levels = list(islice(lines, 1 if after else 0, limit + (1 if after else 0)))
            marked = mark_unrecorded(view, [item for _, item in levels])
            return [(level, item) for (level, _), item in zip(levels, marked, strict=True)]

    def held(self) -> tuple[Live, ...]:
        """Return what the caller's session holds; nothing where others write in it too whom nothing tells from him."""
        caller = self._context.caller
        with self._context.reading() as view:
            is_known = caller.actor.session and not caller.is_shared
            claims = live_claims(view, caller.actor.session) if is_known else []
            return _with_items(view, claims)

    def has_happened(self, action: str) -> bool:
        """Return whether the ledger has an entry of an action."""
        with self._context.reading() as view:
            return bool(view.sequences(action=action, limit=1))

    def held_anywhere(self, capability: str = "") -> tuple[Live, ...]:
        """Return what the sessions of the caller's principal hold, whichever it calls from.

        capability: of a connection whose sessions are the caller's too, as that of the process that it succeeds.
        """
        principal = self._context.caller.actor.principal
        if principal is None and not capability:
            return ()
        with self._context.reading() as view:
            claims = view.select(Claim, state="live", order="claimed_at,item")
            holders = tuple({claim.session for claim in claims})
            sessions: list[Session] = []
            if holders and principal is not None:
                sessions += view.select(Session, id=holders, principal=principal.id)
            if holders and capability:
                sessions += view.select(Session, id=holders, capability=capability)
            own = {session.id for session in sessions}
            return _with_items(view, [claim for claim in claims if claim.session in own])

    def to_continue(self) -> tuple[Continuation, ...]:
        """Return what the caller has begun or left: see `begun_by`; a session that only has its writes is none."""
        with self._context.reading() as view:
            sessions = list_resumable_sessions(view, self._context)
            continued = [
                (session, _with_items(view, live_claims(view, session.id))) for session in sessions
            ]
            return tuple(
                Continuation(session=session, held=live, left=_left(view, session.id))
                for session, live in continued
                if live
                or session.status == "paused"
                or (session.purpose != "connection" and not session.has_ended)
            )

    def last_handoff(self, session: str = "") -> Handoff | None:
        """Return the last handoff of a session, or of anybody."""
        with self._context.reading() as view:
            return last_handoff(view, session)

    def rows(
        self,
        noun: type[N],
        *,
        after: int = 0,
        limit: int = 20,
        latest: bool = False,
        **equal: Filter,
    ) -> list[N]:
        """Return numbered rows (records, receipts, verdicts, …), from the first or the latest."""
        with self._context.reading() as view:
            order = "number desc" if latest else "number"
            beyond = (after,) if after else ()
            return view.select(noun, order=order, after=beyond, limit=limit, **equal)

    def outcomes(self, item: str) -> list[Outcome]:
        """Return how each claim of an item ended, in order."""
        with self._context.reading() as view:
            return view.select(Outcome, item=item, order="token")

    def find(self, noun: type[N], *key: str | int) -> N | None:
        """Return a row by its key, or None."""
        with self._context.reading() as view:
            return view.find(noun, *key)

    def open_blockers(self, item: str = "", limit: int = 20) -> list[Record]:
        """Return blockers that nobody has resolved."""
        return self.recent("blocker", item=item, limit=limit, status="open")

    def recent(
        self, kind: RecordKind, *, item: str = "", limit: int = 20, **equal: str
    ) -> list[Record]:
        """Return the latest records of a kind."""
        with self._context.reading() as view:
            return recent_query(kind, item=item, limit=limit, **equal).rows(view)

    def used_words(self) -> dict[str, list[str]]:
        """Return what lists can be narrowed to: every label and assignee there is, every status there is or can be."""
        with self._context.reading() as view:
            statuses = {*view.counts(Item, "status"), *_statuses(), "dropped"}
            words_by_filter = {
                "status": statuses,
                "label": view.counts(Label, "name"),
                "assignee": view.counts(Item, "assignee"),
            }
        return {name: sorted(filter(None, words)) for name, words in words_by_filter.items()}

    def alike(self, kind: RecordKind, text: str, *, limit: int) -> list[Record]:
        """Return which of the latest records of a kind share words with a text, those with most of them first.

        Looks at so many that it takes no longer after much work than after little: `search` looks at all.
        """
        try:
            near = nearness(drop_common_words(asked_words(text)))
        except InvalidInput:
            return []
        latest = self.recent(kind, limit=_LOOKED_AT)
        shared = [
            len(set(near.findall(fold(" ".join((record.title, *record.tags, record.body))))))
            for record in latest
        ]
        ranked = sorted(zip(shared, latest, strict=True), key=lambda pair: -pair[0])
        return [record for many, record in ranked if many][:limit]

    def children(
        self, item: str, after: tuple[int, int] | None = None, limit: int = 200
    ) -> list[Item]:
        """Return the items directly below one, in their places.

        after: position and number of the last one seen.
        """
        with self._context.reading() as view:
            return view.select(
                Item, parent=item, order="position,number", after=after or (), limit=limit
            )

    def markdown(self, item: str) -> str:
        """Return an item with all below it as a Markdown plan that `outline` reads; NotFound."""
        with self._context.reading() as view:
            current = view.find(Item, item)
            if current is None:
                raise missing(Item, item)
            # What reads plans and searches takes as long to load as all else here, and most looks need neither.
            from counterpoint.core.rules import outline

            return outline.dump(_draft(view, current))

    def search(
        self,
        query: str,
        *,
        kinds: tuple[str, ...] = (),
        item: str = "",
        limit: int,
        offset: int = 0,
    ) -> list[Found]:
        """Return what has any of the words or means nearly the same, best first; InvalidInput without a word."""
        from counterpoint.core.operations.finding.hits import find_rows

        return find_rows(self._context, query, kinds=kinds, item=item, limit=limit, offset=offset)


def _statuses() -> Iterator[str]:
    for table in tables_of_work():
        yield from table.categories


def _with_items(view: Reading, claims: list[Claim]) -> tuple[Live, ...]:
    items = items_by_id(view, (claim.item for claim in claims))
    return tuple(
        Live(claim=claim, item=items[claim.item]) for claim in claims if claim.item in items
    )


def _with_departures(holders: Holders, live: Sequence[Live]) -> tuple[Live, ...]:
    holders.load(live_item.claim for live_item in live)
    return tuple(
        replace(live_item, departure=holders.departure(live_item.claim)) for live_item in live
    )


def _left(view: Reading, session: str) -> Record | Handoff | None:
    """Return the last that was written down in a session: a record, or what it left for others."""
    records, handoffs = last_written_queries(session)
    view.fetch((records, handoffs))
    last_rows: list[Record | Handoff] = [*records.rows(view), *handoffs.rows(view)]
    return max(last_rows, key=lambda row: row.created_at, default=None)


def _counts(view: Reading, root: str = "") -> dict[str, dict[str, int]]:
    tree: dict[str, Filter] = {"root": root} if root else {}
    counts: dict[str, dict[str, int]] = {}
    for (kind, category), count in view.counts_by(Item, ("kind", "category"), **tree).items():
        counts.setdefault(kind, {})[category] = count
    return counts


def _draft(view: Reading, item: Item) -> Draft:
    gates = view.select(Gate, item=item.id)
    needs = tuple(edge.needs for edge in view.select(Dependency, item=item.id))
    children = view.select(Item, parent=item.id, order="position,number")
    return Draft(
        kind=item.kind,
        title=item.title,
        name=item.id,
        body=item.body,
        # Without a word a phase comes after the one before it: that it comes after nothing must be
        # said.
        needs=needs if needs or item.kind == "phase" else None,
        areas=tuple(area.pattern for area in view.select(Area, item=item.id)),
        acceptance=tuple(criterion.text for criterion in view.select(Criterion, item=item.id)),
        checks=tuple(gate.argv for gate in gates if gate.kind == "check"),
        labels=labels_of(view, item.id),
        priority=item.priority,
        profile=item.profile,
        approval=any(gate.kind == "review" and gate.holds == "start" for gate in gates),
        review=any(gate.kind == "review" and gate.holds == "finish" for gate in gates),
        artifact=any(gate.kind == "artifact" for gate in gates),
        done=item.category == "done",
        children=tuple(_draft(view, child) for child in children),
    )
