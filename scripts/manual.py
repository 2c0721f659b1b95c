"""Writes the man pages of the command line, one for each command, from the commands themselves.

The build of a wheel runs it (scripts/wheel.py), so that `man counterpoint` says what the installed program does. By hand:
`python scripts/manual.py FOLDER`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from counterpoint import __version__
from counterpoint.cli.commands import GROUPS, HIDDEN
from counterpoint.cli.grouping import cli, walk

_CODES = (
    ("0", "done"),
    ("1", "the answer is no"),
    ("2", "wrong usage, or input that is not valid"),
    ("3", "something that is needed is missing, unreachable or broken"),
)


def pages() -> Iterator[tuple[str, str]]:
    """Return the file name and the text of each page, that of the whole program first."""
    yield "counterpoint.1", "\n".join(_whole())
    for words, command in walk(cli):
        name = f"counterpoint-{words.replace(' ', '-')}"
        yield f"{name}.1", "\n".join(_page(name, words, command))


def _whole() -> Iterator[str]:
    yield from _head("counterpoint", (cli.help or "").rstrip("."))
    yield from (".SH SYNOPSIS", r"\fBcounterpoint\fR \fICOMMAND\fR [\fIARGS\fR]...")
    for group, commands in GROUPS.items():
        if group == HIDDEN:
            continue
        yield f".SH {_said(group.upper())}"
        for name, command in commands.items():
            yield from (".TP", rf"\fBcounterpoint\-{_said(name)}\fR(1)", _said(command.summary))
    yield from _tail("counterpoint\\-help(1)")


def _page(name: str, words: str, command: click.Command) -> Iterator[str]:
    context = click.Context(command, info_name=f"counterpoint {words}")
    first, _, rest = (command.help or "").partition("\n\n")
    yield from _head(name, " ".join(first.split()).rstrip("."))
    yield ".SH SYNOPSIS"
    yield rf"\fBcounterpoint {_said(words)}\fR {_said(' '.join(command.collect_usage_pieces(context)))}"
    if rest.strip():
        yield ".SH DESCRIPTION"
        for paragraph in re.split(r"\n\s*\n", rest.strip()):
            yield from (".PP", _said(" ".join(paragraph.split())))
    options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    if options:
        yield ".SH OPTIONS"
        for option in options:
            record = option.get_help_record(context)
            if record is not None:
                yield from (".TP", rf"\fB{_said(record[0])}\fR", _said(record[1] or "\\&"))
    if isinstance(command, click.Group):
        yield ".SH COMMANDS"
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            if found is not None and not found.hidden:
                said = " ".join((found.help or "").partition("\n\n")[0].split())
                page = _said(f"counterpoint-{words.replace(' ', '-')}-{inner}")
                yield from (".TP", rf"\fB{page}\fR(1)", _said(said))
    shown = (command.epilog or "").splitlines()[2:]
    if shown:
        yield from (".SH EXAMPLES", ".nf", *(_said(line.strip()) for line in shown), ".fi")
    yield from _tail("counterpoint(1)")


def _head(name: str, summary: str) -> Iterator[str]:
    yield f'.TH "{name.upper()}" 1 "" "counterpoint {__version__}" "Counterpoint"'
    yield from (".SH NAME", rf"{_said(name)} \- {_said(summary)}")


def _tail(other: str) -> Iterator[str]:
    yield ".SH EXIT STATUS"
    for code, meaning in _CODES:
        yield from (".TP", code, _said(meaning))
    yield from (".SH SEE ALSO", other, "")


def _said(text: str) -> str:
    """Return a text as roff reads it: nothing in it is a command, and hyphens stay what can be copied."""
    shown = text.replace("\\", "\\e").replace("-", "\\-")
    shown = "".join(one if one.isascii() else f"\\[u{ord(one):04X}]" for one in shown)
    return rf"\&{shown}" if shown.startswith((".", "'")) else shown


def write(folder: Path) -> None:
    """Write every page into a folder."""
    for name, text in pages():
        (folder / name).write_text(text, "utf-8")


if __name__ == "__main__":
    made = Path(sys.argv[1])
    made.mkdir(parents=True, exist_ok=True)
    write(made)
    print(f"Wrote {len(list(made.glob('*.1')))} pages into {made}.")
