"""Looking at the whole: an item with all about it, the state of the project."""

from __future__ import annotations

from counterpoint.core.model.answers import Facets, Live, State
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.journal import (
    Outcome,
    Record,
    RecordKind,
)
from counterpoint.core.model.rows import N
from counterpoint.core.model.sessions import Claim, Handoff
from counterpoint.core.model.work import (
    Area,
    Criterion,
    Dependency,
    Gate,
    Item,
    Project,
)
from counterpoint.core.operations.readiness import judged
from counterpoint.core.operations.recording.change import missing
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.facets import (
    attributes_of,
    item_named,
    labels_of,
    names_of,
)
from counterpoint.core.operations.sessions import last_handoff, live_claims
from counterpoint.core.ports.store import Filter, Reading
from counterpoint.core.rules import outline


class Overview:
    """Verbs for looking."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def facets(self, item: str) -> Facets:
        """Return an item, by any of its names, with everything small that hangs on it; NotFound."""
        actor = self._context.caller.actor
        with self._context.reading() as view:
            found = item_named(view, item)
            if found is None:
                raise missing(Item, item)
            item = found.id
            needs = [view.find(Item, e.needs) for e in view.select(Dependency, item=item)]
            return Facets(
                item=found,
                labels=labels_of(view, item),
                needs=tuple(needed for needed in needs if needed is not None),
                needed_by=tuple(e.item for e in view.select(Dependency, needs=item, limit=50)),
                areas=tuple(area.pattern for area in view.select(Area, item=item)),
                criteria=tuple(view.select(Criterion, item=item)),
                gates=tuple(view.select(Gate, item=item)),
                claim=view.find(Claim, item),
                readiness=judged(view, found, actor.session, self._context.ports.clock.now()),
                progress=view.counts(Item, "category", parent=item),
                names=names_of(view, item),
                attributes=attributes_of(view, item),
            )

    def state(self) -> State:
        """Return the state of the project; NotFound before it is opened."""
        with self._context.reading() as view:
            project = view.find(Project)
            if project is None:
                raise missing(Project, self._context.project)
            head = view.head()
            return State(
                project=project,
                counts=_counts(view),
                live=self._live(view),
                blockers=tuple(view.select(Record, kind="blocker", status="open", limit=20)),
                in_review=tuple(view.select(Item, category="review", order="number", limit=20)),
                roots=tuple(view.select(Item, parent="", order="number desc", limit=20)),
                ledger_size=head.size,
                last_entry_at=head.time,
                now=self._context.ports.clock.now(),
            )

    def _live(self, view: Reading) -> tuple[Live, ...]:
        claims = view.select(Claim, state="live", order="claimed_at,item", limit=50)
        return _with_items(view, claims)

    def held(self) -> tuple[Live, ...]:
        """Return what the caller's session holds."""
        session = self._context.caller.actor.session
        with self._context.reading() as view:
            claims = live_claims(view, session) if session else []
            return _with_items(view, claims)

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
        about: dict[str, str] = {"item": item} if item else {}
        with self._context.reading() as view:
            return view.select(
                Record, order="number desc", limit=limit, kind=kind, **about, **equal
            )

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
            found = view.find(Item, item)
            if found is None:
                raise missing(Item, item)
            return outline.dump(_draft(view, found))


def _with_items(view: Reading, claims: list[Claim]) -> tuple[Live, ...]:
    items = [(claim, view.find(Item, claim.item)) for claim in claims]
    return tuple(Live(claim=claim, item=item) for claim, item in items if item is not None)


def _counts(view: Reading) -> dict[str, dict[str, int]]:
    kinds = view.counts(Item, "kind")
    return {kind: view.counts(Item, "category", kind=kind) for kind in kinds}


def _draft(view: Reading, item: Item) -> Draft:
    gates = view.select(Gate, item=item.id)
    needs = tuple(edge.needs for edge in view.select(Dependency, item=item.id))
    children = view.select(Item, parent=item.id, order="position,number")
    return Draft(
        kind=item.kind,
        title=item.title,
        name=item.id,
        body=item.body,
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
