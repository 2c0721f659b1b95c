"""Searching: who is asked, again or not, within limits, and what is written down."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from counterpoint.core.model.models import ModelDay, Modelling, ModelUse
from counterpoint.core.model.trust.checking import Checking
from counterpoint.core.model.web import Browsing, SaidSearcher, Search
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.circuits import MOST_FAULTS
from counterpoint.core.ports.models import NoSearching
from counterpoint.kernel.errors import (
    AllResting,
    BudgetSpent,
    CircuitOpen,
    NoProvider,
    NotFound,
    NotTrusted,
    ProviderAway,
    ProviderBusy,
    ProviderRefused,
    SessionEnded,
)
from fakes.scripted_searches import NAME, ScriptedSearching, searcher
from fakes.studio import Studio

DEAR = 8_000


class Desk:
    """A project with searches, and an agent who asks."""

    def __init__(self, *said: Any, checking: Checking | None = None, **more: Any) -> None:
        self.searching = ScriptedSearching(**({"said": list(said)} if said else {}), **more)
        self.checking = checking
        outside: dict[str, Any] = {"searching": lambda: self.searching}
        if checking is not None:
            outside["checking"] = lambda: self.checking
        self.studio = Studio(**outside)
        self.core = self.studio.core("a")

    def rows(self, noun: Any) -> list[Any]:
        """Answer what is kept."""
        with self.studio.view() as view:
            return view.select(noun)


def test_what_is_found_comes_back_and_its_use_is_written_down() -> None:
    """With what it cost, as a use of its provider; of the query nothing."""
    desk = Desk(there=(searcher(price=DEAR),))
    told: list[str] = []
    found = desk.core.searches.search(Search(query="secret words", purpose="test"), told.append)
    assert (found.searcher, len(found.results), found.cost_micros) == (NAME, 2, DEAR)
    use, day = desk.rows(ModelUse)[0], desk.rows(ModelDay)[0]
    assert (use.provider, use.model, use.purpose, use.status) == (
        NAME,
        "search",
        "test",
        "answered",
    )
    assert (use.cost_micros, use.input_tokens, day.cost_micros, day.requests) == (DEAR, 0, DEAR, 1)
    assert not [text for text in desk.studio.image().texts.values() if "secret" in text]
    assert told == [f"{NAME} is answering: 0 characters so far"]


def test_what_is_made_of_it_lands_with_its_use() -> None:
    """In one entry, so that what was paid for is there, or was not paid for."""
    desk = Desk()
    desk.core.searches.search(
        Search(query="a"), write=lambda change, it: change.add_facts(results=len(it.results))
    )
    entry = desk.studio.last()
    assert (entry.action, entry.facts["results"], entry.facts["provider"]) == (
        "model.asked",
        2,
        NAME,
    )


def test_what_was_busy_is_asked_again_after_as_long_as_it_says() -> None:
    """Three times in all; each is one use, failed or not."""
    desk = Desk(ProviderBusy("it is busy", retry_after=4), ())
    assert desk.core.searches.search(Search(query="a")).results == ()
    assert desk.searching.waits == [4.0]
    assert [(one.status, one.attempts) for one in desk.rows(ModelUse)] == [("answered", 2)]
    desk.searching.said = [ProviderRefused("no")]
    with pytest.raises(ProviderRefused):
        desk.core.searches.search(Search(query="a"))
    assert desk.rows(ModelUse)[-1].status == "failed"


def test_who_fails_again_and_again_is_left_alone() -> None:
    """A model of the same name is not."""
    desk = Desk(ProviderBusy("it is down", retry_after=9_999))
    for _ in range(MOST_FAULTS):
        with pytest.raises(ProviderBusy):
            desk.core.searches.search(Search(query="a"))
    assert "left alone" in desk.core.searches.searchers()[0].reason
    # To wait is what is left to do: keys and files are as they should be.
    with pytest.raises(AllResting, match="left alone") as caught:
        desk.core.searches.search(Search(query="a"))
    seconds = caught.value.facts["retry_after"]
    assert (0 < seconds <= 60, caught.value.retryable) == (True, True)
    assert "retry_after" in caught.value.hint
    with pytest.raises(CircuitOpen, match="left alone") as named:
        desk.core.searches.search(
            Search(query="a", searcher=desk.core.searches.searchers()[0].name)
        )
    assert named.value.facts["retry_after"] == seconds
    assert len(desk.searching.asked) == MOST_FAULTS
    assert issubclass(CircuitOpen, Exception)


def test_nobody_is_asked_beyond_what_it_may_cost() -> None:
    """Neither beyond the limit of the day, which searches and models share, nor beyond what the caller allows."""
    desk = Desk(
        there=(searcher(price=DEAR),), checking=Checking(models=Modelling(day_limit=2 * DEAR))
    )
    desk.studio.refuses(
        BudgetSpent, lambda: desk.core.searches.search(Search(query="a", limit_micros=DEAR - 1))
    )
    for _ in range(2):
        desk.core.searches.search(Search(query="a", limit_micros=DEAR))
    desk.studio.refuses(BudgetSpent, lambda: desk.core.searches.search(Search(query="a")))
    desk.searching.there = (searcher(price=0),)
    assert desk.core.searches.search(Search(query="a")).cost_micros == 0


def test_the_first_that_can_be_asked_is_unless_one_is_named() -> None:
    """In the order that the project says."""
    there = (searcher("one"), searcher("two"), searcher("off", reason="it has no key"))
    desk = Desk(there=there, checking=Checking(web=Browsing(order=("two",))))
    assert desk.core.searches.search(Search(query="a")).searcher == "two"
    assert desk.core.searches.search(Search(query="a", searcher="one")).searcher == "one"
    with pytest.raises(ProviderAway, match="it has no key"):
        desk.core.searches.search(Search(query="a", searcher="off"))
    with pytest.raises(NotFound) as caught:
        desk.core.searches.search(Search(query="a", searcher="three"))
    assert caught.value.hint == "There are: two, one, off."
    assert [one.name for one in desk.core.searches.searchers()] == ["two", "one", "off"]


def test_with_nobody_to_ask_that_is_said() -> None:
    """And why not those that somebody has configured."""
    desk = Desk(there=(searcher(reason="it has no key"), searcher("far", reason="x", is_set=False)))
    fault = desk.studio.refuses(NoProvider, lambda: desk.core.searches.search(Search(query="a")))
    assert fault.message == "nobody can be asked for a search: mine: it has no key"
    assert "counterpoint provider login tavily" in fault.hint
    desk.searching.there = ()
    with pytest.raises(NoProvider, match="no provider of searches is configured"):
        desk.core.searches.search(Search(query="a"))
    with pytest.raises(NotFound) as caught:
        desk.core.searches.search(Search(query="a", searcher="x"))
    assert caught.value.hint == "There are: none."


def test_nobody_is_asked_where_the_port_has_nobody() -> None:
    none, told = NoSearching(), list[str]()
    assert none.searchers() == ()
    none.pause(1.0, told.append)
    with pytest.raises(NoProvider):
        none.search(searcher(), Search(query="a"), told.append)
    assert told == []


def test_an_address_counts_once_a_person_trusted_it() -> None:
    """Until then nobody is asked."""
    web = Browsing(searchers=(SaidSearcher(name=NAME, address="http://127.0.0.1:9"),))
    desk = Desk(checking=Checking(web=web))
    with pytest.raises(NoProvider, match="not what a person trusted"):
        desk.core.searches.search(Search(query="a"))
    with pytest.raises(NotTrusted):
        desk.core.searches.said()
    desk.studio.core("p", kind="human").projects.trust(Checking(web=web), "")
    assert desk.core.searches.search(Search(query="a")).searcher == NAME
    desk.checking = Checking(web=replace(web, fetches=True))
    with pytest.raises(NoProvider):
        desk.core.searches.search(Search(query="a"))


def test_nobody_is_asked_in_vain() -> None:
    """Not about an item that is not there, in a session that has ended, or while a transaction is open."""
    desk = Desk()
    with pytest.raises(NotFound):
        desk.core.searches.search(Search(query="a", item="t_nothing"))
    context = desk.studio.context(desk.core)
    with pytest.raises(RuntimeError), recording(context, "project.renamed"):
        type(desk.core.searches)(context).search(Search(query="a"))
    desk.core.searches.search(Search(query="a"))
    desk.core.sessions.end(desk.core.caller.actor.session, "completed")
    with pytest.raises(SessionEnded):
        desk.core.searches.search(Search(query="a"))
    assert len(desk.searching.asked) == 1
