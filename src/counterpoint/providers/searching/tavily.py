"""The format of Tavily's search.

POST /search with the key as bearer: `query`, `max_results` (0 to 20), `search_depth`. The answer has `results` with `title`, `url`, `content`
(what of the page is about the query), `score` and, of news, `published_date`. A refusal has `detail.error`; 432 and 433: the plan is used up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from counterpoint.core.model.web.searching import Search, Searcher, SearchResult
from counterpoint.providers.searching.format import Request, drop_missing, listed, posted, result

_MOST: Final = 20


class Tavily:
    """That format."""

    def request(self, searcher: Searcher, search: Search, secret: str) -> Request:
        """Return what is sent."""
        del searcher
        return posted(
            search,
            secret,
            _MOST,
            search_depth="basic",
            include_answer=False,
            include_raw_content=False,
        )

    def results(self, answer: Mapping[str, Any]) -> list[SearchResult]:
        """Return what an answer has."""
        return drop_missing(
            *(
                result(
                    row.get("url"), row.get("title"), row.get("content"), row.get("published_date")
                )
                for row in listed(answer, "results")
            )
        )
