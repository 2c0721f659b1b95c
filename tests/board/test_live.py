"""What pages that are open hear of changes: only what they show, to whoever may see it, and never more than they take."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from queue import SimpleQueue
from typing import Any
from urllib.parse import urlencode

import pytest

from counterpoint.board import pump
from counterpoint.board.live_parts import LiveParts, Rendering
from counterpoint.board.pages import PageAddress
from counterpoint.board.pump import LiveStream, View, touch_of
from counterpoint.board.routes import ROUTES
from counterpoint.board.sittings import Caller, Sitting
from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Note, Report
from counterpoint.kernel.errors import Forbidden

PATIENCE = 20.0


class Reader:
    """One open stream of a browser, read in a thread of its own."""

    def __init__(self, browser: Any, page: str, sequence: int | str, method: str = "GET") -> None:
        """Open it."""
        cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
        self._scope = {
            "type": "http", "method": method, "path": "/live", "headers": [(b"cookie", cookie.encode())],
            "query_string": urlencode({"page": page, "seq": sequence}).encode(),
        }  # fmt: skip
        self._site = browser.site
        self._messages: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._read()))
        self._left = asyncio.Event()
        self._thread.start()
        self.status = self._messages.get(timeout=PATIENCE)["status"]

    async def _read(self) -> None:
        self._loop = asyncio.get_running_loop()

        async def receive() -> dict[str, Any]:
            await self._left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            self._messages.put(message)

        await self._site(self._scope, receive, send)
        self._messages.put({"body": b""})

    def next(self) -> tuple[str, dict[str, Any]]:
        """Answer the next event; ("", {}) at the end."""
        while True:
            piece = self._messages.get(timeout=PATIENCE)["body"].decode()
            if not piece.startswith("retry:"):
                break
        if not piece:
            return "", {}
        name, data = piece.strip().split("\n")
        return name.removeprefix("event: "), json.loads(data.removeprefix("data: "))

    def leave(self) -> None:
        """Close it, and wait until the server knows."""
        # It may be about to end by itself: then its loop is closed already.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._left.set)
        self._thread.join(PATIENCE)


@pytest.fixture
def listen(browser: Any) -> Iterator[Callable[..., Reader]]:
    """Give streams of the person's browser."""
    readers: list[Reader] = []

    def open_(page: str, sequence: int | str, other: Any = None, **words: str) -> Reader:
        readers.append(Reader(other or browser, page, sequence, **words))
        return readers[-1]

    yield open_
    for reader in readers:
        reader.leave()


def done(core: Core, item: str) -> None:
    """Have a task done by whoever holds it."""
    token = core.claims.start(item).claim.token
    core.tasks.finish(item, token, Report(outcome="done", summary="Done"))


def test_a_page_hears_which_of_its_rows_and_texts_changed(
    listen: Callable[..., Reader], planned: list[str], ada: Core
) -> None:
    keel, mast = planned[4], planned[5]
    last = ada.feed.last()
    board, now = listen("/board", last), listen("/", last)
    assert board.next() == now.next() == ("alive", {"seq": last})
    done(ada, keel)
    name, message = board.next()
    assert (name, message["since"]) == ("change", last)
    assert message["lists"]["column-done"]["order"] == [keel]
    assert "Lay the keel" in message["lists"]["column-done"]["html"][keel]
    # What waited for it waits no more, and nothing else is sent again.
    assert {*message["lists"]["column-open"]["html"]} == {mast}
    assert "after" not in message["lists"]["column-open"]["html"][mast]
    assert ">1<" in message["text"]["count-done"]
    name, message = now.next()
    assert message["lists"]["live"] == {"order": [], "html": {}}
    assert "1 of 8 done" in message["text"]["sum"]
    assert message["text"]["no-live"].startswith("<p")


def test_a_page_about_one_item_is_loaded_again_when_that_changes(
    listen: Callable[..., Reader], planned: list[str], ada: Core, bob: Core
) -> None:
    mast, setting = planned[5], planned[7]
    reader = listen(f"/items/{mast}", ada.feed.last())
    assert reader.next()[0] == "alive"
    bob.journal.append(Note(kind="finding", body="Tall", item=mast))
    assert reader.next()[0] == "stale"
    address = PageAddress("items", mast)
    rendering = Rendering(sequence=0, frame=f'<a href="/items/{planned[1]}">', lists={}, texts={})
    view = View(address=address, rendering=rendering)
    for item, is_touched in ((setting, False), (planned[4], True), (mast, True)):
        bob.journal.append(Note(kind="finding", body="x", item=item))
        (entry,) = bob.feed.entries(bob.feed.last() - 1, 1)
        assert view.is_touched(touch_of(bob, entry)) is is_touched, item


@pytest.mark.parametrize(("behind", "is_stale"), [(1, True), (0, False), (-1, True), (10**9, True)])
def test_whoever_missed_something_loads_the_page_again(
    listen: Callable[..., Reader], planned: list[str], ada: Core, behind: int, is_stale: bool
) -> None:
    ada.journal.append(Note(kind="decision", body="Oak"))
    reader = listen("/", ada.feed.last() - behind)
    assert (reader.next()[0] == "stale") is is_stale


def test_what_names_no_page_or_no_entry_has_no_stream(
    listen: Callable[..., Reader], browser: Any, planned: list[str]
) -> None:
    for page, sequence in (
        ("/live", 1),
        ("/acts", 1),
        ("/board", ""),
        ("/board", "9" * 30),
        ("/", "x"),
    ):
        assert listen(page, sequence).status == 400
    assert listen("/items/demo-99", 1).status == 404
    assert listen("/", 1, method="POST").status == 405
    browser.cookies.clear()
    assert listen("/", 1).status == 403


def test_a_stream_ends_with_its_sitting_and_with_its_credential(
    listen: Callable[..., Reader], visit: Callable[..., Any], person: Core, ada: Core, bob: Core
) -> None:
    is_revoked: list[bool] = []

    def open_core() -> Core:
        if is_revoked:
            raise Forbidden("this credential was revoked")
        return bob

    ada.plans.create(ada.plans.read("# Boats\n"))
    left, revoked, staying = visit(person), visit(open_core), visit(person)
    readers = [listen("/", ada.feed.last(), browser) for browser in (left, revoked, staying)]
    for reader in readers:
        assert reader.next()[0] == "alive"
    left.submit("/logout")
    is_revoked.append(True)
    ada.journal.append(Note(kind="finding", body="One"))
    assert [reader.next()[0] for reader in readers] == ["", "", "change"]


def test_a_sitting_has_so_many_streams_and_those_that_end_make_room(
    listen: Callable[..., Reader], planned: list[str], ada: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pump, "MAX_STREAMS_OF_SITTING", 2)
    readers = [listen("/", ada.feed.last()) for _ in range(3)]
    assert [reader.status for reader in readers] == [200, 200, 503]
    readers[0].leave()
    assert listen("/", ada.feed.last()).status == 200


def test_whoever_takes_nothing_is_sent_to_the_page_itself(person: Core) -> None:
    async def read() -> list[bytes]:
        caller = Caller(open_core=lambda: person, read_changes=lambda _core, _item: None)
        sitting = Sitting(caller=caller, digest="", form_token="", ends=0)
        stream = LiveStream(sitting=sitting, loop=asyncio.get_running_loop())
        for number in range(pump.MAX_UNREAD + 5):
            stream.put(b"%d" % number)
        # All that was put from other threads is taken up first.
        await asyncio.sleep(0)
        pieces = stream.pieces()
        return [await anext(pieces) for _ in range(6)]

    pieces = asyncio.run(read())
    assert pieces[1].startswith(b"event: stale")
    assert pieces[2:] == [
        b"%d" % number for number in range(pump.MAX_UNREAD + 1, pump.MAX_UNREAD + 5)
    ]


def test_what_only_the_clock_changes_is_no_change() -> None:
    def render(minutes: int, words: str, frame: str = "<main>") -> Rendering:
        parts = LiveParts(is_apart=True)
        time = f'<time datetime="2026-01-01T00:00:00Z">{minutes} min</time>'
        assert parts.row("list", "<a>", caller=lambda: f"<li>{time} {words}</li>") == ""
        parts.text("text", caller=lambda: time)
        return parts.rendering(f'{frame}{time}<input name="seen" value="{minutes}">')

    before = render(1, "x")
    assert render(2, "x").changes_since(before) == {}
    assert render(2, "x", "<main class>").changes_since(before) is None
    changes: Any = render(2, "y").changes_since(before)
    assert changes is not None
    assert changes["text"] == {}
    (markup,) = changes["lists"]["list"]["html"].values()
    assert markup.startswith('<li data-key="&lt;a&gt;"><time')


def test_every_page_can_be_kept_up_to_date(
    listen: Callable[..., Reader], planned: list[str], ada: Core
) -> None:
    names = {
        name: f"/{name}/{planned[4]}" if name in {"items", "edit"} else f"/{name}"
        for name in ROUTES
    }
    for page in (*names.values(), "/new/plan", f"/review/{planned[2]}", "/board?lanes=phase"):
        reader = listen(page, ada.feed.last())
        assert (page, reader.status) == (page, 200)
        assert (page, reader.next()[0]) == (page, "alive")
        reader.leave()
