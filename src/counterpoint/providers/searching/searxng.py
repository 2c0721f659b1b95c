"""The format of SearXNG, which asks other search engines.

GET /search with `q` and `format=json`, which its instance has to allow. The answer has `results` with `title`, `url`, `content`, `category` and `publishedDate`: a page of them, however many.
A refusal is a page of HTML: 403 where `json` is not allowed, 429 where it is too many.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from counterpoint.core.model.web.searching import Search, Searcher, SearchResult
from counterpoint.providers.searching.format import (
    Request,
    asked_by,
    drop_missing,
    listed,
    looked_for,
    result,
)


class SearXNG:
    """That format."""

    def request(self, searcher: Searcher, search: Search, secret: str) -> Request:
        """Return what is sent."""
        del searcher
        path = asked_by("/search", q=looked_for(search), format="json")
        return Request(path=path, headers={"authorization": f"Bearer {secret}"} if secret else {})

    def results(self, answer: Mapping[str, Any]) -> list[SearchResult]:
        """Return what an answer has."""
        return drop_missing(
            *(
                result(
                    row.get("url"),
                    row.get("title"),
                    row.get("content"),
                    row.get("publishedDate"),
                    "academic" if row.get("category") == "science" else "web",
                )
                for row in listed(answer, "results")
            )
        )
