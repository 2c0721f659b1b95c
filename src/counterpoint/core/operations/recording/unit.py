"""The one write path: rows and their ledger entry land together, or not at all.

Rule 1: every mutation happens inside `recording`; one `recording` is one entry, with what goes on with it (`resumed`).
Rule 2: all entries of one call share one transaction, so a call happens whole or not.
Rule 3: under an idempotency key the answer is kept in that same transaction; a retry reads it.
Rule 4: time in the ledger never runs backwards: while the clock is behind the last entry, an entry gets the time of that one, and
if it is far behind, what it said as well, as the fact `clock`. Rule 5: what lasts is measured by the clock alone, `Change.clock`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import field, replace
from types import TracebackType
from typing import Any, Self, TypeVar

from counterpoint.core.ledger.entry import RowImage
from counterpoint.core.model.journal import Reply
from counterpoint.core.model.rows import REDACTED, Prose
from counterpoint.core.model.sessions import Session
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Caller, Context
from counterpoint.core.ports.store import Reading, Writing
from counterpoint.core.rules.claims import principal_id_of
from counterpoint.core.rules.sessions import may_write
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import TOLERANCE_MS, Timestamp, elapsed_ms
from counterpoint.kernel.errors import CounterpointError, KeyReused
from counterpoint.kernel.frozen import mutable

T = TypeVar("T")


@mutable
class Unit:
    """The transaction of one call: opened by its first write, committed when its block ends.

    A block inside of the block is part of it.
    """

    context: Context
    writing: Writing | None = None
    changes: list[Change] = field(default_factory=list[Change])
    under_way: list[Change] = field(init=False, default_factory=list[Change])
    """Changes whose blocks have not ended, each in the middle of the one before it."""
    _looks: list[Callable[[Writing], None]] = field(init=False, default_factory=list[Any])
    _held: ExitStack = field(init=False, default_factory=ExitStack)
    _depth: int = field(init=False, default=0)
    _spoiled: BaseException | None = field(init=False, default=None)

    def __enter__(self) -> Self:
        """Let what the call records until the end of the block land in this transaction."""
        self.context.unit = self
        self._depth += 1
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        """Append the entries and commit; undo all if the block raised, or a change in it."""
        self._depth -= 1
        # A block inside of the block lands together with it.
        if self._depth:
            return None
        self.context.unit, host = None, self.context.ports.host
        if fault is not None:
            return self._held.__exit__(kind, fault, trace)
        project, presence = self.context.project, None
        with self._held:
            if self._spoiled is not None:
                raise self._spoiled
            # A change that did nothing, and says nothing, was only a look inside the transaction.
            written = [change for change in self.changes if change.images or change.facts]
            for change in written:
                if change.clock < change.now:
                    _tell_skew(change)
                change.append()
            if written and self.writing is not None:
                # Lands with what the connection writes first, and so costs no transaction of its own.
                presence = host.unwritten(project, self.context.caller.own_seat, written[0].clock)
                if presence is not None:
                    self.writing.seat(presence)
        if presence is not None:
            host.note_written(project, presence)
        return None

    def at_begin(self, look: Callable[[Writing], None]) -> None:
        """Have the transaction looked at before its first write; never, if that was already."""
        self._looks.append(look)

    def begin(self, context: Context, action: str) -> Change:
        """Return a fresh change in this transaction, made at a context of the same call."""
        ports, writing, head = self.context.ports, self.writing, None
        if writing is None:
            writing = self.writing = self._held.enter_context(ports.store.writing(ports.project))
            head = writing.head()
            if head.leaf != ports.under_way.leaf or ports.under_way.is_written:
                ports.under_way.begin(head.leaf)
            if head.leaf != ports.sharing.leaf:
                ports.sharing.follow(writing, head.leaf)
            for look in self._looks:
                look(writing)
            self.context.is_asked = True
            for ask in self.context.conditions:
                ask(writing)
        clock = ports.clock.now()
        last = self.changes[-1].now if self.changes else Timestamp((head or writing.head()).time)
        # A change in the middle of another lands before that one, and so has its time.
        now = self.under_way[-1].now if self.under_way else max(clock, last)
        change = Change(context=context, writing=writing, now=now, clock=clock, action=action)
        self.under_way.append(change)
        return change

    def ends_with(self, context: Context, subject: str) -> bool:
        """Return whether the last that was written here is a change about a subject, made at this context."""
        # What a block around it has written since, that change would not know.
        if self.under_way or not self.changes:
            return False
        last = self.changes[-1]
        return last.subject == subject and last.context is context

    def spoil(self, change: Change, fault: BaseException) -> None:
        """Note that a change failed after it had written: nothing of this unit may land."""
        if change.images:
            # Whoever catches the fault may go on as if nothing was, but half of this change is
            # written.
            self._spoiled = self._spoiled or fault


def _tell_skew(change: Change) -> None:
    """Add what the clock said to an entry that has another time by far."""
    if elapsed_ms(change.clock, change.now) > TOLERANCE_MS:
        change.add_facts(clock=change.clock)


@contextmanager
def recording(context: Context, action: str, subject: str = "") -> Generator[Change]:
    """Open a change that lands as one entry when the block ends, or leaves nothing behind."""
    with transaction(context) as unit:
        change = unit.begin(context, action)
        change.subject = subject
        try:
            yield change
        except BaseException as fault:
            unit.spoil(change, fault)
            raise
        finally:
            unit.under_way.pop()
        unit.changes.append(change)


def extend_entry(context: Context, subject: str) -> AbstractContextManager[Change] | None:
    """Return what goes on with the change that this call made last, if that was about the subject; None without such a one.

    So what a dialect keeps with an act lands in the entry of the act.
    """
    unit = context.unit
    if not isinstance(unit, Unit) or not unit.ends_with(context, subject):
        return None
    return _resuming(unit, unit.changes[-1])


@contextmanager
def _resuming(unit: Unit, change: Change) -> Generator[Change]:
    try:
        yield change
    except BaseException as fault:
        unit.spoil(change, fault)
        raise


def transaction(context: Context) -> Unit:
    """Let every `recording` in the block land in one transaction, that of the call if it has one."""
    return context.unit if isinstance(context.unit, Unit) else Unit(context=context)


class _Tried(Exception):
    """Ends a transaction of which nothing is to land."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer


def perform(context: Context, act: Callable[[Context], T], *, dry_run: bool = False) -> T:
    """Return what an act answers, all of which lands together; after a dry run nothing of it has.

    So a dry run refuses what the act would, and tells what it would.
    """
    if not dry_run:
        with transaction(context):
            return act(context)
    # Apart from the transaction in which an idempotent call keeps its answer, and which has not begun.
    apart = replace(context, unit=None)
    try:
        with Unit(context=apart):
            raise _Tried(act(apart))  # noqa: TRY301 # it is no refusal, and undoes all
    except _Tried as tried:
        return tried.answer


def pending_rows(context: Context) -> tuple[RowImage, ...]:
    """Return the rows that this call has written and that no entry says yet, oldest first; none outside of a transaction."""
    changes = context.unit.changes if isinstance(context.unit, Unit) else ()
    return tuple(image for change in changes for image in change.images)


class _AnsweredBefore(Exception):
    """Ends a unit whose key turned out to be answered already."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply


def once(context: Context, name: str, request: Json, run: Callable[[], Json]) -> Json:
    """Run a call under an idempotency key, or answer what it answered the first time.

    request: what makes the call this call (tool and arguments); another one under the same key is
        refused with KeyReused.
    """
    caller, context.key = context.caller, name
    digest = canonical.text_digest(canonical.dump_any(request))

    def look(view: Writing) -> None:
        reply = _kept(view, caller, name)
        if reply is not None:
            raise _AnsweredBefore(reply)

    # Looked for before anything is written: most retries need no turn among the writers.
    with context.reading() as view:
        earlier = _kept(view, caller, name)
    if earlier is not None:
        return _again(earlier, digest)
    try:
        # Looked for again inside: the first call may land while this one waits for its turn.
        with Unit(context=context) as unit:
            unit.at_begin(look)
            answer = run()
            if unit.changes:
                unit.changes[-1].put(
                    Reply(
                        project=context.project,
                        holder=holder_of(unit.changes[-1].writing, caller),
                        name=name,
                        request=Prose(digest),
                        answer=Prose(canonical.dump_any(answer)),
                        created_at=unit.changes[-1].now,
                    )
                )
    except _AnsweredBefore as before:
        return _again(before.reply, digest)
    except CounterpointError:
        # Two calls under one key may run beside each other, and one stand in the other's way.
        with context.reading() as view:
            earlier = _kept(view, caller, name)
        if earlier is None:
            raise
        return _again(earlier, digest)
    return answer


def _kept(view: Reading, caller: Caller, name: str) -> Reply | None:
    """Return what the caller was answered under a key, also before he was started again."""
    return view.find(Reply, holder_of(view, caller), name)


def holder_of(view: Reading, caller: Caller) -> str:
    """Return whose an idempotency key is: that of a connection, for several may be one principal, or have one name."""
    return caller.own_seat if _has_seat(view, caller) else principal_id_of(caller.actor)


def _has_seat(view: Reading, caller: Caller) -> bool:
    """Return whether the session with which a caller came is his: to name one proves nothing."""
    seat = view.find(Session, caller.own_seat) if caller.own_seat else None
    if seat is None:
        return bool(caller.own_seat)
    return may_write(seat, caller.actor, caller.capability)


def _again(reply: Reply, digest: str) -> Json:
    if reply.request == REDACTED:
        raise KeyReused(
            f"what was asked under the idempotency key {reply.name!r} cannot be compared any more:"
            " texts were taken away since",
            hint="Look whether it was done; for another call choose another key.",
        )
    if reply.request != digest:
        raise KeyReused(f"the idempotency key {reply.name!r} belongs to another call")
    return canonical.load(reply.answer)
