"""Several agents in one working tree: nobody is credited with the files of others, in any dialect."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builders import NATIVE, Opened, commit, git

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

PLAN = "# Orchard\n- [ ] Walnut\n  - areas: src/walnut\n- [ ] Pear\n  - areas: src/pear\n"


def write(repository: Path, name: str) -> None:
    """Write a file of the repository."""
    file = repository / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(name)


@pytest.mark.parametrize("is_committed", [False, True])
def test_files_in_areas_that_others_held_meanwhile_lie_apart(
    window: Opened, repository: Path, counterpoint: Callable[..., Any], *, is_committed: bool
) -> None:
    """Also when the other has finished before; with a remark that says how to keep them apart."""
    first, second = window(), window()
    first.does(NATIVE, "plan", markdown=PLAN)
    ready = first.does(NATIVE, "next", limit=5)["ready"]
    walnut, pear = (item["id"] for item in ready[:2])
    mine = first.does(NATIVE, "start", id=walnut)["claim"]["token"]
    theirs = second.does(NATIVE, "start", id=pear)["claim"]["token"]
    for path in ("src/walnut/a.py", "src/pear/b.py"):
        if is_committed:
            commit(repository, path, path)
        else:
            write(repository, path)
    running = json.loads(counterpoint("diff", walnut, "--json", cwd=repository).stdout)
    assert [file["path"] for file in running["files"]] == ["src/walnut/a.py"]
    assert any("areas, held meanwhile: src/pear/b.py" in line for line in running["remarks"])
    ended = second.does(NATIVE, "finish", id=pear, token=theirs, outcome="done", summary="Planted")
    assert [file["path"] for file in ended["evidence"]["files"]] == ["src/pear/b.py"]
    done = first.does(NATIVE, "finish", id=walnut, token=mine, outcome="done", summary="Planted")
    evidence = done["evidence"]
    assert [file["path"] for file in evidence["files"]] == ["src/walnut/a.py"]
    assert (evidence["file_count"], evidence["apart"][0]["files"]) == (1, 1)
    told = [line for line in done["remarks"] if "held meanwhile: src/pear/b.py" in line]
    assert len(told) == 1
    assert sum("a worktree for each agent" in line for line in done["remarks"]) == 1
    shown = json.loads(counterpoint("diff", walnut, "--json", cwd=repository).stdout)
    assert [file["path"] for file in shown["files"]] == ["src/walnut/a.py"]
    assert told[0] in shown["remarks"]


def test_an_agents_own_commit_in_an_area_of_another_stays_its_own(
    window: Opened, repository: Path, counterpoint: Callable[..., Any]
) -> None:
    """Its message names the task; a commit of the other, in the same area, lies apart with its file."""
    first, second = window(), window()
    first.does(NATIVE, "plan", markdown=PLAN)
    walnut, pear = (item["id"] for item in first.does(NATIVE, "next", limit=5)["ready"][:2])
    token = first.does(NATIVE, "start", id=walnut)["claim"]["token"]
    second.does(NATIVE, "start", id=pear)
    commit(repository, "src/pear/theirs.py", "theirs")
    write(repository, "src/pear/mended.py")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", f"{walnut}: mend the pear")
    own = git(repository, "rev-parse", "HEAD")
    done = first.does(NATIVE, "finish", id=walnut, token=token, outcome="done", summary="Planted")
    assert [file["path"] for file in done["evidence"]["files"]] == ["src/pear/mended.py"]
    shown = json.loads(counterpoint("diff", walnut, "--json", cwd=repository).stdout)
    assert shown["commits"] == [own]
    assert any("1 file and 1 commit in " in line for line in shown["remarks"])
