"""Streams that keep open pages up to date: one thread renders the pages that entries change.

    GET /live?page=PATH&seq=N      server-sent events, for the page at PATH as it was after entry N

    event: change   {"seq", "since", "lists": {id: {"order": [keys], "html": {key: markup}}}, "text": {id: markup}}
    event: stale    load the page again, and lay it over
    event: alive    the page is up to date; each `ALIVE_SECONDS`

1. A view is a page as one caller sees it. It is rendered once for all who have it open, and only if an entry touched it.
2. Nothing of the past is kept: who has missed something, or takes messages too slowly, hears `stale`.
3. Between two rounds is a pause: longer than the round took, and much longer while entries come so fast that writers would
   feel it.
4. A stream ends with its sitting, its credential and the server. A sitting has `MAX_STREAMS_OF_SITTING` at most.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from counterpoint.board.live_parts import Rendering
from counterpoint.board.pages import PageAddress
from counterpoint.board.routes import ROUTES
from counterpoint.board.sittings import Sitting, Sittings
from counterpoint.core.coordinator import Core
from counterpoint.core.ledger.entry import Entry
from counterpoint.kernel.errors import CounterpointError, Forbidden, Unavailable

MAX_STREAMS: Final = 128
MAX_STREAMS_OF_SITTING: Final = 12
ALIVE_SECONDS: Final = 10.0
MAX_UNREAD: Final = 20
MAX_ENTRIES: Final = 400
"""Entries of one round that are looked at one by one; more of them touch every view."""
_LOOK_SECONDS: Final = 1.0
_MIN_PAUSE_SECONDS: Final = 0.1
_MAX_PAUSE_SECONDS: Final = 1.5
_BUSY_RATE: Final = 50
_RETRY: Final = b"retry: 1000\n\n"
_STALE: Final = b"event: stale\ndata: {}\n\n"

Render = Callable[[PageAddress, Sitting, Core], Rendering]
"""(page, who looks, their core) → the page apart."""


@dataclass(eq=False, slots=True, kw_only=True)
class LiveStream:
    """One open page of one sitting, and what is still to be sent to it."""

    sitting: Sitting
    loop: asyncio.AbstractEventLoop
    _unread: deque[bytes] = field(default_factory=deque[bytes])
    _has_some: asyncio.Event = field(default_factory=asyncio.Event)
    _is_over: bool = False

    def put(self, *pieces: bytes, ends: bool = False) -> None:
        """Send pieces, from any thread."""
        # A loop that is closed has nobody left to send to.
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._add, pieces, ends)

    def _add(self, pieces: Iterable[bytes], ends: bool) -> None:
        self._is_over = self._is_over or ends
        self._unread.extend(pieces)
        # Whoever may not look any more gets nothing that was still to be sent.
        if self._is_over:
            self._unread.clear()
        elif len(self._unread) > MAX_UNREAD:
            self._unread = deque((_STALE,))
        self._has_some.set()

    async def pieces(self) -> AsyncGenerator[bytes]:
        """Return what is to be sent, until the stream is over."""
        yield _RETRY
        while True:
            while self._unread:
                yield self._unread.popleft()
            if self._is_over:
                return
            self._has_some.clear()
            await self._has_some.wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class Touch:
    """What an entry wrote: in which tables, and of which items, those above them too."""

    tables: frozenset[str]
    items: tuple[str, ...]


def touch_of(core: Core, entry: Entry) -> Touch:
    """Return what an entry wrote."""
    tables = frozenset(row.table for row in entry.rows)
    return Touch(tables=tables, items=core.feed.concerned(entry))


@dataclass(eq=False, slots=True, kw_only=True)
class View:
    """A page that some have open: how it was last rendered, and the ids of the items that it shows.

    sequence: the last entry that it is known to tell of; later than its rendering if those between have not touched it.
    """

    address: PageAddress
    rendering: Rendering
    sequence: int = -1
    streams: list[LiveStream] = field(default_factory=list[LiveStream])
    items: frozenset[str] = frozenset()
    is_dirty: bool = False

    def __post_init__(self) -> None:
        self.show(self.rendering)

    def show(self, rendering: Rendering) -> None:
        """Take a newer rendering."""
        self.rendering, self.is_dirty = rendering, False
        self.sequence = rendering.sequence
        self.items = rendering.items() | {self.address.subpath}

    def is_touched(self, touch: Touch) -> bool:
        """Return whether an entry may change what the page shows."""
        tables = ROUTES[self.address.name].tables
        if tables is None:
            return True
        return not (tables.isdisjoint(touch.tables) and self.items.isdisjoint(touch.items))


class Pump:
    """The thread of one project, and the views that it renders; it runs while somebody has one open."""

    def __init__(self, sittings: Sittings, render: Render) -> None:
        self._sittings = sittings
        self._render = render
        self._views: dict[object, View] = {}
        self._guard = threading.Lock()
        self._is_running = False
        self._position = -1

    def join(
        self, address: PageAddress, sequence: int, stream: LiveStream, core: Core
    ) -> Callable[[], None]:
        """Have a stream hear of a page that was loaded after an entry; return what ends that."""
        key = address, core.caller.actor, core.caller.root
        with self._guard:
            view = self._views.get(key)
        if view is None:
            view = View(address=address, rendering=self._render(address, stream.sitting, core))
        last = view.sequence
        entries = core.feed.entries(sequence, MAX_ENTRIES) if -1 <= sequence < last else []
        missed = [entry for entry in entries if entry.sequence <= last]
        is_other = sequence > core.feed.last() or len(missed) == MAX_ENTRIES or sequence < -1
        if is_other or any(view.is_touched(touch_of(core, entry)) for entry in missed):
            stream.put(_STALE)
        stream.put(_event("alive", {"seq": last}))
        with self._guard:
            # Of two that open the same page at once, both hear of it by the first one's view.
            current = self._views.setdefault(key, view)
            if current.sequence > last:
                stream.put(_STALE)
            current.streams.append(stream)
            if not self._is_running:
                self._is_running = True
                self._position = current.sequence
                threading.Thread(target=self._run, name="board", daemon=True).start()
            # What came between the rendering and this moment has passed the thread by.
            elif current is view and view.sequence < self._position:
                view.is_dirty = True

        def leave() -> None:
            with self._guard:
                current.streams.remove(stream)
                if not current.streams and self._views.get(key) is current:
                    del self._views[key]

        return leave

    def _run(self) -> None:
        alive_at = time.monotonic()
        while views := self._open_views():
            began = time.monotonic()
            is_time = began - alive_at >= ALIVE_SECONDS
            try:
                core = self._first_core(views)
                timeout = 0.0 if is_time else _LOOK_SECONDS
                entries = core.feed.entries(self._position, MAX_ENTRIES, timeout)
                # Those too that somebody has opened meanwhile.
                views = self._open_views()
                self._mark_dirty(core, views, entries)
            except CounterpointError as fault:
                if not isinstance(fault, Forbidden) and not fault.retryable:
                    self._end(views)
                time.sleep(_MIN_PAUSE_SECONDS)
                continue
            heard = time.monotonic()
            for view in views:
                # Who is gone, and whose lease ran out, no entry tells.
                if view.is_dirty or is_time:
                    self._bring_up_to_date(view)
            if is_time:
                alive_at = began
                for view in views:
                    _send(view, _event("alive", {"seq": self._position}))
            self._pause(
                time.monotonic() - heard, len(entries) / max(heard - began, _MIN_PAUSE_SECONDS)
            )

    def _pause(self, seconds: float, rate: float) -> None:
        factor = 25 if rate > _BUSY_RATE else 2
        time.sleep(min(max(factor * seconds, _MIN_PAUSE_SECONDS), _MAX_PAUSE_SECONDS))

    def _open_views(self) -> list[View]:
        """Return the views that somebody may still see; with none of them the thread ends."""
        with self._guard:
            views = [view for view in self._views.values() if view.streams]
            self._is_running = bool(views)
        return views

    def _first_core(self, views: list[View]) -> Core:
        """Return the core of somebody who may still look; Forbidden if there is nobody."""
        for view in views:
            for stream in list(view.streams):
                with suppress(Forbidden):
                    return self._core_of(stream)
        raise Forbidden("nobody may look any more")

    def _core_of(self, stream: LiveStream) -> Core:
        """Return the core of a stream, which ends with its sitting; Forbidden."""
        try:
            return self._sittings.open_core(stream.sitting)
        except Forbidden:
            stream.put(ends=True)
            raise

    def _mark_dirty(self, core: Core, views: list[View], entries: list[Entry]) -> None:
        """Mark the views that entries touch."""
        if not entries:
            return
        is_flood = len(entries) == MAX_ENTRIES
        for entry in entries:
            clean_views = [
                view for view in views if not view.is_dirty and entry.sequence > view.sequence
            ]
            if is_flood:
                for view in clean_views:
                    view.is_dirty = True
            elif clean_views:
                touch = touch_of(core, entry)
                for view in clean_views:
                    view.is_dirty = view.is_touched(touch)
        with self._guard:
            self._position = core.feed.last() if is_flood else entries[-1].sequence
            for view in views:
                if not view.is_dirty:
                    view.sequence = max(view.sequence, self._position)

    def _bring_up_to_date(self, view: View) -> None:
        """Render a view anew, and send those who have it open what changed."""
        streams = list(view.streams)
        rendering: Rendering | None = None
        for stream in streams:
            # Each of them is asked for, not only whose core renders it.
            with suppress(Forbidden):
                core = self._core_of(stream)
                if rendering is None:
                    try:
                        rendering = self._render(view.address, stream.sitting, core)
                    except CounterpointError as fault:
                        if isinstance(fault, Unavailable):
                            return
                        # What the page was of is there no more, and the page itself says so best.
                        view.is_dirty = False
                        _send(view, _STALE)
                        return
        if rendering is None:
            return
        before, since = view.rendering, view.sequence
        view.show(rendering)
        changes = rendering.changes_since(before)
        if changes is None:
            _send(view, _STALE)
        elif changes:
            message = {"seq": rendering.sequence, "since": since, **changes}
            _send(view, _event("change", message))

    def _end(self, views: list[View]) -> None:
        for view in views:
            for stream in list(view.streams):
                stream.put(ends=True)


class Pumps:
    """The pumps of all projects, and who has how many streams."""

    def __init__(self, sittings: Sittings, render: Render) -> None:
        self._pumps: dict[str, Pump] = {}
        self._counts: Counter[str] = Counter()
        self._guard = threading.Lock()
        self._open_pump = lambda: Pump(sittings, render)

    def join(
        self, address: PageAddress, sequence: int, stream: LiveStream, core: Core
    ) -> Callable[[], None]:
        """Have a stream hear of a page; return what ends that. Unavailable when there are too many."""
        digest = stream.sitting.digest
        with self._guard:
            if (
                self._counts.total() >= MAX_STREAMS
                or self._counts[digest] >= MAX_STREAMS_OF_SITTING
            ):
                raise Unavailable(
                    "too many pages are open to be kept up to date", hint="Close some of them."
                )
            self._counts[digest] += 1
            pump = self._pumps.setdefault(core.project, self._open_pump())
        try:
            leave_pump = pump.join(address, sequence, stream, core)
        except BaseException:
            self._give_back(digest)
            raise

        def leave() -> None:
            self._give_back(digest)
            leave_pump()

        return leave

    def _give_back(self, digest: str) -> None:
        with self._guard:
            self._counts -= Counter((digest,))


def _send(view: View, piece: bytes) -> None:
    for stream in list(view.streams):
        stream.put(piece)


def _event(name: str, content: dict[str, Any]) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), orjson.dumps(content))
