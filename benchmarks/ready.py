"""Ready work on random and chain graphs with two dependencies a task, small and large."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from _measure import Row, alternate, asked, caller, graph, median, opened, publish, row

from counterpoint.app import App
from counterpoint.core.model.filters import ReadyFilter


def main() -> None:
    """Measure, print, write."""
    wanted = asked(__doc__ or "", rounds=500)
    sizes = [1_000, 10_000, 100_000, *([1_000_000] if wanted.full else [])]
    rows: list[Row] = []
    for shape in ("random", "chain"):
        with ExitStack() as held:
            cases: dict[str, Callable[[], object]] = {}
            for size in sizes:
                (app,) = held.enter_context(opened())
                graph(caller(app)(), shape, size)
                cases[f"{size:,}"] = _asking(app)
            found = alternate(cases, wanted.rounds)
        first = f"{sizes[0]:,}"
        for name, seconds in found.items():
            what, floor = f"five ready of {name}, {shape}", median(found[first], 1e6)
            more = {} if name == first else {"floor": floor, "beside": f"of {first}", "most": 1.5}
            rows.append(row(what, seconds, scale=1e6, unit="us", **more))
    publish("ready", rows)


def _asking(app: App) -> Callable[[], object]:
    core = caller(app)
    return lambda: core().ready.offers(ReadyFilter(), 5)


if __name__ == "__main__":
    main()
