"""Calls of tools that a client's hook reports: kept masked, gaps told, and nothing without the option."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from counterpoint.kernel.places import count_lost
from counterpoint.protocol.rendezvous import find_rendezvous

from .test_relay import until
from .wire import Client

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

PROGRAMS = Path(sys.executable).parent
KEY = "sk-ant-0123456789abcdefghijklmnop"
NAMED = "correct-horse-battery"
"""The value of a variable of the agent, which no shape gives away."""


def call(tool: str = "Bash", **other: Any) -> dict[str, Any]:
    """Answer what Claude Code tells after a call, as its reference has it."""
    return {
        "session_id": "00893aaf-19fa-41d2-8238-13269b9b3ca0",
        "transcript_path": "/elsewhere/.claude/projects/x/00893aaf.jsonl",
        "cwd": "/elsewhere/x",
        "permission_mode": "default",
        "hook_event_name": "PostToolUse",
        "tool_name": tool,
        "tool_input": {"command": f"curl -H 'x-api-key: {KEY}' localhost; echo {NAMED}"},
        "tool_response": {"stdout": "ok", "stderr": "", "interrupted": False, "isImage": False},
        "tool_use_id": "toolu_01ABC123",
        "duration_ms": 12,
        **other,
    }


@pytest.fixture
def environ() -> dict[str, str]:
    """Give the variables of an agent, our program on its PATH, with a secret among them."""
    return {
        **os.environ,
        "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
        "DEPLOY_PASSWORD": NAMED,
        "NO_COLOR": "1",
    }


@pytest.fixture
def repository(folder: Path, environ: dict[str, str]) -> Path:
    """Give a repository that was set up with hooks that report."""
    init(folder, environ, "--hooks", "--events")
    return folder


@pytest.fixture
def agent(repository: Path, environ: dict[str, str]) -> Iterator[Client]:
    """Give a connected agent that has written something; whatever server there is ends with the test."""
    one = Client(repository, environ=environ)
    one.greet("claude-code")
    one.call("plan", markdown="# Greeting\n- [ ] say hello")
    yield one
    one.close()
    find_rendezvous(database(repository)).ask("stop")


def init(tree: Path, environ: dict[str, str], *words: str) -> None:
    """Set a repository up."""
    run(tree, environ, "init", "--yes", "--client", "claude", "--client", "gemini", *words)


def run(tree: Path, environ: dict[str, str], *words: str) -> str:
    """Answer what a command prints."""
    done = subprocess.run(
        ["counterpoint", *words],
        cwd=tree,
        env=environ,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout


def database(tree: Path) -> Path:
    """Answer where the ledger lies."""
    return tree / ".counterpoint" / "ledger.db"


def hook(tree: Path, event: str = "PostToolUse") -> str:
    """Answer the command line that init has written for an event."""
    settings = json.loads((tree / ".claude" / "settings.json").read_text())
    (entry,) = settings["hooks"][event]
    (one,) = entry["hooks"]
    return one["command"]


def report(tree: Path, environ: dict[str, str], told: dict[str, Any] | str) -> None:
    """Run the hook as Claude Code does; it says nothing and ends well."""
    text = told if isinstance(told, str) else json.dumps(told)
    done = subprocess.run(
        ["sh", "-c", hook(tree)],
        cwd=tree,
        env=environ,
        input=text,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def sessions(tree: Path, environ: dict[str, str]) -> list[str]:
    """Answer the sessions whose calls were reported, by the entries that say so."""
    entries = json.loads(run(tree, environ, "log", "--json"))["entries"]
    return list(dict.fromkeys(one["subject"] for one in entries if one["action"] == "run.ingested"))


def calls(tree: Path, environ: dict[str, str], session: str) -> list[dict[str, Any]]:
    """Answer everything that was reported of a session."""
    shown = json.loads(run(tree, environ, "show", session, "--all", "--json"))
    return [one["payload"] for one in shown["calls"]["events"]] if "calls" in shown else []


def written(tree: Path, environ: dict[str, str], count: int) -> tuple[str, list[dict[str, Any]]]:
    """Wait until so many events are there, and answer their session with them."""
    found: list[tuple[str, list[dict[str, Any]]]] = []

    def is_there() -> bool:
        found[:] = [(one, calls(tree, environ, one)) for one in sessions(tree, environ)]
        return sum(len(events) for _, events in found) >= count

    until(is_there)
    (only,) = found
    return only


def test_calls_stand_masked_in_the_session_of_their_agent(
    agent: Client, repository: Path, environ: dict[str, str]
) -> None:
    """By the principal that the server checked, in one entry for several, and whole in every check."""
    for tool in ("Bash", "Edit", "mcp__counterpoint__plan"):
        report(repository, environ, call(tool))
    report(repository, environ, call(tool_response={"stdout": f"{KEY} " + "so it is " * 4_000}))
    report(repository, environ, "no json")
    session, events = written(repository, environ, 5)
    assert [one.get("tool_name") for one in events] == [
        *("Bash", "Edit", "mcp__counterpoint__plan", "Bash"),
        None,
    ]
    assert {one["reported_by"] for one in events} == {"hook of claude"}
    assert "tool_input" in events[1]
    assert "tool_input" not in events[2]
    assert "no JSON object: 7 bytes" in events[4]["unread"]
    assert "more characters" in events[3]["tool_response"]["stdout"]
    (plan,) = json.loads(run(repository, environ, "log", "--action", "plan.created", "--json"))[
        "entries"
    ]
    assert plan["actor"]["session"] == session
    entries = json.loads(run(repository, environ, "log", "--json"))["entries"]
    told = [one for one in entries if one["action"] == "run.ingested"]
    assert {one["actor"]["principal"]["id"] for one in told} == {plan["actor"]["principal"]["id"]}
    shown = agent.call("show", id=session)
    assert [one.get("tool") for one in shown["calls"]][:2] == ["Bash", "Edit"]
    assert "Calls that hooks reported, 5 (UTC)" in run(repository, environ, "show", session)
    for text in (json.dumps(shown), json.dumps(events)):
        assert KEY not in text
        assert NAMED not in text
        assert "/elsewhere" not in text
    assert run(repository, environ, "audit", "verify").startswith("Sound")
    for path in (repository / ".counterpoint").rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes()
            assert NAMED.encode() not in path.read_bytes()


def test_what_was_lost_is_told_by_the_next_that_arrives(
    agent: Client, repository: Path, environ: dict[str, str]
) -> None:
    """Without a server hooks count; with it gone, so does what it had in memory."""
    meeting = find_rendezvous(database(repository))
    report(repository, environ, call())
    session, _ = written(repository, environ, 1)
    report(repository, environ, call("Write"))
    os.kill((meeting.ask("status") or {})["pid"], signal.SIGKILL)
    report(repository, environ, call("Edit"))
    report(repository, environ, call("Read"))
    missing = count_lost(str(meeting.prefix))
    assert missing in {2, 3}  # the first may have been written before the end
    agent.call("brief")
    report(repository, environ, call("Grep"))

    def names() -> list[Any]:
        return [
            one.get("tool_name", one.get("missing")) for one in calls(repository, environ, session)
        ]

    until(lambda: "Grep" in names())
    between = ["Write"] if missing == 2 else []
    assert names() == ["Bash", *between, missing, "Grep"]
    until(lambda: count_lost(str(meeting.prefix)) == 0)
    shown = run(repository, environ, "show", session)
    assert f"{missing} missing, of all agents of this ledger" in shown


@pytest.mark.long
def test_nothing_is_reported_without_the_option_or_after_removal(
    folder: Path, environ: dict[str, str]
) -> None:
    """And where there is no ledger, a hook makes none."""
    init(folder, environ, "--hooks")
    settings = folder / ".claude" / "settings.json"
    before = settings.read_text()
    assert "counterpoint event" not in before
    init(folder, environ, "--hooks", "--events")
    assert hook(folder) == "counterpoint event --hook claude || true"
    assert hook(folder, "PostToolUseFailure") == hook(folder)
    assert "counterpoint event --hook gemini" in (folder / ".gemini" / "settings.json").read_text()
    assert str(folder) not in settings.read_text()
    again = settings.read_text()
    init(folder, environ, "--surface", "symphony")
    assert "counterpoint event" in settings.read_text()
    init(folder, environ, "--surface", "native")
    assert json.loads(settings.read_text())["hooks"] == json.loads(again)["hooks"]
    run(folder, environ, "init", "--remove", "--yes")
    assert not settings.exists()
    empty = folder / "empty"
    (empty / ".git").mkdir(parents=True)
    done = subprocess.run(
        ["counterpoint", "event", "--hook", "claude"],
        cwd=empty,
        env=environ,
        input=json.dumps(call()),
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert (done.stdout, done.stderr) == ("", "")
    assert sorted(one.name for one in empty.iterdir()) == [".git"]
