"""Which versions of the program belong together.

Two are of one release if their first two numbers are the same: a third number changes neither tables, nor lists of
tools, nor the conversation between relay and server. The relay imports this, so it is the standard library only.
"""

from __future__ import annotations


def release(version: str) -> tuple[int, int]:
    """Return the release of a version; (-1, -1), which is older than any, for a text that is none."""
    first, _, remainder = version.partition(".")
    second = remainder.partition(".")[0]
    if not (first.isdecimal() and second.isdecimal()):
        return -1, -1
    return int(first), int(second)
