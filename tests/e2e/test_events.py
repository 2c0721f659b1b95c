"""Live events of workflows: real servers, real clients, and followers that come and go."""

from __future__ import annotations

import asyncio
import http.client
import json
import random
import select
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from httpx2 import AsyncClient
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect as open_socket

from counterpoint.app import App
from counterpoint.core.model.filters import Note

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(240)]

PATIENCE = 120.0
TASKS = 2
"""Tasks that each writer does, in two phases."""
EVENTS = 2 + 2 * 4 + TASKS * 5
"""Events of one writer: its workflow's begin and end, its phases', and five of each task."""

Call = Callable[..., Any]


@pytest.fixture
def token(repository: Path, app: App, counterpoint: Any) -> Callable[[str], str]:
    """Give what makes tokens of a project that has begun; answers their secrets."""
    app.person().journal.append(Note(kind="comment", body="Ahoy"))

    def make(name: str) -> str:
        made = counterpoint("token", "create", name, cwd=repository)
        assert made.returncode == 0, made.stderr
        return str(made.stdout.strip())

    return make


@pytest.fixture
def up(repository: Path) -> Iterator[Callable[[], str]]:
    """Give what starts servers over HTTP, and answers the address of each."""
    running: list[subprocess.Popen[bytes]] = []

    def start() -> str:
        words = (sys.executable, "-m", "counterpoint", "up", "--port", "0")
        process = subprocess.Popen(words, cwd=repository, stderr=subprocess.PIPE)
        running.append(process)
        assert process.stderr is not None
        assert select.select([process.stderr], [], [], PATIENCE)[0]
        told = json.loads(process.stderr.readline())
        assert told["event"] == "listening", told
        return str(urlsplit(told["addresses"][0]).netloc)

    yield start
    for process in running:
        process.terminate()
        _, rest = process.communicate(timeout=PATIENCE)
        logged = [line for line in rest.splitlines() if b'"event":"log"' in line]
        assert (process.returncode, logged) == (0, [])


async def work(call: Call, name: str) -> None:
    """Do a workflow as the two protocols of the dialect say."""
    flow = (await call("start_workflow", name=name, objective="It floats"))["workflow_id"]
    for number in (1, 2):
        opening = {"workflow_id": flow, "number": number, "name": f"Phase {number}"}
        phase = (await call("start_phase", **opening, is_parallel=True))["phase_id"]
        for _ in range(TASKS // 2):
            words = {"caller_type": "subagent", "agent_name": name, "name": "Caulk", "goal": "Dry"}
            begun = await call("start_task", workflow_id=flow, phase_id=phase, **words)
            task = begun["task_id"]
            chosen = {"question": "What?", "chosen": "Tar", "reasoning": "Dry"}
            await call("log_decision", task_id=task, category="other", **chosen)
            await call("log_milestone", task_id=task, message="Half")
            await call(
                "log_issue", task_id=task, type="other", description="Cold", resolution="Wait"
            )
            outcome = {"summary": "Dry"}
            await call("complete_task", task_id=task, status="success", outcome=outcome)
        await call("complete_phase", phase_id=phase, status="completed")
    await call("complete_workflow", workflow_id=flow, status="completed", summary="It floats")


def work_over_http(address: str, name: str, token: str) -> None:
    """Do a workflow with the client of the SDK."""

    async def run() -> None:
        named = {"Authorization": f"Bearer {token}", "Counterpoint-Agent": name}
        url = f"http://{address}/mcp/workflow"
        async with (
            AsyncClient(headers=named, timeout=PATIENCE) as wire,
            Client(streamable_http_client(url, http_client=wire), mode="2026-07-28") as client,
        ):

            async def call(tool: str, **arguments: Any) -> Any:
                result = await client.call_tool(tool, arguments)
                assert not result.is_error, result.content
                return result.structured_content

            await work(call, name)

    asyncio.run(asyncio.wait_for(run(), PATIENCE))


def work_over_pipes(client: Any, name: str) -> None:
    """Do a workflow with a server of one's own on the same database."""

    async def call(tool: str, **arguments: Any) -> Any:
        return client.call(tool, **arguments)

    asyncio.run(work(call, name))


@dataclass(kw_only=True)
class Follower:
    """Somebody who hears some events, is cut off, and comes back with the last id."""

    address: str
    token: str
    event_count: int
    query: str = ""
    last: str = "-1"
    visits: int = 0
    heard: list[tuple[str, str, Any]] = field(default_factory=list)

    def _take(self, place: str, name: str, data: Any) -> None:
        self.last = place
        self.heard.append((place, name, data))

    def on_sockets(self) -> None:
        """Hear all that is wanted, on WebSockets that break at any moment."""
        chance = random.Random(1)  # noqa: S311 -- a story that can be told again
        while len(self.heard) < self.event_count:
            self.visits += 1
            url = f"ws://{self.address}/events/workflow?after={self.last}{self.query}"
            words = ["counterpoint.events", f"bearer.{self.token}"]
            # Behind events that nobody reads any more the client would not see the answer to its goodbye.
            with open_socket(url, subprotocols=words, max_queue=None) as wire:
                for _ in range(chance.randint(1, 20)):
                    message = json.loads(wire.recv(PATIENCE))
                    assert message["event"] != "error", message
                    if ":" in message["event"]:
                        self._take(message["id"], message["event"], message["data"])
                    if len(self.heard) >= self.event_count:
                        break
                if chance.random() < 0.5:
                    wire.socket.close()

    def on_streams(self) -> None:
        """Hear all that is wanted, on streams that break at any moment."""
        chance = random.Random(2)  # noqa: S311 -- a story that can be told again
        while len(self.heard) < self.event_count:
            self.visits += 1
            wire = http.client.HTTPConnection(self.address, timeout=PATIENCE)
            headers = {"Authorization": f"Bearer {self.token}", "Last-Event-ID": self.last}
            wire.request("GET", f"/events/workflow?{self.query}", headers=headers)
            got = wire.getresponse()
            assert got.status == 200, got.read()
            self._read(got, chance.randint(1, 20))
            got.close()
            wire.close()

    def _read(self, got: http.client.HTTPResponse, count: int) -> None:
        found: dict[str, str] = {}
        while count and len(self.heard) < self.event_count:
            name, _, text = got.readline().decode().rstrip("\n").partition(":")
            if name:
                found[name] = text.strip()
            elif "data" in found:
                self._take(found["id"], found["event"], json.loads(found["data"]))
                count, found = count - 1, {}
            else:
                found = {}


@pytest.mark.long
def test_followers_that_come_and_go_miss_nothing_and_hear_nothing_twice(
    up: Callable[[], str], repository: Path, token: Callable[[str], str], connect: Any
) -> None:
    """Four agents write, two of them through servers of their own; both ways to follow agree."""
    secret = token("ci")
    address = up()
    pipes = [
        connect(repository, "--in-process", "--surface", "workflow", "--agent", f"pipe-{n}")
        for n in range(2)
    ]
    socket, stream = (
        Follower(address=address, token=secret, event_count=4 * EVENTS) for _ in range(2)
    )
    jobs: list[Callable[[], None]] = [socket.on_sockets, stream.on_streams]
    jobs += [lambda n=n: work_over_http(address, f"http-{n}", secret) for n in range(2)]
    jobs += [lambda n=n, c=c: work_over_pipes(c, f"pipe-{n}") for n, c in enumerate(pipes)]
    run_together(jobs)

    again = Follower(address=address, token=secret, event_count=4 * EVENTS)
    again.on_streams()
    places = [place for place, _, _ in again.heard]
    order = [tuple(map(int, place.split("."))) for place in places]
    assert order == sorted(set(order))
    for follower in (socket, stream):
        assert follower.visits > 4
        assert [one[:2] for one in follower.heard] == [one[:2] for one in again.heard]
    assert Counter(name for _, name, _ in again.heard) == {
        "workflow:created": 4, "workflow:updated": 4 * 5, "phase:created": 8, "phase:updated": 8,
        "task:created": 4 * TASKS, "task:updated": 4 * TASKS, "decision:created": 4 * TASKS,
        "issue:created": 4 * TASKS, "milestone:created": 4 * TASKS,
    }  # fmt: skip
    assert_told_by_workflow(again)
    flow = again.heard[-1][2]["workflow_id"]
    mine = [one for one in again.heard if one[2]["workflow_id"] == flow]
    only = Follower(address=address, token=secret, event_count=len(mine), query=f"&about={flow}")
    only.on_sockets()
    assert [one[:2] for one in only.heard] == [one[:2] for one in mine]


def assert_told_by_workflow(follower: Follower) -> None:
    """Check that each workflow's own story is in order: begins before ends, all of it there."""
    stories: dict[str, list[tuple[str, Any]]] = {}
    for _, name, data in follower.heard:
        stories.setdefault(data["workflow_id"], []).append((name, data))
    assert [len(story) for story in stories.values()] == [EVENTS] * 4
    for story in stories.values():
        assert story[0][0] == "workflow:created"
        assert story[-1][1]["workflow"]["status"] == "COMPLETED"
        open_tasks: set[str] = set()
        for name, data in story:
            if name == "task:created":
                open_tasks.add(data["task_id"])
            elif name == "task:updated":
                assert data["task"]["status"] == "SUCCESS"
                open_tasks.remove(data["task_id"])
            elif "task_id" in data:
                assert data["task_id"] in open_tasks
        assert not open_tasks


def run_together(jobs: list[Callable[[], None]]) -> None:
    """Run jobs at once; raise what one of them raised."""
    faults: list[BaseException] = []

    def run(job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as fault:
            faults.append(fault)
            raise

    threads = [threading.Thread(target=run, args=(job,), daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert faults == []
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.long
def test_a_follower_ends_with_its_token_and_with_its_server(
    up: Callable[[], str], repository: Path, token: Callable[[str], str], counterpoint: Any
) -> None:
    """And learns which of both it was."""
    first, second = token("a"), token("b")
    url = f"ws://{up()}/events/workflow"
    with (
        open_socket(url, additional_headers={"Authorization": f"Bearer {first}"}) as one,
        open_socket(url, additional_headers={"Authorization": f"Bearer {second}"}) as other,
    ):
        assert json.loads(one.recv(PATIENCE))["event"] == "following"
        assert json.loads(other.recv(PATIENCE))["event"] == "following"
        counterpoint("token", "revoke", "a", cwd=repository)
        assert json.loads(one.recv(PATIENCE))["data"]["error"] == "forbidden"
        assert code_of(one) == 1008
        assert counterpoint("down", cwd=repository).returncode == 0
        assert code_of(other) == 1012


def code_of(wire: Any) -> int:
    """Answer the code with which the server closes."""
    with pytest.raises(ConnectionClosed) as closed:
        wire.recv(PATIENCE)
    return closed.value.rcvd.code
