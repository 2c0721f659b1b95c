"""What every benchmark shares: alternating rounds, medians, a table and a JSON file."""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from counterpoint.app import App, open_app
from counterpoint.core.coordinator import Core
from counterpoint.core.model.drafts import Draft

RESULTS = Path(__file__).parent / "results"
_PLAN = 19_000
"""Tasks a plan: a plan takes 20,000 items."""

Series = dict[str, list[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure, with what it is held against.

    floor: what it is compared with, measured in the same run and unit; beside: what that is.
    most: what the ratio to the floor, or without one the figure, may be at most; least: the same,
    at least; None where nothing is promised.
    """

    what: str
    figure: float
    unit: str
    low: float | None = None
    high: float | None = None
    floor: float | None = None
    beside: str = ""
    most: float | None = None
    least: float | None = None

    @property
    def ratio(self) -> float | None:
        """The figure against its floor."""
        return self.figure / self.floor if self.floor else None

    @property
    def is_kept(self) -> bool | None:
        """Whether the budget is kept; None without one."""
        if self.most is None and self.least is None:
            return None
        held = self.figure if self.ratio is None else self.ratio
        return (self.most is None or held <= self.most) and (
            self.least is None or held >= self.least
        )


def asked(
    about: str, rounds: int, *, is_compared: bool = False, has_parts: bool = False
) -> argparse.Namespace:
    """Answer the command line of a benchmark.

    is_compared: whether it can be held against a revision. has_parts: whether some of it can be measured alone.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--full", action="store_true", help="the large sizes too")
    parser.add_argument("--rounds", type=int, default=rounds)
    if is_compared:
        parser.add_argument("--against", metavar="REVISION", help="a note there and here, in turn")
    if has_parts:
        parser.add_argument("--only", metavar="WORDS", default="", help="what has these words")
    return parser.parse_args()


def alternate(
    cases: Mapping[str, Callable[[], object]],
    rounds: int,
    warmup: int = 5,
    clock: Callable[[], float] = time.perf_counter,
) -> Series:
    """Answer the seconds of each case, taken in turn, so that noise meets all of them alike.

    clock: what only computes is measured by the time it was given, not by the time others took.
    """
    seconds: Series = {name: [] for name in cases}
    for number in range(-warmup, rounds):
        for name, run in cases.items():
            begin = clock()
            run()
            spent = clock() - begin
            if number >= 0:
                seconds[name].append(spent)
    return seconds


def in_blocks(
    cases: Mapping[str, Callable[[], object]], blocks: int, many: int, warmup: int = 5
) -> Series:
    """Answer for each case the medians of so many blocks, each of so many runs in a row; the blocks are taken in turn.

    Where one case runs for long, it empties the processor's caches for the one after it. The first runs of a block warm them
    again and are not measured.
    """
    medians: Series = {name: [] for name in cases}
    for _ in range(blocks):
        for name, run in cases.items():
            seconds = alternate({name: run}, many, warmup=warmup)[name]
            medians[name].append(statistics.median(seconds))
    return medians


def row(
    what: str,
    seconds: list[float],
    *,
    scale: float = 1e3,
    unit: str = "ms",
    floor: float | None = None,
    beside: str = "",
    most: float | None = None,
) -> Row:
    """Answer the row of a series: its median, between the tenth and the ninetieth percentile."""
    tenths = statistics.quantiles(seconds, n=10)
    return Row(
        what=what,
        figure=median(seconds, scale),
        unit=unit,
        low=round(tenths[0] * scale, 4),
        high=round(tenths[-1] * scale, 4),
        floor=floor,
        beside=beside,
        most=most,
    )


def median(seconds: list[float], scale: float = 1e3) -> float:
    """Answer the median of a series, in milliseconds unless told otherwise."""
    return round(statistics.median(seconds) * scale, 4)


def publish(name: str, rows: list[Row]) -> None:
    """Print the table and write `results/<name>.json`."""
    width = max(len(one.what) for one in rows)
    print(f"{name}: {platform.machine()}, Python {platform.python_version()}")
    for one in rows:
        print(f"  {one.what:<{width}}  {_words(one)}")
    sys.stdout.flush()
    RESULTS.mkdir(exist_ok=True)
    found = [{**asdict(one), "ratio": one.ratio, "kept": one.is_kept} for one in rows]
    (RESULTS / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n")


def _words(one: Row) -> str:
    parts = [f"{one.figure:12,.3f} {one.unit}"]
    if one.low is not None and one.high is not None:
        parts.append(f"[{one.low:,.3f} … {one.high:,.3f}]")
    if one.floor is not None and one.ratio is not None:
        parts.append(f"{one.beside} {one.floor:,.3f}, ratio {one.ratio:.2f}")
    bound = [f"at most {one.most:,g}"] if one.most is not None else []
    bound += [f"at least {one.least:,g}"] if one.least is not None else []
    if bound:
        parts.append(f"{' and '.join(bound)}: {'kept' if one.is_kept else 'MISSED'}")
    return "  ".join(parts)


@contextmanager
def folder() -> Iterator[Path]:
    """Lend an empty folder that is gone afterwards."""
    made = Path(tempfile.mkdtemp(prefix="counterpoint-bench-"))
    try:
        yield made
    finally:
        shutil.rmtree(made)


@contextmanager
def opened(*trees: Path, environ: Mapping[str, str] | None = None) -> Iterator[tuple[App, ...]]:
    """Open one store in a passing folder, as seen from each tree; from an empty one if none."""
    with folder() as place, ExitStack() as held:
        (place / "tree").mkdir()
        apps: list[App] = []
        for tree in trees or (place / "tree",):
            database = str(place / "store" / "ledger.db")
            app = open_app(tree, environ or {}, db=database, project="bench", agent="bench")
            held.callback(app.close)
            apps.append(app)
        yield tuple(apps)


def caller(app: App) -> Callable[[], Core]:
    """Answer what makes a core for one call of one session."""
    identity = app.agent()
    return lambda: app.core(identity)


def graph(
    core: Core, shape: str, count: int, body: Callable[[int], str] = lambda _: ""
) -> list[str]:
    """Make so many tasks through `plan`; answer the ids of those that are ready.

    free: each on its own; random: two thirds wait for two of the 50 before; chain: each waits for
    the two before, so that one is ready.
    """
    ready: list[str] = []
    before: tuple[str, ...] = ()
    for first in range(0, count, _PLAN):
        many = min(_PLAN, count - first)
        tasks = tuple(_task(shape, place, before, body(first + place)) for place in range(many))
        answer = core.plans.create(Draft(kind="plan", title=f"plan {first}", children=tasks))
        ready += answer.ready
        if shape == "chain":
            before = tuple(item.id for item in answer.items[-2:])
    return ready


def _task(shape: str, place: int, before: tuple[str, ...], body: str) -> Draft:
    needs: tuple[str, ...] = ()
    if shape == "chain":
        needs = (f"n{place - 1}", f"n{place - 2}")[:place] or before
    elif shape == "random" and place % 3:
        # Knuth's multiplier spreads the edges the same way in every run.
        spread = {(place * 2654435761 + salt) % 50 + 1 for salt in (0, 17)}
        needs = tuple(f"n{place - step}" for step in spread if step <= place)
    return Draft(kind="task", title=f"task {place}", name=f"n{place}", needs=needs, body=body)
