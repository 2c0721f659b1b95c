"""Agents that are killed: who is gone is free, in every list and for every claim, on both databases."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from builders import commit

pytestmark = [pytest.mark.e2e, pytest.mark.faults, pytest.mark.timeout(120)]

LAUNCH = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"
"""An agent's process: it starts what its configuration says, and waits for it. What it has open, the test has too."""
PLAN = (
    "# Orchard\n## Trees\n- [ ] Oak\n  - areas: wood\n- [ ] Elm\n  - areas: wood/elm\n- [ ] Sea\n"
)
LIMIT = 60.0


class Agent:
    """An agent with a process of its own, as clients have."""

    def __init__(self, wire: ModuleType, folder: Path, name: str, environ: dict[str, str]) -> None:
        """Start it and shake hands."""
        words = (sys.executable, "-c", LAUNCH, *wire.SERVER, "--agent", name)
        self.client = wire.Client(folder, words, environ)
        self.client.greet(name)
        self.call = self.client.call

    def kill(self) -> None:
        """Kill the agent's process with SIGKILL; the pipes of its relay stay open."""
        self.client.process.send_signal(signal.SIGKILL)
        self.client.process.wait(LIMIT)


@pytest.fixture
def environ(where: str) -> dict[str, str]:
    """Give the settings of a team that has a database: a short time of grace."""
    del where
    return {"COUNTERPOINT_GRACE_SECONDS": "4"}


@pytest.fixture
def start(
    wire: ModuleType, repository: Path, environ: dict[str, str]
) -> Iterator[Callable[[str], Agent]]:
    """Give what starts an agent in the repository."""
    with ExitStack() as held:

        def begin(name: str) -> Agent:
            agent = Agent(wire, repository, name, environ)
            held.callback(agent.client.close)
            return agent

        yield begin


def until(look: Callable[[], Any]) -> Any:
    """Answer what a look finds, as soon as it finds anything."""
    end = time.monotonic() + LIMIT
    while not (found := look()):
        assert time.monotonic() < end, "nothing was found in time"
    return found


def ready(agent: Agent) -> dict[str, list[str]]:
    """Answer what an agent is offered, with why, in the order in which it is."""
    return {one["id"]: one["why"] for one in agent.call("next")["ready"]}


BOTH = pytest.mark.parametrize("where", ["sqlite", "postgresql"], indirect=True)


@pytest.mark.alike
@BOTH
def test_what_a_killed_agent_held_is_refused_until_the_grace_is_over_and_then_offered_everywhere(
    start: Callable[[str], Agent],
    wire: ModuleType,
    counterpoint: Callable[..., Any],
    repository: Path,
    environ: dict[str, str],
) -> None:
    """The refusal says when it will be free; its areas are not busy any more; `next` says why it is offered."""
    ann, ben = start("ann"), start("ben")
    ann.call("plan", markdown=PLAN)
    ann.call("start", id="demo-3")
    assert "demo-4" not in ready(ben)
    ann.kill()

    def departure() -> Any:
        return ben.call("show", id="demo-3").get("held_by", {}).get("gone")

    gone = until(departure)
    with pytest.raises(wire.Refused) as refused:
        ben.call("start", id="demo-3")
    told = json.dumps(refused.value.answer)
    assert gone["free_at"] in told
    assert f"gone since {gone['since']}" in told
    offered = until(lambda: (found := ready(ben)) and "demo-3" in found and found)
    (why,) = (one for one in offered["demo-3"] if "gone" in one)
    assert why == f"its holder ann is gone since {gone['since']}; you take it over"
    assert "demo-4" in offered

    def ran(*words: str) -> str:
        done = counterpoint(*words, cwd=repository, env={**os.environ, **environ})
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "its holder ann is gone since" in ran("next")
    assert "Oak" in ran("list", "--ready")
    for words in (["status"], ["show", "demo-3"]):
        assert "free for others" in ran(*words)
    assert ben.call("start", id="demo-3")["claim"]["token"] == 2


@pytest.mark.parametrize("where", ["sqlite"], indirect=True)
def test_without_its_server_an_agents_process_says_whether_it_is_gone(
    start: Callable[[str], Agent],
    counterpoint: Callable[..., Any],
    repository: Path,
    environ: dict[str, str],
) -> None:
    """Who lives keeps what he holds when the server is killed; who was killed with it does not."""
    ann, ben = start("ann"), start("ben")
    ann.call("plan", markdown=PLAN)
    ann.call("start", id="demo-3")
    ben.call("start", id="demo-5")
    folder = repository / ".counterpoint"
    (known,) = folder.glob("*.json")
    server = int(json.loads(known.read_text())["pid"])
    os.kill(server, signal.SIGKILL)
    ann.kill()
    cid = start("cid")
    offered = until(lambda: (found := ready(cid)) and "demo-3" in found and found)
    assert "demo-5" not in offered
    assert cid.call("start", id="demo-3")["claim"]["token"] == 2
    assert ben.call("note", id="demo-5", kind="comment", text="still here")


@pytest.mark.alike
@BOTH
def test_the_next_client_of_the_same_folder_is_offered_first_what_the_one_before_left(
    start: Callable[[str], Agent],
) -> None:
    """Whatever its priority; others have it in its place."""
    ann, ben = start("ann"), start("ben")
    ann.call("plan", markdown=PLAN)
    ann.call("start", id="demo-5")
    ann.kill()
    again = start("ann")
    until(lambda: "demo-5" in ready(ben))
    assert next(iter(ready(again))) == "demo-5"
    assert next(iter(ready(ben))) != "demo-5"
    assert again.call("next", claim=True)["claim"]["item"] == "demo-5"


@pytest.mark.alike
@pytest.mark.parametrize("where", ["sqlite"], indirect=True)
@pytest.mark.parametrize("tool", ["start", "next"])
def test_a_take_over_of_who_was_killed_begins_with_the_tree_as_it_is(
    start: Callable[[str], Agent], repository: Path, tool: str
) -> None:
    """What the dead agent left is listed apart, its commits too; what the next one does is its own."""
    ann, ben = start("ann"), start("ben")
    ann.call("plan", markdown=PLAN)
    ann.call("start", id="demo-3")
    commit(repository, "wood/a", "a")
    (repository / "wood/b").write_text("b")
    ann.kill()
    until(lambda: "demo-3" in ready(ben))
    asked = {"id": "demo-3"} if tool == "start" else {"claim": True}
    token = ben.call(tool, **asked)["claim"]["token"]
    (repository / "wood/c").write_text("c")
    done = ben.call("finish", id="demo-3", token=token, outcome="done", summary="Done")
    assert [file["path"] for file in done["evidence"]["files"]] == ["wood/c"]
    assert [(part["by"], part["files"]) for part in done["evidence"]["apart"]] == [("ann", 2)]
    remark = "2 files and 1 commit left from ann, before the take-over: wood/a, wood/b"
    assert remark in done["remarks"]
