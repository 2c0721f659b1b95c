"""What hooks report of calls of tools, written down many at a time.

Rules: (1) what is in memory is counted as lost until it is in the ledger, so that it is told as missing if this process is
killed (kernel/places.py). (2) Memory is bounded, and no agent has more than half of it: whoever reports more is refused, and
counts it as lost itself. (3) A thread of its own writes about once a second, at most `BATCH` events each time, one entry of the ledger for
each agent: so one that floods waits for nobody and nobody for it. (4) Who reports is found out before the hook is answered, for
it ends then. (5) The next event that is written tells how many are missing by then.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from counterpoint.app import App
from counterpoint.core.coordinator import Core
from counterpoint.core.model.identity import Attested, Peer
from counterpoint.core.model.runs import HookReport
from counterpoint.core.rules.access import capability_of
from counterpoint.core.rules.identity import share_of
from counterpoint.evidence.processes import peer
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import CounterpointError, Forbidden, RateLimited, Unavailable
from counterpoint.kernel.places import add_lost, count_lost, find_prefix, take_lost
from counterpoint.kernel.visible import label
from counterpoint.protocol.limits import Shares
from counterpoint.protocol.sockets import Greeting
from counterpoint.protocol.wire.reports import Reported

GLANCE: Final = 1.0
"""Seconds between two times that something is written."""
PATIENCE: Final = 5.0
"""Seconds that the end waits for what is to be written."""
BATCH: Final = 200
"""Events that are written at once."""
MEMORY: Final = 16_000_000
"""Bytes that may wait."""
PLACE: Final = 4_000
"""Bytes of one place: a small event takes one, a large one as many as it has."""

logger = logging.getLogger(__name__)


class ReceivedEvent(NamedTuple):
    """What a hook said. host: the app of the database; app: that of who reports; tend: has the ledger signed that is written."""

    host: App
    app: App
    greeting: Greeting
    told: Reported
    tend: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiting:
    """An event in memory, and who reported it when."""

    heard: ReceivedEvent
    peer: Peer
    share: str
    places: int
    at: Timestamp

    @property
    def prefix(self) -> str:
        """What the files of the meeting point begin with."""
        return find_prefix(str(self.heard.host.database))

    def attested(self) -> tuple[Core, Attested]:
        """Return the core as nobody in particular, and who stands behind the hook; Forbidden for a wrong credential."""
        app, host = self.heard.app, self.heard.host
        app.share(host)
        core = app.core(app.agent())
        return core, core.identities.attest(self.peer, host.connected, app.credential)

    def core(self) -> tuple[str, Core]:
        """Return who reports, and the core as his hook may use it."""
        unknown, attested = self.attested()
        app, client = self.heard.app, label(self.heard.told.client)
        principal = attested.principal
        who = principal.id if principal else f"uid {self.heard.greeting.peer.user} {client}"
        capability = capability_of("hook", who, app.settings.session)
        identity = app.agent()
        session, seat = unknown.identities.recall(capability, identity.session)
        name = app.settings.agent or attested.name or client or identity.name
        hook_identity = replace(identity, name=name, client=f"{client} hook", capability=capability)
        return who, app.core(replace(hook_identity, session=session, seat=seat, attested=attested))


@dataclass(kw_only=True)
class HookEvents:
    """The events of hooks that wait here to be written down. memory: how many bytes may wait."""

    memory: int = MEMORY
    _waiting: list[_Waiting] = field(init=False, default_factory=list[_Waiting])
    _unsettled: int = field(init=False, default=0)
    """Events that count as lost and are in memory all the same."""
    _places: Shares = field(init=False)
    _over: threading.Event = field(init=False, default_factory=threading.Event)
    _thread: threading.Thread | None = field(init=False, default=None)
    _guard: threading.Lock = field(init=False, default_factory=threading.Lock)
    _said: str = field(init=False, default="")

    def __post_init__(self) -> None:
        """Begin with all places free."""
        self._places = Shares(self.memory // PLACE)

    def take(self, heard: ReceivedEvent) -> Callable[[bool], None]:
        """Take an event into memory; what is answered is called with whether the hook has heard so.

        RateLimited where too much waits, Forbidden for another account and where nothing may be written, Unavailable where
        it could not be counted as lost.
        """
        if heard.greeting.peer.user != os.getuid():
            raise Forbidden("hooks report to a server of their own account")
        if heard.app.settings.is_read_only:
            raise Forbidden("nothing is written in the mode READONLY")
        peer = peer_of(heard.greeting)
        share = share_of(peer, heard.host.connected, heard.app.credential)
        places = -(-max(1, len(heard.told.body)) // PLACE)
        event = _Waiting(
            heard=heard, peer=peer, share=share, places=places, at=heard.host.clock.now()
        )
        with self._guard:
            self._make_room(event)
            try:
                add_lost(event.prefix)
            except OSError as fault:
                self._leave(event.share, event.places)
                raise Unavailable(f"lost events cannot be counted: {fault}") from fault
            self._unsettled += 1
        return lambda is_heard: self._settle(event, is_heard=is_heard)

    def _make_room(self, event: _Waiting) -> None:
        """Take the places of an event; RateLimited."""
        had = 0
        while had < event.places and self._places.take(event.share):
            had += 1
        if had < event.places or self._over.is_set():
            self._leave(event.share, had)
            raise RateLimited(
                "too many events of hooks wait to be written",
                hint="They are counted; the next one that is kept says how many are missing.",
            )

    def _leave(self, share: str, places: int) -> None:
        for _ in range(places):
            self._places.give_back(share)

    def _settle(self, event: _Waiting, *, is_heard: bool) -> None:
        with self._guard:
            if is_heard:
                self._waiting.append(event)
                if self._thread is None and not self._over.is_set():
                    self._thread = threading.Thread(target=self._run, name="events", daemon=True)
                    self._thread.start()
                return
        # The hook has not waited so long, and counts it as lost itself.
        self._forget([event], told_count=1)

    def close(self) -> bool:
        """Write down what waits, and end. Return whether its thread has ended."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(PATIENCE)
        return self._thread is None or not self._thread.is_alive()

    def _run(self) -> None:
        while not self._over.wait(GLANCE):
            self.write()
        while self._waiting:
            self.write()

    def write(self) -> None:
        """Write down what waits, as much as one time takes."""
        with self._guard:
            taken, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
        groups: dict[tuple[str, str], tuple[Core, list[_Waiting]]] = {}
        for event in taken:
            try:
                who, core = event.core()
            except (CounterpointError, OSError) as fault:
                self._drop([event], fault)
            else:
                groups.setdefault((event.heard.app.project, who), (core, []))[1].append(event)
        for core, events in groups.values():
            self._write(core, events)

    def _write(self, core: Core, events: list[_Waiting]) -> None:
        try:
            with self._guard:
                missing = max(0, count_lost(events[0].prefix) - self._unsettled)
            core.runs.report(
                [
                    HookReport(
                        client=event.heard.told.client,
                        text=event.heard.told.body.decode("utf-8", "replace"),
                        size=event.heard.told.size,
                        at=event.at,
                    )
                    for event in events
                ],
                missing,
            )
            events[0].heard.tend()
        except (CounterpointError, OSError) as fault:
            self._drop(events, fault)
        else:
            self._forget(events, told_count=missing + len(events))

    def _drop(self, events: list[_Waiting], fault: CounterpointError | OSError) -> None:
        """Leave events counted as lost."""
        if str(fault) != self._said:
            logger.warning("Events of hooks are not written: %s", fault)
        self._said = str(fault)
        self._forget(events, told_count=0)

    def _forget(self, events: list[_Waiting], *, told_count: int) -> None:
        """Let go of events. told_count: how many are in the ledger by now, with those that it says are missing."""
        prefix = events[0].prefix
        with self._guard:
            for event in events:
                self._leave(event.share, event.places)
            # Both at once, or others would be told that these are missing.
            self._unsettled -= len(events)
            if told_count:
                take_lost(prefix, told_count)


def peer_of(greeting: Greeting) -> Peer:
    """Return who greets, as the kernel tells; without lineage if that process has ended."""
    caller = peer(greeting.peer.pid, lambda pid: pid == os.getpid())
    # Whoever is still there after the walk is who was looked at.
    return caller._replace(lineage=()) if greeting.peer.has_ended() else caller
