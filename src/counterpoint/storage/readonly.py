"""A store that lets nobody write, whatever verb asks for it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from counterpoint.core.model.trust.heads import MovedAway
from counterpoint.core.model.work import Project
from counterpoint.core.ports.store import Reading, Store, Writing
from counterpoint.core.rules.trust.moved import moved_fault
from counterpoint.kernel.errors import CounterpointError, Forbidden


class ReadOnlyStore:
    """A store of which only what reads is left.

    It stands below every verb, so that no tool has to be known to write: one that says it reads, and
    would keep something all the same, is refused too.
    """

    def __init__(self, store: Store, moved: MovedAway | None = None) -> None:
        """Take writing away from a store that is open. moved: where its ledger was moved to."""
        self._store = store
        self._moved = moved

    def reading(self, project: str) -> AbstractContextManager[Reading]:
        """Open a consistent view of a project."""
        return self._store.reading(project)

    def writing(self, project: str) -> AbstractContextManager[Writing]:
        """Raise Forbidden, or LedgerMoved."""
        if self._moved is not None:
            raise moved_fault(project, self._moved)
        raise Forbidden(
            f"nothing is written to {project} here: this was started in the mode READONLY",
            hint="Ask whoever started it for another mode.",
            mode="READONLY",
        )

    def wait(self, project: str, after: int, timeout: float) -> bool:
        """Wait until the ledger has an entry beyond `after`."""
        return self._store.wait(project, after, timeout)

    def projects(self) -> list[Project]:
        """Return every project of the database."""
        return self._store.projects()

    def faults(self) -> list[CounterpointError]:
        """Return what the database itself finds wrong."""
        return self._store.faults()

    def backup(self, target: Path) -> None:
        """Write a consistent copy elsewhere."""
        self._store.backup(target)

    def purge(self) -> None:
        """Do nothing: nothing can have been deleted."""

    def settle_vectors(self, project: str, model: str) -> None:
        """Do nothing: nothing is written."""

    def lost(self) -> CounterpointError | None:
        """Return why nothing more is read by this process; None while all is well."""
        return self._store.lost()

    def close(self) -> None:
        """Let go of the database."""
        self._store.close()


def writable(store: Store, project: str, *, is_read_only: bool) -> Store:
    """Return a store, without writing in the mode READONLY and where the ledger was moved away from."""
    with store.reading(project) as view:
        moved = view.moved()
    return ReadOnlyStore(store, moved) if is_read_only or moved else store
