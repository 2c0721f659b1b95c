"""What an agent hears that goes on with its client's session after a crash: the real hook, in a process of the new client."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from counterpoint.cli.clients.hooks import HOOKS

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

LAUNCH = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"
"""An agent's process: it starts what its configuration says, and waits for it."""
VARIABLES = {"claude": "CLAUDE_CODE_SESSION_ID", "codex": "CODEX_THREAD_ID"}
PLAN = "# Orchard\n- [ ] Walnut\n- [ ] Pear\n"


def configure(folder: Path, client: str, args: list[str]) -> None:
    """Write an entry of a client by hand."""
    entry = {"command": "counterpoint", "args": ["mcp", *args]}
    if client == "claude":
        (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"counterpoint": entry}}))
    else:
        (folder / ".codex").mkdir()
        lines = (f"{key} = {json.dumps(value)}\n" for key, value in entry.items())
        text = "[mcp_servers.counterpoint]\n" + "".join(lines)
        (folder / ".codex/config.toml").write_text(text)


def hear(folder: Path, client: str, session: str, **event: str) -> dict[str, Any]:
    """Return what the hook that `init` writes answers to a client's event, in a process of its own."""
    hook = next(hooks for hooks in HOOKS if hooks.client == client)
    command = hook.command().replace(
        "counterpoint", f"{shlex.quote(sys.executable)} -m counterpoint", 1
    )
    words = [sys.executable, "-c", LAUNCH, "sh", "-c", command]
    told = json.dumps({"session_id": session, "cwd": str(folder), **event})
    done = subprocess.run(words, cwd=folder, input=told, capture_output=True, text=True, check=True)
    assert not done.stderr
    return json.loads(done.stdout) if done.stdout else {}


@pytest.mark.parametrize(
    ("client", "words"),
    [
        ("claude", ["--agent", "claude"]),
        ("claude", []),
        pytest.param("claude", ["--dialect", "native", "--agent", "rae"], marks=pytest.mark.long),
        pytest.param("codex", ["--agent", "codex"], marks=pytest.mark.long),
        ("codex", ["--dialect", "native", "--agent", "rae"]),
    ],
)
def test_who_resumes_after_a_crash_hears_what_it_holds(
    wire: ModuleType, repository: Path, client: str, words: list[str]
) -> None:
    """By the session that the event names, whoever holds its secret now; with another session it holds nothing."""
    if "rae" in words:
        configure(repository, client, words)
    server = (sys.executable, "-c", LAUNCH, *wire.SERVER, *words)
    with closing(wire.Client(repository, server, {VARIABLES[client]: "session-1"})) as agent:
        agent.greet(client)
        agent.call("plan", markdown=PLAN)
        item = "demo-2"
        token = agent.call("start", id=item)["claim"]["token"]
        begun = {"hook_event_name": "SessionStart", "source": "resume"}
        for is_alive in (True, False):
            if not is_alive:
                agent.process.send_signal(signal.SIGKILL)
                agent.process.wait(60)
            resumed = hear(repository, client, "session-1", **begun)
            text = resumed["hookSpecificOutput"]["additionalContext"]
            assert f"## You hold\n\n- {item}, token {token}, " in text
        stranger = hear(repository, client, "session-2", **begun)
        assert "You hold" not in stranger["hookSpecificOutput"]["additionalContext"]
        kept = hear(repository, client, "session-1", hook_event_name="Stop")
        assert f"still holds {item}." in kept["systemMessage"]
