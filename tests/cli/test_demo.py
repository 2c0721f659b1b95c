"""The demonstration, played once for real, and its parts that can be seen alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from counterpoint.cli.demo.recipes import load_plan, load_recipes
from counterpoint.cli.demo.repository import (
    MAIN,
    Tree,
    child_environ,
    create_linked_tree,
    create_repository,
)
from counterpoint.core.rules import outline
from counterpoint.kernel.errors import Unavailable

LONGEST = 120.0
DEMO = [sys.executable, "-m", "counterpoint", "demo"]

alone = pytest.mark.xdist_group("demo")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Answer an environment whose temporary folder and home are the test's own and empty."""
    for name in ("temp", "home"):
        (tmp_path / name).mkdir()
    mine = {"TMPDIR": str(tmp_path / "temp"), "HOME": str(tmp_path / "home")}
    return {**os.environ, **mine, "GIT_AUTHOR_NAME": "", "COUNTERPOINT_PROJECT": "another"}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Answer the main tree of a throwaway repository."""
    return create_repository(tmp_path / "quill", child_environ(os.environ))


@alone
@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.timeout(LONGEST)
def test_the_demo_plays_to_a_verified_end(environ: dict[str, str], tmp_path: Path) -> None:
    """Everything that the demonstration promises is in its summary, and nothing stays behind."""
    done = subprocess.run(
        [*DEMO, "--json"],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        timeout=LONGEST,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    told: dict[str, Any] = json.loads(done.stdout)
    assert told["held"]
    assert told["faults"] == []
    assert set(told["clients"].values()) == {"lead", "ada", "bob", "cy", "dee", "rae"}
    assert told["tasks"] == {"total": 21, "done": 21}
    assert told["checks"]["failed"] == 1
    assert told["checks"]["passed"] >= 21
    assert (told["taken_over"], told["late_write"]) == (1, "claim_lost")
    assert (told["rejected"], told["approved"]) == (1, 2)
    proof = told["proof"]
    assert proof["is_sound"]
    assert proof["is_rebuilt"]
    assert proof["is_bundle_sound"]
    assert proof["entries"] == sum(told["actions"].values())
    tasks = [line for line in told["tree"] if line["kind"] == "task"]
    assert all(line["commits"] and line["exit_codes"][-1] == 0 for line in tasks)
    assert "dee" not in {line["agent"] for line in tasks}
    assert list((tmp_path / "temp").iterdir()) == []


@alone
@pytest.mark.e2e
@pytest.mark.slow
def test_ctrl_c_ends_every_child_and_removes_the_folder(
    environ: dict[str, str], tmp_path: Path
) -> None:
    """A demonstration that is stopped in the middle leaves nothing: no process, no file."""
    with subprocess.Popen(
        DEMO, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        watchdog = threading.Timer(LONGEST / 3, process.kill)
        watchdog.start()
        assert process.stdout is not None
        assert any(b"task.started" in line for line in process.stdout)
        group = {int(pid) for pid in children_of(process.pid)}
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LONGEST / 3)
        watchdog.cancel()
    assert process.returncode == 130
    assert list((tmp_path / "temp").iterdir()) == []
    assert len(group) >= 5
    assert [pid for pid in group if is_running(pid)] == []


def children_of(pid: int) -> list[str]:
    """Answer the processes that a process has started."""
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True
    )
    pairs = [line.split() for line in listed.stdout.splitlines()]
    return [child for child, parent in pairs if parent == str(pid)]


def is_running(pid: int) -> bool:
    """Tell whether there is a process of this number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_every_task_of_the_plan_has_a_recipe() -> None:
    """What is planned can be done, inside the areas that the plan declares."""
    recipes = load_recipes()
    draft = outline.load(load_plan("python"))
    tasks = [task for phase in draft.children for task in phase.children]
    assert len(tasks) == 20
    assert len(draft.children) == 3
    for task in tasks:
        assert set(recipes[task.title].files) <= set(task.areas)
        assert set(recipes[task.title].first_try) <= set(task.areas)
    assert sum(bool(recipe.first_try) for recipe in recipes.values()) == 1


def test_a_begun_file_is_the_upper_half_of_the_whole() -> None:
    """What an agent that stops in the middle leaves is not yet what it should be."""
    for recipe in load_recipes().values():
        path, text = recipe.first_half
        whole = recipe.attempts[0][path]
        assert whole.startswith(text)
        assert len(text) < len(whole)


def test_the_plan_names_an_interpreter_with_blanks_in_its_path_as_one_word() -> None:
    """The checks of the plan run the interpreter that runs the demonstration."""
    draft = outline.load(load_plan("/a place/python"))
    assert draft.children[0].children[0].checks[0][0] == "/a place/python"


def test_commits_of_two_trees_come_together_on_main(tree: Tree, tmp_path: Path) -> None:
    """The second to land makes a merge; each tree keeps just its own commit."""
    trees = [create_linked_tree(tree, tmp_path / name) for name in ("ada", "bob")]
    commits: list[str] = []
    for linked in trees:
        linked.write({f"{linked.folder.name}.txt": "mine\n"})
        name = linked.folder.name
        commits.append(linked.commit([f"{name}.txt"], f"work of {name}", name))
    for linked in trees:
        linked.land(f"Land {linked.folder.name}")
    assert tree.git("ls-tree", "--name-only", MAIN, "ada.txt", "bob.txt") == "ada.txt\nbob.txt"
    assert tree.git("rev-list", "--count", MAIN) == "4"
    assert [linked.git("rev-parse", "HEAD") for linked in trees] == commits
    trees[0].catch_up()
    assert (trees[0].folder / "bob.txt").read_text() == "mine\n"


def test_two_changes_of_one_file_are_not_merged_in_silence(tree: Tree, tmp_path: Path) -> None:
    """Who comes second is refused, and what the first one landed stays as it is."""
    trees = [create_linked_tree(tree, tmp_path / name) for name in ("ada", "bob")]
    for linked in trees:
        name = linked.folder.name
        linked.write({"same.txt": f"{name}\n"})
        linked.commit(["same.txt"], f"work of {name}", name)
    trees[0].land("first")
    with pytest.raises(Unavailable):
        trees[1].land("second")
    assert tree.git("show", f"{MAIN}:same.txt") == "ada"


def test_a_commit_takes_only_the_named_files(tree: Tree) -> None:
    """What else lies in the tree is left as it is."""
    tree.write({"mine.txt": "mine\n", "other.txt": "not mine\n"})
    tree.commit(["mine.txt"], "mine only", "ada")
    assert tree.git("status", "--porcelain") == "?? other.txt"
    assert tree.git("log", "-1", "--format=%an") == "ada"


def test_children_see_no_variable_that_leads_elsewhere() -> None:
    """Neither git nor Counterpoint is pointed at another repository or ledger."""
    given = {"GIT_DIR": "/elsewhere", "COUNTERPOINT_DB": "/elsewhere", "HOME": "/here"}
    seen = child_environ(given)
    assert "GIT_DIR" not in seen
    assert "COUNTERPOINT_DB" not in seen
    assert seen["HOME"] == "/here"
