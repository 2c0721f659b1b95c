"""The account of calls: a row when a call begins, a row when it ends.

Rule 1: the first row is durable before the tool runs. Rule 2: the second one lands in the transaction
of the tool's own change, so that what was done and that it was done are never apart; a call that is
refused leaves nothing but its rows. Rule 3: numbers are given inside the transaction, so they have
no gap, whoever writes at once. Rule 4: calls that a process left behind are ended as `crashed` by the
first call of the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from counterpoint.core.model.sessions import Session
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.unit import Unit, recording, transaction
from counterpoint.core.ports.store import Filter, Reading
from counterpoint.dialects.colibri.nouns import Action, Asked, Condition, Ended, Ending
from counterpoint.dialects.colibri.skill_files import SkillDirectory
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp, elapsed_ms


class Actions(Verbs):
    """Verbs for the account of calls."""

    def enter(self, request: Asked) -> Action:
        """Write down that a call begins, and answer its first row."""
        with recording(self._context, "call.entered", request.tool) as change:
            entered = self._entry(change, request)
            change.put(entered)
        return entered

    def complete(self, entered: Action, run: Callable[[], tuple[Json, Ended]]) -> Json:
        """Run a call and write down its end, in one transaction; nothing lands if it raises.

        run: answers what the caller hears, and how the call ended.
        """
        with transaction(self._context):
            answer, ended = run()
            self.leave(entered, ended)
        return answer

    def leave(self, entered: Action, ended: Ended) -> None:
        """Write down how a call ended, in the transaction of the call if it has one open."""
        unit = self._context.unit
        if isinstance(unit, Unit) and unit.changes:
            # It rides in the entry of what the call did: one entry less for each call that writes.
            last = unit.changes[-1]
            last.put(_exit(entered, ended, last.now))
            return
        with recording(self._context, "call.ended", entered.tool) as change:
            change.put(_exit(entered, ended, change.now))

    def refuse(self, request: Asked, ended: Ended) -> None:
        """Write down a call that never ran: both rows at once."""
        with recording(self._context, "call.refused", request.tool) as change:
            entered = self._entry(change, request)
            change.put(entered)
            change.put(_exit(entered, ended, change.now))

    def list(
        self,
        *,
        tool: str = "",
        outcome: Ending | None = None,
        session: str = "",
        before: int = 0,
        limit: int = 50,
    ) -> list[tuple[Action, Action | None]]:
        """Return calls, the latest first: the row of the begin, and that of the end if there is one.

        outcome: only those that ended so; `running` for those without an end. before: a number.
        """
        calls: list[tuple[Action, Action | None]] = []
        step = "enter" if outcome in {None, "running"} else "exit"
        equal: dict[str, Filter] = {"step": step, "tool": tool, "session": session}
        if step == "exit":
            equal["outcome"] = outcome or ""
        chosen = {name: value for name, value in equal.items() if value}
        after = (before,) if before else ()
        with self._context.reading() as view:
            while len(calls) < limit:
                rows = view.select(Action, order="number desc", after=after, limit=limit, **chosen)
                pairs = [_pair(view, row) for row in rows]
                calls += [pair for pair in pairs if outcome != "running" or pair[1] is None]
                if len(rows) < limit:
                    break
                after = (rows[-1].number,)
        return calls[:limit]

    def sweep(self) -> int:
        """End the calls that processes left which are gone; answer how many. Looks once a process."""
        project, host = self._context.project, self._context.ports.host
        if project in host.swept:
            return 0
        with self._context.reading() as view:
            is_clean = not self._find_gone(view)
        count = 0 if is_clean else self._close()
        host.swept.add(project)
        return count

    def _close(self) -> int:
        with recording(self._context, "calls.crashed") as change:
            unended = [
                row for host in self._find_gone(change.writing) for row in _open(change, host)
            ]
            me = self._context.ports.host.name
            for row in unended:
                change.put(_exit(row, Ended(outcome="crashed", code=me), change.now))
            if unended:
                change.add_facts(calls=len(unended))
        return len(unended)

    def _find_gone(self, view: Reading) -> list[str]:
        """Return the processes that are gone and have left calls without an end."""
        entered = view.counts(Action, "host", step="enter")
        ended = view.counts(Action, "host", step="exit")
        behind = [name for name, count in entered.items() if count > ended.get(name, 0)]
        host = self._context.ports.host
        return [name for name in behind if host.is_gone(name, _last(view, name))]

    def _entry(self, change: Change, request: Asked) -> Action:
        caller = self._context.caller
        return Action(
            project=self._context.project,
            number=change.next_number(Action),
            step="enter",
            tool=request.tool,
            call=self._context.ports.mint.mint("call"),
            host=self._context.ports.host.name,
            agent=caller.actor.name,
            client=caller.client,
            session=caller.actor.session,
            outcome="running",
            code="",
            arguments=request.arguments,
            answer="",
            duration=0,
            at=change.now,
        )


def _exit(entered: Action, ended: Ended, now: Timestamp) -> Action:
    return Action(
        project=entered.project,
        number=entered.number,
        step="exit",
        tool=entered.tool,
        call=entered.call,
        host=entered.host,
        agent=entered.agent,
        client=entered.client,
        session=entered.session,
        outcome=ended.outcome,
        code=ended.code,
        arguments=entered.arguments,
        answer=ended.answer,
        duration=max(0, elapsed_ms(entered.at, now)),
        at=now,
    )


def _pair(view: Reading, row: Action) -> tuple[Action, Action | None]:
    if row.step == "enter":
        return row, view.find(Action, row.number, "exit")
    begun = view.find(Action, row.number, "enter")
    return begun or row, row


def _open(change: Change, host: str) -> list[Action]:
    """Return the first rows of the calls of a process that have no end."""
    rows = change.select(Action, host=host, order="number")
    ended = {row.number for row in rows if row.step == "exit"}
    return [row for row in rows if row.number not in ended]


def _last(view: Reading, host: str) -> Timestamp:
    return view.select(Action, host=host, order="number desc", limit=1)[0].at


_LOOKED_THROUGH: Final = 20_000
"""Entries up to which the whole file is looked through; a longer one is left to `doctor`."""


class Health(Verbs):
    """Verbs for the condition of a project."""

    def look(self) -> Condition:
        """Return how the project stands."""
        ports = self._context.ports
        me = ports.host.name
        with self._context.reading() as view:
            size = view.head().size
            entered = view.counts(Action, "step")
            crashed = len(view.select(Action, outcome="crashed", code=me, order="number"))
            unsealed = view.counts(Session, "status", purpose="audit", status=("active", "paused"))
            tables = len(view.tables)
        faults = ports.store.faults() if size <= _LOOKED_THROUGH else []
        return Condition(
            entries=size,
            tables=tables,
            running=entered.get("enter", 0) - entered.get("exit", 0),
            crashed=crashed,
            unsealed=sum(unsealed.values()),
            skipped=tuple(file.source for file in ports.get(SkillDirectory).look().skipped),
            free_bytes=ports.host.free_bytes(),
            faults=tuple(fault.message for fault in faults),
        )
