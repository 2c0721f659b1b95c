"""What a supervisor of an unattended run has told, as the tests of it read that."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

AGENT: Final = (
    sys.executable,
    str(Path(__file__).parents[1] / "e2e" / "programs" / "unattended.py"),
    "{session}",
)
"""The agent without a model, as a supervisor is told to start it."""


class Told:
    """What a supervisor has told: events, and how it ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        """Read the events."""
        self.code, self.err = code, err
        self.events: list[dict[str, Any]] = [json.loads(line) for line in out.splitlines()]

    @property
    def last(self) -> dict[str, Any]:
        """The last event."""
        assert self.events, self.err
        return self.events[-1]

    @property
    def rounds(self) -> int:
        """How many agents were started."""
        return sum(one["event"] == "round.started" for one in self.events)

    @property
    def heard(self) -> str:
        """What the last agent said."""
        return Path(self.last["log"]).read_text("utf-8")
