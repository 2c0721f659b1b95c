"""The colibri dialect through real processes: proofs that hold, crashes that are told of."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from counterpoint.app import open_app
from counterpoint.dialects.colibri.verbs.actions import Actions

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

VERIFIER = Path(__file__).parents[2] / "docs" / "verifier" / "verify.py"
COLIBRI = ("--surface", "colibri")
PROOFS = (*COLIBRI, "--colibri-proofs")
PATIENCE = 60.0
CLIENTS = 16


def data(answer: dict[str, Any]) -> Any:
    """Answer what a tool answered; it must not be a refusal of either pattern."""
    assert answer["ok"], answer
    told = answer["data"]
    assert not (isinstance(told, dict) and told.get("ok") is False), answer
    return told


def code(answer: dict[str, Any]) -> str:
    """Answer the code of a refusal in pattern B."""
    assert answer["ok"], answer
    assert answer["data"]["ok"] is False, answer
    return str(answer["data"]["error"]["code"])


def move(agent: Any, task: str, *states: str) -> None:
    """Move a task through states."""
    for state in states:
        data(agent.call("task_update", id=task, patch={"status": state}))


@pytest.mark.alike
@pytest.mark.parametrize("words", [COLIBRI, PROOFS], ids=["relay", "in process"])
def test_the_proof_grade_sequence_holds_end_to_end(
    folder: Path, connect: Callable[..., Any], counterpoint: Any, words: tuple[str, ...]
) -> None:
    """From the start of the session to a bundle that two verifiers accept and tampering breaks."""
    agent = connect(folder, *words)
    task = data(agent.call("task_create", title="Mend the lock"))["id"]
    session = data(agent.call("audit_session_start", intent="Mend it", task_id=task))["session_id"]

    def think(type_: str, content: str) -> Any:
        return agent.call(
            "thought_record", type=type_, task_id=task, agent_id="ada", content=content,
            session_id=session,
        )  # fmt: skip

    data(think("plan", "Oil first, then turn."))
    move(agent, task, "GATHER", "ANALYZE", "PLAN", "APPLY", "VERIFY")
    refused = agent.call("task_update", id=task, patch={"status": "DONE"})
    assert code(refused) == "ERR_WRITEBACK_REQUIRED"
    data(think("reflection", "It turns."))
    assert data(agent.call("audit_verify_chain", task_id=task))["valid"]
    move(agent, task, "DONE")
    seal = data(agent.call("merkle_finalize", session_id=session))
    assert data(agent.call("merkle_root", session_id=session)) == seal
    assert seal["record_count"] == 2
    assert code(agent.call("merkle_finalize", session_id=session)) == "ERR_ALREADY_FINALIZED"

    key = json.loads(counterpoint("audit", "prove", "--checkpoint", "--json", cwd=folder).stdout)
    for name, more in (("session", ("--session", session)), ("whole", ())):
        bundle = folder / f"{name}.jsonl"
        made = counterpoint("audit", "export", bundle.name, *more, cwd=folder)
        assert made.returncode == 0, made.stderr
        assert_verified(bundle, key["key"], counterpoint, folder)
        changed = folder / f"{name}-changed.jsonl"
        changed.write_text(bundle.read_text().replace('"reflection"', '"decision"'))
        assert changed.read_bytes() != bundle.read_bytes()
        ran = counterpoint("verify", changed.name, "--key", key["key"], cwd=folder)
        assert ran.returncode != 0


def assert_verified(bundle: Path, key: str, counterpoint: Any, folder: Path) -> None:
    """Have a bundle accepted by the product and by the second verifier, which shares no code."""
    ran = counterpoint("verify", bundle.name, "--key", key, cwd=folder)
    assert ran.returncode == 0, ran.stderr + ran.stdout
    other = subprocess.run(
        [sys.executable, str(VERIFIER), str(bundle), key],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert other.returncode == 0, other.stdout + other.stderr


@pytest.mark.alike
@pytest.mark.parametrize("how", [COLIBRI, PROOFS], ids=["relay", "in process"])
def test_clients_at_once_write_one_unbroken_chain(
    folder: Path, connect: Callable[..., Any], assert_whole: Any, how: tuple[str, ...]
) -> None:
    """Of one task, at once; no number is missing, and no call either."""
    # In one process each they load everything, so that few show as much there.
    each, count = 5, CLIENTS if how == COLIBRI else 5
    agents = [connect(folder, *how) for _ in range(count)]
    task = data(agents[0].call("task_create", title="Shared"))["id"]

    def write(number: int) -> list[int]:
        return [
            data(
                agents[number].call(
                    "thought_record", type="plan", task_id=task, agent_id=f"a{number}",
                    content=f"thought {place}",
                )
            )["sequence"]
            for place in range(each)
        ]  # fmt: skip

    with ThreadPoolExecutor(count) as pool:
        written = [one for some in pool.map(write, range(count)) for one in some]
    assert sorted(written) == list(range(count * each))
    found = data(agents[0].call("audit_verify_chain", task_id=task))
    assert (found["valid"], found["record_count"]) == (True, count * each)
    app = open_app(folder, {})
    calls = app.person().use(Actions).list(limit=1_000)
    assert sorted(begun.number for begun, _ in calls) == list(range(1, len(calls) + 1))
    assert {ended.outcome for _, ended in calls if ended} == {"ok"}
    assert_whole(app)
    app.close()


def test_a_call_that_is_killed_is_closed_as_crashed_at_the_next_start(
    folder: Path, connect: Callable[..., Any], tmp_path: Path
) -> None:
    """Killed between its first row and its change: nothing of it landed, and health says so."""
    program = tmp_path / "cut_off.py"
    program.write_text(
        "import os, signal\n"
        "from counterpoint.dialects.colibri.verbs.thoughts import Thoughts\n"
        "def link(*_, **__):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "Thoughts._link = link\n"
        "import runpy\n"
        "runpy.run_module('counterpoint', run_name='__main__')\n"
    )
    agent = connect(folder, *PROOFS)
    task = data(agent.call("task_create", title="x"))["id"]
    command = (sys.executable, str(program), "mcp", *PROOFS)
    ask = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    }
    said = {"type": "plan", "task_id": task, "agent_id": "a", "content": "lost"}
    call = {"name": "thought_record", "arguments": said}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": ask},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
    ]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=folder, **pipes) as killed:
        assert killed.stdin is not None
        for line in lines:
            killed.stdin.write(json.dumps(line).encode() + b"\n")
        killed.stdin.flush()
        assert killed.wait(PATIENCE) == -signal.SIGKILL

    running = data(agent.call("audit_actions", outcome="running"))["actions"]
    assert [one["tool"] for one in running] == ["audit_actions", "thought_record"]
    after = connect(folder, *PROOFS)
    health = data(after.call("server_health"))
    assert health["status"] == "degraded"
    assert health["reasons"][0].startswith("1 call was cut off")
    crashed = data(after.call("audit_actions", outcome="crashed"))["actions"]
    assert [one["tool"] for one in crashed] == ["thought_record"]
    assert data(after.call("thought_record_list"))["thoughts"] == []
    assert data(agent.call("audit_verify_chain"))["valid"]


@pytest.mark.long
def test_a_mode_is_enforced_and_a_wrong_one_refuses_to_start(
    folder: Path, connect: Callable[..., Any], counterpoint: Any, wire: Any
) -> None:
    """By flag and by variable."""
    data(connect(folder, *COLIBRI).call("task_create", title="x"))
    reader = connect(folder, *COLIBRI, environ={"COLIBRI_MODE": "READONLY"})
    assert len(data(reader.call("task_list"))["tasks"]) == 1
    with pytest.raises(wire.Refused) as refused:
        reader.call("task_create", title="y")
    assert refused.value.answer["error"]["code"] == "MODE_DENIED"
    least = connect(folder, *COLIBRI, "--mode", "MINIMAL")
    assert data(least.call("server_ping"))["mode"] == "MINIMAL"
    with pytest.raises(wire.Refused):
        least.call("task_list")
    ran = counterpoint("mcp", *COLIBRI, "--mode", "SOME", cwd=folder)
    assert ran.returncode == 2
    assert "FULL" in ran.stderr


def test_a_call_that_comes_with_the_handshake_is_answered(
    folder: Path, connect: Callable[..., Any]
) -> None:
    """Before the ledger is open: it waits for that."""
    began = time.monotonic()
    agent = connect(folder, *COLIBRI, greet=False)
    agent.send(
        "initialize",
        {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "early", "version": "1"},
        },
    )
    agent.write(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode())
    number = agent.send("tools/call", {"name": "server_health", "arguments": {}})
    answer = agent.read()
    while answer.get("id") != number:
        answer = agent.read()
    told = answer["result"]["structuredContent"]["data"]
    assert (told["status"], told["phase"]) == ("ok", "phase2")
    assert time.monotonic() - began < PATIENCE
