"""What every benchmark shares: medians, a table, a JSON file beside it."""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from counterpoint.app import App, open_app
from counterpoint.core.coordinator import Core
from counterpoint.core.model.drafts import Draft

RESULTS = Path(__file__).parent / "results"
PLAN = 19_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measured figure, with what it is held against.

    floor: the figure of the floor or peer in the same run and unit; budget: what the ratio (or, if
    there is no floor, the figure itself) may be at most; None where nothing is promised.
    """

    what: str
    figure: float
    unit: str
    floor: float | None = None
    beside: str = ""
    budget: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def ratio(self) -> float | None:
        """The figure against its floor."""
        return self.figure / self.floor if self.floor else None

    @property
    def is_met(self) -> bool | None:
        """Whether the budget holds; None without one."""
        if self.budget is None:
            return None
        return (self.ratio if self.ratio is not None else self.figure) <= self.budget


def arguments(about: str) -> argparse.Namespace:
    """Answer the command line of a benchmark."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--full", action="store_true", help="up to a million tasks")
    parser.add_argument("--rounds", type=int, default=200)
    return parser.parse_args()


def timed(run: Callable[[], object], rounds: int, warmup: int = 10) -> list[float]:
    """Answer the seconds each of so many runs took."""
    for _ in range(warmup):
        run()
    seconds: list[float] = []
    for _ in range(rounds):
        begin = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - begin)
    return seconds


def row(
    what: str, seconds: list[float], *, scale: float = 1e3, unit: str = "ms", **more: object
) -> Row:
    """Answer the row of a series: its median, with the tenth and the ninetieth percentile."""
    tenths = statistics.quantiles(seconds, n=10)
    return Row(
        what=what,
        figure=statistics.median(seconds) * scale,
        unit=unit,
        low=tenths[0] * scale,
        high=tenths[-1] * scale,
        **more,  # pyright: ignore[reportArgumentType] -- the keywords of Row
    )


def publish(name: str, rows: list[Row]) -> None:
    """Print the table and write `results/<name>.json`."""
    width = max(len(one.what) for one in rows)
    print(f"{name}: {platform.machine()}, Python {platform.python_version()}")
    for one in rows:
        print(f"  {one.what:<{width}}  {_words(one)}")
    RESULTS.mkdir(exist_ok=True)
    found = [
        {**asdict(one), "ratio": one.ratio, "within_budget": one.is_met} for one in rows
    ]
    target = RESULTS / f"{name}.json"
    target.write_text(json.dumps(found, indent=1) + "\n")
    sys.stdout.flush()


def _words(one: Row) -> str:
    parts = [f"{one.figure:10.3f} {one.unit}"]
    if one.low is not None and one.high is not None:
        parts.append(f"[{one.low:.3f} … {one.high:.3f}]")
    if one.floor is not None and one.ratio is not None:
        parts.append(f"{one.beside} {one.floor:.3f}, ratio {one.ratio:.2f}")
    if one.budget is not None:
        parts.append(f"budget {one.budget:g} {'met' if one.is_met else 'MISSED'}")
    return "  ".join(parts)


@contextmanager
def opened(*, agent: str = "bench") -> Iterator[App]:
    """Open the product in an empty folder outside of any repository; it goes with the block."""
    folder = Path(tempfile.mkdtemp(prefix="counterpoint-bench-"))
    (folder / "tree").mkdir()
    app = open_app(folder / "tree", {}, db=str(folder / "data" / "ledger.db"), agent=agent)
    try:
        yield app
    finally:
        app.close()
        shutil.rmtree(folder)


def caller(app: App) -> Callable[[], Core]:
    """Answer what makes a core for one call of one session."""
    identity = app.agent()
    return lambda: app.core(identity)


def graph(core: Core, shape: str, count: int) -> list[str]:
    """Make so many tasks with two dependencies each; answer the ids of those that are ready.

    random: on two of the 50 tasks before; chain: on the two just before, so all but one are blocked;
    free: on nothing.
    """
    ready: list[str] = []
    made = 0
    before: tuple[str, ...] = ()
    while made < count:
        size = min(PLAN, count - made)
        plan = Draft(
            kind="plan",
            title=f"{shape} from {made}",
            children=tuple(_task(shape, place, before) for place in range(size)),
        )
        answer = core.plans.create(plan)
        ready += answer.ready
        if shape == "chain":
            before = tuple(item.id for item in answer.items[-2:])
        made += size
    return ready


def _task(shape: str, place: int, before: tuple[str, ...]) -> Draft:
    if shape == "chain":
        needs = (f"n{place - 1}", f"n{place - 2}")[:place] or before
    elif shape == "random":
        # Knuth's multiplier spreads the edges the same way in every run.
        spread = {(place * 2654435761 + salt) % 50 + 1 for salt in (0, 17)}
        needs = tuple(f"n{place - step}" for step in spread if step <= place and place % 3)
    else:
        needs = ()
    return Draft(kind="task", title=f"task number {place}", name=f"n{place}", needs=needs)
