"""A board of issues in phases: contracts that judge them, and branches that are handed in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from builders import Agent
from counterpoint.core.coordinator import Core
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.evidence import Branch
from counterpoint.core.model.journal import Record, Submission
from counterpoint.dialects.symphony.nouns import PhaseReport
from counterpoint.dialects.symphony.rules.contracts import Contract
from counterpoint.dialects.symphony.verbs.issues import Issues
from counterpoint.dialects.symphony.verbs.phases import Phases
from counterpoint.kernel.canonical import text_digest
from fakes.studio import Studio

TEXT = "# Research\n\n## Problem\n\n" + "What is true before anybody designs. " * 5
DIFF = (
    "diff --git a/src/a.py b/src/a.py\n--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1,2 @@\n one\n+two\n"
)
READY = PhaseReport(phase="ready", summary="It is built")
FOLLOWING = {
    "research": "architecture",
    "architecture": "grooming",
    "grooming": "ready",
    "ready": "",
}

Seat = Callable[..., Agent]
"""What seats an agent of a type, bound to an issue and a run."""
Make = Callable[..., str]
"""What makes an issue and answers its identifier."""
Asked = Callable[..., dict[str, Any]]
"""What writes an artifact and answers the arguments that hand it over."""


def contract(phase: str) -> Contract:
    """Answer the contract of a phase."""
    is_last = phase == "ready"
    return Contract(
        phase=phase,
        version=1,
        profile="researcher",
        instructions="Do it.",
        source="tests",
        digest="",
        artifact="" if is_last else f"docs/tickets/{{identifier}}/{phase}.md",
        sections=() if is_last else ("Problem",),
        validation="none" if is_last else "structural",
        judge_labels=("security",),
        next_phase=FOLLOWING[phase],
    )


class Board:
    """What the tests of phases and requests do again and again, in a studio of theirs."""

    def __init__(self, studio: Studio, person: Core, ada: Core) -> None:
        """Put the contracts of four phases on the shelf."""
        self.studio, self.person, self.ada = studio, person, ada
        studio.cabinet.contracts |= {phase: contract(phase) for phase in FOLLOWING}

    def issue(self, phase: str = "research", *labels: str, status: str = "", **more: Any) -> str:
        """Make an issue in a phase and answer its id."""
        given = (*((f"phase:{phase}",) if phase else ()), *labels)
        draft = Draft(kind="issue", title="A thing", labels=given, status=status, **more)
        return self.person.plans.create(draft).root.id

    def report(
        self, item: str, phase: str = "research", text: str = TEXT, **more: Any
    ) -> PhaseReport:
        """Let ada take an issue up and write the text of a phase; answer what is said about it."""
        self.ada.use(Issues).attended(item, lambda: None)
        path = f"docs/tickets/DEMO-{int(item.rpartition('-')[2]):03d}/{phase}.md"
        self.studio.tree.write(path, text)
        plain: dict[str, Any] = {
            "phase": phase,
            "summary": "It is done",
            "version": 1,
            "path": path,
            "sha256": text_digest(text),
            "next_phase": FOLLOWING[phase],
        }
        return PhaseReport(**(plain | more))

    def hand(self, item: str, phase: str = "research", **more: Any) -> Submission:
        """Let ada hand the text of a phase over."""
        return self.ada.use(Phases).hand_over(item, self.report(item, phase, **more)).claim

    def build(self) -> str:
        """Let ada hand the commits of an issue over and answer its id."""
        item = self.issue("ready")
        self.ada.claims.start(item)
        self.branch()
        self.ada.use(Phases).hand_over(item, READY)
        return item

    def branch(self, name: str = "work", head: str = "", diff: str = DIFF, **more: Any) -> Branch:
        """Put the branch of the tree in a state."""
        plain: dict[str, Any] = {
            "name": name,
            "base": "main",
            "head": head or self.studio.tree.commit(),
            "base_commit": "0" * 40,
            "commits": ("abc write a",),
            "dirty": (),
            "diff": diff,
        }
        made = Branch(**(plain | more))
        self.studio.tree.branches |= {"": made, name: made}
        return made

    def labels(self, item: str) -> list[str]:
        """Answer the labels of an item in order."""
        return sorted(self.studio.system.overview.facets(item).labels)

    def records(self, item: str, kind: str) -> list[str]:
        """Answer the texts of the records of a kind about an item."""
        with self.studio.view() as view:
            return [one.body for one in view.select(Record, item=item, kind=kind, order="number")]
