"""The format of Perplexity's search, which answers with pages alone.

POST /search with the key as bearer: `query`, `max_results` (1 to 20), `max_tokens_per_page`. The answer has `results` with `title`, `url`,
`snippet`, `date` and `last_updated`. A refusal has `error.message`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from counterpoint.core.model.web.searching import Search, Searcher, SearchResult
from counterpoint.providers.searching.format import Request, drop_missing, listed, posted, result

_MOST: Final = 20
_TOKENS: Final = 1_024


class Perplexity:
    """That format."""

    def request(self, searcher: Searcher, search: Search, secret: str) -> Request:
        """Return what is sent."""
        del searcher
        return posted(search, secret, _MOST, max_tokens_per_page=_TOKENS)

    def results(self, answer: Mapping[str, Any]) -> list[SearchResult]:
        """Return what an answer has."""
        return drop_missing(
            *(
                result(row.get("url"), row.get("title"), row.get("snippet"), row.get("date"))
                for row in listed(answer, "results")
            )
        )
