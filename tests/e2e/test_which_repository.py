"""One database of several repositories: each is told apart from the others, on SQLite and PostgreSQL."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from builders import git
from counterpoint.protocol.client import ToolRefused, connect

COUNTERPOINT = [sys.executable, "-P", "-m", "counterpoint"]

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.long)])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Give the place of a database that several repositories can use."""
    if request.param == "sqlite":
        folder = tmp_path / "shared"
        folder.mkdir(mode=0o700)
        yield str(folder / "ledger.db")
        return
    databases = request.getfixturevalue("databases")
    address = databases.empty()
    yield address
    databases.drop(address)


@pytest.fixture
def run(db: str, tmp_path: Path) -> Run:
    """Give what runs a command in a folder on the database."""
    return runner_of(environ_of(tmp_path, db))


def runner_of(environ: dict[str, str]) -> Run:
    """Return what runs a command in a folder with variables."""

    def run_command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COUNTERPOINT, *words],
            cwd=folder,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )

    return run_command


def environ_of(folder: Path, db: str) -> dict[str, str]:
    """Return the variables of an account that uses the database."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    kept = {name: text for name, text in os.environ.items() if not name.startswith("COUNTERPOINT_")}
    return {**kept, "HOME": str(home), "COUNTERPOINT_DB": db, "COUNTERPOINT_IDLE_MINUTES": "0"}


def make_repository(folder: Path, *, text: str) -> Path:
    """Make a repository with one commit that is no other's."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    commit(folder, text)
    return folder


def commit(folder: Path, text: str) -> None:
    """Commit a file with that text."""
    (folder / "file.txt").write_text(text)
    git(folder, "add", ".")
    git(folder, "commit", "-qm", text)


def begin(run: Run, folder: Path, *words: str) -> None:
    """Set a folder up as a person does."""
    done = run(folder, "init", "--yes", *words)
    assert done.returncode == 0, done.stderr


def titles(run: Run, folder: Path, *words: str) -> list[str]:
    """Return the titles of all items that are seen in a folder."""
    done = run(folder, "list", "--all", "--json", *words)
    assert done.returncode == 0, done.stderr
    return [item["title"] for item in json.loads(done.stdout)["items"]]


def test_a_repository_of_the_same_name_is_refused_until_it_has_a_project_of_its_own(
    run: Run, tmp_path: Path
) -> None:
    """`x/api` and `y/api`: nothing of one is seen or written by the other."""
    first = make_repository(tmp_path / "x" / "api", text="x")
    second = make_repository(tmp_path / "y" / "api", text="y")
    begin(run, first)
    assert run(first, "add", "of x").returncode == 0
    for words in (("init", "--yes"), ("add", "of y"), ("list",), ("status",)):
        refused = run(second, *words)
        assert refused.returncode != 0
        assert "belongs to another repository" in refused.stderr
        assert "--project y-api" in refused.stderr
    assert not (second / "AGENTS.md").exists()
    begin(run, second, "--project", "y-api")
    named = run(second, "add", "of y", "--project", "y-api")
    assert named.returncode == 0, named.stderr
    # From then on it is known by its commits.
    assert titles(run, second) == ["of y"]
    assert titles(run, first) == ["of x"]
    again = run(second, "list", "--project", "api")
    assert again.returncode != 0
    audit = run(first, "audit", "verify")
    assert audit.returncode == 0, audit.stdout + audit.stderr
    assert run(first, "audit", "rebuild").returncode == 0


def test_an_agent_of_another_repository_is_refused(run: Run, db: str, tmp_path: Path) -> None:
    """It claims no task of the first; the agents of the first go on."""
    first = make_repository(tmp_path / "x" / "My App", text="x")
    second = make_repository(tmp_path / "y" / "my-app", text="y")
    begin(run, first)
    assert run(first, "add", "of x").returncode == 0
    environ = environ_of(tmp_path, db)
    log = tmp_path / "log"
    command = [*COUNTERPOINT, "mcp"]
    with connect(command, folder=second, environ=environ, errors=log) as stranger:
        with pytest.raises(ToolRefused, match="belongs to another repository"):
            stranger.call("next", claim=True)
        with connect(command, folder=first, environ=environ, errors=log) as agent:
            assert "of x" in json.dumps(agent.call("next", claim=True))
    begin(run, second, "--project", "other")
    own = [*command, "--project", "other"]
    with connect(own, folder=second, environ=environ, errors=log) as agent:
        agent.call("note", kind="finding", text="mine")


@pytest.mark.alike
def test_names_of_folders_keep_their_script(run: Run, tmp_path: Path) -> None:
    """Folders whose names have no ASCII letter are projects of their own."""
    for name in ("日本", "中国", "हिन्दी", "हिन्दू"):
        folder = make_repository(tmp_path / name, text=name)
        begin(run, folder)
        done = run(folder, "add", f"of {name}")
        assert done.returncode == 0, done.stderr
        assert titles(run, folder) == [f"of {name}"]


def test_a_project_that_had_its_name_before_stays_that_of_its_folder(
    run: Run, tmp_path: Path
) -> None:
    """Folders of other scripts were all called `project`; the first whose commits are seen keeps it."""
    first = make_repository(tmp_path / "日本", text="first")
    second = make_repository(tmp_path / "中国", text="second")
    begin(run, tmp_path / "home", "--project", "project")
    assert run(tmp_path / "home", "add", "old", "--project", "project").returncode == 0
    assert titles(run, first) == ["old"]
    assert run(first, "add", "own").returncode == 0
    begin(run, second)
    assert run(second, "add", "new").returncode == 0
    assert titles(run, second) == ["new"]
    assert titles(run, first) == ["old", "own"]


def test_a_folder_that_was_moved_goes_on_with_its_project(run: Run, tmp_path: Path) -> None:
    """So do clones, linked worktrees and branches that begin anew."""
    first = make_repository(tmp_path / "api", text="x")
    begin(run, first)
    assert run(first, "add", "of x").returncode == 0
    moved = first.rename(tmp_path / "interface")
    assert titles(run, moved) == ["of x"]
    git(tmp_path, "clone", "-q", str(moved), "copy")
    assert titles(run, tmp_path / "copy") == ["of x"]
    git(moved, "switch", "-q", "--orphan", "pages")
    commit(moved, "pages")
    assert titles(run, moved) == ["of x"]


def test_a_person_accepts_a_rewritten_history(run: Run, db: str, tmp_path: Path) -> None:
    """Before that it is another repository."""
    first = make_repository(tmp_path / "api", text="x")
    begin(run, first)
    assert run(first, "add", "of x").returncode == 0
    shutil.rmtree(first / ".git")
    git(first, "init", "-q", "-b", "main")
    commit(first, "squashed")
    refused = run(first, "list")
    assert "counterpoint project adopt" in refused.stderr
    adopted = run(first, "project", "adopt")
    assert adopted.returncode == 0, adopted.stderr
    assert titles(run, first) == ["of x"]
    assert "already" in run(first, "project", "adopt").stdout
    assert run(first, "audit", "verify").returncode == 0


@pytest.mark.long
def test_what_has_no_commit_or_a_shallow_history_is_accepted_with_a_remark(
    run: Run, db: str, tmp_path: Path
) -> None:
    """Nothing of it is written down, so that the first full sight counts."""
    origin = make_repository(tmp_path / "origin" / "api", text="x")
    commit(origin, "second")
    shallow = tmp_path / "shallow" / "api"
    git(tmp_path, "clone", "-q", "--depth", "1", origin.as_uri(), str(shallow))
    begin(run, shallow)
    done = run(shallow, "add", "task")
    assert done.returncode == 0, done.stderr
    assert "shallow" in done.stderr
    empty = tmp_path / "empty" / "api"
    empty.mkdir(parents=True)
    git(empty, "init", "-q")
    assert "no commit" in run(empty, "list").stderr
    started: Any
    environ = environ_of(tmp_path, db)
    command = [*COUNTERPOINT, "mcp"]
    with connect(command, folder=shallow, environ=environ, errors=tmp_path / "log") as agent:
        started = agent.call("start", id="api-1")
        assert "shallow" in json.dumps(started)
    assert titles(run, origin) == ["task"]
    assert run(origin, "note", "api-1", "seen whole").returncode == 0
    other = make_repository(tmp_path / "other" / "api", text="y")
    assert run(other, "list").returncode != 0
    assert titles(run, shallow) == ["task"]


def test_the_ledger_of_another_repository_is_that_one_s(tmp_path: Path) -> None:
    """Whoever comes first to a database in somebody's `.counterpoint` does not get its project."""
    first = make_repository(tmp_path / "api", text="x")
    second = make_repository(tmp_path / "web", text="y")
    run_command = runner_of(environ_of(tmp_path, ""))
    assert run_command(first, "init", "--yes").returncode == 0
    db = str(first / ".counterpoint" / "ledger.db")
    refused = run_command(second, "list", "--db", db)
    assert refused.returncode != 0
    assert "--project web" in refused.stderr
    assert run_command(first, "list").returncode == 0
