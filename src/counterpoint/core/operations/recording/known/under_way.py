"""Which trees are being closed, as far as one process knows without asking.

Rules: (1) the store is asked once, and again after anybody else has written or an ending was, so that nothing is asked
while one process writes. (2) What is asked inside of a transaction that has written an ending itself is not kept, as that may be undone.
"""

from __future__ import annotations

from counterpoint.core.model.work import Ending
from counterpoint.core.ports.store import Reading


class UnderWay:
    """The endings under way of the project that was written in last.

    leaf: of the last entry that this process has seen: nothing before it is news.
    free: the project in which nothing is under way, if that is known. is_written: whether the last transaction has written an ending.
    """

    def __init__(self) -> None:
        """Know nothing yet."""
        self.leaf = self.free = ""
        self.is_written = False

    def begin(self, leaf: str) -> None:
        """Begin a transaction that this process knows too little of; leaf: of the last entry there is."""
        self.leaf, self.free, self.is_written = leaf, "", False

    def write(self) -> None:
        """Know that this transaction writes an ending."""
        self.free, self.is_written = "", True

    def all(self, view: Reading) -> tuple[Ending, ...]:
        """Return the endings under way."""
        endings = tuple(view.select(Ending, status="begun"))
        if not (endings or self.is_written):
            self.free = view.project
        return endings
