"""A store that fails when a test wants it to, the way real ones do."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from counterpoint.core.model.work import Project
from counterpoint.core.ports.store import Reading, Store, Writing
from counterpoint.kernel.errors import CounterpointError

T = TypeVar("T")


class DriverError(Exception):
    """What the driver of a database raises inside a block."""


@dataclass
class FailingStore:
    """Implements Store over another one.

    fault: what is raised; None while all is well. when: at the beginning of a block, as a
    locked database does; inside, where the driver's error is translated on its way out; at its
    end, as a full disk does.
    """

    inner: Store
    fault: type[CounterpointError] | None = None
    when: Literal["begin", "inside", "end"] = "begin"
    asked: int = 0

    def reading(self, project: str) -> AbstractContextManager[Reading]:
        """Open a view, or fail."""
        return self._failing(lambda: self.inner.reading(project))

    def writing(self, project: str) -> AbstractContextManager[Writing]:
        """Open a transaction, or fail."""
        return self._failing(lambda: self.inner.writing(project))

    def wait(self, project: str, after: int, timeout: float) -> bool:
        """Wait, or fail."""
        self._fail("begin")
        return self.inner.wait(project, after, timeout)

    def projects(self) -> list[Project]:
        """Answer the projects, or fail."""
        self._fail("begin")
        return self.inner.projects()

    def faults(self) -> list[CounterpointError]:
        """Answer what is wrong, or fail."""
        self._fail("begin")
        return self.inner.faults()

    def backup(self, target: Path) -> None:
        """Write a copy, or fail."""
        self._fail("begin")
        self.inner.backup(target)

    def purge(self) -> None:
        """Write anew, or fail."""
        self._fail("begin")
        self.inner.purge()

    def settle_vectors(self, project: str, model: str) -> None:
        """Settle, or fail."""
        self._fail("begin")
        self.inner.settle_vectors(project, model)

    def lost(self) -> CounterpointError | None:
        """Answer what the store answers."""
        return self.inner.lost()

    def close(self) -> None:
        """Let go."""
        self.inner.close()

    def _fail(self, when: str, instead: type[Exception] | None = None) -> None:
        self.asked += 1
        if self.fault is not None and self.when == when:
            raise instead or self.fault

    @contextmanager
    def _failing(self, opened: Callable[[], AbstractContextManager[T]]) -> Generator[T]:
        self._fail("begin")
        with opened() as given:
            try:
                yield given
                self._fail("inside", DriverError)
            except DriverError as fault:
                if self.fault is None:
                    raise
                raise self.fault from fault
            self._fail("end")
