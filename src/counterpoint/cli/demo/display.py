"""What the demonstration shows while it runs: a live view, lines, or nothing."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from typing import Final, Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from counterpoint.cli.output import Output, one_line, wrap_text
from counterpoint.core.ledger.entry import Entry
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.visible import visible

COLUMNS: Final = 100
"""How wide a line is at most: what is piped into a file or a chat is read there."""
_LINES = 8
"""Entries of the ledger that the live view shows."""
_TOLD = ("exit_code", "outcome", "taken_over_from", "title")
"""Facts of an entry that are worth their place on a line."""
_COLOURS = {
    "check.failed": "red",
    "check.passed": "green",
    "item.approved": "green",
    "item.rejected": "red",
    "task.finished": "green",
    "task.taken_over": "yellow",
}


class Screen(Protocol):
    """Where the play shows what happens."""

    def said(self, agent: str, words: str) -> None:
        """Show what an agent does."""
        ...

    def wrote(self, entry: Entry) -> None:
        """Show an entry of the ledger."""
        ...

    def counted(self, done: int, total: int) -> None:
        """Show how many tasks are done."""
        ...


class NullScreen:
    """Shows nothing."""

    def said(self, agent: str, words: str) -> None:
        """Show nothing."""

    def wrote(self, entry: Entry) -> None:
        """Show nothing."""

    def counted(self, done: int, total: int) -> None:
        """Show nothing."""


@dataclass(kw_only=True)
class Lines:
    """One line for each entry of the ledger, and for what no entry tells."""

    out: Output
    begun: float = field(default_factory=monotonic)

    def said(self, agent: str, words: str) -> None:
        """Show what an agent does where the ledger would not."""
        if words.startswith(("was ", "comes ")):
            self._line(agent, one_line(words))

    def wrote(self, entry: Entry) -> None:
        """Show an entry of the ledger."""
        self._line(entry.actor.name, present(entry), style=_COLOURS.get(entry.action, ""))

    def counted(self, done: int, total: int) -> None:
        """Show nothing: the lines count themselves."""

    def _line(self, who: str, words: str, *, style: str = "") -> None:
        first = f"{monotonic() - self.begun:6.2f} s  {who:<13} "
        for part in wrap_text(words, COLUMNS - len(first)):
            self.out.line(f"{first}{part}", style=style)
            first = " " * len(first)


@dataclass(kw_only=True)
class Board:
    """The live view: what each agent does, how far the plan is, the end of the ledger."""

    agents: dict[str, str] = field(default_factory=dict[str, str])
    entries: deque[Entry] = field(default_factory=lambda: deque[Entry](maxlen=_LINES))
    done: int = 0
    total: int = 0
    begun: float = field(default_factory=monotonic)
    # rich draws in a thread of its own, while this one adds agents and entries.
    _lock: Lock = field(default_factory=Lock, repr=False)

    def said(self, agent: str, words: str) -> None:
        """Show what an agent does."""
        with self._lock:
            self.agents[agent] = words

    def wrote(self, entry: Entry) -> None:
        """Show an entry of the ledger."""
        with self._lock:
            self.entries.append(entry)

    def counted(self, done: int, total: int) -> None:
        """Show how many tasks are done."""
        self.done, self.total = done, total

    def __rich__(self) -> RenderableType:
        """Return the view as it is now; rich asks for it again and again."""
        with self._lock:
            words_by_agent, entries = dict(self.agents), list(self.entries)
        agents = Table.grid(padding=(0, 2))
        for name, words in words_by_agent.items():
            agents.add_row(Text(name, style="bold"), Text(visible(one_line(words, 90))))
        progress = Table.grid(padding=(0, 2))
        bar = ProgressBar(total=max(1, self.total), completed=self.done, width=40)
        seconds = f"{monotonic() - self.begun:.0f} s"
        progress.add_row(bar, f"{self.done} of {self.total} tasks", seconds)
        ledger = Table.grid(padding=(0, 2))
        for entry in entries:
            style = _COLOURS.get(entry.action, "")
            ledger.add_row(
                Text(f"#{entry.sequence}", style="dim"),
                Text(visible(entry.actor.name)),
                Text(visible(one_line(present(entry), 90)), style=style),
            )
        return Group(agents, "", progress, "", Text("ledger", style="bold"), ledger)


def present(entry: Entry) -> str:
    """Return what an entry says, in one line."""
    words = [f"{name}={_word(entry.facts[name])}" for name in _TOLD if name in entry.facts]
    return " ".join((f"{entry.action:<16}", entry.subject, *words)).rstrip()


def _word(fact: Json) -> str:
    return one_line(str(fact), 60)


@contextmanager
def open_screen(out: Output) -> Generator[Screen]:
    """Open the view that fits the output."""
    if out.json:
        yield NullScreen()
    elif not out.terminal:
        yield Lines(out=out)
    else:
        board = Board()
        console = Console(no_color=not out.colour, highlight=False)
        with Live(board, console=console, refresh_per_second=8):
            yield board
