"""A plan of 200 phases with 50 tasks each: shown in pages, and one of its tasks moved along.

Through the surface in this process, beside a read of one row and a durable append.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from time import perf_counter
from typing import Any

from _floors import appending, open_bare
from _measure import Row, alternate, asked, caller, folder, median, opened, publish, row

from counterpoint.core.coordinator import Core
from counterpoint.dialects.call import Call
from counterpoint.dialects.registry import surface

PHASES, TASKS = 200, 50
BUDGET_MS = 4.0
"""What a task moved along may take, durable."""


def main() -> None:
    """Measure, print, write."""
    wanted = asked(__doc__ or "", rounds=200)
    with opened() as (app,), folder() as place:
        core = caller(app)
        ask = _asking(core)
        rows = _made(ask)
        number = count()
        pages = _pages(ask)
        first = ask("plan_get", slug="large")["next_cursor"]

        def move() -> object:
            at = next(number)
            return ask(
                "task_update",
                plan_slug="large",
                phase_order=1 + at % PHASES,
                task_identifier=(at // PHASES) % TASKS,
                status="completed",
            )

        found = alternate(
            {
                "append": appending(open_bare(place / "bare.db"), 500),
                "row": lambda: core().items.get("bench-1"),
                "first": lambda: ask("plan_get", slug="large"),
                "next": lambda: ask("plan_get", slug="large", cursor=first),
                "phase": lambda: ask("phase_get", plan_slug="large", phase_order=100),
                "move": move,
            },
            wanted.rounds,
        )
    publish("agentic", [*rows, *_rows(found, pages)])


def _asking(core: Callable[[], Core]) -> Callable[..., dict[str, Any]]:
    spoken = surface("agentic")

    def ask(tool: str, **arguments: Any) -> dict[str, Any]:
        outcome = spoken.invoke(Call(core=core(), secret=lambda: b"benchmark"), tool, arguments)
        assert not outcome.is_error, outcome.text
        return outcome.answer

    return ask


def _made(ask: Callable[..., dict[str, Any]]) -> list[Row]:
    phases = [
        {"name": f"Phase {phase}", "tasks": [f"Task {phase}.{task}" for task in range(TASKS)]}
        for phase in range(1, PHASES + 1)
    ]
    begin = perf_counter()
    ask("plan_create", title="Large", slug="large", phases=phases)
    made = perf_counter()
    ask("plan_update_status", slug="large", status="active")
    begun = perf_counter()
    return [
        Row(what="plan_create, once", figure=round((made - begin) * 1e3, 1), unit="ms"),
        Row(
            what="plan_update_status active, once", figure=round((begun - made) * 1e3, 1), unit="ms"
        ),
    ]


def _pages(ask: Callable[..., dict[str, Any]]) -> int:
    """Answer how many pages the whole plan has."""
    pages, cursor = 1, ask("plan_get", slug="large").get("next_cursor")
    while cursor:
        pages, cursor = pages + 1, ask("plan_get", slug="large", cursor=cursor).get("next_cursor")
    return pages


def _rows(found: dict[str, list[float]], pages: int) -> list[Row]:
    read, append = median(found["row"]), median(found["append"])
    return [
        row("read of one row", found["row"]),
        row("durable append with a chain and a row", found["append"]),
        row("plan_get, first page", found["first"], floor=read, beside="row"),
        row("plan_get, next page", found["next"], floor=read, beside="row"),
        Row(what="plan_get, pages of the whole", figure=pages, unit="pages"),
        row("phase_get", found["phase"], floor=read, beside="row"),
        row("task_update, durable", found["move"], floor=append, beside="append"),
        row("task_update, within its budget", found["move"], most=BUDGET_MS),
    ]


if __name__ == "__main__":
    main()
