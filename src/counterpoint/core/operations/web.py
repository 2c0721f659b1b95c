"""Searches the web and fetches pages, within what is allowed and paid for.

Searching the web: within limits, again where that helps, and written down.
What holds for models holds here: nobody is asked while a transaction is open, what it may cost is set aside before, and it is a use of its provider.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from counterpoint.core.model.models import Answer, Modelling, Tokens
from counterpoint.core.model.web import (
    Browsing,
    Page,
    PageLimits,
    Search,
    SearchAnswer,
    Searcher,
    SearchResult,
)
from counterpoint.core.operations.models.spending import (
    AnswerListener,
    ProviderBreakers,
    Reservation,
    RetryOrder,
    UseDraft,
    ask_with_retries,
    load_trusted,
    pass_breaker,
    record_use,
    refuse_early,
    set_aside,
)
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.ports.circuits import rest_reason
from counterpoint.core.ports.evidence import Watch
from counterpoint.core.ports.models import Listen
from counterpoint.core.rules.documents import from_pages, is_pdf
from counterpoint.core.rules.models.providers import no_provider, provider_away
from counterpoint.core.rules.trust.commands import models_loosened, web_loosened
from counterpoint.kernel.clock import elapsed_ms
from counterpoint.kernel.errors import Forbidden, InvalidInput, NotFound, NotTrusted, PageFailed

LIMITS = PageLimits()


class PageVerbs(Verbs):
    """Verbs that fetch pages."""

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


NAME = "search"
"""What stands in the place of a model in the use of a search."""
Found = Callable[[Change, SearchAnswer], None]
"""Writes what was found, in the transaction of its use."""


class SearchVerbs(Verbs):
    """Verbs that search the web."""

    def searchers(self) -> tuple[Searcher, ...]:
        """Return everybody who is known, those first who are asked first, with why they cannot be asked; MalformedDocument."""
        every = self._context.ports.searching().searchers()
        try:
            order, why = self.said().order, ""
        except NotTrusted as fault:
            order, why = (), fault.message
        places = {name: ranks for ranks, name in enumerate(order)}
        seen = (self._seen(searcher, searcher.reason or why) for searcher in every)
        return tuple(sorted(seen, key=lambda searcher: places.get(searcher.name, len(places))))

    def chosen(self, name: str = "") -> Searcher:
        """Return who is asked: the one of a name, else the first that can be; NoProvider, NotFound, ProviderAway."""
        every = self.searchers()
        if name:
            named_searcher = next((searcher for searcher in every if searcher.name == name), None)
            if named_searcher is None:
                names = ", ".join(searcher.name for searcher in every) or "none"
                raise NotFound(
                    f"there is no provider of searches {name[:60]!r}", hint=f"There are: {names}."
                )
            if not named_searcher.is_available:
                raise provider_away(named_searcher)
            return named_searcher
        named_searcher = next((searcher for searcher in every if searcher.is_available), None)
        if named_searcher is None:
            raise no_provider(
                every,
                "nobody can be asked for a search",
                none="no provider of searches is configured",
                hint="Have a person run `counterpoint provider login tavily` (or another one: `counterpoint provider list`), or name one in counterpoint.toml (docs/research.md).",
            )
        return named_searcher

    def said(self) -> Browsing:
        """Return what the configuration says of the web, as far as it counts; NotTrusted, MalformedDocument."""
        return load_trusted(
            self._context, lambda checking: web_loosened(checking.web) is not None
        ).web

    def search(
        self,
        search: Search,
        watch: Watch | None = None,
        listen: Listen | None = None,
        write: Found | None = None,
    ) -> SearchAnswer:
        """Return what a search finds.

        watch: is told in words how it gets on. listen: is called each second. write: writes what was found with its use.
        Raises NoProvider, NotFound, ProviderAway, CircuitOpen, ProviderFailed and what is below it, BudgetSpent, NotTrusted.
        """
        context = self._context
        refuse_early(context, search.item)
        searcher = self.chosen(search.searcher)
        heard = AnswerListener(searcher.name, watch, listen)
        results: list[SearchResult] = []

        def attempt(seconds_left: float) -> Answer:
            with pass_breaker(context, _circuit(searcher.name)):
                results[:] = context.ports.searching().search(
                    searcher, replace(search, timeout=seconds_left), heard
                )
            return _use_of(searcher)

        order = RetryOrder(
            asked=UseDraft(
                provider=searcher.name,
                model=NAME,
                purpose=search.purpose,
                item=search.item,
                status="answered",
                began=context.ports.clock.now(),
                landed=lambda change, _: write(change, answer()) if write else None,
            ),
            seconds=search.timeout,
            attempt=attempt,
            pause=lambda seconds: context.ports.searching().pause(seconds, heard),
            heard=heard,
        )

        def answer() -> SearchAnswer:
            return SearchAnswer(
                searcher=searcher.name, results=tuple(results), cost_micros=searcher.price
            )

        with self._set_aside(searcher, search) as reserved:
            order = replace(order, asked=replace(order.asked, reserved=reserved))
            record_use(context, ask_with_retries(context, order))
        return answer()

    def _set_aside(
        self, searcher: Searcher, search: Search
    ) -> AbstractContextManager[Reservation | None]:
        """Return what sets aside what a search costs while it is made; BudgetSpent, NotTrusted."""
        if not searcher.price:
            return nullcontext()
        return set_aside(self._context, self._limits(), searcher.price, search.limit_micros)

    def _limits(self) -> Modelling:
        """Return what limits the project has; NotTrusted."""
        return load_trusted(
            self._context, lambda checking: models_loosened(checking.models) is not None
        ).models

    def _seen(self, searcher: Searcher, why: str) -> Searcher:
        """Return a provider with why it cannot be asked, if it cannot."""
        if why:
            return replace(searcher, reason=why)
        circuit = (
            self._context.ports.remember(ProviderBreakers)
            .circuit(_circuit(searcher.name))
            .circuit()
        )
        reason, rests = rest_reason(circuit)
        return replace(searcher, reason=reason, rests=rests)


def _circuit(name: str) -> str:
    """Return what the breaker before a provider is called: one of models may have the same name."""
    return f"{NAME} {name}"


def _use_of(searcher: Searcher) -> Answer:
    return Answer(
        text="",
        stop="end",
        provider=searcher.name,
        model=NAME,
        tokens=Tokens(),
        cost_micros=searcher.price,
    )
