"""Events of hooks in the memory of a server: bounded, shared, counted."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from counterpoint.app import App, open_app
from counterpoint.cli.server.events import PLACE, HookEvents, ReceivedEvent
from counterpoint.cli.server.serving import ConnectionApps
from counterpoint.kernel.errors import Forbidden, RateLimited, Unavailable
from counterpoint.kernel.places import count_lost, find_prefix
from counterpoint.protocol.peers import PeerProcess
from counterpoint.protocol.sockets import Greeting
from counterpoint.protocol.wire.reports import Reported

Hear = Callable[..., ReceivedEvent]


@pytest.fixture
def host(place: Path) -> App:
    """Give the app of a server."""
    app = open_app(place, {})
    assert app.person().audit.log(limit=1)
    return app


@pytest.fixture
def hear(host: App, place: Path) -> Hear:
    """Give what answers an event that a hook reports, as one that has a credential."""

    def heard(credential: str = "", size: int = 2, user: int = -1, **more: str) -> ReceivedEvent:
        environ = {"COUNTERPOINT_CREDENTIAL": credential, **more}
        peer = PeerProcess(pid=os.getpid(), user=os.getuid() if user < 0 else user)
        greeting = Greeting(flags={}, environ=environ, folder=str(place), version="", peer=peer)
        body = b"{" + b" " * (size - 2) + b"}"
        told = Reported(client="claude", body=body, size=size)
        return ReceivedEvent(host, open_app(place, environ), greeting, told, lambda: None)

    return heard


@pytest.fixture
def lost(host: App) -> Callable[[], int]:
    """Give what answers how many events are in no ledger."""
    return lambda: count_lost(find_prefix(str(host.database)))


def test_who_floods_leaves_room_for_others(hear: Hear, lost: Callable[[], int]) -> None:
    """He has half of the memory at most; what is refused is for the hook to count."""
    events = HookEvents(memory=8 * PLACE)
    for _ in range(4):
        events.take(hear("flood"))
    with pytest.raises(RateLimited):
        events.take(hear("flood"))
    with pytest.raises(RateLimited):
        events.take(hear("large", size=3 * PLACE))
    events.take(hear("other"))
    assert lost() == 5


def test_what_is_in_memory_counts_as_lost_until_it_is_written(
    host: App, hear: Hear, lost: Callable[[], int]
) -> None:
    """What could not be written stays so, and the next that is written says how many are missing."""
    events = HookEvents()
    events.take(hear("wrong"))(True)
    assert lost() == 1
    assert events.close()
    assert lost() == 1
    again = HookEvents()
    settle = again.take(hear())
    assert lost() == 2
    settle(True)
    assert again.close()
    assert lost() == 0
    (entry, *_) = host.itself().audit.log(action="run.ingested", limit=9)[::-1]
    assert entry.facts["missing"] == 1


def test_what_the_hook_did_not_wait_for_is_its_own_to_count(
    hear: Hear, lost: Callable[[], int]
) -> None:
    events = HookEvents()
    events.take(hear())(False)
    assert (events.close(), lost()) == (True, 0)


def test_nothing_is_taken_where_nothing_may_be_written(
    host: App, hear: Hear, lost: Callable[[], int]
) -> None:
    """Nor from another account, nor after the end, nor what could not be counted."""
    events = HookEvents()
    with pytest.raises(Forbidden):
        events.take(hear(COUNTERPOINT_MODE="READONLY"))
    with pytest.raises(Forbidden):
        events.take(hear(user=os.getuid() + 1))
    assert lost() == 0
    Path(f"{find_prefix(str(host.database))}.lost").mkdir()
    with pytest.raises(Unavailable):
        events.take(hear())
    events.close()
    with pytest.raises(RateLimited):
        events.take(hear())


def test_an_agent_waits_for_no_database(host: App, hear: Hear) -> None:
    """To take an event in opens none: of each hook another one would stay open."""
    apps = ConnectionApps(host=host)
    one = hear()
    apps.hear(one.greeting, one.told)
    before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(3):
        apps.hear(one.greeting, one.told)
    assert len(list(Path("/dev/fd").iterdir())) == before
