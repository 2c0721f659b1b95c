"""The examination of an installation."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
from pathlib import Path

import pytest

from builders import git
from counterpoint.cli.server.starting import Started, start_server
from counterpoint.kernel.places import short_name

PROGRAM = Path(sys.executable).parent / "counterpoint"
CHECKS = [
    *("python", "git", "disk", "ledger", "integrity", "log file", "key", "people", "account"),
    *("clock", "checkpoint", "leases", "checks", "witness"),
    *("search", "you", "clients", "running", "server", "tools"),
]


def verdicts(said) -> dict[str, str]:
    """Answer the verdict of each check."""
    return {one["name"]: one["verdict"] for one in said.json["checks"]}


@pytest.mark.e2e
def test_a_sound_installation_passes(call, ledger):
    """All is looked at, with warnings for what is only not done yet."""
    said = call("doctor", "--json")
    assert said.code == 0
    found = verdicts(said)
    assert list(found) == CHECKS
    (account,) = (one["found"] for one in said.json["checks"] if one["name"] == "account")
    assert "what runs under it, agents too, can write both" in account
    assert {name for name, verdict in found.items() if verdict != "ok"} <= {
        *("checkpoint", "clients", "running", "server"),
    }


def test_how_many_texts_are_found_by_their_meaning_is_told(call, ledger, monkeypatch):
    """None before anybody has searched; an unknown model is named, and none at all."""

    def said() -> str:
        (found,) = (
            one for one in call("doctor", "--json").json["checks"] if one["name"] == "search"
        )
        return found["found"]

    call("note", "add", "learning", "passwords are hashed with bcrypt")
    before = said()
    assert before.startswith("by words; 0 of ")
    call("find", "credentials")
    assert said().startswith("by words; 0 of ") is False
    monkeypatch.setenv("COUNTERPOINT_EMBEDDING", "off")
    assert said() == "by words alone, as is set"
    monkeypatch.setenv("COUNTERPOINT_EMBEDDING", "huge")
    assert "no embedding model 'huge'" in said()


@pytest.mark.e2e
def test_without_a_ledger_the_rest_is_examined_and_nothing_is_made(call, place):
    """The way out stands below the table; exit code 1."""
    said = call("doctor")
    assert said.code == 1
    assert "ledger: Run `counterpoint init`" in said.out
    assert "16 tools" in said.out
    assert list(place.iterdir()) == []


@pytest.mark.e2e
def test_trouble_is_named_with_what_to_do(call, ledger, monkeypatch):
    """An open key, a future, entries that are gone, a lease that ran out, a dead configuration."""
    call("audit", "prove", "--checkpoint")
    folder = ledger / ".counterpoint"
    own = call("status", "--json").json["project"]["ledger"]
    state = Path(os.environ["XDG_STATE_HOME"]) / "counterpoint" / "signer" / own
    (state / "ed25519").chmod(0o644)
    (ledger / ".mcp.json").write_text('{"mcpServers": {"counterpoint": {"command": "/gone"}}}')
    (ledger / ".cursor").mkdir()
    (ledger / ".cursor" / "mcp.json").write_text("{ broken")
    connection = sqlite3.connect(folder / "ledger.db", isolation_level=None)
    connection.execute("UPDATE heads SET time = '2999-01-01T00:00:00.000Z'")
    connection.execute("UPDATE claims SET leased_until = '2020-01-01T00:00:00.000Z'")
    connection.execute("DELETE FROM documents")
    connection.close()
    monkeypatch.setenv("PATH", str(ledger))
    said = call("doctor", "--json")
    found = verdicts(said)
    assert said.code == 1
    assert {name for name, verdict in found.items() if verdict == "fail"} == {
        *("integrity", "checkpoint", "claude", "cursor"),
    }
    assert found["git"] == found["leases"] == found["key"] == found["clock"] == "warn"
    for check in said.json["checks"]:
        assert bool(check["advice"]) == (check["verdict"] != "ok"), check


@pytest.mark.e2e
def test_a_ledger_that_was_cut_off_is_seen_at_its_checkpoint(call, ledger):
    """More was signed than there is."""
    call("audit", "prove", "--checkpoint")
    connection = sqlite3.connect(ledger / ".counterpoint" / "ledger.db", isolation_level=None)
    connection.execute("UPDATE heads SET size = 5")
    connection.close()
    found = {one["name"]: one for one in call("doctor", "--json").json["checks"]}
    assert found["checkpoint"]["verdict"] == "fail"
    assert "5 entries, but 7 were signed" in found["checkpoint"]["found"]


@pytest.mark.e2e
def test_copies_of_a_ledger_that_was_taken_away_are_told_of(call, ledger):
    """Until somebody removes them, with the newest, and the command that takes it."""
    folder = Path(os.environ["XDG_STATE_HOME"]) / "counterpoint" / "rescued"
    folder.mkdir(parents=True)
    name = short_name(str(ledger / ".counterpoint" / "ledger.db"))
    for number in (2, 1):
        (folder / f"{name}-{number}.db").touch()
        os.utime(folder / f"{name}-{number}.db", (number, number))
    found = {one["name"]: one for one in call("doctor", "--json").json["checks"]}
    assert found["copies"]["found"].startswith("2 of a ledger")
    assert f"restore {folder}/{name}-2.db" in found["copies"]["advice"]


@pytest.mark.e2e
def test_what_does_not_arrive_through_a_client_is_named(call, ledger):
    """Each client's entry is started as the client would; `init` mends what is missing."""
    (Path(os.environ["PATH"]) / "counterpoint").symlink_to(PROGRAM)
    every = ("claude", "codex", "cursor", "vscode", "gemini")
    words = [word for name in every for word in ("--client", name)]
    call("init", "--yes", *words)
    found = verdicts(call("doctor", "--json"))
    assert {name: found[name] for name in every} == dict.fromkeys(every, "ok")
    before = {"command": "counterpoint", "args": ["mcp"]}
    (ledger / ".codex" / "config.toml").write_text(
        '[mcp_servers.counterpoint]\ncommand = "counterpoint"\nargs = ["mcp"]\n'
    )
    (ledger / ".vscode" / "mcp.json").write_text(json.dumps({"servers": {"counterpoint": before}}))
    for name in (".cursor/mcp.json", ".gemini/settings.json", ".mcp.json"):
        (ledger / name).write_text(json.dumps({"mcpServers": {"counterpoint": before}}))
    checks = {one["name"]: one for one in call("doctor", "--json").json["checks"]}
    assert checks["claude"]["verdict"] == "ok"
    for name in ("cursor", "vscode", "gemini"):
        assert checks[name]["found"].startswith("COUNTERPOINT_CREDENTIAL does not arrive"), name
    assert "COUNTERPOINT_RUN, COUNTERPOINT_CREDENTIAL, XDG_STATE_HOME" in checks["codex"]["found"]
    assert "`counterpoint init --client codex`" in checks["codex"]["advice"]
    call("init", "--yes", *words)
    found = verdicts(call("doctor", "--json"))
    assert {name: found[name] for name in every} == dict.fromkeys(every, "ok")


@pytest.mark.e2e
def test_an_entry_whose_command_says_nothing_is_named(call, ledger):
    """A program of another kind, and one that keeps the variables back."""
    programs = Path(os.environ["PATH"])
    (programs / "counterpoint").symlink_to("git")
    call("init", "--yes", "--client", "gemini")
    checks = {one["name"]: one for one in call("doctor", "--json").json["checks"]}
    assert "does not tell which variables arrive" in checks["gemini"]["found"]
    (programs / "counterpoint").unlink()
    wrapper = programs / "counterpoint"
    wrapper.write_text(
        f'#!/bin/sh\nunset COUNTERPOINT_CREDENTIAL\nexec {PROGRAM} "$@"\n', encoding="utf-8"
    )
    wrapper.chmod(0o755)
    checks = {one["name"]: one for one in call("doctor", "--json").json["checks"]}
    assert checks["gemini"]["found"].startswith("COUNTERPOINT_CREDENTIAL does not arrive")


@pytest.mark.e2e
@pytest.mark.parametrize("command", ["./counterpoint", "sh", "counterpoint"])
def test_nothing_that_a_file_of_the_project_names_is_started(call, ledger, command):
    """A clone may bring a program of that name, another command, and variables for the loader."""
    mark = ledger / "mark"
    program = ledger / "counterpoint"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    if command == "counterpoint":
        (Path(os.environ["PATH"]) / "counterpoint").symlink_to(PROGRAM)
    args = ["-c", f"touch {mark}"] if command == "sh" else ["mcp"]
    entry = {"command": command, "args": args, "env": {"PYTHONPATH": str(ledger)}}
    (ledger / "counterpoint.py").write_text(f"open({str(mark)!r}, 'w')\n")
    (ledger / ".mcp.json").write_text(json.dumps({"mcpServers": {"counterpoint": entry}}))
    call("doctor", "--json")
    assert not mark.exists()


@pytest.mark.e2e
def test_a_client_that_was_not_told_to_trust_the_folder_is_named(call, ledger):
    """It reads nothing of the project then; once it was told, all is in order."""
    programs, home = Path(os.environ["PATH"]), Path(os.environ["HOME"])
    for name in ("claude", "codex", "gemini", "counterpoint"):
        (programs / name).symlink_to(PROGRAM)
    call("init", "--yes", "--client", "claude", "--client", "codex", "--client", "gemini")
    checks = {one["name"]: one for one in call("doctor", "--json").json["checks"]}
    assert "never opened in this folder" in checks["claude"]["found"]
    assert "does not read .codex/config.toml" in checks["codex"]["found"]
    assert "does not read .gemini/settings.json" in checks["gemini"]["found"]
    (home / ".codex").mkdir(parents=True)
    (home / ".codex" / "config.toml").write_text(
        f'[projects."{ledger}"]\ntrust_level = "trusted"\n'
    )
    (home / ".gemini").mkdir()
    trusted = json.dumps({str(ledger.parent): "TRUST_FOLDER"})
    (home / ".gemini" / "trustedFolders.json").write_text(trusted)
    opened = {"projects": {str(ledger): {"hasTrustDialogAccepted": True}}}
    (home / ".claude.json").write_text(json.dumps(opened))
    found = verdicts(call("doctor", "--json"))
    assert {found[name] for name in ("claude", "codex", "gemini")} == {"ok"}


@pytest.mark.e2e
def test_a_key_that_is_not_the_first_is_named(call, ledger):
    """Missing it is a warning; another in its place is a fault; configured clients are in order."""
    call("init", "--yes", "--client", "codex")
    call("audit", "prove", "--checkpoint")
    shutil.rmtree(Path(os.environ["XDG_STATE_HOME"]) / "counterpoint")
    found = verdicts(call("doctor", "--json"))
    assert (found["key"], found["codex"]) == ("warn", "fail")
    (Path(os.environ["PATH"]) / "counterpoint").symlink_to(PROGRAM)
    found = verdicts(call("doctor", "--json"))
    assert (found["key"], found["codex"]) == ("warn", "ok")
    call("audit", "prove", "--checkpoint")
    assert verdicts(call("doctor", "--json"))["key"] == "fail"


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("import sys; sys.exit('no licence')", "no licence"),
        ("print('not json', flush=True); import signal; signal.pause()", "not JSON"),
        ("print('[1]')", "without an answer"),
        ("import sys; sys.stdin.read(1)", "without an answer"),
    ],
)
def test_a_server_that_does_not_answer_is_told_in_words(place, script, words):
    """It ends, it talks nonsense, it says nothing: each is an answer, none hangs."""
    found = start_server([sys.executable, "-c", script], place, patience=3)
    assert isinstance(found, str)
    assert words in found


@pytest.mark.e2e
def test_a_server_that_hangs_is_given_up(place):
    """After the patience is spent it is ended."""
    script = "import sys; sys.stdin.readlines()"
    found = start_server([sys.executable, "-c", script], place, patience=0.3)
    assert found == "no answer within 0.3 s"


@pytest.mark.e2e
def test_the_list_is_measured_as_it_comes(place):
    """Tools and bytes are counted."""
    line = '{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a"},{"name":"b"}]}}'
    found = start_server([sys.executable, "-c", f"print({line!r})"], Path.cwd(), patience=10)
    assert isinstance(found, Started)
    assert (found.tools, found.size) == (2, len('{"tools":[{"name":"a"},{"name":"b"}]}'))


def test_a_fresh_project_is_not_warned_of_a_witness_that_cannot_know_it(call, place):
    git(place, "init", "-q")
    call("init", "--yes")
    (witness,) = [
        one for one in call("doctor", "--json").json["checks"] if one["name"] == "witness"
    ]
    assert (witness["verdict"], "no head of this ledger yet" in witness["found"]) == ("ok", True)
