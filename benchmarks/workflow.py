"""What is known of a workflow with many tasks, and a task's begin and end in it."""

from __future__ import annotations

from contextlib import ExitStack

import apsw
from _floors import appending, open_bare
from _measure import Row, alternate, asked, caller, folder, median, opened, publish, row

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Report
from counterpoint.dialects.call import Call
from counterpoint.dialects.registry import surface
from counterpoint.dialects.workflow.nouns import TaskWords
from counterpoint.dialects.workflow.verbs.workflows import Workflows

_PHASES, _EACH = 20, 500
_NUMBERS = range(1, _PHASES + 1)
_DONE = Report(outcome="done", summary="done")
_PAGE = """
SELECT id, title, status, assignee, body, created_at, closed_at FROM items
WHERE project = ? AND root = ? AND kind = 'task' ORDER BY number LIMIT 51
"""


def main() -> None:
    """Measure, print, write."""
    wanted = asked(__doc__ or "", rounds=200)
    rows: list[Row] = []
    with folder() as place, ExitStack() as held:
        plain = place / "plain"
        plain.mkdir()
        (app,) = held.enter_context(opened(plain))
        core = caller(app)
        workflow = core().use(Workflows).open("W", "objective", {"total_phases": _PHASES}).id
        phases = [core().plans.create(_phase(workflow, n), workflow).root.id for n in _NUMBERS]
        dialect = surface("workflow")
        append = appending(open_bare(place / "bare.db"), 1_000)
        page = apsw.Connection(str(app.database), flags=apsw.SQLITE_OPEN_READONLY).execute

        def ask(**arguments: object) -> None:
            call = Call(core=core(), secret=lambda: b"secret")
            answer = dialect.invoke(call, "get_context", {"workflow_id": workflow, **arguments})
            if answer.is_error:
                raise RuntimeError(answer.text)

        def task() -> None:
            asked_for = Draft(kind="task", title="T", body="g")
            begun = core().use(Workflows).begin_task(workflow, phases[0], asked_for)
            core().use(Workflows).end_task(begun.started.item.id, _DONE, TaskWords())

        found = alternate(
            {
                "page": lambda: page(_PAGE, (app.project, workflow)).fetchall(),
                "tasks": lambda: ask(include=["tasks"]),
                "summary": lambda: ask(include=["phase_summary"]),
                "phase": lambda: ask(include=["tasks"], filter={"phase": _PHASES}),
                "commits": lambda: (append(), append()),
                "task": task,
            },
            wanted.rounds,
        )
    size = f"{_PHASES * _EACH:,} tasks"
    asked_for = ("tasks", "summary", "phase")
    rows += [row(f"get_context, {what}, {size}", found[what], most=10) for what in asked_for]
    rows.append(row(f"the bare page of {size}", found["page"]))
    rows.append(
        row(
            f"start + complete a task, no git, {size}",
            found["task"],
            floor=median(found["commits"]),
            beside="two bare commits",
        )
    )
    publish("workflow", rows)


def _phase(workflow: str, number: int) -> Draft:
    """Answer a phase as `start_phase` makes it, with its tasks planned."""
    return Draft(
        kind="phase",
        title=f"Phase {number}",
        lifecycle="declared",
        aliases=(("phase", f"{workflow}/{number}"),),
        attributes={"number": number, "is_parallel": True},
        needs=(),
        children=tuple(
            Draft(kind="task", title=f"Task {place}", body="goal") for place in range(_EACH)
        ),
    )


if __name__ == "__main__":
    main()
