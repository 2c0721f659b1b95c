"""Finds out which label of one record is which of another, by the places where both stand.

Labels are numbered in the order of their scene, so whatever comes or goes moves the numbers after it.
Two lines that say the same but for their labels name the same things, unless one of these was
already paired with another: then the difference is real, and shows.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Sequence

from normal import LABEL


class Pairs:
    """The labels of the later record of a scene, with those of the earlier one that they are."""

    def __init__(self) -> None:
        """Know of no pair."""
        self._earlier: dict[str, str] = {}
        self._later: dict[str, str] = {}

    def learn(self, before: Sequence[str], after: Sequence[str]) -> None:
        """Pair what is not paired yet and stands in the same places of the lines of a step."""
        skeletons = ([_skeleton(line) for line in lines] for lines in (before, after))
        same = difflib.SequenceMatcher(None, *skeletons).get_matching_blocks()
        for first, second, size in same:
            for old, fresh in zip(
                LABEL.findall("\n".join(before[first : first + size])),
                LABEL.findall("\n".join(after[second : second + size])),
                strict=True,
            ):
                if old not in self._later and fresh not in self._earlier:
                    self._earlier[fresh] = old
                    self._later[old] = fresh

    def find(self, text: str, among: Collection[str]) -> str:
        """Return which of some texts of the earlier record a text of the later one is, if any."""
        same = self.translate(text)
        if same not in among:
            self.learn([one for one in among if _skeleton(one) == _skeleton(text)][:1], [text])
        return self.translate(text)

    def translate(self, text: str) -> str:
        """Return a text of the later record as the earlier one would have it; what is new says so."""
        return LABEL.sub(self._name, text)

    def _name(self, found: re.Match[str]) -> str:
        return self._earlier.get(found[0], f"<new {found[0][1:]}")


def _skeleton(text: str) -> str:
    return LABEL.sub("<>", text)
