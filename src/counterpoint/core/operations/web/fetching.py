"""Fetching pages: only where a person lets that be done."""

from __future__ import annotations

from dataclasses import replace

from counterpoint.core.model.web.configured import Browsing
from counterpoint.core.model.web.pages import Page, PageLimits
from counterpoint.core.operations.models.spending import load_trusted, refuse_early
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.ports.models import Listen
from counterpoint.core.rules.documents import from_pages, is_pdf
from counterpoint.core.rules.trust.commands import web_loosened
from counterpoint.kernel.clock import elapsed_ms
from counterpoint.kernel.errors import Forbidden, InvalidInput, PageFailed

LIMITS = PageLimits()


class PageVerbs:
    """Verbs that fetch pages."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def may_fetch(self) -> bool:
        """Return whether any page may be fetched; NotTrusted, MalformedDocument."""
        web = self._said()
        return web.fetches or bool(web.hosts)

    def fetch(self, url: str, listen: Listen, limits: PageLimits = LIMITS) -> Page:
        """Return a page.

        Raises InvalidInput, AddressRefused, Forbidden where nobody lets pages be fetched, NotTrusted, PageFailed, PageTimedOut, Unavailable for a PDF that nothing here reads; and what `listen` raises.
        """
        context = self._context
        refuse_early(context, "")
        fetching = context.ports.fetching()
        # What no configuration could allow is refused first, as such; then what a person would have to allow.
        host = fetching.check(
            url, context.ports.checking().web.hosts if context.ports.checking else ()
        )
        web = self._said()
        if not web.fetches and host not in web.hosts:
            raise Forbidden(
                "pages are not fetched in this project",
                hint="Have a person write `fetch = true` below [web] into counterpoint.toml and run `counterpoint trust` (docs/research.md).",
            )
        began = context.ports.clock.now()
        page = fetching.fetch(url, web.hosts, limits, listen)
        if not page.content:
            return page
        seconds_left = limits.whole - elapsed_ms(began, context.ports.clock.now()) / 1000
        return self._read(page, listen, seconds_left)

    def _read(self, page: Page, listen: Listen, seconds: float) -> Page:
        """Return a PDF with the text of its pages, each below a line with its number; PageFailed, Unavailable without the library."""
        if not is_pdf(page.content):
            raise PageFailed(f"{page.url[:200]} says that it is a PDF, and is none")
        try:
            pages = self._context.ports.evidence.pages(page.content, listen, seconds)
        except InvalidInput as fault:
            raise PageFailed(f"{page.url[:200]}: {fault.message}") from fault
        return replace(page, text=from_pages(pages).text, content=b"")

    def _said(self) -> Browsing:
        return load_trusted(self._context, lambda web: web_loosened(web.web) is not None).web
