"""Subscriptions: the SDK's own client in both eras, over memory and over a pipe."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

from builders import Workshop
from counterpoint.kernel.errors import NotFound, StoreBusy
from counterpoint.protocol import live
from counterpoint.protocol.server import create_server

ABOUT, NOTES, OTHERS = "small://about", "small://items/cp-1/notes", "small://items/cp-2/notes"
OLD_WORDS = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")


@dataclass
class Log:
    """What changed, in order, for all who watch."""

    changes: list[str] = field(default_factory=list)
    grown: threading.Condition = field(default_factory=threading.Condition)
    faults: list[Exception] = field(default_factory=list)
    looks: int = 0

    def change(self, *uris: str) -> None:
        """Let resources change."""
        with self.grown:
            self.changes += uris
            self.grown.notify_all()

    def watch(self, _call: Any, position: int | None, seconds: float) -> tuple[int, list[str]]:
        """Wait for changes behind a position."""
        with self.grown:
            self.looks += 1
            if position is None:
                return len(self.changes), []
            if self.faults:
                raise self.faults.pop()
            self.grown.wait_for(lambda: len(self.changes) > position, seconds)
            return len(self.changes), self.changes[position:]


@pytest.fixture
def log() -> Log:
    """Give a log in which nothing has changed yet."""
    return Log()


Story = Callable[[Client], Awaitable[Any]]


@pytest.fixture
def talk(small: ModuleType, log: Log) -> Callable[..., Any]:
    """Give what runs a story with a client of a server that can be watched."""

    def run(story: Story, era: str = "2026-07-28", pushes: bool = True, **client: Any) -> Any:
        async def main() -> Any:
            server = create_server(
                small.build(watch=log.watch), lambda _: small.Call(), pushes=pushes
            )
            with anyio.fail_after(20):
                async with Client(server, mode=era, **client) as connected:
                    return await story(connected)

        return anyio.run(main)

    return run


class Heard:
    """The updates that a client of the eras before was sent."""

    def __init__(self) -> None:
        """Begin with none."""
        self.uris: list[str] = []
        self._more = anyio.Event()

    async def __call__(self, message: Any) -> None:
        """Note an update."""
        assert message.method == "notifications/resources/updated"
        self.uris.append(str(message.params.uri))
        self._more.set()

    async def until(self, count: int) -> list[str]:
        """Wait for so many updates and answer them all."""
        while len(self.uris) < count:
            self._more = anyio.Event()
            await self._more.wait()
        return self.uris


def test_a_listener_hears_what_it_asked_for_in_order(talk: Any, log: Log) -> None:
    """Changes of other resources, and of the time before, are not told."""
    log.change(NOTES)

    async def story(client: Client) -> list[str]:
        async with client.listen(resource_subscriptions=[ABOUT, NOTES]) as stream:
            log.change(NOTES, OTHERS, ABOUT)
            return [(await anext(stream)).uri for _ in range(2)]

    assert talk(story) == [NOTES, ABOUT]


def test_what_is_not_there_to_be_watched_is_not_honoured(talk: Any, log: Log) -> None:
    """The acknowledgement names the resources that the surface has, and no lists."""

    async def story(client: Client) -> Any:
        async with client.listen(
            tools_list_changed=True, resource_subscriptions=[ABOUT, "else://where"]
        ) as stream:
            return stream.honored

    honored = talk(story)
    assert honored.resource_subscriptions == [ABOUT]
    assert honored.tools_list_changed is None


def test_a_stream_for_nothing_stays_open_and_costs_no_look(talk: Any, log: Log) -> None:
    """A client that only asks for lists gets a silent stream, and other calls go on."""

    async def story(client: Client) -> None:
        async with client.listen(tools_list_changed=True) as stream:
            assert (await client.call_tool("echo", {"text": "x"})).structured_content
            assert stream.honored.resource_subscriptions is None

    talk(story)
    assert log.looks == 0


def test_two_listeners_hear_the_same_and_one_may_leave(talk: Any, log: Log) -> None:
    """Streams stand for themselves."""

    async def story(client: Client) -> None:
        async with client.listen(resource_subscriptions=[NOTES]) as stays:
            async with client.listen(resource_subscriptions=[NOTES]) as leaves:
                log.change(NOTES)
                assert (await anext(stays)).uri == (await anext(leaves)).uri == NOTES
            log.change(NOTES)
            assert (await anext(stays)).uri == NOTES

    talk(story)


def test_streams_that_ended_make_room(talk: Any, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is a most at once; whoever ends a stream gives its place back."""
    monkeypatch.setattr(live, "MOST_STREAMS", 1)

    async def story(client: Client) -> None:
        for _ in range(3):
            async with client.listen(resource_subscriptions=[NOTES]):
                with pytest.raises(MCPError, match="1 subscribers"):
                    async with client.listen(resource_subscriptions=[NOTES]):
                        pass
            await client.list_tools()

    talk(story)


@pytest.mark.parametrize("era", ["auto", "legacy"])
def test_the_capabilities_promise_what_is_kept(talk: Any, era: str) -> None:
    """Resources can be subscribed to; lists never change."""

    async def story(client: Client) -> Any:
        return client.server_capabilities

    found = talk(story, era)
    assert found.resources.subscribe is True
    assert not any(one.list_changed for one in (found.resources, found.tools, found.prompts))


def test_without_pushes_nothing_is_promised_to_the_old_eras(talk: Any) -> None:
    """Where connections do not last, there is no method and no capability."""

    async def story(client: Client) -> Any:
        return client.server_capabilities

    assert talk(story, "legacy", pushes=False).resources.subscribe is False
    assert talk(story, "auto", pushes=False).resources.subscribe is True


@OLD_WORDS
def test_a_subscriber_of_the_old_era_hears_until_it_unsubscribes(talk: Any, log: Log) -> None:
    """Updates come in order on the connection, for the addresses subscribed to."""
    heard = Heard()

    async def story(client: Client) -> None:
        await client.subscribe_resource(NOTES)
        await client.subscribe_resource(ABOUT)
        log.change(ABOUT, OTHERS, NOTES)
        assert await heard.until(2) == [ABOUT, NOTES]
        await client.unsubscribe_resource(ABOUT)
        log.change(ABOUT, NOTES)
        assert await heard.until(3) == [ABOUT, NOTES, NOTES]
        await client.unsubscribe_resource(NOTES)
        await client.unsubscribe_resource(NOTES)
        log.change(NOTES, ABOUT)
        await client.subscribe_resource(OTHERS)
        log.change(OTHERS)
        assert (await heard.until(4))[3:] == [OTHERS]

    talk(story, "legacy", message_handler=heard)


@OLD_WORDS
def test_an_address_that_is_none_is_refused(talk: Any, log: Log) -> None:
    """Its code is that of a resource that cannot be read."""

    async def story(client: Client) -> None:
        with pytest.raises(MCPError) as caught:
            await client.subscribe_resource("else://where")
        assert caught.value.error.code == -32602

    talk(story, "legacy")
    assert log.looks == 0


def test_a_watch_that_fails_for_good_ends_the_stream(talk: Any, log: Log) -> None:
    """One that can be tried again goes on."""

    async def story(client: Client) -> None:
        async with client.listen(resource_subscriptions=[NOTES]) as stream:
            log.faults.append(StoreBusy("a moment"))
            log.change(NOTES)
            assert (await anext(stream)).uri == NOTES
            log.change(NOTES)
            log.faults.append(NotFound("there is no project any more"))
            with pytest.raises(Exception, match="subscription"):
                [event async for event in stream]

    talk(story)


def test_a_slow_client_costs_a_fixed_amount(log: Log) -> None:
    """Updates of one address that nobody took yet become one once there are many."""

    async def main() -> Any:
        follower = live.Follower(log.watch, lambda: None, {NOTES, ABOUT}, lambda: None)
        follower._add([NOTES] * 10_000 + [ABOUT])
        return [await follower.next() for _ in range(len(follower._unsent))]

    told = anyio.run(main)
    assert len(told) < 300
    assert told[-1] == ABOUT


@pytest.mark.alike
@pytest.mark.e2e
@pytest.mark.parametrize("era", ["2026-07-28", "legacy"])
@pytest.mark.parametrize("words", [("--in-process",), ()])
@OLD_WORDS
def test_another_agent_writes_and_the_update_comes_over_the_pipe(
    workshop: Workshop, repository: Path, era: str, words: tuple[str, ...]
) -> None:
    """The whole way: another process appends to the ledger, the subscriber of an item hears."""
    ada = workshop.agent("ada")
    ada.does("plan", markdown="# Harbour\n- [ ] Dredge\n- [ ] Paint\n")
    tasks = [one["id"] for one in ada.does("list", kind="task")["items"]]
    first, second = (f"counterpoint://item/{task}" for task in tasks)
    heard = Heard()

    def note(item: str) -> None:
        ada.does("note", kind="comment", text="Ahoy", id=item)

    async def story(client: Client) -> list[str]:
        if era == "legacy":
            await client.subscribe_resource(first)
            await client.subscribe_resource(second)
            await anyio.to_thread.run_sync(note, tasks[1])
            await heard.until(1)
            await anyio.to_thread.run_sync(note, tasks[0])
            return await heard.until(2)
        async with client.listen(resource_subscriptions=[first, second]) as stream:
            await anyio.to_thread.run_sync(note, tasks[1])
            told = [(await anext(stream)).uri]
            await anyio.to_thread.run_sync(note, tasks[0])
            return [*told, (await anext(stream)).uri]

    async def main() -> list[str]:
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "counterpoint", "mcp", *words], cwd=str(repository)
        )
        with anyio.fail_after(30):
            handler = {"message_handler": heard} if era == "legacy" else {}
            async with Client(stdio_client(server), mode=era, **handler) as client:
                return await story(client)

    try:
        assert anyio.run(main) == [second, first]
    finally:
        end = [sys.executable, "-m", "counterpoint", "down"]
        subprocess.run(end, cwd=repository, capture_output=True, timeout=20, check=not words)


@pytest.mark.e2e
def test_a_client_that_leaves_in_the_middle_of_a_stream_ends_the_server(repository: Path) -> None:
    """Nobody is left to tell; the process goes at once and cleanly."""
    envelope = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    filters = {"resourceSubscriptions": ["counterpoint://ledger"]}
    ask = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "subscriptions/listen",
        "params": {"_meta": envelope, "notifications": filters},
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "counterpoint", "mcp", "--in-process"],
        cwd=repository,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(ask).encode() + b"\n")
    process.stdin.flush()
    heard = json.loads(process.stdout.readline())
    assert heard["method"] == "notifications/subscriptions/acknowledged"
    assert heard["params"]["notifications"] == filters
    process.stdin.close()
    assert process.wait(20) == 0
    process.stdout.close()
