"""Files that somebody takes away under a real server: each acknowledged write is there, in a copy, or told."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

PATIENCE = 30.0

pytestmark = [pytest.mark.e2e, pytest.mark.faults, pytest.mark.durable, pytest.mark.timeout(120)]


def note(client: Any, wire: Any, text: str) -> str:
    """Write a note through the relay; answer the code of the refusal, or nothing once it is acknowledged."""
    try:
        client.call("note", kind="finding", text=text)
    except wire.Refused as refused:
        return refused.answer["error"]
    return ""


def until_told(client: Any, wire: Any, code: str) -> dict[str, Any]:
    """Write until another server answers, whose refusal has a code; answer that."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            client.call("note", kind="finding", text="late")
        except wire.Refused as refused:
            if refused.answer["error"] == code:
                return refused.answer
    raise AssertionError("it is never told")


@pytest.mark.alike
@pytest.mark.parametrize("harm", ["clean", "move", "log"])
def test_what_a_server_acknowledged_is_found_after_its_files_were_taken_away(
    repository, connect, counterpoint, wire, git, monkeypatch, tmp_path, harm
):
    """The first write after it is refused and says where all is; the next server finds what is there, or what was."""
    monkeypatch.setenv("COUNTERPOINT_IDLE_MINUTES", "10")
    client = connect(repository, "--agent", "ada")
    done = [text for n in range(30) if not note(client, wire, text := f"note {n:02}")]
    data = repository / ".counterpoint"
    if harm == "clean":
        git(repository, "clean", "-fdxq")
    elif harm == "log":
        for part in ("-wal", "-shm"):
            (data / f"ledger.db{part}").unlink()
    else:
        data.rename(tmp_path / "aside")
    with pytest.raises(wire.Refused) as refused:
        client.call("note", kind="finding", text="never")
    told = refused.value.answer
    assert (told["error"], told["retryable"]) == ("store_replaced", False)
    with pytest.raises(wire.Refused):
        client.call("brief")
    if harm != "log":
        gone = until_told(client, wire, "ledger_gone")
        saved = sorted(Path(os.environ["XDG_STATE_HOME"]).rglob("rescued/*.db"))
        assert str(saved[0]) in gone["message"]
        assert counterpoint("status", cwd=repository).returncode == 3
        ran = counterpoint("down", cwd=repository)
        assert ran.returncode == 0, ran.stderr
        ran = counterpoint("restore", str(saved[0]), "--yes", cwd=repository)
        assert ran.returncode == 0, ran.stderr
    else:
        while note(client, wire, "after"):
            pass
    client.close()
    counterpoint("down", cwd=repository)
    found = counterpoint("find", "note", "--limit", "100", "--json", cwd=repository).stdout
    assert [text for text in done if text not in found] == []
    assert "never" not in found
    assert counterpoint("audit", "verify", cwd=repository).returncode == 0


@pytest.mark.parametrize("is_connected", [True, False], ids=["a relay goes on", "a relay comes"])
def test_a_ledger_that_was_put_aside_comes_back_by_the_same_means(
    repository, connect, wire, git, monkeypatch, is_connected
):
    """`git stash --all` takes it away; what calls meanwhile creates nothing that would be in the way of `git stash pop`."""
    monkeypatch.setenv("COUNTERPOINT_IDLE_MINUTES", "10")
    (repository / "other.txt").write_text("untracked\n")
    client = connect(repository, "--agent", "ada")
    assert not note(client, wire, "before")
    if not is_connected:
        client.close()
    git(repository, "stash", "push", "--quiet", "--all")
    if not is_connected:
        client = connect(repository, "--agent", "ada")
    until_told(client, wire, "ledger_gone")
    assert git(repository, "status", "--short", "--ignored") == ""
    assert sorted(path.name for path in repository.iterdir()) == [".git", "readme.txt"]
    git(repository, "stash", "pop", "--quiet")
    end = time.monotonic() + PATIENCE
    while told := note(client, wire, "after"):
        assert time.monotonic() < end, told
    assert {hit["title"] for hit in client.call("find", query="before after")["hits"]} >= {"after"}


BEGINNINGS = (
    ("mcp", "--dialect", "foundry"),
    ("mcp", "--dialect", "symphony"),
    ("mcp", "--in-process"),
    ("mcp", "--in-process", "--dialect", "foundry"),
    ("event", "--hook", "claude"),
    ("prime",),
    ("status",),
    ("note", "x"),
    ("doctor",),
    ("init", "--yes"),
    ("up", "--port", "0"),
    ("supervise", "demo-1", "--", "true"),
    ("trust",),
)


@pytest.mark.long
@pytest.mark.alike
@pytest.mark.parametrize("memory", ["account", "repository"])
def test_nothing_is_created_where_a_ledger_was(
    repository, connect, counterpoint, git, wire, tmp_path, monkeypatch, memory
):
    """Neither by a relay and its server, nor by hooks, commands, HTTP or another dialect."""
    client = connect(repository, "--agent", "ada")
    assert not note(client, wire, "before")
    client.close()
    assert counterpoint("down", cwd=repository).returncode == 0
    if memory == "repository":
        git(repository, "update-ref", "refs/counterpoint/heads/x", "HEAD")
        git(repository, "pack-refs", "--all")
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another"))
    shutil.rmtree(repository / ".counterpoint")
    call = {"name": "error", "arguments": {"action": "list"}}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    for words in BEGINNINGS:
        subprocess.run(
            [sys.executable, "-m", "counterpoint", *words],
            cwd=repository,
            input=f"{line}\n".encode(),
            capture_output=True,
            timeout=60,
            check=False,
        )
        paths = sorted(path.name for path in repository.iterdir())
        assert paths == [".git", "readme.txt"], words
