"""Issues with phases, contracts that judge them, and who hands over and looks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.evidence import Branch
from counterpoint.dialects.symphony.nouns.phases import PhaseReport
from counterpoint.dialects.symphony.rules.contracts import Contract
from counterpoint.kernel.canonical import text_digest
from fakes.seats import ada, bob, person, studio
from fakes.studio import Studio

__all__ = ["ada", "bob", "person", "studio"]

TEXT = "# Research\n\n## Problem\n\n" + "What is true before anybody designs. " * 5
DIFF = (
    "diff --git a/src/a.py b/src/a.py\n--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1,2 @@\n one\n+two\n"
)
FOLLOWING = {
    "research": "architecture",
    "architecture": "grooming",
    "grooming": "ready",
    "ready": "",
}


def contract(phase: str, **more: Any) -> Contract:
    """Answer the contract of a phase."""
    is_last = phase == "ready"
    plain: dict[str, Any] = {
        "phase": phase,
        "version": 1,
        "profile": "researcher",
        "instructions": "Do it.",
        "source": "tests",
        "digest": "",
        "artifact": "" if is_last else f"docs/tickets/{{identifier}}/{phase}.md",
        "sections": () if is_last else ("Problem",),
        "validation": "none" if is_last else "structural",
        "judge_labels": ("security",),
        "next_phase": FOLLOWING[phase],
    }
    return Contract(**(plain | more))


@pytest.fixture(autouse=True)
def contracts(studio: Studio) -> None:
    """Put the contracts of four phases on the shelf."""
    studio.cabinet.contracts |= {phase: contract(phase) for phase in FOLLOWING}


@pytest.fixture
def issue(person: Core) -> Callable[..., str]:
    """Answer what makes an issue in a phase, and answers its id."""

    def made(phase: str = "research", *labels: str, status: str = "", **more: Any) -> str:
        given = (*((f"phase:{phase}",) if phase else ()), *labels)
        draft = Draft(kind="issue", title="A thing", labels=given, status=status, **more)
        return person.plans.create(draft).root.id

    return made


@pytest.fixture
def report(studio: Studio) -> Callable[..., PhaseReport]:
    """Answer what writes the text of a phase and answers what is said about it."""

    def said(item: str, phase: str = "research", text: str = TEXT, **more: Any) -> PhaseReport:
        number = int(item.rpartition("-")[2])
        path = f"docs/tickets/DEMO-{number:03d}/{phase}.md"
        studio.tree.write(path, text)
        plain: dict[str, Any] = {
            "phase": phase,
            "summary": "It is done",
            "version": 1,
            "path": path,
            "sha256": text_digest(text),
            "next_phase": FOLLOWING[phase],
        }
        return PhaseReport(**(plain | more))

    return said


@pytest.fixture
def branch(studio: Studio) -> Callable[..., Branch]:
    """Answer what puts the branch of the tree in a state."""

    def put(name: str = "work", head: str = "", diff: str = DIFF, **more: Any) -> Branch:
        commit = head or studio.tree.commit()
        plain: dict[str, Any] = {
            "name": name,
            "base": "main",
            "head": commit,
            "base_commit": "0" * 40,
            "commits": ("abc write a",),
            "dirty": (),
            "diff": diff,
        }
        made = Branch(**(plain | more))
        studio.tree.branches |= {"": made, name: made}
        return made

    return put


@pytest.fixture
def labels(studio: Studio) -> Callable[[str], list[str]]:
    """Answer what tells the labels of an item."""
    return lambda item: sorted(studio.system.overview.facets(item).labels)


READY = PhaseReport(phase="ready", summary="It is built")
