"""What the live view shows above its panes, such as a question."""

from __future__ import annotations

from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Footer, Input, Static

from counterpoint.cli.output import visible

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
