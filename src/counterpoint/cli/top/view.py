"""The live view: what it shows, follows and lets people do.

Runs what a person decides in the live view as the command of that name.
Rule: nothing is decided here. The words of a command go to the command line itself, which asks, signs, refuses
and records as it does for whoever types them.

Follows the ledger in a thread for the live view.
The thread sleeps in the store until somebody commits, so that nothing is read while nothing happens; leases are looked at
again after a while. What cannot be read is told, and tried again: a database that is away comes back by itself.

Draws the panes of the live view, and handles its keys.
Rules: (1) what agents wrote is data: cells are texts without markup, in which control characters are shown; (2) the view writes
nothing itself (acting.py); (3) at 80 columns one pane is shown above the latest events, with more room all of them; (4) a row that
was chosen stays chosen while rows come and go.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import ClassVar, Final, NamedTuple, TextIO, cast

import click
from rich.text import Text
from textual import on
from textual.app import App, ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical, VerticalScroll
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import DataTable, Footer, Input, Static

from counterpoint.cli.context import CommandContext
from counterpoint.cli.output import Output, output_for, style_of, visible, width
from counterpoint.cli.phrases import PHRASES
from counterpoint.cli.top.snapshot import HEADINGS, Row, Snapshot, read
from counterpoint.cli.work.show import show
from counterpoint.kernel.errors import CounterpointError
from counterpoint.kernel.frozen import frozen


class Act(NamedTuple):
    """A command that takes an id and a reason. asks: what the person is asked; needs: whether a reason must be given."""

    asks: str
    needs: bool


ACTS: Final[Mapping[str, Act]] = {
    "approve": Act("Why? It is kept; empty: approved", needs=False),
    "reject": Act("Why is it sent back? Its worker is told, and it is kept", needs=True),
    "release": Act("Why? It is kept; its holder is told by whom it was freed", needs=False),
    "unblock": Act("What resolved it? It is kept", needs=False),
}
"""What can be decided, by the names of the commands."""

RunCommand = Callable[[Sequence[str]], int]
"""Runs one command in a terminal; answers its exit code."""


def words_of(name: str, id_: str, reason: str, where: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a command as they are typed. where: the options that name the ledger."""
    # Joined by `=`, and behind `--`: what was typed or comes from an agent is never an option.
    options = (f"--reason={reason}",) if reason else ()
    return (name, *options, *where, "--", id_)


def run_in_terminal(words: Sequence[str]) -> int:
    """Run a command where the view was, and leave what it said until the person has read it."""
    from counterpoint.cli.main import run

    out = output_for()
    out.line(f"$ counterpoint {' '.join(map(visible, words))}", style="bold")
    code = run(words)
    out.line()
    # A whole line, not one key: what is typed before the terminal listens to single keys would be thrown away.
    with suppress(click.Abort):
        click.prompt(
            "Press Enter to go back to the view", default="", show_default=False, prompt_suffix=""
        )
    return code


@frozen
class _Kept(Output):
    """An output that keeps its lines."""

    lines: list[str] = field(default_factory=list[str])

    def _say(
        self, text: str, style: str, stream: TextIO, *, colour: bool, is_exact: bool = False
    ) -> None:
        del style, stream, colour, is_exact
        self.lines.append(visible(text))


def text_of(context: CommandContext, id_: str) -> str:
    """Return all that `show` says of an id, or why it says nothing."""
    buffer = _Kept()
    try:
        show(replace(context, out=buffer), id_, whole=False)
    except CounterpointError as refusal:
        buffer.line(f"{refusal.message}. {refusal.hint_in(PHRASES)}")
    return "\n".join(buffer.lines)


HELP: Final = """\
1 to 5, Tab   go to a pane; where there is room all are shown
Up, Down      choose a row
Enter         show what the row is about, whole
a             approve work that was handed in, or a start
x             reject work, with what to mend
r             free a task, or all that a session holds
u             resolve a blocker
/             show only rows with these words; Esc shows all again
q             leave

Decisions are those of the commands `approve`, `reject`, `release` and `unblock`: the view makes room for
them, they ask for your passphrase where you have a key, and the view comes back.
Dates and leases are read again whenever something is written, and every ten seconds."""


class TextScreen(ModalScreen[None]):
    """A text to be read; nothing in it is markup."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "dismiss", "Back", show=True),
    ]

    def __init__(self, title: str, text: str) -> None:
        """Prepare. text: as it is shown, line by line."""
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        """Build the screen."""
        with Vertical(classes="window"):
            yield Static(visible(self._title), classes="title", markup=False)
            with VerticalScroll(classes="text"):
                yield Static(self._text, id="text", markup=False)
            yield Footer()

    def on_mount(self) -> None:
        """Let the arrows scroll the text at once."""
        self.query_one(VerticalScroll).focus()


class AskScreen(ModalScreen[str | None]):
    """A question with one line for the answer: None if nobody wants to go on."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Leave it as it is")]

    def __init__(self, title: str, about: str, asks: str, *, needs: bool) -> None:
        """Prepare. about: what is decided on; asks: what the line is for; needs: whether it may not be empty."""
        super().__init__()
        self._title, self._about, self._asks, self._needs = title, about, asks, needs

    def compose(self) -> ComposeResult:
        """Build the screen."""
        with Vertical(classes="window question"):
            yield Static(visible(self._title), classes="title", markup=False)
            yield Static(self._about, markup=False)
            yield Static(self._asks, classes="asks", markup=False)
            yield Input(id="answer")
            yield Footer()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the answer, unless one is needed and there is none."""
        event.stop()
        answer = event.value.strip()
        if answer or not self._needs:
            self.dismiss(answer)
            return
        self.notify("A reason is needed.", severity="warning", markup=False)

    def action_leave(self) -> None:
        """Decide nothing."""
        self.dismiss(None)


_SLICE: Final = 1.0
"""Seconds that one wait lasts at most: so long the end of the view waits for the thread."""
_SLICES: Final = 10
"""Waits after which leases and connections are looked at again although nothing was written."""
_PAUSE: Final = 0.2
"""Seconds between two looks at a ledger in which much happens."""
_AGAIN: Final = 2.0
"""Seconds until what could not be read is tried again."""

_STOPPED: Final = "The view has stopped reading the ledger: leave it with q, and start it again."


class ProjectWatch:
    """A thread that reads the project whenever its ledger grows."""

    def __init__(
        self,
        context: CommandContext,
        seen: Callable[[Snapshot], object],
        lost: Callable[[str], object],
    ) -> None:
        """Prepare. seen: told each snapshot; lost: told in words why there is none. Both are called in the thread."""
        self._context, self._seen, self._lost = context, seen, lost
        self._ended, self._asked = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._follow, name="top", daemon=True)

    def begin(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def look(self) -> None:
        """Have the project read again soon: something was done here."""
        self._asked.set()

    def end(self) -> None:
        """End the thread, and wait for that."""
        self._ended.set()
        self._asked.set()
        if self._thread.is_alive():
            self._thread.join()

    def _follow(self) -> None:
        try:
            while not self._ended.is_set():
                self._look()
        finally:
            if not self._ended.is_set():
                self._lost(_STOPPED)

    def _look(self) -> None:
        """Read the project once, and wait until that is worth while again."""
        self._asked.clear()
        try:
            snapshot = read(self._context)
            self._seen(snapshot)
            self._wait(snapshot.last)
        except CounterpointError as fault:
            self._lost(f"{fault.message}. {fault.hint_in(PHRASES)}")
            self._ended.wait(_AGAIN)

    def _wait(self, last: int) -> None:
        """Wait until the ledger has more than this, or something else asks for a look."""
        core = self._context.core
        for _ in range(_SLICES):
            if self._asked.is_set() or core.feed.entries(last, 1, _SLICE):
                break
        self._ended.wait(_PAUSE)


_TITLES: Final = {
    "waiting": "Waiting",
    "agents": "Agents",
    "claims": "Claims",
    "ready": "Ready",
    "events": "Events",
}
_WIDE: Final = 120
_COLUMN: Final = 72
"""How many columns of the terminal a cell takes at most."""
_WIDEST: Final = 400
"""Letters of a cell that are drawn."""


class Seen(Message):
    """The project was read."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Carry how it stands."""
        super().__init__()
        self.snapshot = snapshot


class Lost(Message):
    """The project could not be read."""

    def __init__(self, words: str) -> None:
        """Carry why."""
        super().__init__()
        self.words = words


class TopView(App[int]):
    """The view of one project, until its reader leaves."""

    TITLE = "counterpoint top"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (_WIDE, "-wide")]  # noqa: RUF012 -- Textual declares it without ClassVar
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "Quit"),
        # As in every other program of a terminal, wherever one is.
        Binding("ctrl+c", "quit", "Quit", show=False, priority=True),
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("slash", "filter", "Filter", key_display="/"),
        Binding("a", "decide('approve')", "Approve"),
        Binding("x", "decide('reject')", "Reject"),
        Binding("r", "decide('release')", "Release"),
        Binding("u", "decide('unblock')", "Unblock"),
        *(
            Binding(str(number), f"pane('{name}')", title, show=False)
            for number, (name, title) in enumerate(_TITLES.items(), 1)
        ),
        Binding("tab", "next_pane(1)", "Next pane", show=False, priority=True),
        Binding("shift+tab", "next_pane(-1)", "Pane before", show=False, priority=True),
        Binding("escape", "clear_filter", "Show all", show=False),
    ]
    CSS = """
    #head, #you, #tabs, #trouble { height: 1; text-overflow: ellipsis; text-wrap: nowrap; }
    #head { text-style: bold; }
    #you { color: $text-muted; }
    #trouble { color: $error; display: none; }
    #filter { height: 1; border: none; padding: 0; display: none; }
    #panes { height: 1fr; }
    DataTable { height: 1fr; border: round $panel; padding: 0; }
    DataTable:focus { border: round $accent; }
    .-narrow DataTable { display: none; }
    .-narrow DataTable.chosen { display: block; }
    .-narrow #events { display: block; height: 7; }
    .-narrow #events.chosen { height: 1fr; }
    .-wide #tabs { display: none; }
    .-wide #panes { layout: grid; grid-size: 2 3; }
    .-wide #events { column-span: 2; }
    ModalScreen { align: center middle; }
    .window { width: 90%; height: 90%; border: round $accent; background: $surface; padding: 0 1; }
    .question { height: auto; }
    .title { text-style: bold; }
    .text { height: 1fr; }
    .asks { color: $text-muted; margin-top: 1; }
    """

    def __init__(
        self,
        context: CommandContext,
        *,
        where: Sequence[str] = (),
        run_command: RunCommand | None = None,
    ) -> None:
        """Prepare.

        where: the options that name the ledger of the context, for the commands. run_command: runs those; None: in the terminal
        that the view is drawn on.
        """
        super().__init__()
        self._project, self._where, self._run_command = context, where, run_command
        self._rows: dict[str, Sequence[Row]] = {}
        self._shown: dict[str, list[Row]] = {}
        self._chosen, self._words = "waiting", ""
        self._following = ProjectWatch(
            context,
            lambda snapshot: self.post_message(Seen(snapshot)),
            lambda words: self.post_message(Lost(words)),
        )

    def compose(self) -> ComposeResult:
        """Build the screen."""
        yield Static("Reading the ledger …", id="head", markup=False)
        yield Static(id="you", markup=False)
        yield Static(id="trouble", markup=False)
        yield Static(id="tabs", markup=False)
        with Container(id="panes"):
            for name, headings in HEADINGS.items():
                table = DataTable[Text](id=name, cursor_type="row")
                table.border_title = _TITLES[name]
                for heading in headings:
                    table.add_column(heading)
                yield table
        yield Input(id="filter", placeholder="Words that rows must have")
        yield Footer()

    def on_mount(self) -> None:
        """Begin to follow."""
        self.action_pane(self._chosen)
        self._following.begin()

    def on_unmount(self) -> None:
        """Leave nothing that reads."""
        self._following.end()

    # ── what is shown ──

    def on_seen(self, message: Seen) -> None:
        """Show how the project stands."""
        if not self.query("#head"):
            return  # it is being taken down
        snapshot = message.snapshot
        self.query_one("#head", Static).update(visible(snapshot.head))
        self.query_one("#you", Static).update(f"You: {visible(snapshot.you)}")
        self.query_one("#trouble").display = False
        self._rows = dict(snapshot.panes)
        self._draw()

    def on_lost(self, message: Lost) -> None:
        """Say why what is shown may be old."""
        for trouble in self.query("#trouble").results(Static):
            trouble.update(visible(message.words))
            trouble.display = True

    def _draw(self) -> None:
        for name, rows in self._rows.items():
            self._fill(name, [row for row in rows if _has(row, self._words)])
        self._name_panes()

    def _fill(self, name: str, rows: list[Row]) -> None:
        """Show rows in a pane; the one that was chosen stays it, or else its place."""
        table = self._table(name)
        cursor = table.cursor_row
        before = self._shown.get(name, [])
        key = before[cursor].key if 0 <= cursor < len(before) else ""
        if before == rows:
            return
        self._shown[name] = rows
        table.clear(columns=True)
        for heading, *cells in zip(HEADINGS[name], *(row.cells for row in rows), strict=True):
            wide = max(width(visible(cell)) for cell in (heading, *cells))
            table.add_column(heading, width=min(wide, _COLUMN))
        for row in rows:
            table.add_row(*(_cell(text) for text in row.cells))
        places = [number for number, row in enumerate(rows) if row.key == key]
        # The latest event stays in sight for whoever looks at the top.
        is_at_top = name == "events" and cursor == 0
        table.move_cursor(row=0 if is_at_top else (places or [min(cursor, len(rows) - 1)])[0])

    def _name_panes(self) -> None:
        words = list[str]()
        for number, (name, title) in enumerate(_TITLES.items(), 1):
            count = len(self._shown.get(name, []))
            label = f"{number} {title} {count}"
            words.append(f"[{label}]" if name == self._chosen else f" {label} ")
            self._table(name).border_title = Text(f"{title} {count}").plain
        self.query_one("#tabs", Static).update(" ".join(words))

    def _table(self, name: str) -> DataTable[Text]:
        return cast("DataTable[Text]", self.query_one(f"#{name}", DataTable))

    # ── where one is ──

    def action_pane(self, name: str) -> None:
        """Go to a pane."""
        if self.screen is not self.screen_stack[0]:
            return
        self._chosen = name
        for pane in _TITLES:
            self._table(pane).set_class(pane == name, "chosen")
        self._table(name).focus()
        self._name_panes()

    def action_next_pane(self, step: int) -> None:
        """Go to the pane that follows."""
        names = list(_TITLES)
        self.action_pane(names[(names.index(self._chosen) + step) % len(names)])

    def action_filter(self) -> None:
        """Ask for the words that rows must have."""
        line = self.query_one("#filter", Input)
        line.display = True
        line.focus()

    def action_clear_filter(self) -> None:
        """Show all rows again."""
        line = self.query_one("#filter", Input)
        line.value, line.display = "", False
        self.action_pane(self._chosen)

    @on(Input.Changed, "#filter")
    def narrow(self, event: Input.Changed) -> None:
        """Show the rows that have the words so far."""
        self._words = event.value
        self._draw()

    @on(Input.Submitted, "#filter")
    def go_back(self) -> None:
        """Go back to the rows; the words stay in sight as long as they count."""
        self.query_one("#filter").display = bool(self._words)
        self.action_pane(self._chosen)

    def action_help(self) -> None:
        """Show the keys."""
        self.push_screen(TextScreen("counterpoint top", HELP))

    # ── what one does ──

    @on(DataTable.RowSelected)
    def open_row(self) -> None:
        """Show what a row is about."""
        row = self._row(self._chosen)
        if row is not None and row.id:
            self.push_screen(TextScreen(row.id, text_of(self._project, row.id)))

    def action_decide(self, name: str) -> None:
        """Ask why, and have the command of that name decide."""
        row = self._row(self._chosen)
        if row is None or not row.id or row.id.startswith("#"):
            self.notify("Choose a row with an id first.", severity="warning", markup=False)
            return
        act, id_ = ACTS[name], row.id
        about = "\n".join(visible(text) for text in (id_, *row.cells[1:]))

        def decide(reason: str | None) -> None:
            if reason is not None:
                self._decide(words_of(name, id_, reason, self._where))

        screen = AskScreen(f"{name} {id_}", about, act.asks, needs=act.needs)
        self.push_screen(screen, decide)

    def _decide(self, words: Sequence[str]) -> None:
        """Run a command in the terminal behind the view, and say how it ended."""
        if self._run_command is not None:
            code = self._run_command(words)
        else:
            try:
                with self.suspend():
                    code = run_in_terminal(words)
            except SuspendNotSupported:
                self.notify("This terminal cannot be shared.", severity="error", markup=False)
                return
        self._following.look()
        done = "done" if not code else f"refused, exit code {code}"
        sort = "warning" if code else "information"
        self.notify(f"{words[0]} {visible(words[-1])}: {done}", severity=sort, markup=False)

    def _row(self, name: str) -> Row | None:
        rows, cursor = self._shown.get(name, []), self._table(name).cursor_row
        return rows[cursor] if 0 <= cursor < len(rows) else None


def _has(row: Row, words: str) -> bool:
    """Return whether a row has every word that somebody typed."""
    text = " ".join(row.cells).casefold()
    return all(word in text for word in words.casefold().split())


def _cell(text: str) -> Text:
    """Return a cell: a text in which nothing is markup, in the colour of the state that it says."""
    return Text(visible(text[:_WIDEST]), style=style_of(text).replace("bright_black", "dim"))
