"""Fetches pages side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from counterpoint.core.model.web.pages import Page
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.web.fetching import PageVerbs
from counterpoint.core.ports.evidence import Watch
from counterpoint.core.ports.models import Listen
from counterpoint.dialects.foundry.verbs.research.keeping import alone
from counterpoint.dialects.foundry.verbs.research.side_by_side import side_by_side
from counterpoint.kernel.errors import CounterpointError

_AT_ONCE: Final = 4


class Extracting:
    """Verbs for pages."""

    def __init__(self, context: Context, watch: Watch | None = None) -> None:
        self._context = context
        self._watch = watch

    def extract(self, urls: Sequence[str]) -> list[tuple[str, Page | CounterpointError]]:
        """Return each page, or why it was not fetched, in the order of the addresses; what `watch` raises ends it."""
        names = list(dict.fromkeys(urls))
        pages = dict(side_by_side(names, self._page, _AT_ONCE, self._watch))
        return [(name, pages[name]) for name in names]

    def _page(self, url: str, listen: Listen) -> Page:
        return PageVerbs(alone(self._context)).fetch(url, listen)
