"""What is wrong in a text that was read, and in which line."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFault:
    """One thing that is wrong.

    line: counted from 1; 0 if it is about the whole. advice: what to do, if the problem leaves it open.
    """

    problem: str
    line: int = 0
    advice: str = ""

    def __str__(self) -> str:
        """Return the fault in words."""
        place = f"line {self.line}: " if self.line else ""
        return f"{place}{self.problem}" + (f" ({self.advice})" if self.advice else "")
