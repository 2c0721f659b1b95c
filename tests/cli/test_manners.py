"""The manners of the command line: help, suggestions, pager, tables and colours, as people see them."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from counterpoint.cli.commands import COMMANDS, GROUPS, HIDDEN
from counterpoint.cli.grouping import cli, walk
from counterpoint.cli.main import run
from counterpoint.cli.output import fit_widths, width, wrap_text
from fakes.terminal import Terminal

SNAPSHOTS = Path(__file__).parent / "snapshots"
WIDTH = 80
NEVER_FOR_HELP = {
    *("counterpoint.app", "counterpoint.core", "rich", "apsw", "cryptography", "pydantic"),
    *("orjson", "json", "logging"),
}
EVERY = dict(walk(cli))
LEAVES = [name for name, command in EVERY.items() if not isinstance(command, click.Group)]


@pytest.mark.e2e
@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_letter_that_the_output_cannot_write_is_escaped(start, call, ledger, encoding):
    """On a terminal of another encoding too every answer is whole; JSON is read as it was written."""
    made = call("add", "Grüße ✓ 🚢", "--json").json["item"]["id"]
    environ = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    told, complaints = start("show", made, env=environ).communicate(timeout=60)
    assert complaints == b""
    assert "✓ 🚢".encode("ascii", "backslashreplace").split()[0] in told
    document = start("show", made, "--json", env=environ).communicate(timeout=60)[0]
    assert json.loads(document.decode(encoding))["item"]["title"] == "Grüße ✓ 🚢"


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in GROUPS[HIDDEN]])
def test_a_line_of_the_help_is_the_first_sentence_of_its_command(name):
    summary = COMMANDS[name].summary
    said = " ".join((EVERY[name].help or "").split("\n\n")[0].split())
    assert said == f"{summary}."
    assert len(f"  {'x' * max(map(len, COMMANDS))}  {summary}") <= WIDTH
    assert summary[0].isupper()


def test_the_help_of_all_commands_fits_a_terminal_and_loads_none_of_them(call, place):
    """Counted by what is imported: a help that loads the product is a help that nobody waits for."""
    said = call("--help")
    assert said.code == 0
    assert max(map(len, said.out.splitlines())) <= WIDTH
    for group, commands in GROUPS.items():
        assert group == HIDDEN or f"\n{group}:" in said.out
        assert [f"\n  {name} " in said.out for name in commands] == [group != HIDDEN] * len(
            commands
        )
    script = (
        "import sys; from counterpoint.cli.main import run; code = run(['--help']);"
        "names = {name for name in sys.modules};"
        f"print(sorted({NEVER_FOR_HELP!r} & names), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stderr.strip() == b"[]"


@pytest.mark.parametrize("name", EVERY)
def test_every_command_helps_in_lines_that_fit(name, call, place, monkeypatch):
    """At 80 columns, each option with words that say what it is for."""
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    said = call(*name.split(), "--help")
    lines = said.out.splitlines()
    assert said.code == 0
    assert [line for line in lines if len(line) > WIDTH and "  counterpoint " not in line] == []
    assert call("help", *name.split()).out.strip() == said.out.strip()


@pytest.mark.parametrize("name", LEAVES)
def test_every_command_is_said_with_examples(name):
    command = EVERY[name]
    shown = (command.epilog or "").splitlines()[2:]
    assert shown, name
    for line in shown:
        typed = re.split(r" [|>-]{1,2} ", line)
        words = shlex.split(next(part for part in typed if "counterpoint " in part))
        words = words[words.index("counterpoint") + 1 :]
        below = len(name.split())
        assert words[:below] == name.split()
        more = ["--", "agent"] if " -- " in line else []
        with command.make_context(name, words[below:] + more, resilient_parsing=True) as context:
            assert context.args == []
        known = {flag for option in command.params for flag in option.opts}
        assert {word for word in words if re.match("--?[a-z]", word)} <= known


@pytest.mark.parametrize("name", LEAVES)
def test_every_option_says_what_it_is_for(name):
    """Also those whose name seems to say it."""
    options = [one for one in EVERY[name].params if isinstance(one, click.Option)]
    assert [one.opts[0] for one in options if not (one.help or one.hidden)] == []


def test_a_mistyped_name_is_told_its_neighbour_at_every_level(call, place):
    """Commands, commands below them, and options."""
    for words, near in (
        ("lst", "`list`"),
        ("audit verfy", "`verify`"),
        ("list --jsno", "--json"),
        ("help aprove", "`approve`"),
    ):
        said = call(*words.split())
        assert (said.code, near in said.err) == (2, True), words
    assert call("help", "list", "more").code == 2


class Pty:
    """What one command says on a real terminal of some width."""

    def __init__(self, folder: Path, columns: int, *words: str, **environ: str) -> None:
        """Run it to its end."""
        told = {**os.environ, "TERM": "xterm", "COLUMNS": str(columns), "LINES": "200", **environ}
        terminal = Terminal([sys.executable, "-m", "counterpoint", *words], folder, told)
        self.code = terminal.end()
        self.seen = terminal.seen


CHANGING = [
    (r"20\d\d-\d\d-\d\d \d\d:\d\d \(UTC\)", "MINUTE (UTC)"),
    (r"\d\d-\d\d \d\d:\d\d:\d\d", "WHEN"),
    (r"20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+Z)?", "TIME"),
    (r"\d+ (s|min) (ago|left)", "9 min \\2"),
    (r"cn_(?!ada)\w+", "cn_IDENT"),
    (r"ses_\w+", "ses_ID"),
    (r"You: .*", "You: …"),
    (r"an agent has started this[^\n]*", "You: …"),
    (r"[^\n]*Counterpoint cannot tell you[^\n]*", "You: …"),
]
"""What differs from run to run, and what stands for it."""
SHOWN = [["list"], ["status"], ["log"], ["next"], ["show", "harbour-4"], ["find", "oak"]]


def stable(text: str) -> str:
    """Return a text without what differs from run to run."""
    for pattern, instead in CHANGING:
        text = re.sub(pattern, instead, text)
    return re.sub(r" +$", "", text.replace("\x1b", "<esc>"), flags=re.MULTILINE)


@pytest.fixture
def long_titles(call, ledger):
    """The harbour, with a title that no terminal has in one line, and one that is a review away."""
    call("add", "Raise the mast that came by ship from the north, and step it " * 3, "--label", "x")
    call("unblock", "harbour-r2")
    return ledger


@pytest.mark.parametrize("columns", [80, 160])
@pytest.mark.parametrize("words", SHOWN, ids=lambda words: words[0])
def test_what_people_see_is_what_was_looked_at(
    words, columns, long_titles, on_terminal, monkeypatch
):
    """In colours, within the width. `SNAPSHOTS=write` writes what is seen now, to be looked at."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("PAGER", "cat")
    out, _ = on_terminal()
    assert run(words) == 0
    seen = stable(out.getvalue())
    file = SNAPSHOTS / f"{words[0]}-{columns}.txt"
    if os.environ.get("SNAPSHOTS") == "write":
        file.write_text(seen)
    assert seen == file.read_text()
    plain = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())
    wide = [line for line in plain.splitlines() if width(line) > columns]
    # Whole sentences and texts are the terminal's to wrap; tables are ours.
    assert [line for line in wide if re.match(r"\s*(harbour-\d|\d+  )", line)] == []


@pytest.mark.parametrize("words", SHOWN, ids=lambda words: words[0])
def test_nothing_is_cut_or_coloured_where_it_is_piped(words, long_titles, call, monkeypatch):
    """However narrow the terminal beside it is."""
    monkeypatch.setenv("COLUMNS", "20")
    said = call(*words)
    assert said.code == 0
    assert "…" not in said.out
    assert "\x1b[" not in said.out
    if words[0] == "list":
        assert "and step it Raise the mast that came by ship from the north" in said.out


@pytest.mark.e2e
def test_on_a_real_terminal_it_is_the_same(long_titles):
    """The process asks the terminal itself for colours and its width."""
    narrow, broad = (Pty(long_titles, columns, "list") for columns in (80, 160))
    assert "\x1b[36mactive" in narrow.seen
    assert stable(narrow.seen) == (SNAPSHOTS / "list-80.txt").read_text()
    assert stable(broad.seen) == (SNAPSHOTS / "list-160.txt").read_text()
    assert "\x1b[" not in Pty(long_titles, 80, "list", NO_COLOR="1").seen


@pytest.mark.parametrize("name", ["FORCE_COLOR", "CLICOLOR_FORCE"])
def test_colours_can_be_asked_for_where_there_is_no_terminal(call, ledger, monkeypatch, name):
    """For a pager or a log that shows them; NO_COLOR goes before."""
    monkeypatch.setenv(name, "1")
    assert "\x1b[36mactive" in call("list").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in call("list").out


def test_a_long_answer_goes_through_the_pager_of_the_terminal(
    ledger, on_terminal, monkeypatch, tmp_path, capfd
):
    """Only one that is longer than the terminal; not with --no-pager, nor where none can be started."""
    pager = tmp_path / "pager"
    pager.write_text(
        f'#!/bin/sh\nwhile read -r line; do echo "seen $line"; done > {tmp_path}/seen\n'
    )
    pager.chmod(0o755)
    monkeypatch.setenv("LINES", "4")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("PAGER", str(pager))
    out, _ = on_terminal()
    assert run(["list"]) == 0
    assert "Lay the keel" in (tmp_path / "seen").read_text()
    assert "Lay the keel" not in out.getvalue()
    for words, said in (
        (["list", "--no-pager"], str(pager)),
        (["list"], "cat"),
        (["list"], ""),
        (["list"], "/nonsense"),
        (["list"], "'open"),
    ):
        monkeypatch.setenv("PAGER", said)
        out, _ = on_terminal()
        assert run(words) == 0
        assert "Lay the keel" in out.getvalue(), said
    monkeypatch.setenv("PAGER", str(pager))
    monkeypatch.setenv("LINES", "40")
    out, _ = on_terminal()
    assert run(["list"]) == 0
    assert "Lay the keel" in out.getvalue()


def test_columns_share_what_room_there_is():
    """The widest give up first; words that are wider than all of it are divided."""
    assert fit_widths([4, 50, 60], 60) == [4, 28, 28]
    assert fit_widths([4, 5, 6], 60) == [4, 5, 6]
    assert fit_widths([10, 10], 9) == [5, 5] or sum(fit_widths([10, 10], 9)) <= 9
    assert wrap_text("one two three", 7) == ["one two", "three"]
    assert wrap_text("abcdefgh ij", 3) == ["abc", "def", "gh", "ij"]
    assert wrap_text("漢字漢字", 4) == ["漢字", "漢字"]
    assert wrap_text("", 4) == [""]


def test_a_sentence_is_divided_between_words_and_a_command_in_it_is_not():
    text = "  Run `counterpoint key add NAME` in a terminal"
    assert wrap_text(text, 30) == ["  Run", "  `counterpoint key add NAME`", "  in a terminal"]
    key = "x" * 90
    assert wrap_text(f"Key: {key}", 80, cuts_words=False) == ["Key:", key]
