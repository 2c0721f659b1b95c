"""One spec that many processes work on at the same time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from counterpoint.app import App
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.journal import Outcome
from counterpoint.core.model.work import Item
from fakes.long_forms import IS_LONG

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(300)]

SPEC = "race-2026-01-02-001"
RACERS, PHASES = 16, 2
ROUNDS = 20 if IS_LONG else 4
"""How many tasks each process completes; the released program lost a fifth with two."""


def _phase(number: int) -> Draft:
    names = [f"task-{number}-{task}" for task in range(1, RACERS * ROUNDS // PHASES + 1)]
    return Draft(
        kind="phase",
        title=f"Phase {number}",
        needs=(),
        aliases=(("node", f"{SPEC}/phase-{number}"),),
        children=tuple(
            Draft(kind="task", title=name, name=name, aliases=(("node", f"{SPEC}/{name}"),))
            for name in names
        ),
    )


def test_nothing_is_lost_of_what_16_processes_complete_in_one_spec(
    race: Callable[..., list[list[dict[str, Any]]]],
    siege: App,
    assert_whole: Callable[[App], None],
) -> None:
    """Each answer is in the ledger once, the phases close with the last task, and the counts add up."""
    phases = tuple(map(_phase, range(1, PHASES + 1)))
    spec = Draft(
        kind="spec",
        title="Race",
        lifecycle="declared",
        aliases=(("spec", SPEC),),
        children=phases,
    )
    root = siege.person().plans.create(spec).root
    names = [task.name for phase in phases for task in phase.children]
    rounds = [
        [
            {"verb": "complete", "with": {"spec": SPEC, "task": names[round_ * RACERS + racer]}}
            for racer in range(RACERS)
        ]
        for round_ in range(ROUNDS)
    ]
    heard = race(rounds, racers=RACERS, together=False)
    answers = [one["answer"] for answers in heard for one in answers]
    assert sorted(one["task_id"] for one in answers) == sorted(names)
    counts = [one["progress"]["completed_tasks"] for one in answers]
    assert sorted(counts) == list(range(1, len(names) + 1))
    with siege.store.reading(siege.project) as view:
        items = view.select(Item, root=root.id)
        outcomes = view.select(Outcome)
    assert {item.status for item in items if item.parent} == {"done"}
    assert sorted(str(one.summary) for one in outcomes) == sorted(names)
    assert_whole(siege)
