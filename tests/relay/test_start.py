"""Which calls are the relay's, and what it tells the server of them."""

from __future__ import annotations

import json
import os
import re
from typing import Any

import pytest

from counterpoint.relay import start
from counterpoint.relay.answers import Answers

CACHE = os.environ["XDG_CACHE_HOME"]


@pytest.mark.parametrize(
    ("words", "environ"),
    [
        (["--help"], {}),
        (["--in-process"], {}),
        (["--nonsense", "x"], {}),
        (["--agent"], {}),
        (["agent"], {}),
        (["--db", "postgresql://x/y"], {}),
        (["--surface", "none"], {}),
        (["--surface", "../native"], {}),
        ([], {"COUNTERPOINT_IN_PROCESS": "1"}),
        (["--surface", "symphony", "--agent-type", "poet"], {}),
        (["--surface", "symphony", "--tool-scope-file", "/not/there.json"], {}),
        (["--surface", "symphony"], {"COUNTERPOINT_TOOL_SCOPE_FILE": "/not/there.json"}),
        ([], {"COUNTERPOINT_LEASE_SECONDS": "soon"}),
    ],
)
def test_any_other_call_is_the_command_lines(words, environ):
    """It has the help and the words for what is wrong."""
    assert start.main(words, {"XDG_CACHE_HOME": CACHE, **environ}) is None


def test_flags_go_before_variables(tmp_path, monkeypatch):
    """Both spellings of a flag; a secret is made here; the database is told whole, and of variables what a server needs."""
    greetings: list[dict[str, Any]] = []
    monkeypatch.chdir(tmp_path)

    class Silent:
        def __init__(self, answers: Answers, database: str, greeting: bytes) -> None:
            greetings.append(json.loads(greeting) | {"database": database})

        def run(self) -> int:
            return 7

    monkeypatch.setattr(start, "Relay", Silent)
    environ = {
        "COUNTERPOINT_AGENT": "bob",
        "COUNTERPOINT_ITEM": "x-1",
        "HOME": "/home",
        "XDG_CACHE_HOME": CACHE,
        "SOME_API_KEY": "sk-1",
        "PATH": "/bin",
    }
    (tmp_path / ".git").mkdir()
    assert start.main(["--agent=ada", "--db", "y.db"], environ) == 7
    said = greetings[0]
    assert said["flags"] == {"agent": "ada", "item": "x-1", "db": str(tmp_path / "y.db")}
    assert said["database"] == str(tmp_path / "y.db")
    told = {name: environ[name] for name in ("COUNTERPOINT_AGENT", "COUNTERPOINT_ITEM", "HOME")}
    assert (said["folder"], said["environ"]) == (str(tmp_path), told)
    assert re.fullmatch("[0-9a-f]{64}", said["secret"])
    start.main(["--session", "ses_1"], {"XDG_CACHE_HOME": CACHE})
    assert greetings[1]["flags"] == {"session": "ses_1"}
    assert greetings[1]["secret"] != said["secret"]
    # What a server of another account need not know stays here.
    start.main(["--db", "unix:/run/x.sock"], environ)
    said = greetings[2]
    assert said["database"] == said["flags"]["db"] == "unix:/run/x.sock"
    assert said["environ"] == {"COUNTERPOINT_AGENT": "bob", "COUNTERPOINT_ITEM": "x-1"}


def test_the_flags_of_another_dialect_set_the_same_settings(tmp_path, monkeypatch):
    """As words or as variables; a setting's own name goes before its other one."""
    greetings: list[dict[str, Any]] = []
    (tmp_path / "t.json").write_text('["get_issue"]')
    monkeypatch.chdir(tmp_path)

    class Silent:
        def __init__(self, _answers: Answers, _database: str, greeting: bytes) -> None:
            greetings.append(json.loads(greeting))

        def run(self) -> int:
            return 0

    monkeypatch.setattr(start, "Relay", Silent)
    words = [
        "--surface",
        "symphony",
        "--issue-id",
        "SYM-001",
        "--agent-type=worker",
        "--run-id",
        "r",
    ]
    cached = {"XDG_CACHE_HOME": CACHE}
    more = ["--worktree-path", "w", "--project-slug", "s", "--symphony-dir", "d"]
    assert (
        start.main([*words, *more, "--project-id", "p", "--tool-scope-file", "t.json"], cached) == 0
    )
    names = ("ISSUE_ID", "AGENT_TYPE", "RUN_ID", "PROJECT_ID", "WORKTREE_PATH")
    environ = {f"COUNTERPOINT_{name}": name.lower() for name in names}
    assert start.main([], environ | cached | {"COUNTERPOINT_ITEM": "mine"}) == 0
    first, second = (one["flags"] for one in greetings)
    assert first == {
        "surface": "symphony", "item": "SYM-001", "profile": "worker", "run": "r", "worktree": "w",
        "project_slug": "s", "symphony_dir": "d", "project": "p", "tool_scope": "t.json",
    }  # fmt: skip
    assert second == {
        "item": "mine", "profile": "agent_type", "run": "run_id", "project": "project_id",
        "worktree": "worktree_path",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("file://{}/a%20b", "a b"),
        ("FILE://localhost{}/a%20b/", "a b/"),
        ("file:{}/%E8%A8%88", "計"),
        # As clients write it that quote nothing.
        ("file://{}/a b", "a b"),
        ("file://{}/50% #1?", "50% #1?"),
        ("file://elsewhere{}/a%20b", ""),
        ("file://{}/gone", ""),
        ("file://{}/file", ""),
        ("file://{}/a%00b", ""),
        ("file:", ""),
        ("file://", ""),
        ("https://localhost{}/a%20b", ""),
        ("{}/a b", ""),
        (5, ""),
    ],
)
def test_a_root_names_a_folder_that_is_there(tmp_path, uri, name):
    """By a `file:` URI of this machine, quoted or not."""
    for folder in ("a b", "計", "50% #1?"):
        (tmp_path / folder).mkdir()
    (tmp_path / "file").touch()
    root = {"uri": uri.format(tmp_path) if isinstance(uri, str) else uri}
    assert start.find_folder(root) == (f"{tmp_path}/{name}" if name else "")
    assert not start.find_folder(uri)
