"""Records what Counterpoint shows to the outside, and compares it with that of another commit."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import comparing
import recording

HERE = Path(__file__).resolve().parents[2]


def main(words: list[str]) -> int:
    """Do what the words ask for and return the exit code."""
    parser = argparse.ArgumentParser(prog="python scripts/outside", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    record = commands.add_parser("record", help="write the outside of a checkout as JSON")
    record.add_argument("output", type=Path)
    record.add_argument("--checkout", type=Path, default=HERE)
    compare = commands.add_parser("compare", help="say what differs from a revision, or a record")
    compare.add_argument("base", help="a revision, or a file that `record` wrote")
    compare.add_argument("--with", dest="other", type=Path, help="a record, in place of this tree")
    compare.add_argument("--output", type=Path, help="write the difference there too")
    compare.add_argument(
        "--ignore-wording",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="let hints and the prose of refusals differ",
    )
    for command in (record, compare):
        command.add_argument("--only", default="", help="scenes whose name contains this")
    asked = parser.parse_args(words)
    if asked.command == "record":
        recording.write(recording.record(asked.checkout.resolve(), asked.only), asked.output)
        return 0
    return comparing.compare(HERE, asked)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
