"""The demonstration, played once for real, and its parts that can be seen alone."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders import AGENT_PROCESS, let_run
from counterpoint.cli.demo.agents import Reviewer, Worker
from counterpoint.cli.demo.display import Board, Lines, open_screen
from counterpoint.cli.demo.performance import perform
from counterpoint.cli.demo.pipes import WakeSignal
from counterpoint.cli.demo.processes import AgentProcesses
from counterpoint.cli.demo.recipes import load_plan, load_recipes
from counterpoint.cli.demo.report import DemoResult, print_all
from counterpoint.cli.demo.repository import (
    MAIN,
    Tree,
    child_environ,
    create_linked_tree,
    create_repository,
)
from counterpoint.cli.demo.worker import main, server_argv
from counterpoint.cli.main import run
from counterpoint.cli.output import Output
from counterpoint.core.ledger.entry import Entry
from counterpoint.core.model.access import Actor
from counterpoint.core.rules import outline
from counterpoint.kernel.clock import SystemClock
from counterpoint.kernel.errors import Unavailable
from counterpoint.protocol.client import Connection, connect

LONGEST = 120.0
OWN_FOLDER = f"counterpoint-{os.getuid()}"
"""For sockets: it is made before a check could make it."""
DEMO = [sys.executable, "-m", "counterpoint", "demo"]


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


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.timeout(LONGEST)
def test_the_demo_plays_to_a_verified_end(
    environ: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("tempfile.tempdir", None)
    kept: list[DemoResult] = []

    def performed(out: Output, folder: Path) -> DemoResult:
        kept.append(perform(out, folder))
        return kept[0]

    monkeypatch.setattr("counterpoint.cli.demo.performance.perform", performed)
    code = run(["demo", "--json"])
    said = capsys.readouterr()
    assert code == 0, said.err
    told: dict[str, Any] = json.loads(said.out)
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
    assert [path for path in tmp_path.glob("temp/**/*") if path.name != OWN_FOLDER] == []
    assert_words_tell_the_same(told, kept[0], capsys)


def assert_words_tell_the_same(
    told: dict[str, Any], ended: DemoResult, capsys: pytest.CaptureFixture[str]
) -> None:
    """Compare what people read with the summary."""
    print_all(Output(), ended, None)
    words = capsys.readouterr().out
    assert all(line["id"] in words and line["title"] in words for line in told["tree"])
    assert "1, 0" in words
    assert "late write was refused: claim_lost" in words
    assert "rae said reject" in words
    assert told["proof"]["checkpoint"].splitlines()[2] in words
    assert "by 6 agents" in words
    assert max(map(len, words.splitlines())) <= 100
    assert "All of it held" in words
    print_all(Output(), replace(ended, faults=["nothing burned"]), Path("kept"))
    words = capsys.readouterr().out
    assert "Not as promised: nothing burned." in words
    assert "cd kept" in words


@pytest.mark.e2e
@pytest.mark.slow
def test_ctrl_c_ends_every_child_and_removes_the_folder(
    environ: dict[str, str], tmp_path: Path
) -> None:
    with subprocess.Popen(
        DEMO, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        watchdog = threading.Timer(LONGEST / 3, process.kill)
        watchdog.start()
        assert process.stdout is not None
        assert any(b"task.started" in line for line in process.stdout)
        family = family_of(process.pid)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LONGEST / 3)
        watchdog.cancel()
    assert process.returncode == 130
    assert [path for path in tmp_path.glob("temp/**/*") if path.name != OWN_FOLDER] == []
    assert len(family) >= 10
    assert left_of(family) == set()


def family_of(pid: int) -> set[int]:
    """Answer every process that a process has started, and that those have started."""
    found = {pid}
    parents = parents_by_child()
    for _ in range(3):
        found |= {child for child, parent in parents.items() if parent in found}
    return found - {pid}


def parents_by_child() -> dict[int, int]:
    """Answer the parent of every process of this machine that has not ended."""
    if not Path("/proc/self/stat").exists():
        argv = ["ps", "-A", "-o", "pid=,stat=,ppid="]
        listed = subprocess.run(argv, capture_output=True, text=True, check=True)
        texts = listed.stdout.splitlines()
    else:
        texts: list[str] = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                text = stat.read_text("utf-8", "replace")
                # The name of the program, in brackets, may hold blanks.
                texts.append(f"{text.split(' ', 1)[0]} {text.rpartition(')')[2]}")
    rows = [text.split() for text in texts]
    return {int(child): int(parent) for child, state, parent, *_ in rows if state[0] != "Z"}


def left_of(family: set[int]) -> set[int]:
    """Answer which processes do not end within a while."""
    waiting = threading.Event()
    for _ in range(100):
        left = family & parents_by_child().keys()
        if not left:
            break
        waiting.wait(0.05)
    return left


def test_every_task_of_the_plan_has_a_recipe() -> None:
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
    for recipe in load_recipes().values():
        path, text = recipe.first_half
        whole = recipe.attempts[0][path]
        assert whole.startswith(text)
        assert len(text) < len(whole)


def test_the_plan_names_an_interpreter_with_blanks_in_its_path_as_one_word() -> None:
    draft = outline.load(load_plan("/a place/python"))
    assert draft.children[0].children[0].checks[0][0] == "/a place/python"


def test_commits_of_two_trees_come_together_on_main(tree: Tree, tmp_path: Path) -> None:
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
    tree.write({"mine.txt": "mine\n", "other.txt": "not mine\n"})
    tree.commit(["mine.txt"], "mine only", "ada")
    assert tree.git("status", "--porcelain") == "?? other.txt"
    assert tree.git("log", "-1", "--format=%an") == "ada"


def test_children_see_no_variable_that_leads_elsewhere() -> None:
    given = {"GIT_DIR": "/elsewhere", "COUNTERPOINT_DB": "/elsewhere", "HOME": "/here"}
    seen = child_environ(given)
    assert "GIT_DIR" not in seen
    assert "COUNTERPOINT_DB" not in seen
    assert seen["HOME"] == "/here"


@contextmanager
def connected(agent: str, folder: Path) -> Iterator[tuple[Connection, WakeSignal]]:
    """Open a connection for an agent whose bell says at once that it is time to leave."""
    source, sink = os.pipe()
    os.close(sink)
    argv = [*AGENT_PROCESS, *server_argv(agent)]
    with connect(argv, folder=folder, environ=child_environ(os.environ)) as connection:
        yield connection, WakeSignal(source)
    os.close(source)


PIECE = """# Columns
## Shapes
- review: yes
- [ ] Align words in a width {#align}
  - areas: quill/aligning.py, tests/test_aligning.py
  - accept: it fits
- [ ] Make slugs for addresses
  - verify: PYTHON -m unittest -q tests.test_slugs
- [ ] Set text in columns {#columns}
  - after: align
- [ ] Write the guide
  - after: columns
"""


@pytest.mark.e2e
@pytest.mark.slow
def test_a_rejected_phase_is_mended_by_whoever_takes_the_repair(
    tree: Tree, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    let_run(tree.folder)
    trees = {name: create_linked_tree(tree, tmp_path / name) for name in ("ada", "rae")}
    with connected("lead", tree.folder) as (lead, _):
        root = lead.call("plan", markdown=PIECE.replace("PYTHON", sys.executable))["root"]
        add_empty_checks(lead, root)
        for _ in range(2):
            with connected("ada", trees["ada"].folder) as (connection, bell):
                Worker(name="ada", connection=connection, tree=trees["ada"], wakes=bell).work()
            with connected("rae", trees["rae"].folder) as (connection, bell):
                Reviewer(name="rae", connection=connection, tree=trees["rae"], wakes=bell).work()
        assert lead.call("show", id=root)["status"] == "done"
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    words = [line["doing"] for line in said]
    assert sum("has handed in" in line for line in words) == 2
    assert sum("failed its check" in line for line in words) == 1
    assert any("does not name `columns`, `slug`" in line or "`columns`" in line for line in words)
    assert sum("has approved" in line for line in words) == 1


def add_empty_checks(lead: Connection, root: str) -> None:
    """Give every task without a check one that passes, for each recipe is verified."""
    for item in lead.call("list", root=root, kind="task")["items"]:
        if "slugs" not in item["title"]:
            lead.call("edit", id=item["id"], verify=[["git", "--version"]])


@pytest.mark.e2e
@pytest.mark.slow
def test_an_agent_that_stops_halfway_keeps_its_claim_and_lands_nothing(
    tree: Tree, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    context = create_linked_tree(tree, tmp_path / "dee")
    with connected("dee", context.folder) as (connection, bell):
        connection.call("plan", markdown="# P\n## One\n- [ ] Split text into words\n")
        worker = Worker(name="dee", connection=connection, tree=context, wakes=bell, is_killed=True)
        worker.work()
        halfway = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    task = next(line["halfway"] for line in halfway if "halfway" in line)
    assert (context.folder / "quill" / "words.py").exists()
    assert not tree.agrees("cat-file", "-e", f"{MAIN}:quill/words.py")
    main(["late", "eve", str(tree.folder), "--item", task, "--token", "1"])
    assert json.loads(capsys.readouterr().out)["refused"] == "claim_lost"


def test_an_agent_that_ends_too_early_is_named_with_its_last_words(tmp_path: Path) -> None:
    agents = AgentProcesses(logs=tmp_path, environ=child_environ(os.environ))
    try:
        agents.start("ada", "no-such-role", tmp_path)
        agents.processes["ada"].wait(LONGEST / 3)
        with pytest.raises(Unavailable, match=r"(?s)ada ended with 2.*no-such-role"):
            agents.require_alive()
    finally:
        agents.close()


def entry(action: str, **facts: Any) -> Entry:
    """Answer an entry of a ledger."""
    return Entry(
        project="quill",
        sequence=3,
        time=SystemClock().now(),
        actor=Actor(kind="agent", name="ada"),
        action=action,
        subject="quill-1",
        facts=facts,
        rows=(),
        previous="0" * 64,
    )


def test_lines_tell_what_the_ledger_says(capsys: pytest.CaptureFixture[str]) -> None:
    with open_screen(Output()) as screen:
        assert isinstance(screen, Lines)
        screen.said("ada", "waits for work")
        screen.said("ada", "was too late for quill-9")
        screen.wrote(entry("check.failed", exit_code=1))
        screen.counted(1, 2)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert "was too late for quill-9" in lines[0]
    assert lines[1].split()[2:] == ["ada", "check.failed", "quill-1", "exit_code=1"]


def test_long_lines_are_wrapped(capsys: pytest.CaptureFixture[str]) -> None:
    with open_screen(Output()) as screen:
        screen.wrote(entry("plan.created", title="word " * 50))
        screen.said("ada", "was too late for " + "quill-9 " * 30)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 2
    assert max(map(len, lines)) <= 100


@pytest.mark.long
def test_the_live_view_is_drawn_while_agents_and_entries_come() -> None:
    board, is_over = Board(), threading.Event()

    def add() -> None:
        number = 0
        while not is_over.is_set():
            number += 1
            board.said(f"agent{number % 5000}", "works")
            board.wrote(entry("task.finished"))

    adding = threading.Thread(target=add)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    adding.start()
    try:
        for _ in range(30):
            assert board.__rich__() is not None
    finally:
        is_over.set()
        adding.join()
        sys.setswitchinterval(interval)


def test_a_terminal_shows_agents_progress_and_ledger(capsys: pytest.CaptureFixture[str]) -> None:
    with open_screen(Output(terminal=True)) as screen:
        assert isinstance(screen, Board)
        screen.said("ada", "quill-5 Split\x1b[2Jtext")
        screen.counted(3, 20)
        screen.wrote(entry("task.taken_over", taken_over_from="dee"))
    shown = capsys.readouterr().out
    assert "quill-5 Split\\u{1b}[2Jtext" in shown
    assert "3 of 20 tasks" in shown
    assert "taken_over_from=dee" in shown
