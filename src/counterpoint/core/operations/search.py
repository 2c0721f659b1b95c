"""Finding: full text over items, records, outcomes, handoffs and verdicts."""

from __future__ import annotations

import re

from counterpoint.core.model.answers import Found
from counterpoint.core.operations.recording.context import Context
from counterpoint.kernel.errors import InvalidInput

_WORD = re.compile(r"\w+", re.UNICODE)
_MOST_WORDS = 32


class Search:
    """Verbs for finding."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def find(
        self,
        query: str,
        *,
        kinds: tuple[str, ...] = (),
        item: str = "",
        limit: int,
        offset: int = 0,
    ) -> list[Found]:
        """Return what has any of the words, best first; InvalidInput without a word."""
        words = list(dict.fromkeys(_WORD.findall(query.lower())))[:_MOST_WORDS]
        if not words:
            raise InvalidInput("the query has no word in it", hint="Give letters or digits.")
        with self._context.reading() as view:
            hits = view.search(words, kinds=kinds, item=item, limit=limit, offset=offset)
            rows = [view.find(view.tables[hit.table], *hit.key.split("/")) for hit in hits]
            return [
                Found(kind=hit.kind, score=hit.score, item=hit.item, row=row)
                for hit, row in zip(hits, rows, strict=True)
                if row is not None
            ]
