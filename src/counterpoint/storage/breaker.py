"""A store behind a breaker: while it fails, callers are refused at once."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeVar

from counterpoint.core.model.work import Project
from counterpoint.core.ports.circuits import Breaker
from counterpoint.core.ports.store import Reading, Store, Writing
from counterpoint.kernel.errors import CounterpointError

T = TypeVar("T")


class GuardedStore:
    """A store behind a breaker."""

    def __init__(self, store: Store, breaker: Breaker) -> None:
        """Put a breaker before a store that is open."""
        self._store = store
        self._breaker = breaker

    @contextmanager
    def reading(self, project: str) -> Generator[Reading]:
        """Open a consistent view of a project; CircuitOpen."""
        with self._guarded(lambda: self._store.reading(project)) as view:
            yield view

    @contextmanager
    def writing(self, project: str) -> Generator[Writing]:
        """Open a transaction: all of it lands durably, or nothing; CircuitOpen."""
        with self._guarded(lambda: self._store.writing(project)) as writing:
            yield writing

    def wait(self, project: str, after: int, timeout: float) -> bool:
        """Wait until the ledger has an entry beyond `after`; CircuitOpen.

        It looks before it waits: so a trial does not last as long as somebody waits.
        """
        with self.reading(project) as view:
            is_there = view.head().size - 1 > after
        if is_there:
            return True
        return self._breaker.opening(lambda: self._store.wait(project, after, timeout))

    def projects(self) -> list[Project]:
        """Return every project of the database; CircuitOpen."""
        return self._breaker.opening(self._store.projects)

    def faults(self) -> list[CounterpointError]:
        """Return what the database itself finds wrong; whoever looks for faults is never refused."""
        return self._store.faults()

    def backup(self, target: Path) -> None:
        """Write a consistent copy; never refused, for it may fail by its target alone."""
        self._store.backup(target)

    def purge(self) -> None:
        """Let nothing that was deleted stay in the files; never refused, for nothing is asked of it."""
        self._store.purge()

    def settle_vectors(self, project: str, model: str) -> None:
        """Make what vectors are found quicker with; CircuitOpen."""
        self._breaker.opening(lambda: self._store.settle_vectors(project, model))

    def lost(self) -> CounterpointError | None:
        """Return why nothing more is read or written by this process; never refused, for it asks nothing of rows."""
        return self._store.lost()

    def close(self) -> None:
        """Let go of the database."""
        self._store.close()

    @contextmanager
    def _guarded(self, opened: Callable[[], AbstractContextManager[T]]) -> Generator[T]:
        """Yield what the store opens; only its own errors count against it, not those of the block."""
        with self._breaker.passing() as attempt:
            raised: BaseException | None = None
            try:
                with opened() as transaction:
                    try:
                        yield transaction
                    except BaseException as fault:
                        raised = fault
                        raise
            except CounterpointError as refusal:
                if refusal is not raised:
                    attempt.blame(refusal)
                raise
