"""The one write path: rows and their ledger entry land together, or not at all.

Rule 1: every mutation happens inside `recording`; one `recording` is one entry.
Rule 2: all entries of one call share one transaction, so a call happens whole or not.
Rule 3: under an idempotency key the answer is kept in that same transaction; a retry reads it.
Rule 4: time in the ledger never runs backwards; a clock that is far behind is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext

from counterpoint.core.model.journal import Reply
from counterpoint.core.model.rows import Prose
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.ports.store import Writing
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp, elapsed_ms
from counterpoint.kernel.errors import ClockBehind, KeyReused

CLOCK_TOLERANCE_MS = 60_000
"""How far this machine's clock may be behind the last entry before writes are refused."""


class Unit:
    """The transaction of one call: opened by its first write, committed at its end."""

    def __init__(
        self, context: Context, held: ExitStack, at_begin: Callable[[Writing], None] | None
    ) -> None:
        """Prepare a unit; `open_unit` is the only caller."""
        self.context = context
        self.writing: Writing | None = None
        self.changes: list[Change] = []
        self._at_begin = at_begin
        self._held = held
        self._spoiled: BaseException | None = None

    def begin(self, context: Context, action: str) -> Change:
        """Return a fresh change in this unit's transaction, made at a context of the same call."""
        if self.writing is None:
            ports = self.context.ports
            self.writing = self._held.enter_context(ports.store.writing(ports.project))
            if self._at_begin is not None:
                self._at_begin(self.writing)
        return Change(context, self.writing, self._moment(self.writing), action)

    def append(self) -> None:
        """Append the entry of each change, in order; a change that failed half-way fails again."""
        if self._spoiled is not None:
            raise self._spoiled
        if self.writing is None:
            return
        for change in self.changes:
            if change.images or change.facts:
                self.writing.append(change.seal(self.writing.head()))

    def spoil(self, change: Change, fault: BaseException) -> None:
        """Note that a change failed after it had written: nothing of this unit may land."""
        if change.images:
            self._spoiled = self._spoiled or fault

    def _moment(self, writing: Writing) -> Timestamp:
        """Return the time of a change: now, but never before the last entry."""
        now = self.context.ports.clock.now()
        last = self.changes[-1].now if self.changes else Timestamp(writing.head().time)
        if not last or now >= last:
            return now
        if elapsed_ms(now, last) > CLOCK_TOLERANCE_MS:
            raise ClockBehind(
                f"this machine's clock says {now}, but the ledger's last entry is of {last}"
            )
        return last


@contextmanager
def open_unit(
    context: Context, at_begin: Callable[[Writing], None] | None = None
) -> Generator[Unit]:
    """Open the transaction of a call: all of it lands when the block ends, or nothing.

    at_begin: looks at the transaction before the first write.
    """
    with ExitStack() as held:
        unit = context.unit = Unit(context, held, at_begin)
        try:
            yield unit
            unit.append()
        finally:
            context.unit = None


@contextmanager
def recording(context: Context, action: str, subject: str = "") -> Generator[Change]:
    """Open a change that lands as one entry when the block ends, or leaves nothing behind."""
    with joined(context) as unit:
        change = unit.begin(context, action)
        change.subject = subject
        try:
            yield change
        except BaseException as fault:
            unit.spoil(change, fault)
            raise
        unit.changes.append(change)


def joined(context: Context) -> AbstractContextManager[Unit]:
    """Let every `recording` in the block land in one transaction, that of the call if it has one."""
    return nullcontext(context.unit) if isinstance(context.unit, Unit) else open_unit(context)


class _AnsweredBefore(Exception):
    """Ends a unit whose key turned out to be answered already."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply


def once(context: Context, name: str, request: Json, run: Callable[[], Json]) -> Json:
    """Run a call under an idempotency key, or answer what it answered the first time.

    request: what makes the call this call (tool and arguments); another one under the same key is
        refused with KeyReused.
    """
    agent = context.caller.actor.name
    digest = canonical.text_digest(canonical.dump_any(request))

    def look(view: Writing) -> None:
        found = view.find(Reply, agent, name)
        if found is not None:
            raise _AnsweredBefore(found)

    with context.reading() as view:
        known = view.find(Reply, agent, name)
    if known is not None:
        return _again(known, digest)
    try:
        with open_unit(context, at_begin=look) as unit:
            answer = run()
            if unit.changes:
                unit.changes[-1].put(
                    Reply(
                        project=context.project,
                        agent=agent,
                        name=name,
                        request=digest,
                        answer=Prose(canonical.dump_any(answer)),
                        created_at=unit.changes[-1].now,
                    )
                )
    except _AnsweredBefore as before:
        return _again(before.reply, digest)
    return answer


def _again(reply: Reply, digest: str) -> Json:
    if reply.request != digest:
        raise KeyReused(f"the idempotency key {reply.name!r} belongs to another call")
    return canonical.load(reply.answer)
