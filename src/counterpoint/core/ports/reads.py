"""What the core asks of the record of reads: a file beside the database, outside of the ledger."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, Protocol

from counterpoint.core.model.access import Actor
from counterpoint.kernel.frozen import frozen

ReadPolicy = Literal["off", "on", "required"]
"""Whether reads are recorded; `required`: one that cannot be recorded is refused."""


@frozen
class ReadHead:
    """The end of a record: how many lines it has, and the hash of the last one."""

    log: str
    lines: int
    hash: str


class ReadLog(Protocol):
    """The record of one machine, chained line by line."""

    def append(
        self, actor: Actor, entrance: str, subjects: Collection[str], *, is_all: bool = False
    ) -> None:
        """Write down that somebody was given what has these ids; Unavailable where it is required and cannot be.

        entrance: the tool, resource or command. is_all: whether it was the ledger as a whole.
        """
        ...

    def due(self) -> ReadHead | None:
        """Return the end of the record if it is time to anchor it in the ledger."""
        ...

    def head(self) -> ReadHead | None:
        """Return the end of the record; None while it has no lines."""
        ...

    def anchored(self, head: ReadHead) -> None:
        """Know that this end stands in the ledger."""
        ...
