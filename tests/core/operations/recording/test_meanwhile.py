"""What is no news to who holds or held work; tests/dialects/test_meanwhile.py tells what is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from builders import known_connection
from counterpoint.core.coordinator import Core
from counterpoint.core.model.answers import Live
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit, Note
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Item
from fakes.studio import Studio


@pytest.fixture
def item(ada: Core) -> str:
    """Give a task that ada holds."""
    name = ada.plans.create(Draft(kind="task", title="A")).root.id
    ada.claims.start(name)
    return name


def news_of(studio: Studio, core: Core, item: str) -> list[tuple[str, str]]:
    """Answer what is told of an item, by kind."""
    with studio.view() as view:
        claim, row = view.find(Claim, item), view.find(Item, item)
    assert claim is not None
    assert row is not None
    is_own = claim.is_held and claim.session == core.caller.actor.session
    held = [Live(claim=claim, item=row)] if is_own else []
    return [(entry.kind, entry.text) for entry in core.claims.news(held)]


def kinds_of(studio: Studio, core: Core, item: str) -> list[str]:
    return [kind for kind, _ in news_of(studio, core, item)]


def test_what_was_given_up_in_the_own_session_is_no_news(
    studio: Studio, ada: Core, item: str
) -> None:
    ada.items.edit(item, Edit(status="cancelled", reason="no"))
    assert kinds_of(studio, ada, item) == []


def test_of_what_was_given_up_nobody_hears_who_had_finished_it(
    studio: Studio, ada: Core, person: Core, item: str
) -> None:
    """Whoever had given it back before has nothing to stop."""
    person.items.edit(item, Edit(status="cancelled", reason="no"))
    assert kinds_of(studio, ada, item) == ["given_up"]


def test_who_took_it_over_is_told_until_it_is_free_again(
    studio: Studio, ada: Core, person: Core, item: str
) -> None:
    """And to nobody else than who held it; of the processes of one agent only to that which worked."""
    kim = studio.core("kim", kind="human", session=studio.mint.mint("ses"))
    kim.claims.start(item, reason="it is mine")
    assert kinds_of(studio, ada, item) == ["taken_over"]
    assert kinds_of(studio, kim, item) == []
    for process, kinds in (
        (known_connection("cn_agent_ada"), ["taken_over"]),
        (known_connection("cn_x"), []),
    ):
        core = Core(studio.ports, replace(ada.caller, connection=process))
        assert kinds_of(studio, core, item) == kinds
    person.claims.release(item)
    assert kinds_of(studio, ada, item) == []


def test_the_own_take_over_of_who_was_started_again_is_no_news(studio: Studio, ada: Core) -> None:
    """One worker in two sessions gives itself no news."""
    item = ada.plans.create(Draft(kind="task", title="B")).root.id
    first, again = (studio.core("ada", capability="secret") for _ in range(2))
    first.claims.start(item)
    again.claims.start(item)
    assert studio.last().facts["why"] == "capability"
    for core in (first, again):
        assert kinds_of(studio, core, item) == []


def test_a_release_is_told_until_the_item_was_held_again(
    studio: Studio, ada: Core, person: Core, item: str
) -> None:
    """Of two only the last, with its own time."""
    person.claims.release(item)
    assert kinds_of(studio, ada, item) == ["released"]
    ada.claims.start(item)
    assert kinds_of(studio, ada, item) == []
    studio.clock.pass_by(minutes=5)
    person.claims.release(item)
    ((kind, text),) = news_of(studio, ada, item)
    assert (kind, studio.last().time in text) == ("released", True)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda core, item: core.items.edit(item, Edit(title="B")), ["changed"]),
        (lambda core, item: core.items.edit(item, Edit(add_labels=("red",))), []),
        (lambda core, item: core.journal.append(Note(kind="comment", body="x", item=item)), []),
    ],
)
def test_only_what_changes_the_work_is_told_as_a_change(
    studio: Studio,
    ada: Core,
    person: Core,
    item: str,
    change: Callable[[Core, str], object],
    told: list[str],
) -> None:
    """Words and labels beside it change nothing that is done for it."""
    studio.clock.pass_by(minutes=1)
    change(person, item)
    assert kinds_of(studio, ada, item) == told


def test_of_what_is_held_alone_nothing_is_told_that_was_lost(
    studio: Studio, ada: Core, item: str
) -> None:
    with studio.view() as view:
        claim, row = view.find(Claim, item), view.find(Item, item)
    assert claim is not None
    assert row is not None
    held = [Live(claim=claim, item=row)]
    assert [ada.claims.news(live, with_lost=False) for live in (held, [])] == [[], []]
