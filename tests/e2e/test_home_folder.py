"""No ledger is begun in the home folder, where clients start what they were not told to start elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from counterpoint.protocol.client import ToolRefused, connect

COUNTERPOINT = [sys.executable, "-P", "-m", "counterpoint"]


def run_command(folder: Path, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, of an account with that home."""
    environ = {**os.environ, "HOME": str(home)}
    return subprocess.run(
        [*COUNTERPOINT, *words],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )


def take_note(folder: Path, home: Path, log: Path) -> str:
    """Have an agent that was started in a folder write a note; return what it was refused with."""
    environ = {**os.environ, "HOME": str(home)}
    with connect([*COUNTERPOINT, "mcp"], folder=folder, environ=environ, errors=log) as client:
        try:
            client.call("note", kind="finding", text="seen")
        except ToolRefused as refused:
            return str(refused)
    return ""


@pytest.mark.e2e
@pytest.mark.parametrize("below", ["", "account"])
def test_an_agent_in_the_home_folder_begins_no_ledger(tmp_path: Path, below: str) -> None:
    """Neither there nor above it; each call says what to do."""
    place = tmp_path / "place"
    home = place / below
    home.mkdir(parents=True)
    refused = take_note(place, home, tmp_path / "log")
    assert "no ledger is begun in" in refused
    assert "`cwd`" in refused
    assert run_command(place, home, "add", "a task").returncode != 0
    assert not (place / ".counterpoint").exists()
    assert not (home / ".counterpoint").exists()


@pytest.mark.e2e
def test_a_ledger_in_the_home_folder_is_made_when_a_person_asks(tmp_path: Path) -> None:
    """`init` asks for it; agents use it from then on."""
    home = tmp_path / "home"
    home.mkdir()
    begun = run_command(home, home, "init", "--yes")
    assert begun.returncode == 0, begun.stderr
    assert not take_note(home, home, tmp_path / "log")
    projects = run_command(home, home, "status", "--json")
    assert json.loads(projects.stdout)
    run_command(home, home, "down")


@pytest.mark.e2e
def test_a_project_below_the_home_folder_has_a_ledger_of_its_own(tmp_path: Path) -> None:
    project = tmp_path / "home" / "project"
    project.mkdir(parents=True)
    (tmp_path / "home" / ".counterpoint").mkdir()
    assert not take_note(project, tmp_path / "home", tmp_path / "log")
    assert (project / ".counterpoint" / "ledger.db").exists()
    run_command(project, tmp_path / "home", "down")
