"""Draws the panes of the live view, and handles its keys.

Rules: (1) what agents wrote is data: cells are texts without markup, in which control characters are shown; (2) the view writes
nothing itself (acting.py); (3) at 80 columns one pane is shown above the latest events, with more room all of them; (4) a row that
was chosen stays chosen while rows come and go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, cast

from rich.text import Text
from textual import on
from textual.app import App, ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.message import Message
from textual.widgets import DataTable, Footer, Input, Static

from counterpoint.cli.context import CommandContext
from counterpoint.cli.output import style_of, visible, width
from counterpoint.cli.top.acting import ACTS, RunCommand, run_in_terminal, words_of
from counterpoint.cli.top.detail import text_of
from counterpoint.cli.top.dialogs import HELP, AskScreen, TextScreen
from counterpoint.cli.top.following import ProjectWatch
from counterpoint.cli.top.snapshot import HEADINGS, Row, Snapshot

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
        snapshot = message.snapshot
        self.query_one("#head", Static).update(visible(snapshot.head))
        self.query_one("#you", Static).update(f"You: {visible(snapshot.you)}")
        self.query_one("#trouble").display = False
        self._rows = dict(snapshot.panes)
        self._draw()

    def on_lost(self, message: Lost) -> None:
        """Say why what is shown may be old."""
        trouble = self.query_one("#trouble", Static)
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
