"""The format of Semantic Scholar's Academic Graph, which finds papers.

GET /paper/search with `query`, `limit` (1 to 100) and `fields`; a key, if there is one, is the head `x-api-key`. The answer has `data` with `title`,
`url`, `abstract` and `year`, each of which may be null, and `total`; where that is 0 it may have no `data`. A refusal has `error`, or `message` where it is too many.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from counterpoint.core.model.web.searching import Search, Searcher, SearchResult
from counterpoint.providers.searching.format import (
    Request,
    asked_by,
    drop_missing,
    listed,
    looked_for,
    result,
)

_MOST: Final = 100
_FIELDS: Final = "title,abstract,url,year"


class SemanticScholar:
    """That format."""

    def request(self, searcher: Searcher, search: Search, secret: str) -> Request:
        """Return what is sent."""
        del searcher
        path = asked_by(
            "/paper/search",
            query=looked_for(search),
            limit=min(search.most, _MOST),
            fields=_FIELDS,
        )
        return Request(path=path, headers={"x-api-key": secret} if secret else {})

    def results(self, answer: Mapping[str, Any]) -> list[SearchResult]:
        """Return what an answer has."""
        return drop_missing(
            *(
                result(
                    row.get("url"),
                    row.get("title"),
                    row.get("abstract"),
                    row.get("year"),
                    "academic",
                )
                for row in (listed(answer, "data") if answer["total"] else ())
            )
        )
