"""Changes copies of a live database at random, and says which change no verification found.

python scripts/tamper.py [MANY] [FIRST SEED]
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fakes.seeded import laid_out, tried


def main(many: int = 500, first: int = 0) -> int:
    """Try so many seeds from a first one on; answer how many escaped."""
    begun = time.monotonic()
    kinds: Counter[str] = Counter()
    alone = escaped = 0
    with tempfile.TemporaryDirectory() as folder:
        for one in tried(laid_out(Path(folder)), range(first, first + many)):
            kinds[one.kind] += 1
            alone += bool(one.alone)
            if one.escaped:
                escaped += 1
                print(one.escaped, flush=True)
    for kind, times in sorted(kinds.items()):
        print(f"{times:7,}  {kind}")
    seconds = time.monotonic() - begun
    print(f"{many:7,}  changes in {seconds:,.0f} s: {alone:,} found alone, {escaped:,} escaped")
    return min(escaped, 1)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
