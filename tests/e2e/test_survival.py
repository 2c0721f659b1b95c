"""Work survives its worker: clients that nothing tells apart by name, and clients that are killed and come again."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from counterpoint.protocol.rendezvous import find_rendezvous
from fakes.callers import CLIENT, Caller, Server

pytestmark = [pytest.mark.e2e, pytest.mark.faults, pytest.mark.durable, pytest.mark.timeout(180)]

MANY = 16
TASKS = 6
PLAN = "# Orchard\n" + "".join(f"- [ ] Tree {number}\n" for number in range(TASKS))
Tried = tuple[bool, dict[str, Any]]
"""Whether a call was answered, and what was answered or refused."""


class OverHttp:
    """A client over HTTP that shares its token with all others, and its name too."""

    def __init__(self, server: Server, token: str, *, is_bare: bool = False) -> None:
        """Shake hands; a bare one brings no session, as clients of the newest protocol do."""
        self._caller = Caller(server, token)
        self._more = {"mcp_session_id": ""} if is_bare else {}
        self.has_session = not is_bare

    def tries(self, tool: str, **arguments: Any) -> Tried:
        """Call a tool, whatever comes of it."""
        result = self._caller.call(tool, self._more, **arguments)
        return not result.get("isError"), result["structuredContent"]


class OverPipe:
    """A client over standard streams, started by the same process as all others."""

    def __init__(self, wire: ModuleType, folder: Path, *words: str, **environ: str) -> None:
        """Start what a configuration starts, and shake hands."""
        self._wire = wire
        self.client = wire.Client(folder, (*wire.SERVER, *words), environ)
        self.client.greet(CLIENT)

    def tries(self, tool: str, **arguments: Any) -> Tried:
        """Call a tool, whatever comes of it."""
        try:
            return True, self.client.call(tool, **arguments)
        except self._wire.Refused as refused:
            return False, refused.answer

    def does(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must succeed."""
        is_done, answer = self.tries(tool, **arguments)
        assert is_done, answer
        return answer


@pytest.fixture
def crowd(
    request: pytest.FixtureRequest, repository: Path, wire: ModuleType, tmp_path: Path
) -> Iterator[list[Any]]:
    """Give clients that have everything in common but their connection."""
    with ExitStack() as held:
        if request.param in {"relay", "in-process"}:
            words = ("--in-process",) if request.param == "in-process" else ()
            made: list[Any] = [
                OverPipe(wire, repository, *words) for _ in range(4 if words else MANY)
            ]
            for one in made:
                held.callback(one.client.close)
        else:
            ran = request.getfixturevalue("counterpoint")
            assert ran("init", "--yes", cwd=repository).returncode == 0
            token = ran("token", "create", "shared", cwd=repository).stdout.strip()
            server = Server(repository)
            held.callback(server.close)
            is_bare = request.param == "http-bare"
            made = [OverHttp(server, token, is_bare=is_bare) for _ in range(MANY)]
        yield made


def at_once(crowd: list[Any], act: Callable[[Any], Tried]) -> list[Tried]:
    """Have all do something at the same moment; answer what each heard."""
    line = threading.Barrier(len(crowd))

    def run(one: Any) -> Tried:
        line.wait(60)
        return act(one)

    with ThreadPoolExecutor(len(crowd)) as pool:
        return list(pool.map(run, crowd))


@pytest.mark.alike
@pytest.mark.parametrize("crowd", ["http-bare", "relay", "in-process", "http"], indirect=True)
def test_of_clients_that_share_name_and_token_each_task_is_got_by_one(crowd: list[Any]) -> None:
    """Whoever asks for what another has is refused; whoever asks for any task gets another one, or none.

    Four notes under one key are four notes, where anything tells who calls.
    """
    assert crowd[0].tries("plan", markdown=PLAN)[0]
    heard = at_once(crowd, lambda one: one.tries("start", id="demo-2"))
    won = [answer for is_done, answer in heard if is_done]
    (token,) = (answer["claim"]["token"] for answer in won)
    # Where nothing else tells them apart, it is one that none of the others can guess.
    assert token == 1 or (isinstance(crowd[0], OverHttp) and not crowd[0].has_session)
    lost = [answer for is_done, answer in heard if not is_done]
    assert {answer["error"] for answer in lost} == {"already_claimed"}
    heard = at_once(crowd, lambda one: one.tries("next", claim=True))
    got = [answer["item"]["id"] for is_done, answer in heard if is_done and "item" in answer]
    assert len(got) == len(set(got))
    assert set(got) <= {f"demo-{number}" for number in range(3, TASKS + 2)}
    assert len(got) == min(len(crowd), TASKS - 1)
    if not isinstance(crowd[0], OverHttp) or crowd[0].has_session:
        refuse_shared_keys(crowd[:4])


def refuse_shared_keys(four: list[Any]) -> None:
    """Show that four notes under one key are four notes, and that each hears its own again."""
    said = {"kind": "comment", "text": "seen", "idempotency_key": "import-1"}
    first, again = (at_once(four, lambda one: one.tries("note", **said)) for _ in range(2))
    assert first == again
    assert len({answer["record"]["id"] for _, answer in first}) == len(four)


@pytest.mark.long
def test_what_is_held_without_a_session_is_its_own_who_knows_the_token(
    repository: Path, counterpoint: Callable[..., Any]
) -> None:
    """Of clients of one token that bring no session nothing tells one from the other: so nothing but `start` tells the token.

    It cannot be guessed, neither from how it was refused; and what was left by one of them is offered to no other.
    """
    assert counterpoint("init", "--yes", cwd=repository).returncode == 0
    token = counterpoint("token", "create", "shared", cwd=repository).stdout.strip()
    with closing(Server(repository)) as server:
        first, second = (OverHttp(server, token, is_bare=True) for _ in range(2))
        assert first.tries("plan", markdown=PLAN)[0]
        _, begun = first.tries("start", id="demo-2")
        proof = begun["claim"]["token"]
        assert second.tries("start", id="demo-2")[1]["error"] == "already_claimed"
        assert not second.tries("finish", id="demo-2", **DONE)[0]
        told = {
            json.dumps(
                second.tries("finish", id="demo-2", token=tried, **DONE)[1] | {"message": ""}
            )
            for tried in (1, proof - 1, proof + 1, 2**52)
        }
        assert len(told) == 1
        asked = [
            second.tries("brief")[1],
            second.tries("show", id="demo-2", include=["history"])[1],
            *(second.tries("handoff", action=act, summary="x")[1] for act in ("pause", "resume")),
        ]
        assert "continue" not in asked[0]
        assert asked[0]["others_at_work"][0]["id"] == "demo-2"
        assert str(proof) not in json.dumps(asked)
        assert first.tries("finish", id="demo-2", token=proof, **DONE)[0]


@pytest.mark.long
def test_who_calls_over_http_goes_on_at_once_when_the_server_was_killed_and_started_again(
    repository: Path, counterpoint: Callable[..., Any]
) -> None:
    """With the session that it has, on every surface, which offers first what was begun; nobody shakes hands again.

    Also the official client, which never hears that it was another server.
    """
    assert counterpoint("init", "--yes", cwd=repository).returncode == 0
    server = Server(repository)
    native, flow, plans, strict = (
        Caller(server, surface=name) for name in ("", "workflow", "agentic", "colibri")
    )
    native.does("plan", markdown=PLAN)
    proof = {"id": "demo-2", "token": native.does("start", id="demo-2")["claim"]["token"]}
    work = {"workflow_id": flow.does("start_workflow", name="W", objective="O")["workflow_id"]}
    phase = flow.does("start_phase", **work, number=1, name="P")["phase_id"]
    asked = {"caller_type": "subagent", "agent_name": "ada", "name": "T", "goal": "G"}
    task = flow.does("start_task", **work, phase_id=phase, **asked)["task_id"]
    flow.does("log_milestone", task_id=task, message="Half", progress=50)
    plan = plans.does("plan_create", title="P", phases=[{"name": "A", "tasks": ["one"]}])
    slug = {"plan_slug": plan["plan"]["slug"]}
    plans.does("plan_update_status", slug=slug["plan_slug"], status="active")
    session = plans.does("session_start", agent_type="opus", **slug)["session"]["session_id"]
    step = {**slug, "phase_order": 1, "task_identifier": "one"}
    plans.does("task_update", **step, status="in_progress")
    audit = strict.does("audit_session_start", intent="Look")["data"]["session_id"]

    sent = {"authorization": f"Bearer {server.token}"}

    async def official() -> Server:
        async with (
            httpx2.AsyncClient(headers=sent) as wire,
            Client(streamable_http_client(server.url, http_client=wire), mode="legacy") as sdk,
        ):
            begun = await sdk.call_tool("start", {"id": "demo-3"})
            again = server.kill(repository)
            held = await sdk.call_tool("brief", {})
            assert [begun.is_error, held.is_error] == [False, False]
            told: dict[str, Any] = held.structured_content or {}
            proof = {"id": "demo-3", "token": told["continue"][0]["token"]}
            ended = await sdk.call_tool("finish", {**proof, **DONE})
            assert not ended.is_error, ended
            return again

    with closing(asyncio.run(official())) as again:
        for one in (native, flow, plans, strict):
            one.move(again)
        brief = native.does("brief")
        native.does("finish", **proof, **DONE)
        context = flow.does("get_context", **work, include=["tasks"])
        (left,) = context["continue"]["tasks"]
        assert (left["task_id"], left["left"]["text"]) == (task, "Half")
        again_begun = flow.does("start_workflow", name="V", objective="O")
        assert again_begun["continue"]["tasks"] == context["continue"]["tasks"]
        flow.does("complete_task", task_id=task, status="success", outcome={"summary": "It stands"})
        listed = plans.does("session_list")
        (mine,) = listed["continue"]["sessions"]
        assert (mine["session_id"], mine["tasks"][0]["title"]) == (session, "one")
        plans.does("task_update", **step, status="completed")
        actions = strict.does("task_next_actions")["data"]
        assert actions["continue"]["sessions"][0]["session_id"] == audit
        assert {next(iter(one)) for one in (brief, context, actions)} == {"continue"}
        thought = {"content": "Still here", "type": "decision", "agent_id": "ada"}
        about = {"task_id": strict.does("task_create", title="A")["data"]["id"]}
        strict.does("thought_record", **thought, **about, session_id=audit)


THREAD = "01a0c3f2-7d10-7c61-a3c5-6f5b8f3f6a11"
BELOW = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"
"""An agent's process, which starts what its configuration says."""
DONE = {"outcome": "done", "summary": "It stands"}


class Agent(OverPipe):
    """An agent: a process of its own, and below it what it has started."""

    def __init__(self, wire: ModuleType, folder: Path, thread: str = "", **environ: str) -> None:
        """Start it. thread: what it names in each call, as Codex does."""
        self._wire = wire
        self.named = {"threadId": thread} if thread else {}
        self._turn = 0
        words = (sys.executable, "-c", BELOW, *wire.SERVER)
        self.client = wire.Client(folder, words, environ, start_new_session=True)
        self.client.greet(CLIENT)

    def tries(self, tool: str, **arguments: Any) -> Tried:
        """Call a tool, whatever comes of it; each call has another number for its progress."""
        self._turn += 1
        meta = {"progressToken": self._turn, "x-codex-turn-metadata": {"turn": self._turn}}
        params = {"name": tool, "arguments": arguments, "_meta": meta | self.named}
        result = self.client.ask("tools/call", params if self.named else params | {"_meta": {}})
        return not result.get("isError"), result["structuredContent"]

    def relay(self) -> int:
        """Answer the number of the relay's process."""
        pid = self.client.process.pid
        (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return int(child)

    def die(self) -> None:
        """Be killed, with all that it has started."""
        os.killpg(self.client.process.pid, signal.SIGKILL)
        self.client.process.wait(60)


@pytest.fixture
def agents(repository: Path, wire: ModuleType) -> Iterator[Callable[..., Agent]]:
    """Give what starts agents in the repository."""
    with ExitStack() as held:

        def start(**more: str) -> Agent:
            made = Agent(wire, repository, **more)
            held.callback(made.client.close)
            return made

        yield start


def begin(agent: OverPipe, folder: Path) -> tuple[str, dict[str, Any]]:
    """Have somebody take a task up and change a file; answer its session, and how the claim is proved."""
    agent.does("plan", markdown=PLAN)
    token = agent.does("start", id="demo-2")["claim"]["token"]
    (folder / "tree.txt").write_text("planted\n")
    return agent.does("brief")["you"]["session"], {"id": "demo-2", "token": token}


@pytest.mark.parametrize("says", ["CLAUDE_CODE_SESSION_ID", "thread", "COUNTERPOINT_CREDENTIAL"])
def test_an_agent_that_is_killed_and_started_again_goes_on_at_once(
    agents: Callable[..., Agent], repository: Path, counterpoint: Callable[..., Any], says: str
) -> None:
    """As another process, with the session of its own that its client names, or the credential it was given.

    Its claim, its token and what it began with are there; who says nothing of that kind waits for the time of grace.
    """
    assert counterpoint("init", "--yes", cwd=repository).returncode == 0
    said = THREAD
    if says == "COUNTERPOINT_CREDENTIAL":
        said = counterpoint("agent", "create", "ada", cwd=repository).stdout.strip()
    before = agents(**{says: said})
    session, claim = begin(before, repository)
    beside = agents(**{says: "another"} if says == "thread" else {})
    assert beside.tries("start", id="demo-2")[1]["error"] == "already_claimed"
    before.die()
    assert beside.tries("start", id="demo-2")[1]["error"] == "already_claimed"
    again = agents(**{says: said})
    assert again.does("brief")["you"]["session"] == session
    ended = again.does("finish", **claim, **DONE)
    assert [file["path"] for file in ended["evidence"]["files"]] == ["tree.txt"]


def test_a_relay_that_is_killed_with_its_server_and_started_again_goes_on(
    wire: ModuleType, repository: Path
) -> None:
    """By the process that started both; one that ended in order is not taken for it."""
    first = OverPipe(wire, repository)
    session, claim = begin(first, repository)
    told = find_rendezvous(repository / ".counterpoint" / "ledger.db").ask("status")
    assert told is not None
    os.kill(told["pid"], signal.SIGKILL)
    first.client.kill()
    again = OverPipe(wire, repository)
    assert again.does("brief")["you"]["session"] == session
    ended = again.does("finish", **claim, **DONE)
    assert [file["path"] for file in ended["evidence"]["files"]] == ["tree.txt"]
    again.does("start", id="demo-3")
    # A server leaves with its last client, and the next one would not know who was there.
    beside = OverPipe(wire, repository)
    assert beside.does("brief")["you"]["session"] != session
    again.client.close()
    later = OverPipe(wire, repository)
    brief = later.does("brief")
    assert brief["you"]["session"] != session
    # Known as the process that had it all the same: it is told what it can go on with, and how.
    assert (brief["continue"][0]["id"], brief["continue"][0]["session"]) == ("demo-3", session)
    claim = later.does(brief["next_call"]["tool"], **brief["next_call"]["arguments"])
    token = claim["claims"][0]["token"]
    later.does("finish", id="demo-3", token=token, **DONE)
    for one in (first, beside, later):
        one.client.close()


def test_conversations_that_one_process_has_are_sessions_of_their_own(
    wire: ModuleType, repository: Path
) -> None:
    """As in Codex's desktop program, which starts one process for all of them."""
    one = Agent(wire, repository, thread="a")
    session, claim = begin(one, repository)
    one.named = {"threadId": "b"}
    assert one.does("brief")["you"]["session"] != session
    assert one.tries("finish", **claim, **DONE)[1]["error"] == "claim_lost"
    assert one.tries("start", id="demo-2")[1]["error"] == "already_claimed"
    one.named = {"threadId": "a"}
    one.does("finish", **claim, **DONE)
    one.client.close()
