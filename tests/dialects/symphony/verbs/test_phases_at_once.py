"""The step, taken by several at once."""

from __future__ import annotations

import threading
from pathlib import Path

from counterpoint.core.model.drafts import Draft
from counterpoint.dialects.symphony.nouns.phases import PhaseReport, Step
from counterpoint.dialects.symphony.rules.contracts import Contract
from counterpoint.dialects.symphony.verbs.phases import Phases
from counterpoint.kernel.canonical import text_digest
from fakes.studio import Studio

TEXT = "# Research\n\n## Problem\n\n" + "What is true before anybody designs. " * 5


def test_several_processes_act_upon_each_claim_once(tmp_path: Path) -> None:
    """Whoever comes second finds it done."""
    opened = Studio(tmp_path / "ledger.db")
    try:
        opened.cabinet.contracts["research"] = Contract(
            phase="research", version=1, profile="r", instructions="x", source="", digest="",
            artifact="docs/{identifier}/r.md", next_phase="ready",
        )  # fmt: skip
        opened.cabinet.contracts["ready"] = Contract(
            phase="ready", version=1, profile="w", instructions="x", source="", digest="",
            validation="none",
        )  # fmt: skip
        person, ada = opened.core("pat", kind="human"), opened.core("ada")
        for number in range(1, 6):
            draft = Draft(kind="issue", title="T", labels=("phase:research",))
            item = person.plans.create(draft).root.id
            path = f"docs/DEMO-00{number}/r.md"
            opened.tree.write(path, TEXT)
            said = PhaseReport(
                phase="research", summary="s", version=1, path=path,
                sha256=text_digest(TEXT), next_phase="ready",
            )  # fmt: skip
            ada.use(Phases).hand_over(item, said)
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
