"""The folders of a run of the tests go with it, and nothing of the account is found from them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from builders import Window, open_repository
from counterpoint.evidence.trust.connected import connected_agents
from counterpoint.kernel.clock import SystemClock
from counterpoint.kernel.places import find_tree_and_home

ROOT = Path(__file__).parents[1]
RUN = "import sys, scratch; run = scratch.Scratch(); print(run.disk); print(run.main, flush=True); sys.stdin.read(); run.close()"


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Callable[[], tuple[subprocess.Popen[str], list[Path]]]]:
    """Give what starts a run of tests that waits, and answers its process and its folders."""
    running: list[subprocess.Popen[str]] = []

    def start() -> tuple[subprocess.Popen[str], list[Path]]:
        process = subprocess.Popen(
            [sys.executable, "-c", RUN],
            cwd=Path(__file__).parent,
            env={**os.environ, "TMPDIR": str(tmp_path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        assert process.stdout is not None
        return process, [Path(process.stdout.readline().strip()) for _ in range(2)]

    yield start
    for process in running:
        process.communicate()


def test_the_folders_of_a_run_that_was_killed_go_with_the_next(
    begin: Callable[[], tuple[subprocess.Popen[str], list[Path]]],
) -> None:
    """Those of one that still runs stay, and each removes its own at its end."""
    killed, left = begin()
    other, own = begin()
    assert all(folder.is_dir() for folder in (*left, *own))
    closed = left[0] / "closed"
    closed.mkdir()
    (closed / "file").write_text("x")
    closed.chmod(0)
    killed.kill()
    killed.wait()
    begin()
    assert not any(folder.exists() for folder in left)
    assert all(folder.is_dir() for folder in own)
    other.communicate()
    assert not any(folder.exists() for folder in own)


def test_a_test_finds_nothing_of_the_account(tmp_path: Path) -> None:
    """Neither settings of git or of this program, nor a ledger or a repository above its folder."""
    listed = subprocess.run(
        ["git", "config", "--list"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert listed.stdout.splitlines() == [
        "user.name=Tests",
        "user.email=tests@example.org",
        "init.defaultbranch=main",
    ]
    assert {name for name in os.environ if name.startswith("COUNTERPOINT_")} <= {
        "COUNTERPOINT_LONG",
        "COUNTERPOINT_SEED",
    }
    assert find_tree_and_home(str(tmp_path)) == (str(tmp_path), str(tmp_path))


@pytest.mark.long
def test_tests_below_a_repository_with_a_ledger_see_neither(tmp_path: Path) -> None:
    """A run whose folders somebody puts there passes as any other."""
    outer = open_repository(tmp_path / "outer")
    (outer / ".counterpoint").mkdir()
    (outer / ".counterpoint" / "ledger.db").touch()
    environ = {name: text for name, text in os.environ.items() if not name.startswith("GIT_CEIL")}
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider",
         "--basetemp", str(outer / "base"), f"{__file__}::{test_a_test_finds_nothing_of_the_account.__name__}"],
        cwd=ROOT, env=environ, capture_output=True, text=True, check=False, timeout=50,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout


def test_signals_that_whoever_starts_the_tests_ignores_work_in_them() -> None:
    """As below `nohup`, or in the background of a shell without a terminal."""
    code = "import scratch, signal; scratch.restore_signals(); signal.raise_signal(signal.{})"
    for name in ("SIGHUP", "SIGQUIT", "SIGTERM", "SIGINT"):
        number = getattr(signal, name)
        ended = subprocess.run(
            ["sh", "-c", f"trap '' {number.value}; exec \"$@\"", "sh", sys.executable, "-c", code.format(name)],
            cwd=Path(__file__).parent, capture_output=True, check=False,
        )  # fmt: skip
        assert ended.returncode == -number, name


def test_no_agent_stands_above_a_test() -> None:
    """Whoever runs the tests may be one that works with this program."""
    nowhere = Path.cwd() / "no ledger.db"
    assert connected_agents(nowhere, str(nowhere), SystemClock().now()) == []


@pytest.mark.alike
@pytest.mark.e2e
@pytest.mark.parametrize("broken", [False, True])
def test_an_agent_runs_the_tests_as_anybody_does(repository: Path, broken: bool) -> None:
    """Also from below a ledger that it works with; how they end is told as ever."""
    agent = Window(repository)
    try:
        agent.does("", "brief")
        name = f"{__file__}::{test_no_agent_stands_above_a_test.__name__}"
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-n",
            "0",
            "-p",
            "no:cacheprovider",
            "--rootdir",
            str(ROOT),
        ]
        ran = agent.order(
            run=[*command, "-c", str(ROOT / "pyproject.toml"), name + "_gone" * broken]
        )
        assert ran["code"] == (4 if broken else 0), ran
        assert ("1 passed" in ran["out"]) is not broken, ran
    finally:
        agent.close()
