"""What `init` lets agents do unasked, and what it adds to entries that are there."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

EVERY = [
    word
    for name in ("claude", "codex", "cursor", "vscode", "gemini")
    for word in ("--client", name)
]


def settings_of(folder: Path) -> dict[str, str]:
    """Answer the texts of the clients' files."""
    names = (".claude/settings.json", ".mcp.json", ".codex/config.toml", ".gemini/settings.json")
    return {name: (folder / name).read_text() for name in names if (folder / name).exists()}


APPROVED = ["native verify", "symphony create_pr", "foundry verification", "foundry review"]


@pytest.mark.parametrize("said", APPROVED)
def test_checks_are_approved_until_any_command_may_be_run(call, installed, said):
    """`trust --free` takes it out and says so, `--no-free` puts it back; an `init` in between writes none."""
    dialect, tool = said.split()
    settings = installed / ".claude" / "settings.json"
    codex = installed / ".codex" / "config.toml"
    wanted = ["--client", "claude", "--client", "codex", "--hooks", "--dialect", dialect]

    def approved() -> tuple[bool, bool]:
        allowed = json.loads(settings.read_text())["permissions"]["allow"]
        tools = tomllib.loads(codex.read_text())["mcp_servers"]["counterpoint"].get("tools", {})
        by_codex = tools.get(tool) == {"approval_mode": "approve"}
        return f"mcp__counterpoint__{tool}" in allowed, by_codex

    assert call("init", "--yes", *wanted).code == 0
    assert approved() == (True, True)
    before = settings_of(installed)
    freed = call("trust", "--free")
    assert freed.code == 0
    assert approved() == (False, False)
    assert freed.err.count("Took the approval of checks out of") == 2
    call("init", "--yes", *wanted)
    assert approved() == (False, False)
    bound = call("trust", "--no-free")
    assert approved() == (True, True)
    assert bound.err.count("Put the approval of checks back into") == 2
    after = settings_of(installed)
    assert tomllib.loads(after[".codex/config.toml"]) == tomllib.loads(before[".codex/config.toml"])


def test_a_tool_of_the_same_name_in_another_dialect_stays_allowed(call, installed):
    """The native `review` runs nothing: letting any command be run takes `verify` out alone."""
    call("init", "--yes", "--client", "claude", "--hooks")
    call("trust", "--free")
    found = json.loads((installed / ".claude" / "settings.json").read_text())
    assert "mcp__counterpoint__review" in found["permissions"]["allow"]
    assert "mcp__counterpoint__verify" not in found["permissions"]["allow"]


def test_an_entry_of_before_gets_what_hands_the_credential_on(call, installed, with_program):
    """In the place where it stands; what its owner set stays."""
    with_program("counterpoint")
    call("init", "--yes", *EVERY)
    codex, gemini = installed / ".codex" / "config.toml", installed / ".gemini" / "settings.json"
    codex.write_text(
        '[mcp_servers.counterpoint]\ncommand = "counterpoint"\nargs = ["mcp", "--agent", "ada"]\n'
        'startup_timeout_sec = 3\nenv_vars = [\n  "MINE",\n  {name = "THEIRS"},\n]\n'
    )
    entry = {"command": "counterpoint", "args": ["mcp"], "env": {"MINE": "1"}}
    gemini.write_text(json.dumps({"mcpServers": {"counterpoint": entry}}))
    said = call("init", "--yes", *EVERY)
    assert said.code == 0
    found = json.loads(gemini.read_text())["mcpServers"]["counterpoint"]
    assert found["args"] == ["mcp"]
    assert found["env"] == {"MINE": "1", "COUNTERPOINT_CREDENTIAL": "$COUNTERPOINT_CREDENTIAL"}
    found = tomllib.loads(codex.read_text())["mcp_servers"]["counterpoint"]
    assert (found["args"], found["startup_timeout_sec"]) == (["mcp", "--agent", "ada"], 3)
    assert found["env_vars"][:2] == ["MINE", {"name": "THEIRS"}]
    assert found["env_vars"][-1] == "COUNTERPOINT_CREDENTIAL"
    before = settings_of(installed)
    call("init", "--yes", *EVERY)
    assert settings_of(installed) == before
