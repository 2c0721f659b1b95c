"""The first hour of a user: set up, connect, plan, work, look, prove, keep and come back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from counterpoint.app import open_app

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(300)]

PLAN = """
# Open the shop
## Build {#build}
- [ ] Lay the floor {#floor}
  - areas: floor
  - verify: test -f floor/plank.txt
- [ ] Hang the sign
  - after: floor
## Open
- [ ] Unlock the door
"""


@pytest.fixture(autouse=True)
def _on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the program first on the PATH, as it is for a user who installed it."""
    programs = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", programs + os.pathsep + os.environ["PATH"])


@pytest.fixture
def shop(repository, counterpoint):
    """Give a repository that was set up for Claude Code."""
    ran = counterpoint("init", "--yes", "--client", "claude", cwd=repository)
    assert ran.returncode == 0, ran.stderr
    return repository


@pytest.fixture
def agent(wire):
    """Give what starts a server exactly as a repository's `.mcp.json` says."""
    clients: list[Any] = []

    def start(folder: Path, configured: Path | None = None) -> Any:
        text = ((configured or folder) / ".mcp.json").read_text()
        entry = json.loads(text)["mcpServers"]["counterpoint"]
        assert entry.get("type", "stdio") == "stdio"
        command = [entry["command"], *entry["args"]]
        clients.append(wire.Client(folder, command, entry.get("env")))
        clients[-1].greet("claude-code")
        return clients[-1]

    yield start
    for client in clients:
        client.close()


def said(ran) -> Any:
    """Answer what a command said as JSON; it must have gone well."""
    assert ran.returncode == 0, (ran.stdout, ran.stderr)
    return json.loads(ran.stdout)


def test_a_plan_is_worked_watched_proved_kept_and_restored(shop, agent, counterpoint, git):
    """From `init` to a verified proof, and back to a backup, with the configured server."""
    assert counterpoint("trust", "--allow", "test -f floor/plank.txt", cwd=shop).returncode == 0
    client = agent(shop)
    made = client.call("plan", markdown=PLAN)
    assert made["ready_count"] == 1
    taken = client.call("next", claim=True)
    task, token = taken["claim"]["item"], taken["claim"]["token"]
    assert taken["item"]["title"] == "Lay the floor"
    assert client.call("verify", id=task, token=token)["passed"] is False
    (shop / "floor").mkdir()
    (shop / "floor" / "plank.txt").write_text("oak\n")
    git(shop, "add", "floor")
    git(shop, "commit", "-q", "-m", "lay the floor")
    assert client.call("verify", id=task, token=token)["passed"] is True
    done = client.call("finish", id=task, token=token, outcome="done", summary="It is laid.")
    assert [change["path"] for change in done["evidence"]["files"]] == ["floor/plank.txt"]
    assert len(done["evidence"]["commits"]) == 1
    assert done["released"]

    # The server has the end signed before it is gone: that may name the signer, with an entry.
    assert counterpoint("down", cwd=shop).returncode == 0
    state = said(counterpoint("status", "--json", cwd=shop))
    assert state["project"]["id"] == "demo"
    assert state["counts"]["task"] == {"done": 1, "open": 2}
    assert said(counterpoint("audit", "verify", "--json", cwd=shop))["sound"] is True
    kept = said(counterpoint("backup", "--json", cwd=shop))["file"]

    client.call("note", kind="finding", text="written after the backup")
    client.close()
    said(counterpoint("restore", kept, "--yes", "--json", cwd=shop))
    assert said(counterpoint("audit", "rebuild", "--json", cwd=shop))["same"] is True
    after = said(counterpoint("status", "--json", cwd=shop))
    assert after["ledger"]["size"] == state["ledger"]["size"]
    assert agent(shop).call("next", claim=True)["item"]["title"] == "Hang the sign"


def test_a_restore_while_an_agent_is_connected_is_refused(shop, agent, counterpoint):
    """Nothing is replaced under a server that would go on with the old file."""
    kept = said(counterpoint("backup", "--json", cwd=shop))["file"]
    client = agent(shop)
    client.call("note", kind="finding", text="this must stay")
    ran = counterpoint("restore", kept, "--yes", cwd=shop)
    assert ran.returncode == 3
    assert "open" in ran.stderr
    found = client.call("find", query="stay")
    assert "this must stay" in json.dumps(found)


def test_a_sub_folder_and_a_linked_worktree_share_the_ledger(shop, agent, counterpoint, git):
    """An agent in either sees the same work; its evidence comes from its own tree."""
    git(shop, "add", ".mcp.json", "AGENTS.md")
    git(shop, "commit", "-q", "-m", "connect")
    inside = shop / "src" / "deep"
    inside.mkdir(parents=True)
    linked = shop.parent / "linked"
    git(shop, "worktree", "add", "-q", str(linked))

    below, beside = agent(inside, shop), agent(linked)
    made = below.call("plan", markdown="# Two trees\n- [ ] Here\n- [ ] There\n")
    taken = beside.call("next", claim=True)
    assert taken["item"]["root"] == made["root"]
    (linked / "there.txt").write_text("there\n")
    git(linked, "add", "there.txt")
    git(linked, "commit", "-q", "-m", "there")
    (shop / "here.txt").write_text("of somebody else\n")
    token = taken["claim"]["token"]
    done = beside.call(
        "finish", id=taken["claim"]["item"], token=token, outcome="done", summary="There."
    )
    assert [change["path"] for change in done["evidence"]["files"]] == ["there.txt"]

    # The server has the end signed before it is gone: that may name the signer, with an entry.
    assert counterpoint("down", cwd=shop).returncode == 0
    sizes = {
        said(counterpoint("status", "--json", cwd=folder))["ledger"]["size"]
        for folder in (shop, inside, linked)
    }
    assert len(sizes) == 1
    assert [path for path in (inside, linked) if (path / ".counterpoint").exists()] == []
    app = open_app(linked, {})
    assert app.folder == shop / ".counterpoint"
    app.close()


@pytest.mark.long
def test_hooks_speak_of_what_this_agent_holds(shop, agent, counterpoint):
    """As the client's own settings run them; a stop is answered once for each claim, and never stops anybody."""
    assert counterpoint("init", "--yes", "--client", "claude", "--hooks", cwd=shop).returncode == 0
    hooks = json.loads((shop / ".claude" / "settings.json").read_text())["hooks"]

    def tell(event: str) -> str:
        (entry,) = hooks[event]
        (hook,) = entry["hooks"]
        told = json.dumps({"hook_event_name": event, "session_id": "one", "cwd": str(shop)})
        ran = subprocess.run(
            ["sh", "-c", hook["command"]],
            cwd=shop,
            input=told,
            capture_output=True,
            text=True,
            check=True,
        )
        assert ran.stderr == ""
        return ran.stdout

    ada = agent(shop)
    ada.call("plan", markdown=PLAN)
    assert "## Ready" in (
        begun := json.loads(tell("SessionStart"))["hookSpecificOutput"]["additionalContext"]
    )
    assert "Lay the floor" in begun
    assert (tell("Stop"), tell("PreCompact")) == ("", "")
    claim = ada.call("next", claim=True)["claim"]
    held = f"{claim['item']} (token {claim['token']})"
    assert held in tell("PreCompact")
    again = json.loads(tell("SessionStart"))["hookSpecificOutput"]["additionalContext"]
    assert f"- {claim['item']}, token {claim['token']}, " in again
    assert claim["item"] in json.loads(tell("Stop"))["systemMessage"]
    assert tell("Stop") == ""
    ada.call("handoff", action="pause", summary="Half of the floor.", next_steps=["Lay the rest"])
    assert "next: > Lay the rest" in tell("SessionStart")
