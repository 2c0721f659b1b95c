"""Reads which differences are meant, and why, from `expected.toml`."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

EXPECTED = Path(__file__).with_name("expected.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Changed lines that are meant: in which steps, which lines, and why."""

    step: re.Pattern[str]
    line: re.Pattern[str]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Alike:
    """What may be said in two ways: both records are read with one of them in place of the other."""

    step: re.Pattern[str]
    find: re.Pattern[str]
    put: str
    reason: str


class Rules:
    """Every difference that is meant, with a count of the lines that it was met in."""

    def __init__(self, path: Path = EXPECTED) -> None:
        """Read the rules of a file."""
        rows = tomllib.loads(path.read_text("utf-8"))
        self.expected = tuple(
            Expected(
                step=re.compile(row["step"]), line=re.compile(row["line"]), reason=row["reason"]
            )
            for row in rows.get("expected", [])
        )
        self.alike = tuple(
            Alike(
                step=re.compile(row["step"]),
                find=re.compile(row["find"]),
                put=row["put"],
                reason=row["reason"],
            )
            for row in rows.get("alike", [])
        )
        self.met: Counter[str] = Counter()

    def rewording(self, step: str) -> Rewording:
        """Return what is said alike in a step."""
        return Rewording(tuple(one for one in self.alike if one.step.search(step)), self.met)

    def unexpected(self, step: str, found: list[str]) -> list[str]:
        """Return the changed lines of a step that no rule lets through."""
        return [line for line in found if not self._let_through(step, line)]

    def unmet(self) -> list[str]:
        """Return the reasons of the rules that no line was met for."""
        reasons = [one.reason for one in (*self.expected, *self.alike)]
        return [reason for reason in reasons if not self.met[reason]]

    def _let_through(self, step: str, line: str) -> bool:
        for one in self.expected:
            if one.step.search(step) and one.line.search(line):
                self.met[one.reason] += 1
                return True
        return False


class Rewording:
    """What is said alike in one step."""

    def __init__(self, alike: tuple[Alike, ...], met: Counter[str]) -> None:
        """Know what is alike, and where to count it."""
        self._alike = alike
        self._met = met

    def __call__(self, line: str) -> str:
        """Return a line as both records are read."""
        for one in self._alike:
            line, number = one.find.subn(one.put, line)
            self._met[one.reason] += bool(number)
        return line
