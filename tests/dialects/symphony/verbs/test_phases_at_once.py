"""The step, taken by several at once."""

from __future__ import annotations

import threading
from pathlib import Path

from counterpoint.dialects.symphony.nouns.phases import Step
from counterpoint.dialects.symphony.verbs.phases import Phases
from fakes.boards import Board
from fakes.studio import Studio


def test_several_processes_act_upon_each_claim_once(tmp_path: Path) -> None:
    """Of four that take the step at once, one moves each issue; nothing is moved twice."""
    opened = Studio(tmp_path / "ledger.db")
    try:
        board = Board(opened, opened.core("pat", kind="human"), opened.core("ada"))
        for _ in range(5):
            board.hand(board.issue())
        steps: list[Step] = []

        def walk() -> None:
            steps.extend(opened.core("pat", kind="human").use(Phases).advance())

        threads = [threading.Thread(target=walk) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert sum(step.fate == "passed" for step in steps) == 5
        assert {step.fate for step in steps} <= {"passed", "left"}
        opened.check()
    finally:
        opened.close()
