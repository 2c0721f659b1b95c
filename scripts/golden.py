"""Makes the golden ledgers of a format that has none yet: `python scripts/golden.py NUMBER`, that of its last migration.

Those that are there are never written again: they are what every later program has to read.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from databases import Databases
from fakes.golden.kept import write


def main() -> None:
    """Make them, or say that they are there."""
    number = int(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="golden-") as place:
        databases = Databases(Path(place))
        try:
            made = write(number, databases)
        except FileExistsError:
            sys.exit("these ledgers are there, and stay as they are: a new format has a new number")
        finally:
            databases.close()
    print(f"{made.name}: {sum(file.stat().st_size for file in made.iterdir()):,} bytes")


if __name__ == "__main__":
    main()
