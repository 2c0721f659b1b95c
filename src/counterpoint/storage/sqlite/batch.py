"""Group commit: writers of one process share a transaction and its COMMIT.

    batch   = turn (queue.py), BEGIN IMMEDIATE, member, member, …, COMMIT or ROLLBACK, turn given up
    member  = the block of one writing; from the second on between SAVEPOINT and RELEASE, or ROLLBACK TO
              if the block raised

Rules: (1) Members go one at a time, in the order in which they came. (2) The member whose block
ends calls the next one that waits into its batch; it commits instead if nobody waits, if the batch has 64
members, or if the first of them has waited long enough. (3) No member leaves before the COMMIT
is on the disk, not even one that raised: what it raised may tell what a neighbour wrote. (4) A block
that raises undoes itself only; with the first, which has nobody before it, the batch ends, so that no
savepoint is needed where nobody waits. If the COMMIT fails, or SQLite gives up the transaction by itself,
nothing of the batch has landed and every member raises that. (5) A member that has waited too long
for a neighbour gives the whole batch up: nothing of it lands, and all of them are told. (6) The files are looked at as
it begins, before the COMMIT and after it (opened.py): if they are not those that were opened, every member raises that.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import field
from typing import Final

import apsw

from counterpoint.kernel.errors import CounterpointError, StoreBusy, Unavailable
from counterpoint.kernel.frozen import mutable
from counterpoint.storage.sqlite.faults import is_broken, meaning
from counterpoint.storage.sqlite.memory import Memory
from counterpoint.storage.sqlite.opened import OpenedFiles, again
from counterpoint.storage.sqlite.queue import Turn, WriterQueue

MOST_MEMBERS: Final = 64
LONGEST: Final = 0.02
"""Seconds that the first member waits before the batch calls nobody in any more."""


@mutable
class _Batch:
    """One transaction of several members; only the member in turn touches it."""

    turn: Turn | None = None
    asleep: list[threading.Lock] = field(default_factory=list[threading.Lock])
    count: int = 0
    since: float = 0.0
    has_landed: bool = False
    is_ending: bool = False
    fault: BaseException | None = None
    system: int = 0

    def takes_more(self, most: int) -> bool:
        """Return whether another member may come in after the one whose block has just ended."""
        if not self.has_landed or self.fault is not None:
            return False
        now = time.monotonic()
        self.since = self.since or now
        return self.count < most and now - self.since < LONGEST


@mutable
class _Waiter:
    """One writer: asleep until it is its turn, and again until its batch has ended."""

    batch: _Batch = field(default_factory=_Batch)
    wakeup: threading.Lock = field(default_factory=threading.Lock)

    def sleep(self, patience: float) -> bool:
        """Sleep until woken; answer False if that was not in time."""
        return self.wakeup.acquire(timeout=patience)

    def wake(self) -> None:
        self.wakeup.release()


class Batches:
    """The writers of one process on one connection."""

    def __init__(
        self,
        connection: apsw.Connection,
        queue: WriterQueue,
        memory: Memory,
        files: OpenedFiles,
        where: str,
        *,
        patience: float,
        most: int,
        landed: Callable[[], None],
    ) -> None:
        """Share a connection.

        queue: where the processes queue; one turn a batch.
        memory: what one transaction tells the next.
        files: those of the database, as they were opened.
        patience: how many seconds a writer waits for its turn, and then for its neighbours.
        most: how many members a batch has at most.
        landed: called after each COMMIT, before the members go.
        """
        self._connection = connection
        self._queue = queue
        self._memory = memory
        self._files = files
        self._where = where
        self._patience = patience
        self._most = most
        self._landed = landed
        self._lock = threading.Lock()
        self._waiting: deque[_Waiter] = deque()
        self._is_busy = False

    @contextmanager
    def member(self) -> Generator[None]:
        """Have the connection during the block, which is durable when this has ended.

        Raises StoreBusy when no turn came in time, and what made the batch fail.
        """
        waiter = self._take_turn()
        batch = waiter.batch
        try:
            self._open(batch)
            yield
            if batch.count > 1:
                self._connection.execute("RELEASE member")
            batch.has_landed = True
        except BaseException as fault:
            self._withdraw(batch, fault)
            self._leave(waiter, own=fault)
            raise
        self._leave(waiter)

    def _take_turn(self) -> _Waiter:
        """Wait for the turn of a new waiter; answer it then."""
        waiter = _Waiter()
        waiter.wakeup.acquire()  # released by whoever wakes it
        with self._lock:
            if not self._is_busy:
                self._is_busy = True
                return waiter
            self._waiting.append(waiter)
        try:
            is_called = waiter.sleep(self._patience)
        except BaseException:
            # Interrupted while asleep: a turn that came at the same moment is handed on.
            if not self._stop_waiting(waiter):
                self._leave(waiter)
            raise
        # Out of time, but a turn that comes at this very moment is as good as one in time.
        if not is_called and self._stop_waiting(waiter):
            raise self._too_long("no turn to write came")
        return waiter

    def _stop_waiting(self, waiter: _Waiter) -> bool:
        """Wait no longer; answer whether that was possible, False if woken at this moment."""
        with self._lock:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
                return True
        # Somebody is about to wake us: the turn that comes with it must be taken, or is lost.
        waiter.sleep(-1)
        return False

    def _open(self, batch: _Batch) -> None:
        """Begin the transaction if this is the first member, else a part of it."""
        batch.count += 1
        if batch.count > 1:
            self._connection.execute("SAVEPOINT member")
            return
        try:
            batch.turn = self._queue.enter()
        except Unavailable:
            # The queue lies beside the database, and goes with its folder.
            self._files.check()
            raise
        self._connection.execute("BEGIN IMMEDIATE")
        self._files.before_writing(self._connection)
        self._memory.begin(self._connection.data_version())

    def _withdraw(self, batch: _Batch, fault: BaseException) -> None:
        """Undo one member; if SQLite has undone all, its fault is that of the batch."""
        if batch.count == 1:
            return  # the batch ends with it, and is rolled back as a whole
        self._memory.undo()
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK TO member; RELEASE member")
        except apsw.Error as worse:
            self._spoil(batch, worse)
        if not self._connection.in_transaction:
            self._spoil(batch, fault)

    def _leave(self, waiter: _Waiter, own: BaseException | None = None) -> None:
        """Call the next one and wait for the COMMIT, or commit; raise what made the batch fail."""
        batch = waiter.batch
        with self._lock:
            follower = None
            if self._waiting and batch.takes_more(self._most):
                follower = self._waiting.popleft()
                follower.batch = batch
                batch.asleep.append(waiter.wakeup)
            else:
                batch.is_ending = True
        if follower is None:
            self._end(batch)
        else:
            follower.wake()
            if not waiter.sleep(self._patience):
                self._give_up(waiter)
        # Whoever raised the fault itself raises it once more in `member`, as it was.
        if batch.fault is not None and batch.fault is not own:
            raise self._shared_fault(batch) from batch.fault

    def _give_up(self, waiter: _Waiter) -> None:
        """Spoil the batch of a neighbour that does not end; wait on if it is ending now."""
        batch = waiter.batch
        with self._lock:
            if not batch.is_ending:
                batch.fault = batch.fault or self._too_long("a writer of the same process")
                return
        waiter.sleep(-1)

    def _end(self, batch: _Batch) -> None:
        """Commit, or roll back; give up the turn; wake the next batch and then the members."""
        connection = self._connection
        try:
            if batch.has_landed and batch.fault is None:
                # Here and not member by member: at each SAVEPOINT SQLite writes the index out anew.
                self._memory.finish()
                self._files.before_commit(connection)
                connection.execute("COMMIT")
                self._files.after_commit(connection)
                self._memory.version = connection.data_version()
        except (apsw.Error, Unavailable) as fault:
            self._spoil(batch, fault)
        except BaseException as fault:
            if connection.in_transaction:  # else it has landed, and only what came after did not
                self._spoil(batch, fault)
            raise
        finally:
            try:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
            finally:
                self._wake_others(batch)

    def _wake_others(self, batch: _Batch) -> None:
        """Let the next batch begin and everybody in this one go."""
        try:
            if batch.turn is not None:
                self._queue.leave(batch.turn)
        finally:
            with self._lock:
                # The next batch first: it writes while those of this one go back to their callers.
                follower = self._waiting.popleft() if self._waiting else None
                self._is_busy = follower is not None
            if follower is not None:
                follower.wake()
            if batch.has_landed and batch.fault is None:
                self._landed()
            for wakeup in batch.asleep:
                wakeup.release()

    def _spoil(self, batch: _Batch, fault: BaseException) -> None:
        if batch.fault is None:
            batch.fault = fault
            batch.system = self._connection.system_errno

    def _shared_fault(self, batch: _Batch) -> CounterpointError:
        """Return what a member raises for its batch: an error of its own, threads share none."""
        fault = batch.fault
        ours = meaning(fault, self._where, batch.system) if isinstance(fault, apsw.Error) else None
        if isinstance(fault, apsw.Error) and ours is not None and is_broken(fault, ours):
            self._files.note(ours)
        if isinstance(fault, StoreBusy):
            return again(fault)
        if self._files.fault is not None:
            return again(self._files.fault)
        return ours or Unavailable(
            f"the transaction of several writers was given up: {self._where}", path=self._where
        )

    def _too_long(self, what: str) -> StoreBusy:
        return StoreBusy(
            f"{what} within {self._patience:g} s: {self._where}",
            waited_seconds=self._patience,
        )
