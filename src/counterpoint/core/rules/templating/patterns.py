r"""Patterns for values: regular expressions that take no longer for any text.

A pattern is of the usual notation: letters, `.`, sets `[a-z]` and `[^…]`, `\d \w \s \D \W \S`, `\n \t \r`,
groups `( )` and `(?: )`, `|`, the repeats `* + ? {n} {n,} {n,m}`, `^` and `$`. It matches a text if and
only if it matches the whole of it. Lookarounds, backward references and flags are refused.

A pattern comes from a file anybody may have written, and the usual engines can be made to take years
by one of them. So it is made into a list of steps (Thompson, 1968), and all ways through the steps are
walked at once, letter by letter: the time is at most the letters times the steps, both of which are
limited.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from counterpoint.kernel.errors import InvalidInput

TEXT_LIMIT = 500
"""Letters that a text may have to be matched."""
STEP_LIMIT = 1000
"""Steps that a pattern may have; a repeat {n,m} has those of its part m times."""
_LENGTH_LIMIT = 500
_DEPTH_LIMIT = 20

_CLASSES = frozenset("dDwWsS")
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r"}
_COUNTS = re.compile(r"\{([0-9]{1,4})(,([0-9]{0,4}))?\}")
_NEVER_LETTERS = frozenset("*+?{}")


@dataclass(frozen=True, slots=True)
class _Step:
    """Takes a letter and goes on, or goes several ways at once without taking one.

    ways: how far the next steps are from this one. only: where in the text this may be passed.
    """

    letter: re.Pattern[str] | None = None
    ways: tuple[int, ...] = (1,)
    only: Literal["", "begin", "end"] = ""


_Steps = list[_Step]
_SIGNS = {
    ".": _Step(letter=re.compile(r"[^\n]")),
    "^": _Step(only="begin"),
    "$": _Step(only="end"),
}


class Pattern:
    """A pattern that was read."""

    def __init__(self, steps: Iterable[_Step]) -> None:
        """Take the steps; `compiled` is the only caller."""
        self._steps = (*steps, _Step(ways=()))

    @property
    def size(self) -> int:
        """How many steps it has: what a letter costs."""
        return len(self._steps)

    def matches(self, text: str) -> bool:
        """Whether the pattern matches the whole text, which has at most `TEXT_LIMIT` letters."""
        at = self._reached({0}, begin=True, end=not text)
        for place, letter in enumerate(text, 1):
            stepped = {
                step + 1
                for step in at
                if (wanted := self._steps[step].letter) is not None and wanted.match(letter)
            }
            at = self._reached(stepped, begin=False, end=place == len(text))
        return len(self._steps) - 1 in at

    def _reached(self, start: set[int], *, begin: bool, end: bool) -> set[int]:
        """Return every step that can be come to without taking a letter."""
        seen = set(start)
        waiting = list(start)
        while waiting:
            place = waiting.pop()
            step = self._steps[place]
            is_shut = (step.only == "begin" and not begin) or (step.only == "end" and not end)
            if step.letter is not None or is_shut:
                continue
            fresh = {place + way for way in step.ways} - seen
            seen |= fresh
            waiting += fresh
        return seen


class _Reader:
    """Reads a pattern from left to right."""

    def __init__(self, text: str) -> None:
        self.text: str = text
        self.at: int = 0
        self.depth: int = 0

    def read(self) -> _Steps:
        steps = self._choice()
        if self.at < len(self.text):
            raise self._refused("`)` closes nothing")
        return steps

    def _choice(self) -> _Steps:
        steps = self._row()
        while self._skips("|"):
            other = self._row()
            steps = [_Step(ways=(1, len(steps) + 2)), *steps, _Step(ways=(len(other) + 1,)), *other]
        return self._bounded(steps)

    def _row(self) -> _Steps:
        steps: _Steps = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            steps += self._repeated(self._part())
            self._bounded(steps)
        return steps

    def _part(self) -> _Steps:
        sign = self.text[self.at]
        self.at += 1
        if sign == "(":
            return self._group()
        if sign == "[":
            return [_Step(letter=re.compile(self._set()))]
        if sign == "\\":
            return [_Step(letter=re.compile(self._escape()))]
        if sign in _NEVER_LETTERS:
            raise self._refused(
                f"{sign!r} repeats nothing; a backslash before it makes it a letter"
            )
        return [_SIGNS.get(sign) or _Step(letter=re.compile(re.escape(sign)))]

    def _group(self) -> _Steps:
        if self.text.startswith("?", self.at) and not self._skips("?:"):
            raise self._refused("`(?` begins what has no place here; only `(?:` has")
        self.depth += 1
        if self.depth > _DEPTH_LIMIT:
            raise self._refused(f"groups lie more than {_DEPTH_LIMIT} deep")
        steps = self._choice()
        self.depth -= 1
        if not self._skips(")"):
            raise self._refused("a group does not end")
        return steps

    def _set(self) -> str:
        """Return a set as `re` reads it, every letter in it made plain."""
        parts = ["^"] if self._skips("^") else []
        begin = self.at
        while not self.text.startswith("]", self.at) or self.at == begin:
            low = self._member()
            if self.text.startswith("-", self.at) and self.text[self.at + 1 : self.at + 2] != "]":
                self.at += 1
                high = self._member()
                if self._is_class(low) or self._is_class(high) or low[-1] > high[-1]:
                    raise self._refused(f"`{low}-{high}` is no range")
                low = f"{low}-{high}"
            parts.append(low)
        self.at += 1
        return f"[{''.join(parts)}]"

    def _member(self) -> str:
        sign = self.text[self.at : self.at + 1]
        self.at += 1
        if sign == "\\":
            return self._escape()
        if sign == "[":
            raise self._refused("a `[` in a set needs a backslash before it")
        if not sign:
            raise self._refused("a set does not end")
        return re.escape(sign)

    def _escape(self) -> str:
        sign = self.text[self.at : self.at + 1]
        self.at += 1
        if sign in _CONTROLS:
            return re.escape(_CONTROLS[sign])
        if sign in _CLASSES:
            return f"\\{sign}"
        if not sign or sign.isalnum():
            raise self._refused(f"`\\{sign}` has no meaning here")
        return re.escape(sign)

    def _is_class(self, member: str) -> bool:
        return len(member) > 1 and member[-1] in _CLASSES

    def _repeated(self, part: _Steps) -> _Steps:
        counts = _COUNTS.match(self.text, self.at)
        if counts is not None:
            self.at = counts.end()
            least = int(counts[1])
            most = least if counts[2] is None else int(counts[3]) if counts[3] else None
        elif self.text[self.at : self.at + 1] in ("*", "+", "?") and self.at < len(self.text):
            sign = self.text[self.at]
            self.at += 1
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        else:
            return part
        if part and part[0].only and len(part) == 1:
            raise self._refused("`^` and `$` cannot be repeated")
        if most is not None and most < least:
            raise self._refused(f"{{{least},{most}}} is no range")
        self._skips("?")  # how greedy it is makes no difference to a whole match
        if max(least, most or 1) * (len(part) + 1) > STEP_LIMIT:
            raise self._too_large()
        steps = part * least
        if most is None:
            return [*steps, _Step(ways=(1, len(part) + 2)), *part, _Step(ways=(-len(part) - 1,))]
        return [*steps, *([_Step(ways=(1, len(part) + 1)), *part] * (most - least))]

    def _skips(self, sign: str) -> bool:
        found = self.text.startswith(sign, self.at)
        self.at += len(sign) if found else 0
        return found

    def _bounded(self, steps: _Steps) -> _Steps:
        if len(steps) > STEP_LIMIT:
            raise self._too_large()
        return steps

    def _too_large(self) -> InvalidInput:
        return InvalidInput(
            "the pattern is too large", hint="Repeat less in it, or use a `charset`."
        )

    def _refused(self, problem: str) -> InvalidInput:
        return InvalidInput(
            f"the pattern cannot be read: {problem}",
            hint="Letters, sets, groups, `|` and repeats are understood.",
        )


@lru_cache(maxsize=256)
def compiled(text: str) -> Pattern:
    """Return the pattern of a text; InvalidInput says what is wrong with it."""
    if len(text) > _LENGTH_LIMIT:
        raise InvalidInput(f"the pattern is longer than {_LENGTH_LIMIT} characters")
    return Pattern(_Reader(text).read())
