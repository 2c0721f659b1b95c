"""Changes a live database at random, and says which change no verification found.

python scripts/tamper.py [MANY] [FIRST SEED] [file | postgres] [PROCESSES]
"""

from __future__ import annotations

import atexit
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fakes.seeding.rounds import Field, tried
from fakes.seeding.sqlite import laid_out

IN_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it
PIECE = 250
"""Seeds that one process tries before it tells how many were found."""


@dataclass
class Count:
    """How many changes of each kind were tried, found without a witness, and not found."""

    kinds: Counter[str] = field(default_factory=Counter)
    alone: int = 0
    escaped: list[str] = field(default_factory=list)

    def add(self, other: Count) -> None:
        """Take in what another process has counted."""
        self.kinds += other.kinds
        self.alone += other.alone
        self.escaped += other.escaped


@contextmanager
def opened(database: str) -> Iterator[Field]:
    """Lay a field out; nothing of it waits for a disk where there is a folder in memory."""
    memory = str(IN_MEMORY) if IN_MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        if database == "file":
            yield laid_out(Path(folder))
            return
        # Only here: it takes a server's program, which the other kind does not need.
        from fakes.seeding.postgres import served

        with served(Path(folder)) as field:
            yield field


@cache
def mine(database: str) -> Field:
    """Answer the field of this process, laid out once."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(opened(database))


def run(database: str, first: int, after: int) -> Count:
    """Try the seeds from a first one on; say at once what escapes."""
    count = Count()
    for one in tried(mine(database), range(first, after)):
        count.kinds[one.kind] += 1
        count.alone += bool(one.alone)
        if one.escaped:
            count.escaped.append(one.escaped)
            print(one.escaped, flush=True)
    return count


def main(many: int = 500, first: int = 0, database: str = "file", processes: int = 2) -> int:
    """Try so many seeds from a first one on; answer 1 if any escaped."""
    begun, after = time.monotonic(), first + many
    starts = range(first, after, PIECE)
    ends = [min(start + PIECE, after) for start in starts]
    all_of = Count()
    with ProcessPoolExecutor(processes) as pool:
        counts = pool.map(run, [database] * len(ends), starts, ends)
        for end, count in zip(ends, counts, strict=True):
            all_of.add(count)
            seconds = time.monotonic() - begun
            print(
                f"{end - first:7,}  changes in {seconds:,.0f} s: {all_of.alone:,} found alone,"
                f" {len(all_of.escaped):,} escaped",
                flush=True,
            )
    for kind, times in sorted(all_of.kinds.items()):
        print(f"{times:7,}  {kind}")
    return min(len(all_of.escaped), 1)


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:3]]
    sys.exit(main(*numbers, *sys.argv[3:4], *map(int, sys.argv[4:5])))
