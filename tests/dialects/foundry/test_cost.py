"""What the calls about tasks cost in a large spec: steps of the database are counted, never seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from counterpoint.app import App, open_app
from counterpoint.core.model.drafts import Draft
from counterpoint.dialects.call import Call
from counterpoint.dialects.registry import surface

SPEC = "large-2026-01-02-001"
SMALL, LARGE = (5, 20), (5, 240)
READS = ("next", "prepare", "progress", "list")
GROWTH = 1.55
"""How much more the large spec may take: deeper indexes, and done tasks that are passed over and counted."""

STATEMENTS = {"next": 12, "prepare": 21, "progress": 8, "list": 16, "start": 20, "complete": 45}
"""With those that begin and end transactions; an offer asks once what the caller relaxed, and so may not do,
and it and a start once for checks, which nobody may have allowed; one looks for claims that others have ended."""

Steps = list[tuple[str, int]]
"""Each statement that ran, with how many steps it took."""


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    """Give the list that every statement of every connection goes into."""
    seen: Steps = []

    def profile(event: dict[str, Any]) -> None:
        text = " ".join(event["sql"].split())
        # Those of the full-text index, and the hashes of the tree that are due now and then, are of no spec.
        if "'main'." not in text and not text.startswith("INSERT INTO nodes"):
            seen.append((text, event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]))

    def watch(connection: apsw.Connection) -> None:
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, profile)

    monkeypatch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, watch])
    return seen


@pytest.fixture
def opened(tmp_path: Path, steps: Steps) -> Iterator[Callable[[int, int], App]]:
    """Give what makes a spec of so many phases and tasks in each, in a database of its own."""
    apps: list[App] = []

    def make(phases: int, tasks: int) -> App:
        tree = tmp_path / f"{phases}-{tasks}"
        tree.mkdir()
        app = open_app(tree, {}, db=str(tmp_path / f"{tree.name}.db"), project="demo", agent="ada")
        apps.append(app)
        app.core(app.agent()).plans.create(spec(phases, tasks))
        return app

    assert not steps
    yield make
    for app in apps:
        app.close()


def spec(phases: int, tasks: int) -> Draft:
    """Return a spec of which half is done, each task of that half after the one before."""
    return Draft(
        kind="spec",
        title="Large",
        lifecycle="declared",
        aliases=(("spec", SPEC),),
        children=tuple(
            Draft(
                kind="phase",
                title=f"Phase {phase}",
                needs=(),
                aliases=(("node", f"{SPEC}/phase-{phase}"),),
                children=tuple(task(phase, number, tasks) for number in range(1, tasks + 1)),
            )
            for phase in range(1, phases + 1)
        ),
    )


def task(phase: int, number: int, tasks: int) -> Draft:
    """Return a task of a phase."""
    is_done = number <= tasks // 2
    return Draft(
        kind="task",
        title=f"Write part {number} of {phase}",
        name=f"{phase}-{number}",
        needs=(f"{phase}-{number - 1}",) if is_done and number > 1 else (),
        acceptance=("It is there",),
        areas=(f"src/{phase}/{number}.py",),
        aliases=(("node", f"{SPEC}/task-{phase}-{number}"),),
        done=is_done,
    )


def worked(app: App, steps: Steps, tasks: int) -> dict[str, Steps]:
    """Return the statements of each action, after each was done once before."""
    spoken, identity = surface("foundry"), app.agent()

    def ask(action: str, **more: str) -> None:
        given = {"action": action, "spec_id": SPEC, **more}
        call = Call(core=app.core(identity), secret=lambda: b"cursors")
        outcome = spoken.invoke(call, "task", given)
        assert not outcome.is_error, outcome.text

    found: dict[str, Steps] = {}
    for place in (1, 2, 3):
        name = {"task_id": f"task-{place % 2 + 1}-{tasks // 2 + place}"}
        for action, more in (
            *((action, {}) for action in READS),
            ("start", name),
            ("complete", {**name, "completion_note": "It is there"}),
        ):
            steps.clear()
            ask(action, **more)
            found[action] = list(steps)
    return found


def taken(statements: Steps) -> int:
    """Return the steps of all statements."""
    return sum(many for _, many in statements)


def told(statements: Steps) -> str:
    """Return statements with their steps, for whoever reads why a test failed."""
    return "\n".join(f"{many:7} {text[:300]}" for text, many in statements)


def test_no_call_about_tasks_takes_more_in_a_spec_twelve_times_as_large(
    opened: Callable[[int, int], App], steps: Steps
) -> None:
    """No statement more, and hardly a step more: nothing is looked through, counted or sorted by the spec."""
    small, large = (worked(opened(*shape), steps, shape[1]) for shape in (SMALL, LARGE))
    for action, statements in large.items():
        before = small[action]
        assert len(statements) <= STATEMENTS[action], f"{action}\n{told(statements)}"
        assert len(statements) <= len(before), f"{action}\n{told(statements)}"
        assert taken(statements) <= GROWTH * taken(before), f"{action}\n{told(statements)}"


def test_another_phase_adds_its_own_line_to_what_is_told_and_no_more(
    opened: Callable[[int, int], App], steps: Steps
) -> None:
    """Of phases that nobody has touched nothing is read again, whatever happened in others."""
    few, many = (worked(opened(*shape), steps, shape[1]) for shape in ((5, 20), (40, 20)))
    for action in ("progress", "complete", "prepare"):
        assert len(many[action]) == len(few[action]), told(many[action])
        assert taken(many[action]) <= GROWTH * taken(few[action]), told(many[action])


def test_a_short_page_of_all_tasks_reads_no_more_than_it_shows(
    opened: Callable[[int, int], App], steps: Steps
) -> None:
    app = opened(*SMALL)
    spoken, identity, found = surface("foundry"), app.agent(), dict[int, int]()
    for limit in (5, 49, 5, 49):
        steps.clear()
        given = {"action": "list", "spec_id": SPEC, "limit": limit}
        outcome = spoken.invoke(
            Call(core=app.core(identity), secret=lambda: b"cursors"), "task", given
        )
        assert outcome.answer["data"]["count"] == limit, outcome.text
        found[limit] = taken([one for one in steps if "criteria" in one[0]])
    assert found[5] <= found[49] / 2, found
