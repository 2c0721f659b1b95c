"""What a supervisor shows: a table on a terminal, else lines, or events."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Final, Protocol

from rich.console import Console, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from counterpoint.cli.output import Output, one_line
from counterpoint.cli.supervise.specrun import RunStatus
from counterpoint.core.model.evidence import Execution
from counterpoint.core.model.runs import NOT_TOLD, Run
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Clock
from counterpoint.kernel.errors import CounterpointError
from counterpoint.kernel.plurals import counted
from counterpoint.kernel.visible import visible

_WIDE: Final = 90
MICROS: Final = 1_000_000
"""Of a dollar: costs are counted in them."""


class Screen(Protocol):
    """Where is shown what happens."""

    def looked(self, look: RunStatus) -> None:
        """Show how the run stands."""
        ...

    def started(self, number: int, session: str, log: Path) -> None:
        """Show that an agent was started."""
        ...

    def heard(self, chunk: bytes) -> None:
        """Show what the agent says, where that is wanted."""
        ...

    def ended(self, number: int, how: Execution, used: Run | None = None) -> None:
        """Show that the agent has ended. used: what it took, if it said so."""
        ...

    def refused(self, fault: CounterpointError) -> None:
        """Show what the server refused, or why it did not answer."""
        ...


@dataclass(slots=True, kw_only=True)
class Voices:
    """What an agent says, line by line on standard error; nothing unless it is wanted."""

    out: Output
    is_wanted: bool
    _begun: bytes = b""

    def hear(self, chunk: bytes) -> None:
        """Take the next bytes; the end of it all is empty."""
        if not self.is_wanted:
            return
        *lines, self._begun = (self._begun + chunk).split(b"\n")
        if not chunk and self._begun:
            lines, self._begun = [*lines, self._begun], b""
        for line in lines:
            self.out.aside(f"  | {line.decode('utf-8', 'replace')}")


@dataclass(slots=True, kw_only=True)
class Events:
    """One JSON object on a line for each thing that happens."""

    out: Output
    clock: Clock
    voices: Voices
    _last: RunStatus | None = None

    def looked(self, look: RunStatus) -> None:
        """Tell how the run stands, if that has changed."""
        if look != self._last:
            self._last = look
            self._tell("run", **look.shown())

    def started(self, number: int, session: str, log: Path) -> None:
        """Tell that an agent was started."""
        self._tell("round.started", round=number, session=session, log=str(log))

    def heard(self, chunk: bytes) -> None:
        """Pass on what the agent says."""
        self.voices.hear(chunk)

    def ended(self, number: int, how: Execution, used: Run | None = None) -> None:
        """Tell that the agent has ended, and what it took."""
        facts: dict[str, Json] = {"exit_code": how.exit_code, "ended_for": how.ended_for}
        if used is not None:
            facts["run"] = used.id
            cost = used.cost_micros
            facts["cost"] = None if cost == NOT_TOLD else cost / MICROS
            tokens = {"input": used.input_tokens, "output": used.output_tokens}
            facts["tokens"] = {key: None if n == NOT_TOLD else n for key, n in tokens.items()}
        self._tell("round.ended", round=number, **facts)

    def refused(self, fault: CounterpointError) -> None:
        """Tell what the server refused, or why it did not answer."""
        self._tell("refused", error=fault.code, message=fault.message)

    def _tell(self, event: str, **facts: Json) -> None:
        self.out.answer_line(event_of(event, self.clock, **facts))


@dataclass(slots=True, kw_only=True)
class Lines:
    """A line for each thing that happens, when it has changed."""

    out: Output
    voices: Voices
    begun: float = field(default_factory=monotonic)
    _last: str = ""

    def looked(self, look: RunStatus) -> None:
        """Show how the run stands, if that has changed."""
        words = "  ".join(
            (look.state, *_where(look), f"{look.done} of {counted(look.total, 'task')}")
        )
        if words != self._last:
            self._last = words
            self._line("run", words)

    def started(self, number: int, session: str, log: Path) -> None:
        """Show that an agent was started."""
        self._line(f"round {number}", f"an agent works in run {session}; it is heard in {log}")

    def heard(self, chunk: bytes) -> None:
        """Pass on what the agent says."""
        self.voices.hear(chunk)

    def ended(self, number: int, how: Execution, used: Run | None = None) -> None:
        """Show that the agent has ended, and what it took."""
        self._line(f"round {number}", f"{ended_in_words(how)}{_used_in_words(used)}")

    def refused(self, fault: CounterpointError) -> None:
        """Show what the server refused, or why it did not answer."""
        self._line("refused", fault.message)

    def _line(self, who: str, words: str) -> None:
        self.out.line(f"{monotonic() - self.begun:8.1f} s  {who:<9} {words}")


@dataclass(slots=True, kw_only=True)
class Board:
    """A table that is drawn anew on a terminal; rich asks for it again and again."""

    out: Output
    look: RunStatus | None = None
    agent: str = ""
    remark: str = ""
    begun: float = field(default_factory=monotonic)

    def looked(self, look: RunStatus) -> None:
        """Show how the run stands."""
        self.look, self.remark = look, ""

    def started(self, number: int, session: str, log: Path) -> None:
        """Show that an agent was started."""
        del session
        self.agent = f"round {number}: works, heard in {log}"

    def heard(self, chunk: bytes) -> None:
        """Show nothing: it stands in the log."""

    def ended(self, number: int, how: Execution, used: Run | None = None) -> None:
        """Show that the agent has ended, and what it took."""
        self.agent = f"round {number}: {ended_in_words(how)}{_used_in_words(used)}"

    def refused(self, fault: CounterpointError) -> None:
        """Show what the server refused, or why it did not answer."""
        self.remark = f"refused: {fault.message}"

    def __rich__(self) -> RenderableType:
        """Return the table as it is now."""
        table = Table.grid(padding=(0, 2))
        look = self.look or RunStatus(state="absent")
        rows = {
            "signal": look.state,
            "phase": look.phase,
            "step": " ".join(filter(None, (look.step, look.task))),
            "tasks": f"{look.done} of {look.total}",
            "agent": self.agent,
            "": self.remark,
        }
        for name, words in rows.items():
            if words:
                table.add_row(Text(name, style="bold"), Text(visible(one_line(words, _WIDE))))
        table.add_row("", f"{monotonic() - self.begun:.0f} s")
        return table


@contextmanager
def open_screen(out: Output, clock: Clock, *, is_verbose: bool) -> Generator[Screen]:
    """Open the view that fits the output. is_verbose: whether what agents say is shown too, which leaves no room for a table."""
    voices = Voices(out=out, is_wanted=is_verbose)
    if out.json:
        yield Events(out=out, clock=clock, voices=voices)
    elif is_verbose or not out.terminal:
        yield Lines(out=out, voices=voices)
    else:
        board = Board(out=out)
        console = Console(no_color=not out.colour, highlight=False)
        with Live(board, console=console, refresh_per_second=4):
            yield board


def event_of(event: str, clock: Clock, **facts: Json) -> Json:
    """Return an event as a line of JSON has it."""
    return {"event": event, "at": clock.now(), **facts}


def _used_in_words(used: Run | None) -> str:
    """Return what a round took, in words to be added; empty if it is not known."""
    if used is None:
        return ""
    cost = "" if used.cost_micros == NOT_TOLD else f", cost ${used.cost_micros / MICROS:.4f}"
    counts = ((used.input_tokens, "tokens in"), (used.output_tokens, "out"))
    return cost + "".join(f", {count:,} {what}" for count, what in counts if count != NOT_TOLD)


def ended_in_words(how: Execution) -> str:
    """Return how an agent ended, in words."""
    if how.timed_out:
        return "it took longer than a round may, and was ended"
    if how.ended_for == "asked":
        return "it was asked to end"
    return "it ended" if how.exit_code == 0 else f"it failed with exit code {how.exit_code}"


def _where(look: RunStatus) -> tuple[str, ...]:
    return tuple(filter(None, (look.phase, look.step, look.task)))
