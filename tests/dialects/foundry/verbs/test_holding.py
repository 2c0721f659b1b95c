"""What others hold stays in its place, in its words, and free to be finished."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from builders import Agent, Workshop
from counterpoint.dialects.foundry.verbs.phases import Phases
from counterpoint.dialects.foundry.verbs.tasks.edges import Linking
from counterpoint.dialects.foundry.verbs.tasks.editing import Editing, NodeFilter
from counterpoint.dialects.foundry.verbs.tasks.moving import Moving
from counterpoint.dialects.foundry.verbs.tasks.shaping import Shaping
from counterpoint.kernel.errors import AlreadyClaimed

SPEC = "export-2026-01-02-001"
HELD = "task-1-1"
ACTS: dict[str, Callable[[Agent], object]] = {
    "moved": lambda who: who.core.use(Shaping).move(SPEC, HELD, "phase-2"),
    "placed": lambda who: who.core.use(Shaping).move(SPEC, HELD, position=2),
    "removed": lambda who: who.core.use(Shaping).remove(SPEC, HELD),
    "its phase removed": lambda who: who.core.use(Phases).remove(SPEC, "phase-1", force=True),
    "made to wait": lambda who: who.core.use(Linking).add(SPEC, "task-1-2", HELD, "blocks"),
    "its phase put behind": lambda who: who.core.use(Phases).move(SPEC, "phase-1", 2),
    "retitled": lambda who: who.core.use(Editing).edit(SPEC, HELD, {"title": "Another"}),
    "one of many": lambda who: who.core.use(Editing).edit_many(
        SPEC, NodeFilter(pattern="task-1-.*"), {"description": "x"}
    ),
}


@pytest.mark.parametrize("act", ACTS)
def test_what_another_holds_is_left_to_him(
    workshop: Workshop, ada: Agent, root: str, act: str
) -> None:
    """Nobody else changes that; who holds it does."""
    assert root
    ada.core.use(Moving).start(SPEC, HELD)
    with pytest.raises(AlreadyClaimed):
        ACTS[act](workshop.agent("ben"))
    ACTS[act](ada)


def test_what_holds_nobody_up_is_open_to_all(workshop: Workshop, ada: Agent, root: str) -> None:
    """Beside what somebody holds, and softly."""
    assert root
    ada.core.use(Moving).start(SPEC, HELD)
    ben = workshop.agent("ben")
    ben.core.use(Linking).add(SPEC, HELD, "task-1-2", "depends")
    ben.core.use(Linking).add(SPEC, HELD, "task-2-1", "blocks")
    ben.core.use(Editing).edit(SPEC, "task-1-2", {"title": "Another"})
    ben.core.use(Editing).edit(SPEC, "phase-1", {"owner": "ben"})
