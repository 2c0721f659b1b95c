"""A store in which something happens between two transactions of one call."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from counterpoint.core.coordinator import Core
from counterpoint.core.ports.store import Writing
from fakes.failing import FailingStore
from fakes.studio import Studio


@dataclass
class PausingStore(FailingStore):
    """Implements Store over another one. then: what happens, once, after so many transactions."""

    after: int = 0
    then: Callable[[], object] = lambda: None

    @contextmanager
    def writing(self, project: str) -> Generator[Writing]:
        """Open a transaction; when it has landed, it may be time."""
        with super().writing(project) as writing:
            yield writing
        self.after -= 1
        if self.after == 0:
            self.then()


def pausing(
    studio: Studio, core: Core, after: int, then: Callable[[], object]
) -> tuple[Core, PausingStore]:
    """Answer the core of the same caller, with something that happens after so many slices."""
    store = PausingStore(studio.store, after=after, then=then)
    return Core(replace(studio.ports, store=store), core.caller), store
