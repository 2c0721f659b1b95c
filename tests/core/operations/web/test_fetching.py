"""Fetching pages: where a person lets that be done, and nowhere else."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import pytest

from counterpoint.core.model.trust.checking import Checking
from counterpoint.core.model.web.configured import Browsing
from counterpoint.core.model.web.pages import Page, PageLimits
from counterpoint.core.operations.web.fetching import PageVerbs
from counterpoint.core.ports.fetching import NoFetching
from counterpoint.core.ports.models import Listen
from counterpoint.kernel.errors import AddressRefused, Forbidden, NotTrusted, PageFailed
from fakes.studio import Studio


@dataclass
class ScriptedPages:
    """Implements Fetching in memory: each address is its own place, and its own text."""

    asked: list[tuple[str, Collection[str]]] = field(default_factory=list)

    def check(self, url: str, hosts: Collection[str]) -> str:
        """Refuse one that nothing could allow."""
        if url == "never" and url not in hosts:
            raise AddressRefused
        return url

    def fetch(self, url: str, hosts: Collection[str], limits: PageLimits, listen: Listen) -> Page:
        """Answer its name."""
        self.asked.append((url, hosts))
        listen("")
        return Page(url=url, final_url=url, kind="text/plain", title="", text=url, size=limits.size)


def desk(web: Browsing | None, *, trusted: bool = True) -> tuple[PageVerbs, ScriptedPages]:
    """Answer verbs in a project that says this of the web."""
    pages = ScriptedPages()
    outside: dict[str, Any] = {"fetching": lambda: pages}
    if web is not None:
        outside["checking"] = lambda: Checking(web=web)
    studio = Studio(**outside)
    if web is not None and trusted:
        studio.core("p", kind="human").projects.trust(Checking(web=web), "")
    return studio.core("a").use(PageVerbs), pages


def test_pages_are_fetched_where_a_person_lets_them_be() -> None:
    """Public ones, and those of hosts that are named."""
    verbs, pages = desk(Browsing(fetches=True, hosts=("own",)))
    assert verbs.fetch("page", print).text == "page"
    assert pages.asked == [("page", ("own",))]
    assert verbs.may_fetch()


def test_only_hosts_that_are_named_are_asked_where_pages_are_not_fetched() -> None:
    """And none where nobody is named."""
    verbs, pages = desk(Browsing(hosts=("own",)))
    assert verbs.fetch("own", print).url == "own"
    with pytest.raises(Forbidden, match="not fetched in this project") as caught:
        verbs.fetch("page", print)
    assert "counterpoint trust" in caught.value.hint
    assert verbs.may_fetch()
    verbs, pages = desk(None)
    with pytest.raises(Forbidden, match="not fetched in this project"):
        verbs.fetch("page", print)
    assert not verbs.may_fetch()
    assert pages.asked == []


def test_what_nobody_trusted_does_not_count() -> None:
    """What could never be asked is refused as such before that."""
    verbs, pages = desk(Browsing(fetches=True, hosts=("own",)), trusted=False)
    for url in ("page", "own"):
        with pytest.raises(NotTrusted):
            verbs.fetch(url, print)
    with pytest.raises(AddressRefused):
        verbs.fetch("never", print)
    assert pages.asked == []


def test_nothing_is_fetched_without_a_port() -> None:
    """As in a program that embeds the core."""
    none = NoFetching()
    assert none.check("x", ()) == ""
    with pytest.raises(PageFailed):
        none.fetch("x", (), PageLimits(), print)
