"""Ends, drops and closes items with what is below them.

Large trees, closed in slices from the leaves up once that is durable.
Rules: (1) what could refuse the end is asked before it begins, and where it begins every claim that ends with it is given back. (2) From
then on nobody moves, begins or adds anything in the tree (`Change.refuse_closing`), so that each slice finds what it has to close. (3)
Leaves close before what holds them, so that nothing open is ever below what has closed. (4) Two who close one tree do no harm: what is
closed already is passed by. So whoever repeats the call goes on with it at once, and what somebody left who is gone, the next
large end or the server closes. (5) The top closes last, in the call that wanted it, with its idempotent answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from counterpoint.core.model.filters import Note
from counterpoint.core.model.lifecycles import UNCLOSED
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import CLOSING, THINNED, Dependency, Ending, Item
from counterpoint.core.operations.journal import Journal
from counterpoint.core.operations.planning.staging import SLICE, may_stage
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.connection_sessions import refuse_ending
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.facets import line_of
from counterpoint.core.operations.recording.links import AT_ONCE, padded, undepend
from counterpoint.core.operations.recording.moves import follow, move, note_former, refuse_dropping
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.planning.ending import end_of
from counterpoint.core.rules.wording import spoken_of
from counterpoint.kernel.clock import later
from counterpoint.kernel.errors import StaleVersion


def drop(change: Change, item: Item, status: str, reason: str) -> None:
    """Move an item, on somebody's word, to a state in which it is dropped, with all that follows."""
    # Asked before the move, which closes them.
    dropped = _open_issues(change, item)
    move(change, item, status, reason)
    gone = [issue for issue in dropped if change.get(Item, issue).status == "cancelled"]
    if gone:
        why = "it was cancelled"
        change.add_facts(
            let_go=[issue for name in gone for issue in let_go(change, change.get(Item, name), why)]
        )


def let_go(change: Change, issue: Item, why: str) -> list[str]:
    """Let nothing wait for an issue any more; each that waited hears why. Answer their ids."""
    waiting = change.select(Dependency, needs=issue.id)
    journal = Journal(change.context)
    for edge in waiting:
        undepend(change, change.get(Item, edge.item), issue.id)
        text = f"This does not wait for {spoken_of(issue.id)} any more: {why}"
        note = Note(kind="comment", item=edge.item, body=text, tags=("warning",))
        change.put(journal.draft(change, note, change.open_session(), ()))
    return [edge.item for edge in waiting]


def _open_issues(change: Change, top: Item) -> list[str]:
    """Return the ids of an item and all below it that are issues and not closed."""
    if not change.writing.exists(Item, root=top.root, kind="issue", category=UNCLOSED):
        return []
    below = change.select(Item, parent=top.id, category=UNCLOSED)
    issues = [top.id] if top.kind == "issue" else []
    return issues + [name for child in below for name in _open_issues(change, child)]


PATIENCE: Final = 10.0
"""Seconds without a slice after which others go on with an end that somebody began."""
FINISHED: Final = "tree.closed"


class _Part(NamedTuple):
    """What closes with the top of a tree: its name, its state then, and why."""

    name: str
    goal: str
    why: str


def may_thin(context: Context, item: str, goal: str) -> bool:
    """Return whether an item is closed in slices, if it is moved to a state on somebody's word.

    That is for what is dropped: what that asks is asked of all of it before it begins.
    """
    with context.reading() as view:
        current = view.find(Item, item)
        if current is None or current.is_closed or not _is_dropped(current, goal):
            return False
        # What ends by word leaves the tasks below it as they are, which is little to write.
        if not all(part.states.closes_itself for part in line_of(view, item)):
            return False
        if view.exists(Ending, item=item, status="begun"):
            return may_stage(context, SLICE + 1)
        parts = _parts(view, current, current.states.named(goal))
        count = sum(1 for _, _ in zip(parts, range(SLICE + 1), strict=False))
    return may_stage(context, count)


def _is_dropped(item: Item, goal: str) -> bool:
    states = item.states
    return states.categories.get(states.named(goal)) == "dropped"


@dataclass(slots=True)
class Ender:
    """Closes one large tree.

    context: that of the call. item: the top. goal: the state it gets. reason: for the account of moves.
    """

    context: Context
    item: str
    goal: str
    reason: str
    _since: int = field(init=False, default=-1)
    _apart: Context = field(init=False)

    def __post_init__(self) -> None:
        """Write slices past the transaction of the call, which has not begun."""
        self._apart = replace(self.context, unit=None)

    def begin(self, ask: Callable[[Change, Item], None]) -> None:
        """Make it durable that the tree will be closed, or go on with what was begun.

        ask: raises what the call has against it.
        """
        carry_on(self._apart)
        with recording(self._apart, CLOSING, self.item) as change:
            change.open_session()
            top = change.get(Item, self.item)
            ask(change, top)
            endings = change.writing.select(Ending, item=top.id, status="begun", limit=1)
            if endings and endings[0].goal == self.goal:
                self._since = endings[0].since
                return
            change.refuse_closing(top.id)
            self._refuse_within(change)
            refuse_ending(change, top)
            refuse_dropping(change, top)
            self._give_back(change)
            self._put(change)

    def go_on(self, since: int) -> None:
        """Go on with what somebody else began."""
        self._since = since

    def close_below(self) -> None:
        """Close all that closes with the top, slice by slice."""
        with self._apart.reading() as view:
            top = view.find(Item, self.item)
            parts = [] if top is None else list(_parts(view, top, top.states.named(self.goal)))
        parts.reverse()
        for start in range(0, len(parts), SLICE):
            if not self._close(parts[start : start + SLICE]):
                return

    def top(self, change: Change) -> Item:
        """Return the top, which the change is to close now; closed already if others were before it."""
        top, ending = change.get(Item, self.item), change.get(Ending, self._since)
        if ending.status == "begun":
            change.ending = top.id
            change.put(replace(ending, status="ended", until=""))
        elif not top.is_closed:
            raise StaleVersion(f"{top.id} was closed and has been reopened")
        return top

    def _refuse_within(self, change: Change) -> None:
        """Refuse while a tree within this one is being closed."""
        for ending in self.context.ports.under_way.all(change.writing):
            if any(ancestor.id == self.item for ancestor in line_of(change, ending.item)):
                change.refuse_closing(ending.item)

    def _give_back(self, change: Change) -> None:
        """End the claims of what closes, while it is told from others' whose they are."""
        for claim in change.select(Claim, state="live", order="item"):
            line = list(line_of(change, claim.item))
            names = [ancestor.id for ancestor in line]
            if self.item in names and not _stays(line, names.index(self.item)):
                change.put(replace(claim, state="released"))

    def _put(self, change: Change) -> None:
        actor, self._since = change.context.caller.actor, change.writing.head().size
        change.put(
            Ending(
                project=change.context.project,
                since=self._since,
                item=self.item,
                goal=self.goal,
                reason=Prose(self.reason),
                status="begun",
                until=later(change.clock, PATIENCE),
                agent=actor.name,
                session=actor.session,
                begun_at=change.now,
            )
        )

    def _close(self, some: Sequence[_Part]) -> bool:
        """Close a slice; answer whether there is more to do."""
        with recording(self._apart, THINNED, self.item) as change:
            ending = change.get(Ending, self._since)
            if ending.status != "begun":
                return False
            change.ending = self.item
            change.put(replace(ending, until=later(change.clock, PATIENCE)))
            change.select(Item, id=padded([part.name for part in some]))
            for part in some:
                item = change.get(Item, part.name)
                if item.is_closed:
                    continue
                note_former(change, item)
                after = follow(change, item, part.goal, part.why, by_word=True, alone=True)
                if after.kind == "issue" and after.status == "cancelled":
                    let_go(change, after, "it was cancelled")
            change.add_facts(items=len(some))
        return True


def _parts(view: Reading, top: Item, goal: str) -> Iterator[_Part]:
    """Return what closes below an item with it, from the top down."""
    waiting = [(top, goal, False)]
    while waiting:
        some, waiting = waiting[:AT_ONCE], waiting[AT_ONCE:]
        above = {
            item.id: (state, declared or not item.states.closes_itself)
            for item, state, declared in some
        }
        for child in view.select(Item, parent=padded(above), category=UNCLOSED, order="number"):
            state, declared = above[child.parent]
            end = end_of(child, state, is_declared=declared)
            if end:
                yield _Part(child.id, end, f"{child.parent} above it is {state}")
                waiting.append((child, end, declared))


def _stays(line: Sequence[Item], top: int) -> bool:
    """Return whether what is claimed goes on when what is so many places above it closes."""
    is_declared = any(not part.states.closes_itself for part in line[1 : top + 1])
    return is_declared or line[0].category != "active"


def carry_on(context: Context) -> int:
    """Close the trees whose end somebody began who is gone; answer of how many."""
    now = context.ports.clock.now()
    with context.reading() as view:
        overdue = [ending for ending in view.select(Ending, status="begun") if ending.until < now]
    for closing in overdue:
        ender = Ender(context, closing.item, closing.goal, closing.reason)
        ender.go_on(closing.since)
        ender.close_below()
        with recording(context, FINISHED, closing.item) as change:
            top = ender.top(change)
            if not top.is_closed:
                drop(change, top, closing.goal, closing.reason)
    return len(overdue)
