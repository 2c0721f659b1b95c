"""Erasure that is cut off: the command again ends clean, with one receipt that tells the truth."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from builders import AGENT_PROCESS
from counterpoint.app import App
from counterpoint.core.model.filters import Note
from fakes.long_forms import IS_LONG

pytestmark = [pytest.mark.e2e, pytest.mark.faults, pytest.mark.durable, pytest.mark.timeout(180)]

DYING = Path(__file__).parent / "programs" / "dying.py"
WORDS = "zqxwalrus of 4711"
STEPS = (
    "Targets.read@return:1",
    "StoreWriting.forget@return:1",
    "Unit.__exit__@return:1",
    "Targets.take@return:2",
    "Erasures._erase@return:1",
    "SqliteStore.purge@return:1",
    "find_remains@return:1",
    "Erasures.close@call:1",
    "Erasures.close@return:1",
)


@pytest.fixture
def asked(tmp_path: Path) -> tuple[str, ...]:
    """Give the command that takes the words away."""
    (tmp_path / "words").write_text(WORDS)
    return ("audit", "redact", "--text", str(tmp_path / "words"), "--reason", "private", "--json")


def holding(folder: Path) -> list[str]:
    """Answer the files below a folder that have the words in them."""
    return [
        file.name
        for file in folder.rglob("*")
        if file.is_file() and WORDS.encode() in file.read_bytes()
    ]


@pytest.mark.parametrize("step", STEPS if IS_LONG else STEPS[::3])
def test_whatever_moment_it_is_killed_at_the_next_ends_it(
    step: str,
    app: App,
    folder: Path,
    asked: tuple[str, ...],
    counterpoint: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    """In one receipt, which counts the tries and all texts; the ledger is sound."""
    many = 420
    for number in range(many):
        app.itself().journal.append(Note(kind="finding", body=f"{WORDS}, {number}"))
    killed = subprocess.run(
        [sys.executable, str(DYING), step, *asked], cwd=folder, check=False, capture_output=True
    )
    assert killed.returncode == -9, killed.stderr
    done = counterpoint(*asked, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert holding(folder) == []
    (receipt,) = app.itself().erasing.list()
    assert (receipt.status, receipt.texts, receipt.looked_for) == ("clean", many, 1)
    assert json.loads(done.stdout)["left"] == []
    audit = app.itself().audit.verify()
    # The hash by which the receipt was found again went with its end.
    assert (audit.sound, audit.redacted) == (True, many + 1)


def test_an_agent_that_writes_the_words_meanwhile_is_told_of(
    app: App,
    folder: Path,
    asked: tuple[str, ...],
    wire: ModuleType,
    request: pytest.FixtureRequest,
    counterpoint: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    """It is not held up; what came after the end is told with the exit code 1, and goes with the next."""
    agent = wire.Client(folder, (*AGENT_PROCESS, *wire.SERVER))
    request.addfinalizer(agent.close)
    agent.greet()
    ended, written = threading.Event(), threading.Event()

    def write() -> None:
        while not ended.is_set():
            agent.call("note", kind="finding", text=WORDS)
            written.set()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert written.wait(60)
        first = counterpoint(*asked, cwd=folder)
    finally:
        ended.set()
        writer.join(60)
    assert first.returncode in {0, 1}, first.stderr
    assert first.stdout, first.stderr
    if first.returncode:
        assert "texts that were written since" in json.loads(first.stdout)["left"]
    last = counterpoint(*asked, cwd=folder)
    assert last.returncode == 0, last.stdout + last.stderr
    assert holding(folder) == []
    assert app.itself().audit.verify().sound
