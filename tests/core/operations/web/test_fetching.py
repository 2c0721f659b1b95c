"""Fetching pages: where a person lets that be done, and nowhere else."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from builders import HandClock
from counterpoint.core.model.trust.checking import Checking
from counterpoint.core.model.web import Browsing, Page, PageLimits
from counterpoint.core.operations.web import PageVerbs
from counterpoint.core.ports.evidence import Watch
from counterpoint.core.ports.models import Listen, NoFetching
from counterpoint.kernel.errors import AddressRefused, Forbidden, NotTrusted, PageFailed
from fakes.evidence import ScriptedTree
from fakes.studio import Studio


@dataclass
class ScriptedPages:
    """Implements Fetching in memory: each address is its own place, and its own text."""

    asked: list[tuple[str, Collection[str]]] = field(default_factory=list)
    content: bytes = b""
    clock: HandClock | None = None
    SECONDS: ClassVar[float] = 4.0

    def check(self, url: str, hosts: Collection[str]) -> str:
        """Refuse one that nothing could allow."""
        if url == "never" and url not in hosts:
            raise AddressRefused
        return url

    def fetch(self, url: str, hosts: Collection[str], limits: PageLimits, listen: Listen) -> Page:
        """Answer its name."""
        self.asked.append((url, hosts))
        listen("")
        if self.clock is not None:
            self.clock.pass_by(seconds=self.SECONDS)
        return Page(
            url=url,
            final_url=url,
            kind="text/plain",
            title="",
            text=url,
            size=limits.size,
            content=self.content,
        )


def desk(web: Browsing | None, *, trusted: bool = True) -> tuple[PageVerbs, ScriptedPages]:
    """Answer verbs in a project that says this of the web."""
    pages = ScriptedPages()
    outside: dict[str, Any] = {"fetching": lambda: pages}
    if web is not None:
        outside["checking"] = lambda: Checking(web=web)
    studio = Studio(**outside)
    pages.clock = studio.clock
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


def test_a_pdf_has_the_time_that_is_left_of_its_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it took to come is no longer there for reading it, and whoever waits is heard meanwhile."""
    verbs, pages = desk(Browsing(hosts=("own",)))
    pages.content = b"%PDF-1.4\nUse backoff."
    given: list[float] = []
    pages_of = ScriptedTree.pages

    def kept(tree: ScriptedTree, content: bytes, watch: Watch, seconds: float) -> list[str]:
        given.append(seconds)
        return pages_of(tree, content, watch, seconds)

    monkeypatch.setattr(ScriptedTree, "pages", kept)
    heard: list[str] = []
    page = verbs.fetch("own", heard.append, PageLimits(whole=9.0))
    assert "Use backoff." in page.text
    assert heard == ["", "page 1"]
    assert given == [9.0 - ScriptedPages.SECONDS]


def test_nothing_is_fetched_without_a_port() -> None:
    """As in a program that embeds the core."""
    none = NoFetching()
    assert none.check("x", ()) == ""
    with pytest.raises(PageFailed):
        none.fetch("x", (), PageLimits(), print)
