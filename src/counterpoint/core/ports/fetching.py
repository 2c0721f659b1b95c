"""What the core asks of whoever fetches pages."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from counterpoint.core.model.web.pages import Page, PageLimits
from counterpoint.core.ports.models import Listen
from counterpoint.kernel.errors import PageFailed


class Fetching(Protocol):
    """Pages of the web, by their addresses."""

    def check(self, url: str, hosts: Collection[str]) -> str:
        """Return `host:port` of an address that may be asked, as far as that is seen without looking its name up.

        hosts: `host:port` that may be asked although they are not public. InvalidInput for what is no address of a page, AddressRefused.
        """
        ...

    def fetch(self, url: str, hosts: Collection[str], limits: PageLimits, listen: Listen) -> Page:
        """Return a page: InvalidInput, AddressRefused, PageFailed, PageTimedOut; and what `listen` raises."""
        ...


class NoFetching:
    """Nobody who fetches."""

    def check(self, url: str, hosts: Collection[str]) -> str:
        """Return nothing: nobody looks."""
        del url, hosts
        return ""

    def fetch(self, url: str, hosts: Collection[str], limits: PageLimits, listen: Listen) -> Page:
        """Fetch nothing; PageFailed."""
        del url, hosts, limits, listen
        raise PageFailed("nobody fetches pages here")
