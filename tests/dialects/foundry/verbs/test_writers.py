"""Several writers at one spec, at the same time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from builders import Workshop
from counterpoint.dialects.foundry.documents.operations import Editing
from counterpoint.dialects.foundry.models.specs import CONSTRAINTS, PhaseDraft, SpecDraft
from counterpoint.dialects.foundry.specs.operations import Frontmatter, Specs
from counterpoint.dialects.foundry.specs.phases import Phases

SPEC = "export-2026-01-02-001"
WRITERS = range(4)


def test_no_writer_undoes_or_repeats_what_another_does(
    root: str, workshop: Workshop, repository: Path
) -> None:
    """Every phase has a number of its own, every entry of a list is there, and so is every spec of one name."""
    assert root
    (repository / "specs").mkdir()
    (repository / "specs/a.md").write_text("# Plan\n")
    draft = SpecDraft(name="Same", plan_path="a.md", plan_review_path="a.md", template="empty")
    agents = [workshop.agent(f"agent-{place}") for place in WRITERS]

    def writer(place: int) -> list[str]:
        core = agents[place].core
        found: list[str] = []
        for turn in range(3):
            found.append(core.use(Phases).add(SPEC, PhaseDraft(title=f"{place}.{turn}")).id)
            core.use(Frontmatter).add(SPEC, CONSTRAINTS, f"{place}.{turn}")
            core.use(Phases).move(SPEC, found[-1], 1 + turn)
            found.append(core.use(Specs).create(draft)[0].spec)
        return found

    with ThreadPoolExecutor(len(WRITERS)) as pool:
        named = [name for some in pool.map(writer, WRITERS) for name in some]
    assert len(set(named)) == len(named) == 24
    document: dict[str, Any] = agents[0].core.use(Specs).document(SPEC)
    phases = document["hierarchy"]["spec-root"]["children"]
    assert sorted(phases, key=lambda name: int(name[6:])) == [f"phase-{n}" for n in range(1, 15)]
    assert len(document["metadata"]["constraints"]) == 12


def test_a_rewriting_goes_beside_other_writers(
    made: Callable[..., str], workshop: Workshop
) -> None:
    """What others write meanwhile stays."""
    made(phases=3, tasks=5)
    agents = [workshop.agent(f"agent-{place}") for place in WRITERS]

    def writer(place: int) -> None:
        core = agents[place].core
        if place == 0:
            core.use(Editing).replace(SPEC, "Write", "Make")
        else:
            core.use(Frontmatter).put(SPEC, f"key-{place}", place)

    with ThreadPoolExecutor(len(WRITERS)) as pool:
        assert list(pool.map(writer, WRITERS)) == [None] * len(WRITERS)
    document: dict[str, Any] = agents[0].core.use(Specs).document(SPEC)
    assert [document["metadata"][f"key-{place}"] for place in (1, 2, 3)] == [1, 2, 3]
    assert document["hierarchy"]["task-3-5"]["title"] == "Make part 5 of 3"
