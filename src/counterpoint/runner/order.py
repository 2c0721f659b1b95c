"""What the server orders from a runner, and its answers: one line of JSON each.

Only for those who check types: a runner that starts loads none of it. `evidence/running/commands.py` writes the one and reads the other.
"""

from __future__ import annotations

from typing import Literal, TypedDict


class Confinement(TypedDict):
    """How far a command is to be confined; hidden: what it sees empty. fixed: folders that it cannot move, the outermost first.

    read_only: what it cannot write. partial: folders, each with the names in it that it sees. bubblewrap: where that is installed, if it is.
    """

    mode: Literal["auto", "require", "off"]
    network: bool
    hidden: list[str]
    fixed: list[str]
    read_only: list[str]
    partial: list[tuple[str, list[str]]]
    bubblewrap: str


class Order(TypedDict):
    """A command; grace: seconds between the first asking and the end. memory, file_bytes: bytes."""

    argv: list[str]
    program: str
    folder: str
    environ: dict[str, str]
    seconds: float
    grace: float
    memory: int
    processes: int
    file_bytes: int
    sandbox: Confinement


class Told(TypedDict, total=False):
    """What came of it; errno: 0 if it began. ended_for: a quota, `asked`, `cancelled`, or nothing. refused: why it is no better confined."""

    sandbox: str
    refused: str
    errno: int
    exit_code: int | None
    ended_for: str
