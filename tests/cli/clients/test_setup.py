"""Setting a project up: what is written, what is left, what is shown."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from pathlib import Path

import pytest

from builders import git
from counterpoint.cli.clients.hooks import DENIED_EDITS
from counterpoint.kernel.listing_cache import cache_folder
from fakes.terminal import Terminal

ALL = ("claude", "codex", "cursor", "vscode", "gemini")
EVERY = [word for name in ALL for word in ("--client", name)]

THEIRS = {
    ".mcp.json": """{
    "mcpServers": {
        "other":   { "command": "other", "args": [ "a",
            "b" ] }
    },
    "more": [1, 2,   3]
}
""",
    ".codex/config.toml": """# The house's own settings
model = "x"   # keep this

[mcp_servers.other]
command = "other"
args = ["a"]

[features]
plugins = false
""",
    ".cursor/mcp.json": '{"mcpServers": {"other": {"url": "http://127.0.0.1:1/"}}}',
    ".vscode/mcp.json": """{
\t// our own servers
\t"servers": {
\t\t"other": { "type": "stdio", "command": "other" }, // the best one
\t\t/* "third": {}, */
\t},
\t"inputs": []
}
""",
    ".gemini/settings.json": '{\r\n  "theme": "dark"\r\n}\r\n',
    "AGENTS.md": "# Rules\n\nBe kind.\n",
}

OURS = {
    ".mcp.json": """{
    "mcpServers": {
        "other":   { "command": "other", "args": [ "a",
            "b" ] },
        "counterpoint": {
            "type": "stdio",
            "command": "counterpoint",
            "args": [
                "mcp",
                "--agent",
                "claude"
            ]
        }
    },
    "more": [1, 2,   3]
}
""",
    ".codex/config.toml": """# The house's own settings
model = "x"   # keep this

[mcp_servers.other]
command = "other"
args = ["a"]

[features]
plugins = false

[mcp_servers.counterpoint]
command = "counterpoint"
args = ["mcp", "--agent", "codex"]
required = true
env_vars = ["COUNTERPOINT_DB", "COUNTERPOINT_PROJECT", "COUNTERPOINT_DIALECT", "COUNTERPOINT_SURFACE", "COUNTERPOINT_ROLE", "COUNTERPOINT_RUN", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "COUNTERPOINT_CREDENTIAL"]

[mcp_servers.counterpoint.tools.verify]
approval_mode = "approve"
""",
    ".cursor/mcp.json": (
        '{"mcpServers": {"other": {"url": "http://127.0.0.1:1/"}, "counterpoint": '
        '{"type": "stdio", "command": "counterpoint", "args": ["mcp", "--agent", "cursor"], '
        '"env": {"COUNTERPOINT_CREDENTIAL": "${env:COUNTERPOINT_CREDENTIAL}"}}}}'
    ),
    ".vscode/mcp.json": """{
\t// our own servers
\t"servers": {
\t\t"other": { "type": "stdio", "command": "other" }, // the best one
\t\t"counterpoint": {
\t\t\t"type": "stdio",
\t\t\t"command": "counterpoint",
\t\t\t"args": [
\t\t\t\t"mcp",
\t\t\t\t"--agent",
\t\t\t\t"vscode"
\t\t\t],
\t\t\t"env": {
\t\t\t\t"COUNTERPOINT_CREDENTIAL": "${env:COUNTERPOINT_CREDENTIAL}"
\t\t\t}
\t\t},
\t\t/* "third": {}, */
\t},
\t"inputs": []
}
""",
    ".gemini/settings.json": (
        '{\r\n  "theme": "dark",\r\n  "mcpServers": {\r\n    "counterpoint": {\r\n'
        '      "command": "counterpoint",\r\n      "args": [\r\n        "mcp",\r\n'
        '        "--agent",\r\n        "gemini"\r\n      ],\r\n      "env": {\r\n'
        '        "COUNTERPOINT_CREDENTIAL": "$COUNTERPOINT_CREDENTIAL"\r\n      }\r\n    }\r\n  }\r\n}\r\n'
    ),
}


def written(folder: Path) -> dict[str, str]:
    """Answer the texts of all files but git's and the ledger's."""
    hidden = {".git", ".counterpoint"}
    files = (path for path in folder.rglob("*") if path.is_file())
    names = {str(path.relative_to(folder)): path for path in files}
    return {
        name: path.read_bytes().decode()
        for name, path in names.items()
        if Path(name).parts[0] not in hidden
    }


def furnish(folder: Path) -> None:
    """Write the configuration that others have."""
    for name, text in THEIRS.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode())


def test_what_others_wrote_stays_byte_for_byte(call, installed):
    """Comments, odd spacing, line ends and other servers are as they were; ours is added."""
    furnish(installed)
    said = call("init", "--yes")
    assert said.code == 0
    found = written(installed)
    assert {name: found[name] for name in OURS} == OURS
    assert found["AGENTS.md"].startswith(THEIRS["AGENTS.md"])
    assert set(found) == {*THEIRS, ".claude/settings.json", "GEMINI.md"}


def test_a_second_run_changes_nothing(call, installed):
    """It says so, file by file."""
    furnish(installed)
    call("init", "--yes")
    before = written(installed)
    said = call("init")
    assert said.code == 0
    assert said.out.count("nothing to change.") == 7
    assert "There is nothing to change" in said.out
    assert written(installed) == before


def test_fresh_files_are_what_each_client_reads(call, installed):
    """The entry stands where the client looks for it, with all that it needs."""
    assert call("init", "--yes", *EVERY).code == 0
    entry = {"command": "counterpoint", "args": ["mcp", "--agent", "claude"], "type": "stdio"}
    claude = json.loads((installed / ".mcp.json").read_text())
    assert claude == {"mcpServers": {"counterpoint": entry}}
    vscode = json.loads((installed / ".vscode" / "mcp.json").read_text())
    assert vscode["servers"]["counterpoint"]["args"][-1] == "vscode"
    codex = tomllib.loads((installed / ".codex" / "config.toml").read_text())
    assert codex["mcp_servers"]["counterpoint"]["required"] is True
    assert set(written(installed)) == {*OURS, ".claude/settings.json", "AGENTS.md", "GEMINI.md"}


def test_file_tools_are_denied_what_only_the_server_writes(call, installed):
    """Rules of others stay where they are; a second run adds none, and `--remove` takes out ours alone."""
    path = installed / ".claude" / "settings.json"
    path.parent.mkdir()
    theirs = '{\n  "permissions": {\n    "deny": [ "WebFetch" ]\n  }\n}\n'
    path.write_text(theirs)
    call("init", "--yes", "--client", "claude")
    found = json.loads(path.read_text())
    assert found == {"permissions": {"deny": ["WebFetch", *DENIED_EDITS]}}
    before = path.read_bytes()
    call("init", "--yes", "--client", "claude")
    assert path.read_bytes() == before
    assert call("init", "--remove", "--yes").code == 0
    assert json.loads(path.read_text()) == json.loads(theirs)
    path.unlink()
    call("init", "--yes", "--client", "cursor")
    assert not path.exists()


def test_the_ledger_is_made_and_hidden_from_git(call, project):
    said = call("init", "--yes")
    assert "no counterpoint.toml was written and checks run nothing" in said.out
    assert "Made the ledger" in said.out
    assert (project / ".counterpoint" / "ledger.db").exists()
    assert ".counterpoint" not in git(project, "status", "--porcelain")
    assert call("status", "--json").json["project"]["id"] == "harbour"


def test_a_ledger_inside_the_repository_is_hidden_from_git_and_from_nobody_else(call, project):
    """Once, by its own names alone."""
    (project / "data").mkdir()
    database = project / "data" / "t[1]"
    for _ in range(2):
        assert call("init", "--yes", "--db", str(database)).code == 0
    listed = (project / ".git/info/exclude").read_text().splitlines()
    assert listed.count(r"/data/t\[1]-wal") == 1
    own = ("t[1]-utils.py", "t1", "cursors", "checkpoints.py", "specs-api.json")
    for name in (*own, "specs-harbour.json"):
        (project / "data" / name).touch()
    git(project, "add", "--all")
    names = git(project, "ls-files", "data").split()
    assert names == sorted(f"data/{name}" for name in own)


def test_what_commands_write_without_a_server_is_signed_when_they_end(call, project, monkeypatch):
    """Nothing waits after `init`, and no entry stays unsigned for ever; a signer that could ask is left alone."""
    assert call("init", "--yes").code == 0
    assert "signature" not in call("status").err
    assert call("trust", "--allow", "make").code == 0
    assert call("audit", "verify", "--json").json["unsigned"] == 0
    monkeypatch.setenv("COUNTERPOINT_SIGNER", "command:sh -c 'touch asked; exit 1'")
    assert call("trust", "--allow", "make lint").code == 0
    assert not (project / "asked").exists()


def test_a_dry_run_shows_all_and_writes_nothing(call, installed):
    """The differences are those of the real run."""
    furnish(installed)
    before = written(installed)
    said = call("init", "--dry-run")
    assert said.code == 0
    assert "+++ b/.mcp.json" in said.out
    assert "would be made" in said.out
    assert written(installed) == before
    assert not (installed / ".counterpoint").exists()


def test_with_nobody_to_ask_nothing_is_written(call, installed):
    """Not even the ledger; the way to go on is named."""
    furnish(installed)
    before = written(installed)
    said = call("init")
    assert said.code == 2
    assert "--yes" in said.err
    assert written(installed) == before
    assert not (installed / ".counterpoint").exists()


def test_only_clients_that_are_found_are_configured(call, installed, with_program):
    """A folder of the project, a program on the PATH, a folder of the home: each is a trace."""
    assert call("init", "--yes").out.count("Wrote") == 1
    (installed / ".cursor").mkdir()
    with_program("gemini")
    home = Path(os.environ["HOME"])
    (home / ".codex").mkdir(parents=True)
    assert call("init", "--yes").code == 0
    assert set(written(installed)) == {
        *(".cursor/mcp.json", ".gemini/settings.json", ".codex/config.toml"),
        *("AGENTS.md", "GEMINI.md"),
    }


def test_the_tools_are_listed_before_the_first_agent_asks(call, project, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    call("init", "--yes")
    cache = Path(cache_folder(os.environ))
    assert not cache.exists()
    call("init", "--yes", "--client", "claude")
    assert [path.name for path in cache.glob("*.json")] == ["native.json"]
    assert list((project / ".counterpoint").glob("*server*")) == []


def test_a_file_of_the_team_names_the_program_and_no_place_of_one_machine(call, project):
    """Where it is not on the PATH that is said, with the way to put it there."""
    said = call("init", "--yes", "--client", "claude")
    entry = json.loads((project / ".mcp.json").read_text())["mcpServers"]["counterpoint"]
    assert (entry["command"], entry["args"]) == ("counterpoint", ["mcp", "--agent", "claude"])
    assert "not on the PATH" in said.out
    assert "pipx install counterpoint" in said.out


def test_a_dialect_that_is_asked_for_stands_in_each_file(call, installed):
    """Also in an entry that speaks another one; the word to agents names its tools and no others."""
    call("init", "--yes", "--client", "claude")
    call("init", "--yes", "--client", "claude", "--dialect", "workflow", "--hooks")
    entry = json.loads((installed / ".mcp.json").read_text())["mcpServers"]["counterpoint"]
    assert entry["args"] == ["mcp", "--dialect", "workflow", "--agent", "claude"]
    assert "`start_workflow`" in (guide := (installed / "AGENTS.md").read_text())
    assert "`brief`" not in guide
    settings = json.loads((installed / ".claude" / "settings.json").read_text())
    (begin,) = settings["hooks"]["SessionStart"]
    assert begin["hooks"][0]["command"] == (
        "counterpoint prime --hook claude --dialect workflow || true"
    )
    assert "mcp__counterpoint__start_task" in settings["permissions"]["allow"]


def test_hooks_leave_those_of_others_and_allow_our_tools(call, installed):
    """Also what runs checks, for a person has allowed the commands; a second run adds nothing."""
    theirs = {
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "bell"}]}]},
        "permissions": {"allow": ["Bash(ls)"], "deny": ["WebFetch"]},
    }
    path = installed / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(json.dumps(theirs))
    call("init", "--yes", "--client", "claude", "--hooks")
    found = json.loads(path.read_text())
    assert found["hooks"]["Stop"][0] == theirs["hooks"]["Stop"][0]
    assert len(found["hooks"]["Stop"]) == 2
    assert found["permissions"]["allow"][0] == "Bash(ls)"
    assert "mcp__counterpoint__brief" in found["permissions"]["allow"]
    assert "mcp__counterpoint__verify" in found["permissions"]["allow"]
    assert found["permissions"]["deny"] == ["WebFetch", *DENIED_EDITS]
    before = path.read_bytes()
    call("init", "--yes", "--client", "claude", "--hooks")
    assert path.read_bytes() == before


def test_what_was_set_up_can_be_taken_out_again(call, installed):
    """Files of others are byte for byte what they were; those that had nothing else are gone, the ledger stays."""
    furnish(installed)
    call("init", "--yes", *EVERY, "--hooks")
    assert "counterpoint" in (installed / ".claude" / "settings.json").read_text()
    shown = call("init", "--remove", "--dry-run")
    assert (shown.code, "a/AGENTS.md" in shown.out) == (0, True)
    assert "counterpoint" in (installed / ".mcp.json").read_text()
    said = call("init", "--remove", "--yes")
    assert (said.code, "The ledger stays" in said.out) == (0, True)
    assert written(installed) == THEIRS
    assert (installed / ".counterpoint" / "ledger.db").exists()
    again = call("init", "--remove", "--yes", "--json")
    assert (again.json["files"], again.json["written"]) == ([], True)
    assert call("init", "--remove", "--client", "claude").code == 2


def test_nothing_is_taken_out_of_a_file_that_cannot_be_read(call, installed):
    """It is said what to take out by hand."""
    (installed / ".mcp.json").write_text('{"mcpServers": {"counterpoint": ')
    said = call("init", "--remove", "--yes")
    assert "mcpServers.counterpoint" in said.out
    assert (installed / ".mcp.json").read_text().endswith('"counterpoint": ')


def test_an_entry_that_its_owner_changed_is_left(call, installed):
    """Other arguments and variables are theirs to choose, as long as the program is there."""
    path = installed / ".mcp.json"
    mine = '{"mcpServers": {"counterpoint": {"command": "sh", "args": ["-c", "x"], "env": {}}}}'
    path.write_text(mine)
    call("init", "--yes")
    assert path.read_text() == mine


def test_an_entry_that_leads_nowhere_is_mended(call, installed):
    """The command is set right; what else the entry has stays."""
    path = installed / ".mcp.json"
    path.write_text(
        '{"mcpServers": {"counterpoint": {"command": "/gone/counterpoint", "env": {"A": "b"}},'
        ' "other": {"command": "x"}}}'
    )
    (installed / ".codex").mkdir()
    toml = installed / ".codex" / "config.toml"
    toml.write_text(
        '[mcp_servers.counterpoint]\ncommand = "/gone"\nargs = []\nstartup_timeout_sec = 5\n\n[x]\ny = 1\n'
    )
    assert call("init", "--yes").code == 0
    servers = json.loads(path.read_text())["mcpServers"]
    assert servers["counterpoint"]["command"] == "counterpoint"
    assert servers["counterpoint"]["env"] == {"A": "b"}
    assert servers["other"] == {"command": "x"}
    found = tomllib.loads(toml.read_text())
    assert found["mcp_servers"]["counterpoint"]["command"] == "counterpoint"
    assert found["mcp_servers"]["counterpoint"]["startup_timeout_sec"] == 5
    assert found["x"] == {"y": 1}


@pytest.mark.parametrize(
    "text", ["{ not json", '["a list"]', '{"mcpServers": "a text"}', "\udcff\udcfe"]
)
def test_a_file_that_cannot_be_edited_is_shown_not_touched(call, installed, text):
    """What to add by hand is printed; the rest is done."""
    path = installed / ".mcp.json"
    path.write_bytes(text.encode(errors="surrogateescape"))
    before = path.read_bytes()
    said = call("init", "--yes", "--client", "claude")
    assert said.code == 0
    assert "by hand" in said.out
    assert '"counterpoint": {' in said.out
    assert path.read_bytes() == before
    assert (installed / "AGENTS.md").exists()


def test_a_link_that_leads_out_of_the_project_is_not_written_through(call, installed, tmp_path):
    """A file elsewhere is never changed."""
    target = tmp_path / "shared.json"
    target.write_text("{}")
    (installed / ".mcp.json").symlink_to(target)
    assert "link" in call("init", "--yes").out
    assert target.read_text() == "{}"


def test_a_link_inside_the_project_stays_a_link(call, installed):
    """Its target is edited, with the mode it had."""
    target = installed / "shared.json"
    target.write_text("{}")
    target.chmod(0o600)
    (installed / ".mcp.json").symlink_to("shared.json")
    assert call("init", "--yes").code == 0
    assert (installed / ".mcp.json").is_symlink()
    assert "counterpoint" in target.read_text()
    assert target.stat().st_mode & 0o777 == 0o600


def test_the_word_to_agents_is_short_and_stands_in_each_guide(call, installed):
    """Both files have it if both are there; ours is replaced in its place, at most 12 lines."""
    (installed / "CLAUDE.md").write_text("Mine.\n")
    old = "First.\n<!-- counterpoint:begin -->\nold\n<!-- counterpoint:end -->\nLast.\n"
    (installed / "AGENTS.md").write_text(old)
    call("init", "--yes")
    found = written(installed)
    assert found["AGENTS.md"].startswith("First.\n<!-- counterpoint:begin -->\n## ")
    assert found["AGENTS.md"].endswith("<!-- counterpoint:end -->\nLast.\n")
    assert found["CLAUDE.md"].startswith("Mine.\n\n<!-- counterpoint:begin -->\n")
    assert found["AGENTS.md"].count("\n") - 2 <= 12


@pytest.mark.parametrize("kind", ["link", "include"])
def test_a_guide_that_leads_to_the_other_is_not_written_twice(call, installed, kind):
    """One section serves both files."""
    (installed / "AGENTS.md").write_text("Rules.\n")
    if kind == "link":
        (installed / "CLAUDE.md").symlink_to("AGENTS.md")
    else:
        (installed / "CLAUDE.md").write_text("@AGENTS.md\n")
    call("init", "--yes")
    assert (installed / "AGENTS.md").read_text().count("counterpoint:begin") == 1
    assert (kind == "link") or (installed / "CLAUDE.md").read_text() == "@AGENTS.md\n"


def test_a_folder_without_git_works_and_is_told(call, place):
    """Evidence will be weaker; that is said."""
    said = call("init", "--yes")
    assert said.code == 0
    assert "git" in said.err
    assert call("status").code == 0


def test_the_tests_and_linters_of_a_project_are_listed_and_trusted(call, installed, project):
    """What a person sets up counts at once; plain targets of a Makefile and of scripts, others with a star; a second run changes nothing."""
    (project / "pyproject.toml").write_text("[tool.pytest]\n[tool.ruff]\n")
    (project / "package.json").write_text('{"scripts": {"test": "x", "lint": "y", "start": "z"}}')
    (project / "yarn.lock").touch()
    (project / "Makefile").write_text("X := 1\nall: test\ntest:\n\ttrue\nlint : x\n")
    (project / "Cargo.toml").touch()
    (project / "go.mod").touch()
    assert call("init", "--yes").code == 0
    said = call("trust", "--json").json
    shown = {" ".join(words) for words in said["commands"]}
    assert shown == {
        "pytest *", "python -m pytest *", "ruff check *", "ruff format --check *", "yarn run test",
        "yarn run lint", "make test", "make lint", "cargo test *", "cargo clippy *", "go test *",
        "go vet *",
    }  # fmt: skip
    acts = [one["action"] for one in call("log", "--json").json["entries"]]
    assert acts.count("configuration.trusted") == 1
    before = (project / "counterpoint.toml").read_text()
    assert "nothing to change" in call("init", "--yes").out
    assert (project / "counterpoint.toml").read_text() == before


def test_what_was_done_is_told_as_json_too(call, installed, project):
    """One document with the files, the ledger and what is left to do by hand; the difference goes beside it."""
    planned = call("init", "--client", "claude", "--json", "--dry-run")
    assert (planned.code, planned.json["written"]) == (0, False)
    assert "+++ b/AGENTS.md" in planned.err
    refused = call("init", "--client", "claude", "--json")
    assert (refused.code, refused.json["error"]) == (2, "invalid_input")
    done = call("init", "--client", "claude", "--json", "--yes")
    assert done.json == {**planned.json, "written": True}
    assert {".mcp.json", "AGENTS.md"} <= set(done.json["files"])
    again = call("init", "--client", "claude", "--json", "--yes").json
    assert (again["made"], again["files"]) == (False, [])


def test_where_no_ledger_can_be_no_change_is_offered(call, project):
    """A file has the name of its folder: that is said before, and in place of, what would be changed."""
    (project / ".counterpoint").write_text("mine\n")
    said = call("init", "--yes")
    assert (said.code, said.out) == (3, "")
    assert ".counterpoint is a file" in said.err


def test_a_bare_repository_is_refused(call, place):
    """Nobody reads the files that would be written into it."""
    git(place, "init", "-q", "--bare", "bare.git")
    os.chdir(place / "bare.git")
    said = call("init", "--yes", "--client", "claude")
    assert said.code == 2
    assert "bare repository" in said.err
    assert "git worktree add" in said.err
    assert "in a working tree of it: `git worktree add PATH`" in call("status").err
    assert not (place / "bare.git" / "AGENTS.md").exists()
    assert not (place / "bare.git" / ".counterpoint").exists()


def test_a_no_to_what_would_be_written_is_no_interruption(installed):
    """Exit code 1 with a word, and nothing is written."""
    terminal = Terminal([sys.executable, "-m", "counterpoint", "init"], installed, os.environ)
    terminal.expect("Write ")
    terminal.type("n")
    terminal.expect("Nothing was written.")
    assert terminal.end() == 1
    assert not (installed / "AGENTS.md").exists()
