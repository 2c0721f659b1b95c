"""Ready work on random and chain graphs, two dependencies a task."""

from __future__ import annotations

from _measure import Row, arguments, caller, graph, opened, publish, timed
from _measure import row as series

from counterpoint.core.model.asks import Wanted


def main() -> None:
    """Measure, print, write."""
    asked = arguments(main.__doc__ or "")
    sizes = [1_000, 10_000, 100_000, *([1_000_000] if asked.full else [])]
    rows: list[Row] = []
    for shape in ("random", "chain"):
        first = 0.0
        for size in sizes:
            with opened() as app:
                core = caller(app)
                graph(core(), shape, size)
                seconds = timed(lambda: core().ready.offers(Wanted(), 5), asked.rounds * 2)
                one = series(
                    f"five ready of {size:,}, {shape}",
                    seconds,
                    scale=1e6,
                    unit="us",
                    **({"floor": first, "beside": "at 1,000", "budget": 1.5} if first else {}),
                )
                first = first or one.figure
                rows.append(one)
    publish("ready", rows)


if __name__ == "__main__":
    main()
