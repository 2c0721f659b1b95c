"""Large plans, made in slices that nobody sees until the last.

Rules: (1) the first slice keeps the numbers of all items for the plan (`Staging`); whoever reads finds none of them while it is
hidden (storage/statements.py). (2) Each slice is a transaction of its own and begins by finding the staging as it was left: one
that was given up has no next slice. (3) The last one is part of the call, with its idempotent answer, and does all that touches
what others see. So a plan is there whole or not at all, and others write in between. (4) What is refused late, or
left by somebody who is gone, is taken away in slices too, hidden until its last row. (5) A review is never deleted: a project may
ask for a person there, and its rows are found by nobody without their item.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from counterpoint.core.model.answers import CreatedPlan
from counterpoint.core.model.catalogue import OF_PLANS
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.work import (
    ABANDONED,
    CREATED,
    DRAFTED,
    Gate,
    Item,
    Project,
    Staging,
)
from counterpoint.core.operations.planning.putting import (
    holder_of,
    put_edges,
    put_items,
    wait_outside,
)
from counterpoint.core.operations.readiness import ready_among
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.contributions import note_part, relaxed_by
from counterpoint.core.operations.recording.facets import refuse_taken
from counterpoint.core.operations.recording.holders import Holders
from counterpoint.core.operations.recording.links import (
    next_position,
    refuse_circle_through,
    shift,
)
from counterpoint.core.operations.recording.moves import close_when_done
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.drafting import PlannedItem
from counterpoint.kernel.clock import Timestamp, later
from counterpoint.kernel.errors import CounterpointError, StaleVersion

SLICE: Final = 100
"""Items of one entry: so many neither make it unreadably large nor let others wait."""
PATIENCE: Final = 60.0
"""Seconds without a slice after which whoever makes a plan counts as gone."""


def may_stage(context: Context, count: int) -> bool:
    """Return whether a plan of so many items is made in slices.

    What a person signs is one act, and what a call has begun to write lands together.
    """
    unit = context.unit
    has_begun = unit is not None and unit.writing is not None
    return count > SLICE and not has_begun and context.caller.confirmation is None


def is_large(draft: Draft) -> bool:
    """Return whether a draft has more items than one entry takes."""
    waiting, count = [draft], 0
    while waiting and count <= SLICE:
        waiting += waiting.pop().children
        count += 1
    return count > SLICE


@dataclass(slots=True)
class Stager:
    """Makes one large plan.

    context: that of the call. planned: the plan laid flat. parent: the item it goes below; empty for none.
    """

    context: Context
    planned: Sequence[PlannedItem]
    parent: str
    made: list[Item] = field(init=False, default_factory=list[Item])
    _names: list[str] = field(init=False, default_factory=list[str])
    _apart: Context = field(init=False)

    def __post_init__(self) -> None:
        """Write slices past the transaction of the call, which has not begun."""
        self._apart = replace(self.context, unit=None)

    def make(self) -> CreatedPlan:
        """Put the plan, and let all see it; what is refused leaves nothing that anybody sees."""
        with self._apart.reading() as view:
            self._refuse(view)
        tidy(self._apart)
        try:
            for start in range(0, len(self.planned), SLICE):
                self._put(range(start, min(start + SLICE, len(self.planned))))
            ready = self._ready()
            after = self._publish()
        except BaseException:
            # Where nothing can be written any more, somebody else takes it away later.
            with suppress(CounterpointError):
                self._give_up()
            raise
        freed = {item.id for item in after if not item.blockers}
        return CreatedPlan(root=after[0], items=after, ready=tuple(i for i in ready if i in freed))

    def _refuse(self, view: Reading) -> None:
        """Raise what is known before anything is written."""
        holder_of(view, self.parent, self.planned[0].draft)
        refuse_taken(view, [name for part in self.planned for name in part.draft.aliases])
        self._refuse_circle(view)

    def _refuse_circle(self, view: Reading) -> None:
        if self.parent:
            needs = {name for part in self.planned for name in part.outside}
            refuse_circle_through(view, self.parent, needs)

    def _put(self, places: range) -> None:
        """Put one slice."""
        with recording(self._apart, DRAFTED) as change:
            change.open_session()
            self._hold(change)
            some = self.planned[places.start : places.stop]
            put_items(change, self.planned, self.made, some, self.parent, first=self._first)
            put_edges(change, self.planned, self._names, places)
            change.subject = self._names[0]
            change.add_facts(items=len(self.made), of=len(self.planned))

    @property
    def _first(self) -> int:
        return self.made[0].number if self.made else int(self._names[0].rpartition("-")[2])

    def _hold(self, change: Change) -> None:
        """Begin the staging, or go on with it; StaleVersion if it was given up."""
        until = later(change.clock, PATIENCE)
        if self._names:
            change.put(replace(self._found(change), until=until))
            return
        actor = change.context.caller.actor
        first, prefix = change.next_number(Item), change.get(Project).prefix
        last = first + len(self.planned) - 1
        self._names = [f"{prefix}-{number}" for number in range(first, last + 1)]
        change.put(
            Staging(
                project=change.context.project,
                first=first,
                last=last,
                status="hidden",
                until=until,
                agent=actor.name,
                session=actor.session,
                begun_at=change.now,
            )
        )

    def _found(self, change: Change) -> Staging:
        staging = change.find(Staging, self._first)
        if staging is None or staging.status != "hidden" or not staging.until:
            raise StaleVersion(
                "this plan was given up, as nothing was heard of it for so long",
                hint="Nothing is left of it: repeat the call.",
            )
        return staging

    def _ready(self) -> list[str]:
        """Return what can be taken when all see the plan, but for what waits for something outside."""
        with self._apart.reading() as view, view.unveiled():
            relaxed = relaxed_by(view, self.context.caller)
            items = ready_among(view, self.made, Holders(view, self.context), relaxed)
            return [item.id for item in items]

    def _publish(self) -> tuple[Item, ...]:
        """Let all see the plan, and put it where it belongs as others have left that."""
        with recording(self.context, CREATED) as change:
            change.open_session()
            staging, root = self._found(change), self.made[0]
            above = holder_of(change.writing, self.parent, self.planned[0].draft)
            position = next_position(change, self.parent)
            self._refuse_circle(change.writing)
            change.put(replace(staging, status="made", until=""))
            if above is not None:
                change.refuse_closing(above.id)
                self._settle(change, above, position)
            wait_outside(change, self.planned, self.made, is_known=False)
            close_when_done(change, root.parent)
            change.subject = root.id
            change.add_facts(items=len(self.made))
            change.add_texts(title=root.title)
            return tuple(change.as_left(item) for item in self.made)

    def _settle(self, change: Change, above: Item, position: int) -> None:
        """Put right what hangs on the parent, which others may have changed meanwhile."""
        root = change.get(Item, self.made[0].id)
        if above.root != root.root:
            raise StaleVersion(
                f"{above.id} was moved while this plan was made",
                hint="Nothing is left of it: repeat the call.",
            )
        if position != root.position:
            root = replace(root, position=position)
            change.put(root)
        held_above = int(above.blockers > 0)
        if held_above != root.held:
            shift(change, replace(root, held=held_above), held_above - root.held)
        if any(item.category != "open" for item in self.made):
            note_part(change, above.id)

    def _give_up(self) -> None:
        if self._names:
            while _take_away(self._apart, self._first):
                pass


def tidy(context: Context) -> int:
    """Take away what is left of plans whose maker is gone; answer of how many."""
    with context.reading() as view:
        hidden = view.select(Staging, status="hidden")
    abandoned = [staging for staging in hidden if staging.until < context.ports.clock.now()]
    for hidden_plan in abandoned:
        while _take_away(context, hidden_plan.first, before=context.ports.clock.now()):
            pass
    return len(abandoned)


def _take_away(context: Context, first: int, before: Timestamp | None = None) -> bool:
    """Take a slice of a hidden plan away; answer whether there may be more.

    before: leave it to whoever makes it, if he has put something since; None if that is the caller.
    """
    with recording(context, ABANDONED) as change:
        staging = change.find(Staging, first)
        is_mine = before is None or (staging is not None and staging.until < before)
        if staging is None or staging.status != "hidden" or not is_mine:
            return False
        with change.writing.unveiled():
            behind = (first - 1,)
            some = change.writing.select(Item, order="number", after=behind, limit=SLICE)
            items = [item for item in some if item.number <= staging.last]
            _drop(change, items)
        is_over = len(items) < SLICE
        change.put(replace(staging, status="gone" if is_over else "hidden", until=""))
        change.subject = f"{change.get(Project).prefix}-{first}"
        change.add_facts(items=len(items))
        return not is_over


def _drop(change: Change, items: Sequence[Item]) -> None:
    names = tuple(item.id for item in items)
    for noun in OF_PLANS if names else ():
        for row in change.writing.select(noun, item=names):
            if not (isinstance(row, Gate) and row.kind == "review"):
                change.drop(row)
    for item in items:
        change.drop(item)
