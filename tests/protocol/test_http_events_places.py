"""Places between events, and a follower that moves from one to the next."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoint.kernel.errors import Forbidden, InvalidInput, StoreBusy, Unexpected
from counterpoint.protocol.http import subscriptions
from counterpoint.protocol.http.subscriptions import Place, Subscription, load_place
from counterpoint.protocol.workers import Workers

PLACES = st.builds(Place, st.integers(-1, 10**15 - 1)) | st.builds(
    Place, st.integers(0, 10**15 - 1), st.integers(1, 10**6 - 1)
)


@given(PLACES)
def test_a_place_is_read_as_it_was_written(place):
    """Nothing is lost on the way through a client."""
    assert load_place(str(place)) == place


@given(st.integers(0, 99), st.integers(1, 99), st.integers(1, 99))
def test_places_stand_in_the_order_of_events(sequence, one, other):
    """A whole entry comes after each of its events and before the next entry's first."""
    assert (Place(sequence, one) < Place(sequence, other)) == (one < other)
    assert Place(sequence, one) < Place(sequence) < Place(sequence + 1, other)
    assert Place(sequence, one).position == sequence - 1
    assert Place(sequence).position == sequence


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "-2", "-1.1", "1.0", "01", "1.01", "1.", ".1", "1.1.1", " 1", "1 ", "1\n"),
        *("\u0661", "9" * 16, "1." + "1" * 7),
    ],
)
def test_what_is_no_place_is_refused(text):
    """And the refusal says what one looks like."""
    with pytest.raises(InvalidInput) as refused:
        load_place(text)
    assert "12.1" in refused.value.hint


@pytest.fixture(autouse=True, scope="module")
def hurry():
    """Let a look that finds nothing end at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subscriptions, "A_WHILE", 0.01)
        yield


@pytest.fixture
def story(small):
    """Give three entries: two events, none, one."""
    made = small.Story()
    made.grow(("a:b", "x"), ("a:c", "y"))
    made.grow()
    made.grow(("a:d", "x"))
    return made


def follower(story, call=lambda: None):
    """Answer a follower of a story."""
    return Subscription(story.tell, call, Workers(2))


def taken(follower, count, place="-1"):
    """Answer so many things that a follower is told from a place on."""

    async def take():
        await follower.move(load_place(place))
        found = []
        async for one in follower.follow():
            found.append(one)
            if len(found) == count:
                return [(str(place), event and event.name) for place, event in found]
        return found

    return asyncio.run(asyncio.wait_for(take(), 20))


@settings(max_examples=50)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=8), st.data())
def test_whoever_goes_on_hears_the_rest_and_nothing_twice(small, sizes, data):
    """From each place of each story, whatever its entries give."""
    story = small.Story()
    for size in sizes:
        story.grow(*[("a:b", "x")] * size)
    events = [f"{n}.{k}" for n, size in enumerate(sizes) for k in range(1, size + 1)]
    start = data.draw(st.sampled_from(["-1", *events, *map(str, range(len(sizes)))]))
    wanted = [one for one in events if load_place(one) > load_place(start)]
    told = taken(follower(story), len(wanted) + 1, start)
    assert [place for place, name in told if name] == wanted
    assert told[-1] == (str(len(sizes) - 1), None)


def test_one_page_follows_another(small, monkeypatch):
    """Whatever the size of a page is: no event is left out where two meet."""
    monkeypatch.setattr(subscriptions, "_PAGE", 2)
    story = small.Story()
    for _ in range(5):
        story.grow(("a:b", "x"), ("a:c", "x"))
    told = taken(follower(story), 13)
    wanted = ["0.1", "0.2", "1.1", "1.2", "1", "2.1", "2.2", "3.1", "3.2", "3", "4.1", "4.2", "4"]
    assert [place for place, _ in told] == wanted


def test_a_follower_passes_by_what_it_does_not_want(story):
    """The place moves on all the same, and the numbers of the events stay what they are."""
    found = follower(story)
    found.subjects = {"y"}
    assert taken(found, 2) == [("0.2", "a:c"), ("2", None)]
    found.subjects = set()
    assert taken(found, 1) == [("2", None)]
    assert str(found.place) == "2"


def test_a_move_counts_at_once_and_takes_back_what_was_offered(story):
    """The event that was on its way is not wanted any more, and comes again in its turn."""

    async def run():
        found = follower(story)
        await found.move(load_place("-1"))
        following = found.follow()
        place, event = await anext(following)
        assert found.wants(place, event)
        await found.move(load_place("-1"))
        assert not found.wants(place, event)
        rest = [await anext(following) for _ in range(5)]
        await following.aclose()
        return [str(place) for place, _ in rest]

    assert asyncio.run(asyncio.wait_for(run(), 20)) == ["-1", "0.1", "0.2", "2.1", "2"]


def test_an_unsubscribed_event_on_its_way_is_not_wanted(story):
    """What is true when it is sent counts."""

    async def run():
        found = follower(story)
        found.subjects = {"x"}
        await found.move(load_place("-1"))
        following = found.follow()
        place, event = await anext(following)
        found.subjects.discard("x")
        await following.aclose()
        return found.wants(place, event)

    assert asyncio.run(asyncio.wait_for(run(), 20)) is False


@pytest.mark.parametrize("text", ["3", "3.1"])
def test_a_place_ahead_of_the_ledger_is_refused_and_moves_nobody(story, text):
    """Also one inside of an entry that is still to come."""

    async def run():
        found = follower(story)
        await found.move(None)
        with pytest.raises(InvalidInput):
            await found.move(load_place(text))
        return str(found.place)

    assert asyncio.run(run()) == "2"


def test_trouble_that_passes_is_waited_for(story):
    """A store that is busy ends nothing."""
    calls = iter([None, StoreBusy("later"), None])

    def call():
        fault = next(calls)
        if fault:
            raise fault

    assert taken(follower(story, call), 2) == [("0.1", "a:b"), ("0.2", "a:c")]


@pytest.mark.parametrize(
    ("fault", "told"), [(Forbidden("gone"), Forbidden), (ValueError("secret"), Unexpected)]
)
def test_trouble_that_stays_ends_it(story, fault, told):
    """A fault of the surface's own is told without its inside."""
    story.fault = fault
    with pytest.raises(told) as ended:
        taken(follower(story), 1)
    assert "secret" not in str(ended.value)


def test_subscriptions_have_bounds(story):
    """Of their number and of their length, together with those that are there."""
    found = follower(story)
    found.subjects = {str(n) for n in range(999)}
    found.check(["a"])
    found.check(["1", "2"])
    for more in (["a", "b"], ["a" * 201]):
        with pytest.raises(InvalidInput):
            found.check(more)


def test_an_event_on_its_way_does_not_overtake_a_move(small):
    """It waited for its turn while the client went back: it comes again in its place, once."""
    story = small.Story()
    story.grow(("a:created", "x"), ("b:created", "y"))
    sent, gate = [], asyncio.Event()
    messages = [{"type": "websocket.connect"}]

    async def receive():
        while not messages:
            await heard.wait()
            heard.clear()
        return messages.pop(0)

    async def send(message):
        if message["type"] != "websocket.accept":
            told = json.loads(message["text"])
            sent.append((told["event"], told["id"]))
            if len(sent) == 2:
                messages.append({"type": "websocket.receive", "text": '{"after": "-1"}'})
                heard.set()
                await gate.wait()
            elif len(sent) == 5:
                messages.append({"type": "websocket.disconnect"})
                heard.set()

    async def run():
        follower = Subscription(story.tell, lambda: None, Workers(2))
        await follower.move(load_place("-1"))
        talk = subscriptions.Conversation(follower, lambda: 0, receive, send)
        asyncio.get_running_loop().call_later(0.2, gate.set)
        await asyncio.wait_for(talk.hold({"subprotocols": []}), 20)

    heard = asyncio.Event()
    asyncio.run(run())
    assert sent[:5] == [
        ("following", "-1"), ("a:created", "0.1"),
        ("following", "-1"), ("a:created", "0.1"), ("b:created", "0.2"),
    ]  # fmt: skip


def test_the_messages_that_the_page_shows_are_the_ones_there_are():
    """What is copied from it is understood."""
    page = (Path(__file__).parents[2] / "docs" / "http.md").read_text("utf-8")
    told, asked = re.findall(r"^```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert list(json.loads(told)) == ["event", "id", "data"]
    heard = subscriptions._read(asked)
    assert (heard.subscribe, str(heard.after)) == (("demo-7", "demo-31"), "41.1")
