"""Where the program starts: picks what runs, and imports nothing heavy before it."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and leave with its exit code."""
    from counterpoint.cli.main import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
