"""Which salt a text gets: a fresh one, or the one that it was just kept with.

Every use of a text could have a salt, and a row in `texts`, of its own. But most texts that repeat do so at
once (what a comparison of the tree found, an empty list of remarks), so that this would take half as much
room again. Rules: (1) a short text that was kept a moment ago gets the same salt, and so the same row.
(2) What tells that it is the same lies in memory only: nothing that is stored leads from a text to
its commitment, before or after it is taken away. (3) The text is kept anew each time all the same, so a
transaction that was undone leaves no reference to nothing. (4) A text that is taken away gets a fresh salt from then on, whoever
took it away: what this process did not write itself is asked for texts that went, before anything is written after it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from counterpoint.core.ledger.lines import REDACTION
from counterpoint.core.ports.store import Reading, Salted
from counterpoint.kernel.canonical import commitment
from counterpoint.kernel.ids import Mint

_MOST: Final = 512
_LONGEST: Final = 2_000


class CommitmentCache:
    """The texts that were kept last, each with its salt.

    leaf: of the last entry that this process has seen: nothing before it is news.
    losses: how often texts may have been taken away. What was committed before a loss is not to be used after it.
    """

    def __init__(self) -> None:
        """Remember nothing yet."""
        self.leaf = ""
        self.losses = 0
        self._known: dict[str, tuple[str, Salted]] = {}
        self._last: tuple[str, int] = "", -1

    def follow(self, view: Reading, leaf: str) -> None:
        """Forget everything if texts were taken away by others; leaf: of the last entry there is."""
        if leaf == self.leaf:
            return
        self.leaf = leaf
        last = view.project, next(iter(view.sequences(action=REDACTION, limit=1)), -1)
        if last != self._last:
            self._known.clear()
            self.losses += 1
            self._last = last

    def commit(self, text: str, mint: Mint) -> tuple[str, Salted]:
        """Return the commitment of a text, with the salt that it was just kept with or a fresh one."""
        stored = self._known.get(text)
        if stored is not None:
            return stored
        salt = mint.salt()
        pair = commitment(salt, text), Salted(salt, text)
        if len(text) <= _LONGEST:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[text] = pair
        return pair

    def forget(self, commitments: Collection[str]) -> None:
        """Give texts fresh salts from now on."""
        gone = set(commitments)
        # A copy of what there is: another thread may commit texts that it is going to write.
        pairs = list(self._known.items())
        self._known = {text: pair for text, pair in pairs if pair[0] not in gone}
        self.losses += 1
