"""Another revision of this repository, and what a call costs there and here."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from _measure import Row, folder

HERE = Path(__file__).parents[1]
_BLOCKS = 20
"""Parts of a run whose ratios tell how far one run can be trusted."""


@contextmanager
def checked_out(revision: str) -> Iterator[str]:
    """Lend the interpreter of a revision, in a worktree with an environment of its own."""
    git, make = shutil.which("git") or "git", shutil.which("make") or "make"
    with folder() as top:
        tree = top / "tree"
        added = ["worktree", "add", "--quiet", "--detach", str(tree), revision]
        _run([git, "-C", str(HERE), *added])
        try:
            _run([make, "--silent", "-C", str(tree), "install"])
            yield str(tree / ".venv" / "bin" / "python")
        finally:
            _run([git, "-C", str(HERE), "worktree", "remove", "--force", str(tree)])


def _run(words: list[str]) -> None:
    subprocess.run(words, check=True, stdout=sys.stderr)


def apart(place: Path) -> Mapping[str, str]:
    """Answer variables with a state of its own: what one revision keeps there another cannot read."""
    for name in ("home", "state"):
        (place / name).mkdir(parents=True)
    own = {"HOME": str(place / "home"), "XDG_STATE_HOME": str(place / "state")}
    kept = {name: text for name, text in os.environ.items() if not name.startswith("COUNTERPOINT_")}
    return kept | own


def in_turn(
    before: Callable[[], object], now: Callable[[], object], rounds: int, warmup: int
) -> tuple[list[float], list[float]]:
    """Answer the seconds of both, taken in turn, each as often first as the other."""
    spent: tuple[list[float], list[float]] = ([], [])
    pair = list(zip((before, now), spent, strict=True))
    for number in range(-warmup, rounds):
        for run, seconds in pair if number % 2 else reversed(pair):
            begin = time.perf_counter()
            run()
            took = time.perf_counter() - begin
            if number >= 0:
                seconds.append(took)
    return spent


def rows_of(what: str, revision: str, found: tuple[list[float], list[float]]) -> list[Row]:
    """Answer both series by their parts, the ratio of their medians, and how far that varies in the run."""
    rows: list[Row] = []
    for name, seconds in zip((revision, "now"), found, strict=True):
        cuts = statistics.quantiles(seconds, n=20)
        rows += [
            Row(what=f"{what}, {name}: p{part}", figure=cuts[part // 5 - 1] * 1e3, unit="ms")
            for part in (25, 50, 95)
        ]
    before, now = (statistics.median(seconds) * 1e3 for seconds in found)
    ratios = list(_ratios(found))
    tenths = statistics.quantiles(ratios, n=10)
    rows.append(
        Row(what="medians", figure=now, unit="ms", floor=before, beside=revision, most=1.15)
    )
    rows.append(
        Row(
            what=f"ratio of medians, {len(ratios)} parts of the run",
            figure=statistics.median(ratios),
            unit="times",
            low=tenths[0],
            high=tenths[-1],
        )
    )
    return rows


def _ratios(found: tuple[list[float], list[float]]) -> Iterator[float]:
    """Yield the ratio of the medians of each part of a run."""
    before, now = found
    size = max(1, len(before) // _BLOCKS)
    for start in range(0, len(before) - size + 1, size):
        part = slice(start, start + size)
        yield statistics.median(now[part]) / statistics.median(before[part])
