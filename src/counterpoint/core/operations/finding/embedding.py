"""Keeping what texts are found by their meaning with.

Rule 1: what a model makes of a text is no state: no entry tells of it, and it is made again from what the ledger has. Rule 2:
it is made once somebody has searched, in slices that keep no writer waiting. Rule 3: a text that changed or went has none.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from counterpoint.core.operations.finding.embedders import embedder_of
from counterpoint.core.operations.finding.hits import Searches
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.kernel.errors import CounterpointError

SLICE: Final = 128
"""How many vectors one transaction keeps."""
IDLE: Final = 7 * 86_400
"""Seconds after which vectors of a model go that no server uses; another server may have another one."""
_BEFORE: Final = 2_048
"""How many a command embeds before it searches."""


class Embedding(Verbs):
    """Verbs for what meaning is found by."""

    @property
    def has_searches(self) -> bool:
        """Whether anybody has searched by meaning since this process began."""
        return self._context.ports.remember(Searches).has_any

    def advance(self, most: int = SLICE) -> int:
        """Embed so many texts that have no vector yet, slice by slice; return how many: 0 if none was left.

        Once there are none, vectors are taken away of models that nobody uses any more.
        """
        ports = self._context.ports
        model = embedder_of(ports)
        if model is None:
            return 0
        done = 0
        while done < most:
            with self._context.reading() as view:
                waiting = view.unembedded(model.name, min(SLICE, most - done))
            if not waiting:
                return done or self._retire(model.name)
            vectors = model.embed([row.text for row in waiting])
            with ports.store.writing(self._context.project) as writing:
                writing.embed(model.name, list(zip(waiting, vectors, strict=True)))
            done += len(waiting)
        return done

    def keep_up(self) -> None:
        """Embed what waits before a search of a command, as far as that is quick and the ledger can be written."""
        # Without it words find, and of what was written last the meaning too.
        with suppress(CounterpointError):
            self.advance(_BEFORE)

    @property
    def model(self) -> str:
        """The name of the model that texts are found by; empty without one."""
        model = embedder_of(self._context.ports)
        return model.name if model else ""

    def coverage(self) -> tuple[int, int] | None:
        """Return how many texts have a vector, and how many there are; None without a model."""
        model = embedder_of(self._context.ports)
        if model is None:
            return None
        with self._context.reading() as view:
            return view.coverage(model.name)

    def _retire(self, model: str) -> int:
        store, project = self._context.ports.store, self._context.project
        with store.writing(project) as writing:
            gone = writing.retire(model, SLICE, idle=IDLE)
        if not gone:
            store.settle_vectors(project, model)
        return gone
