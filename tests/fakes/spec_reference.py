"""What runs of one spec have to do one after the other, as whoever keeps them in a store sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from fakes.run_reference import Reference, is_verify

REFUSED: Final = "INVALID_STATE_TRANSITION"
CLOSING: Final = frozenset({"pause", "complete_spec"})
GRACE: Final = 30
"""Seconds for which a report hears its answer again."""
STALE: Final = 3_600
"""Seconds after which a step is stale."""
MOVES: Final[Mapping[str, Mapping[str, str]]] = {
    "pause": {"running": "paused"},
    "resume": {"paused": "running"},
    "rebase": {"paused": "running", "failed": "running"},
    "end": {"running": "ended", "paused": "ended", "failed": "ended"},
    "reset": {"failed": "ended"},
}
"""By the reference; what is not named is refused."""


@dataclass
class SpecReference(Reference):
    """The same of a spec in a store: its phases come one after the other, and runs of it too.

    mine: what this run has completed. last: the report that was taken last, what it was answered, and how long ago.
    """

    mine: set[str] = field(default_factory=set[str])
    last: tuple[str, int] | None = None

    def busy(self) -> tuple[str, str]:
        """Answer what can be done: in the first phase that is not complete, for the others wait for its end."""
        for phase, names in self.plan.items():
            left = [name for name in names if name not in self.done]
            work = [name for name in left if not is_verify(name)]
            first = [name for name in (work or left) if name not in self.blocked]
            if first:
                return phase, first[0]
            if left:
                return "", ""
            if self.gates[phase] != "open":
                return phase, ""
        return "", ""

    def own(self) -> set[str]:
        """Answer the tasks that were completed in this run and not taken up again."""
        return self.mine

    def take(self, outcome: str, verdict: str = "") -> None:
        """Take the report of the step that is out."""
        if outcome == "success" and self.kind in {"implement_task", "execute_verification"}:
            self.mine |= {self.about}
        super().take(outcome, verdict)

    def follows(self) -> SpecReference:
        """Answer the run that is begun after this one: the work is as it is, what nobody has opened is judged afresh."""
        after = SpecReference(policy=self.policy, stops=self.stops, retries=self.retries)
        after.plan = {phase: list(names) for phase, names in self.plan.items()}
        after.done, after.blocked = set(self.done), set(self.blocked)
        after.gates = {
            phase: gate if gate == "open" else "none" for phase, gate in self.gates.items()
        }
        after.known, after.stop = repr(after.shape()), self.stop
        return after

    def code(self, command: str) -> str:
        """Answer what a command is refused with; empty if it is not."""
        return "" if self.state in MOVES[command] else REFUSED

    def pause(self) -> None:
        """Stop, for somebody asked for it."""
        self.state, self.reason, self.stop = "paused", "user", False

    def end(self) -> None:
        """Be over."""
        self.state, self.reason, self.stop = "ended", "", False

    def rebase(self, before: dict[str, list[str]]) -> None:
        """Take the spec as it is; before: as it was."""
        super().rebase(before)
        self.mine &= {name for names in self.plan.values() for name in names}
        if self.where not in self.plan:
            self.where = ""

    def is_stale(self) -> bool:
        """Tell whether the step that is out was issued too long ago."""
        return bool(self.kind) and self.kind not in CLOSING and self.age > STALE

    def wait(self, seconds: int) -> None:
        """Let time pass."""
        self.silent += seconds
        self.age += seconds
        if self.last is not None:
            self.last = (self.last[0], self.last[1] + seconds)

    def reopen(self, phase: str, name: str) -> None:
        """Take a task up again in a phase that was done: its gate is closed with that."""
        self.done.discard(name)
        self.gates[phase] = "none"

    def has_more(self) -> bool:
        """Tell whether there is work again in a phase that waits for a person: nobody approves what is not done."""
        waiting = {phase for phase, gate in self.gates.items() if gate == "seen"}
        return any(set(self.plan[phase]) - self.done for phase in waiting)

    def open(self) -> list[tuple[str, str]]:
        """Answer the tasks that are not done and not out, each with its phase."""
        return [
            (phase, name)
            for phase, names in self.plan.items()
            for name in names
            if name not in self.done and name != self.about
        ]
