"""Many threads of one process that is killed: nothing that was answered is lost."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from counterpoint.app import App
from counterpoint.core.model.journal import Record

PROGRAM = Path(__file__).with_name("programs") / "threads.py"

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("answers", [1, 60, 250])
def test_every_answer_of_a_killed_process_is_in_the_ledger(
    folder: Path, app: App, assert_whole: Callable[[App], None], answers: int
) -> None:
    """Sixteen threads share commits; the ledger verifies, rebuilds, and has each answered note."""
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM), str(folder), "16"], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(answers)]
    process.kill()
    rest, _ = process.communicate(timeout=20)
    lines += [line for line in rest.splitlines(keepends=True) if line.endswith(b"\n")]
    answered = dict(line.decode().strip().split(" ", 1) for line in lines)
    assert len(answered) == len(lines) >= answers
    assert_whole(app)
    with app.store.reading(app.project) as view:
        kept = {record.id: str(record.body) for record in view.select(Record)}
    assert answered.items() <= kept.items()
