"""What is near in meaning among the rows of one project.

Rules: (1) a vector is of a document of the search and a model, made of its title and body. (2) Whatever the search says
anew or no longer of a row, it has no vector from then on (migrations/015). (3) What a reading sees counts: what is
remembered of vectors (nearness.py) only says which to look at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from counterpoint.core.model.rows import Noun
from counterpoint.core.model.work import Item, Staging
from counterpoint.core.ports.store import Hit, Unembedded
from counterpoint.storage import statements
from counterpoint.storage.link import Link
from counterpoint.storage.search import Narrowed, document

if TYPE_CHECKING:
    # numpy is loaded when somebody searches.
    from counterpoint.storage.nearness import Bits

_LOOKED_AT: Final = 10
"""How many documents are compared for each that is asked for."""
_LEAST_LOOKED_AT: Final = 256


class VectorReading:
    """What a transaction sees of vectors."""

    _link: Link
    project: str
    tables: Mapping[str, type[Noun]]

    def most(self, words: Sequence[str], *, begun: bool = False) -> float:
        """Return about the score of a row that has all of the words often; 0 for no words."""
        return self._link.most(words, begun=begun)

    def nearest(
        self,
        model: str,
        vector: bytes,
        *,
        kinds: Sequence[str] = (),
        item: str = "",
        limit: int = 20,
    ) -> list[Hit]:
        """Return the rows whose vectors are nearest to one, best first, with the cosine as score."""
        many = max(_LEAST_LOOKED_AT, limit * _LOOKED_AT)
        numbers = self._likely(model, vector, (kinds, item, many))
        cosines = self.cosines(model, vector, numbers)
        best = sorted(cosines, key=lambda number: (-cosines[number], number))
        narrowed = Narrowed(tuple(kinds), item, hides=self._hides_plans())
        hits: list[Hit] = []
        # What is of a plan under way is left out, so that more than are asked for may be looked up.
        for start in range(0, len(best), limit):
            some = {
                hit.number: hit
                for hit in self._link.vectors.documents(best[start : start + limit], narrowed)
            }
            hits += [
                _scored(some[number], cosines[number])
                for number in best[start : start + limit]
                if number in some
            ]
            if len(hits) >= limit:
                break
        return hits[:limit]

    def cosines(self, model: str, vector: bytes, numbers: Sequence[int]) -> dict[int, float]:
        """Return how near documents are, by their numbers; those that have a vector."""
        from counterpoint.storage.nearness import cosines

        length = len(vector) // 4
        stored = [
            pair for pair in self._link.vectors.codes(model, numbers) if len(pair[1]) == length
        ]
        near = cosines(vector, [codes for _, codes in stored])
        return {number: cosine for (number, _), cosine in zip(stored, near, strict=True)}

    def unembedded(self, model: str, limit: int) -> list[Unembedded]:
        """Return rows of which a model has no vector yet: those that changed, and then the oldest."""
        waiting = self._link.vectors.waiting(model, limit)
        return [Unembedded(hit, self._text(hit)) for hit in waiting]

    def coverage(self, model: str) -> tuple[int, int]:
        """Return how many rows have a vector of a model, and how many rows the search has."""
        return self._link.vectors.coverage(model)

    def _text(self, hit: Hit) -> str:
        """Return what a vector of a row is made of; nothing for one of a table that this program does not know."""
        noun = self.tables.get(hit.table)
        if noun is None or not noun.searched:
            return ""
        row = self._link.execute(document(noun), (self.project, *hit.key.split("/"))).fetchone()
        return "" if row is None else f"{row[0]}\n{row[1]}".strip()

    def _likely(
        self, model: str, vector: bytes, query: tuple[Sequence[str], str, int]
    ) -> list[int]:
        """Return the documents that are worth comparing: by the database, where it can, or by what this process holds."""
        from counterpoint.storage.nearness import signs

        numbers = self._link.vectors.likely(model, signs(vector), query)
        if numbers is not None:
            return numbers
        kinds, item, many = query
        bits = self._bits(model, len(vector) // 4)
        bits.follow(self._link.vectors, model)
        return bits.nearest(vector, kinds=kinds, item=item, many=many)

    def _bits(self, model: str, dimensions: int) -> Bits:
        from counterpoint.storage.nearness import Bits

        key = self.project, model, dimensions
        bits = self._link.near.get(key)
        # Several threads may make one; the first that is kept is the one for all.
        return self._link.near.setdefault(key, Bits(dimensions)) if bits is None else bits

    def _hides_plans(self) -> bool:
        """Return whether there are plans under way, of which nothing is found."""
        if Staging.table not in self.tables or Item.table not in self.tables:
            return False
        return self._link.execute(statements.HIDES, (self.project,)).fetchone() is not None


class VectorWriting(VectorReading):
    """What a transaction keeps of vectors."""

    def embed(self, model: str, vectors: Sequence[tuple[Unembedded, bytes]]) -> None:
        """Keep what a model made of rows, but for those that say something else by now."""
        from counterpoint.storage.nearness import pack

        # A text that was taken away meanwhile must not come back as its vector.
        still = {
            hit.number
            for hit in self._link.vectors.documents(
                [unembedded.hit.number for unembedded, _ in vectors], Narrowed()
            )
        }
        same = [
            (unembedded.hit.number, vector)
            for unembedded, vector in vectors
            if unembedded.hit.number in still and self._text(unembedded.hit) == unembedded.text
        ]
        packed = pack([vector for _, vector in same])
        self._link.vectors.put(
            model, [(number, codes) for (number, _), codes in zip(same, packed, strict=True)]
        )

    def retire(self, model: str, limit: int, *, idle: int) -> int:
        """Take so many vectors away of other models that nobody used for so many seconds; return how many there were."""
        return self._link.vectors.retire(model, limit, idle)


def _scored(hit: Hit, score: float) -> Hit:
    return Hit(
        table=hit.table,
        key=hit.key,
        item=hit.item,
        kind=hit.kind,
        score=score,
        number=hit.number,
    )
