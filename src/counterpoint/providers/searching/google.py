"""The format of Google's Custom Search JSON API.

GET /customsearch/v1 with `cx` (the id of a search engine), `q` and `num` (1 to 10); the key is a head, so that no address has it. The answer has
`items` with `title`, `link` and `snippet`, and none of them where nothing was found. A refusal has `error.message`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from counterpoint.core.model.web.searching import Search, Searcher, SearchResult
from counterpoint.providers.format import rows
from counterpoint.providers.searching.format import (
    Request,
    asked_by,
    drop_missing,
    looked_for,
    result,
)

_MOST: Final = 10


class GoogleCustomSearch:
    """That format."""

    def request(self, searcher: Searcher, search: Search, secret: str) -> Request:
        """Return what is sent."""
        path = asked_by(
            "/customsearch/v1",
            cx=searcher.engine,
            q=looked_for(search),
            num=min(search.most, _MOST),
        )
        return Request(path=path, headers={"x-goog-api-key": secret})

    def results(self, answer: Mapping[str, Any]) -> list[SearchResult]:
        """Return what an answer has."""
        return drop_missing(
            *(
                result(row.get("link"), row.get("title"), row.get("snippet"))
                for row in rows(answer.get("items"))
            )
        )
