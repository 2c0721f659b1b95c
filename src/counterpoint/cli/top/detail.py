"""The text of one thing as `show` prints it, for the live view."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TextIO

from counterpoint.cli.context import CommandContext
from counterpoint.cli.output import Output, visible
from counterpoint.cli.phrases import PHRASES
from counterpoint.cli.work.show import show
from counterpoint.kernel.errors import CounterpointError
from counterpoint.kernel.frozen import frozen


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
