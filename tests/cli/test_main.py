"""The top of the command line: exit codes, refusals, pipes, signals, imports."""

from __future__ import annotations

import io
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from counterpoint import __version__
from counterpoint.cli import context, main, output
from counterpoint.cli.commands import COMMANDS
from counterpoint.cli.main import EXIT_CODES, run
from counterpoint.core.model.filters import Note
from counterpoint.kernel.clock import SystemClock, Timestamp
from counterpoint.kernel.errors import InvalidInput, Kind
from counterpoint.kernel.plurals import agree, counted

HEAVY = {"mcp", "mcp_types", "pydantic", "rich", "cryptography", "apsw"}
READING = ["status", "list", "next", "log", "audit rebuild", "audit verify", "find x", "show x-1"]
PATIENCE = 20.0
FEW_CLASSES = 10
FEW_MODULES = {"status": 197, "status --json": 238}
"""Of ours: what opens a ledger, reads it, tells who is gone and which checks nobody has allowed, and holds its last head against who signed it."""
SLOW = {
    "anyio",
    "click",
    "difflib",
    "logging",
    "mcp",
    "numpy",
    "pydantic",
    "rich",
    "shutil",
    "socket",
    "subprocess",
    "yaml",
}


@pytest.mark.parametrize("end", [KeyboardInterrupt, InvalidInput])
def test_what_was_written_before_a_command_was_cut_off_is_signed(call, ledger, end):
    """Ctrl-C and a refusal in the middle leave no entry without the signature of whoever called."""
    assert call("note", "before").code == 0
    before = call("audit", "verify", "--json").json

    def cut_off():
        with context.open_context(as_json=False, db=None, project=None) as opened:
            opened.core.journal.append(Note(kind="comment", body="half of it"))
            raise end("cut off")

    with pytest.raises(end):
        cut_off()
    after = call("audit", "verify", "--json").json
    assert after["unsigned"] == before["unsigned"]


def test_every_kind_of_error_has_an_exit_code():
    """The table is complete, and 0 is none of its codes."""
    assert set(EXIT_CODES) == set(get_args(Kind))
    assert set(EXIT_CODES.values()) == {1, 2, 3}


def test_every_command_is_found_and_helps(call, place):
    listed = call("--help")
    for name in COMMANDS:
        # What only other processes start is not in the list.
        assert (f"\n  {name} " in listed.out) is (name not in {"event", "listings"})
        said = call(name, "--help")
        assert said.code == 0
        assert said.out.startswith(f"Usage: counterpoint {name} ")


def test_a_mistyped_command_is_told_its_neighbour(call, place):
    """Only where there is one that is near."""
    said = call("statsu")
    assert (said.code, "Did you mean `status`?" in said.err) == (2, True)
    assert "Did you mean" not in call("zzzz").err
    assert "There are: size." in call("issue", "zzzz").err


@pytest.mark.e2e
def test_saying_the_version_loads_nothing_slow(start):
    """Neither the SDK nor pydantic, rich, cryptography or the database is imported for it."""
    script = (
        "import sys; from counterpoint.cli.main import run; run(['version']);"
        f"print(sorted({HEAVY!r} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout.startswith(b"counterpoint ")
    assert done.stderr.strip() == b"[]"


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("words", "asked"),
    [(["status"], set()), (["status", "--json"], {"shutil", "subprocess"})],
)
def test_looking_at_the_state_loads_what_it_reads_and_no_more(ledger, words, asked):
    """As JSON it says by which model texts are found: who asks those of others is looked up for it.

    What reads arguments, checks those of tools, draws, asks or searches takes longer to load than the answer.
    """
    script = (
        f"import sys; from counterpoint.cli.main import run; run({words!r});"
        f"print(sorted({SLOW - asked!r} & set(sys.modules)), file=sys.stderr);"
        "print(sum(one.startswith('counterpoint') for one in sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout
    *_, slow, ours = done.stderr.splitlines()
    assert slow == b"[]"
    assert int(ours) <= FEW_MODULES[" ".join(words)]


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--json"],
        ["--project", "harbour"],
        ["--project=harbor", "--project", "harbour"],
        ["--project", "harbor"],
        ["--db", "elsewhere.db", "--json"],
        ["--db="],
        ["--db"],
        ["--project", "--json"],
        ["--json=yes"],
        ["--nonsense", "x"],
        ["nonsense"],
    ],
)
def test_a_state_that_is_asked_for_plainly_is_the_one_that_the_parser_tells(
    call, ledger, words, monkeypatch
):
    """The same answer, refusal and code, whichever of the two has read the words."""
    monkeypatch.setattr(SystemClock, "now", lambda _clock: Timestamp("2030-01-01T00:00:00.000Z"))
    plain = call("status", *words)
    monkeypatch.setattr(main, "parse_plain_status", lambda _words: None)
    assert call("status", *words) == plain


@pytest.mark.e2e
def test_looking_at_the_state_compiles_few_classes(ledger):
    """Making the methods of two hundred dataclasses took half of a short command."""
    script = (
        "import dataclasses, sys; made = []; one = dataclasses.dataclass\n"
        "def counted(*given, **named):\n"
        "    made.append(named); return one(*given, **named)\n"
        "dataclasses.dataclass = counted\n"
        "from counterpoint.cli.main import run; run(['status'])\n"
        "print(len(made), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout
    assert int(done.stderr.splitlines()[-1]) <= FEW_CLASSES


def test_the_version_is_told_as_json_too(call, place):
    """The keys are stable; the option that all programs have tells it as well."""
    said = call("--version")
    assert (said.code, said.out) == (0, f"counterpoint {__version__}\n")
    assert set(call("version", "--json").json) == {"version", "python", "system"}


@pytest.mark.parametrize(
    "words", [["nonsense"], ["list", "--nonsense"], ["show"], ["list", "--limit", "0"]]
)
def test_wrong_usage_ends_with_two(call, ledger, words):
    """Unknown commands and options, missing arguments and values out of range are the caller's."""
    said = call(*words)
    assert (said.code, said.out) == (2, "")
    assert "Usage: counterpoint" in said.err


@pytest.mark.parametrize("words", READING)
def test_without_a_ledger_reading_says_what_to_do_and_makes_nothing(call, place, words):
    """Exit code 3, the next step on standard error, an untouched folder."""
    said = call(*words.split())
    assert (said.code, said.out) == (3, "")
    assert "counterpoint init" in said.err
    assert list(place.iterdir()) == []


def test_looking_makes_no_ledger_of_an_empty_file(call, place):
    database = place / ".counterpoint" / "ledger.db"
    database.parent.mkdir(0o700)
    database.touch(0o600)
    said = call("status")
    assert (said.code, "counterpoint init" in said.err) == (3, True)
    assert [*database.parent.iterdir()] == [database]
    assert database.stat().st_size == 0


def test_a_project_that_is_not_there_is_not_made_by_looking(call, app):
    """A misspelt project is refused with the names there are, and no entry is written."""
    said = call("status", "--project", "harbor")
    assert said.code == 3
    assert "harbour" in said.err
    assert [project.project for project in app.store.projects()] == ["harbour"]


def test_a_named_ledger_that_is_not_there_is_not_begun_in_this_folder(call, ledger):
    gone = call("status", "--db", "/nowhere/at/all/x.db")
    assert (gone.code, "/nowhere/at/all/x.db: there is no such folder" in gone.err) == (3, True)
    assert "counterpoint init" not in gone.err
    assert "`counterpoint init --db x.db` begins one" in call("status", "--db", "x.db").err


def test_a_database_server_of_another_kind_is_refused_in_words(call, place):
    """An address is never taken for the name of a file."""
    said = call("status", "--db", "mysql://nowhere/x")
    assert said.code == 2
    assert "PostgreSQL" in said.err
    assert list(place.iterdir()) == []


def test_an_unknown_id_ends_with_one_and_a_hint(call, ledger):
    said = call("show", "harbour-99")
    assert (said.code, said.out) == (1, "")
    assert "harbour-99" in said.err
    assert len(said.err.splitlines()) == 2


def test_a_file_that_is_no_database_ends_with_three(call, ledger):
    """Something needed is broken; it is said without a traceback."""
    (ledger / ".counterpoint" / "ledger.db").write_bytes(b"no database at all " * 100)
    said = call("status")
    assert said.code == 3
    assert "Traceback" not in said.err


def test_a_refusal_is_json_for_those_who_ask_for_json(call, ledger, monkeypatch):
    """One object on the output, on one line, as a refused tool answers; words and exit codes stay as ever."""
    cases = {
        ("show", "harbour-99"): (1, "not_found"),
        ("list", "--nonsense"): (2, "invalid_input"),
        ("statsu",): (2, "invalid_input"),
        ("status", "--project", "elsewhere"): (3, "unavailable"),
    }
    for words, (code, name) in cases.items():
        said = call(*words, "--json")
        assert (said.code, said.json["error"], said.out.count("\n")) == (code, name, 1), words
        assert set(said.json) >= {"kind", "message", "hint", "retryable"}
        assert said.err == call(*words).err
        assert said.json["message"].split(".")[0] in said.err
    monkeypatch.setattr(context, "open_app", _stumble)
    said = call("status", "--json")
    assert (said.code, said.json["error"]) == (3, "unexpected")


def test_an_output_that_takes_nothing_is_named(call, ledger, monkeypatch, capsys):
    """It was closed at the start, or its disk is full: exit code 3, and the words of the system."""
    for words in (["status"], ["log"], ["log", "--json"], ["key"], ["--version"], ["key", "-h"]):
        monkeypatch.setattr(sys, "stdout", None)
        assert run(words) == 3
        sys.stdout.close()
        assert "output cannot be written: Bad file descriptor" in capsys.readouterr().err
        if Path("/dev/full").exists():
            with Path("/dev/full").open("w") as full:
                monkeypatch.setattr(sys, "stdout", full)
                assert run(words) == 3
            assert "output cannot be written: No space left" in capsys.readouterr().err


def test_closed_input_and_error_output_keep_no_answer_back(ledger, monkeypatch, capsys):
    """Nobody is asked, and what stands beside the answer is lost."""
    monkeypatch.setattr(sys, "stdin", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert run(["list"]) == 0
    assert "Lay the keel" in capsys.readouterr().out
    assert run(["show", "harbour-99"]) == 1
    sys.stdin.close()
    sys.stderr.close()


def test_from_a_folder_that_was_removed_one_is_sent_to_another(call, place, monkeypatch):
    """A worktree that an agent has cleared away, below the feet of a shell."""
    gone = place / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for words in (("status",), ("init", "--yes"), ("doctor",), ("audit", "verify")):
        said = call(*words)
        assert (said.code, "not there any more" in said.err) == (3, True), words


def _stumble(*_given: object, **_flags: object) -> None:
    raise ZeroDivisionError


@pytest.mark.parametrize(("flags", "shown"), [([], False), (["--debug"], True)])
def test_what_nobody_foresaw_is_an_apology(call, place, monkeypatch, caplog, flags, shown):
    """It is said in a line, with the way to more."""
    monkeypatch.setattr(context, "open_app", _stumble)
    said = call(*flags, "status")
    assert said.code == 3
    assert "went wrong" in said.err
    assert said.err.count("\n") == 1
    assert ("Traceback" in caplog.text) is shown


def test_the_shell_is_told_how_to_complete(call, place, monkeypatch, capsys):
    monkeypatch.setenv("_COUNTERPOINT_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "counterpoint res")
    monkeypatch.setenv("COMP_CWORD", "1")
    with pytest.raises(SystemExit):
        call()
    assert capsys.readouterr().out == "plain,restore\n"


class Closed(io.StringIO):
    """A stream whose reader went away."""

    def __init__(self, place: int) -> None:
        super().__init__()
        self.place = place

    def fileno(self) -> int:
        return self.place

    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_a_closed_output_is_given_a_place_to_end(ledger, monkeypatch):
    """What is still unwritten goes nowhere, in silence, with a code of its own."""
    source, sink = os.pipe()
    monkeypatch.setattr(sys, "stdout", Closed(sink))
    assert run(["list"]) == 141
    os.write(sink, b"gone")
    os.close(sink)
    assert os.read(source, 10) == b""
    os.close(source)


@pytest.mark.e2e
def test_a_reader_that_leaves_is_no_error_to_talk_about(start, ledger):
    """The output's end is closed before it is written: a code of its own, and silence."""
    source, sink = os.pipe()
    os.close(source)
    process = start("log", stdout=sink)
    os.close(sink)
    assert process.wait(PATIENCE) == 141
    assert process.stderr.read() == b""


@pytest.mark.e2e
def test_ctrl_c_ends_with_its_own_code(start, ledger):
    """A command that waits is stopped by SIGINT, without a traceback."""
    process = start("log", "--follow", "--limit", "1")
    assert process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 130
    assert process.stderr.read() == b"Stopped.\n"


def on_a_terminal(folder: Path, *words: str, **environ: str) -> str:
    """Run a command whose output is a terminal; answer what it wrote there."""
    theirs, ours = pty.openpty()
    try:
        command = [sys.executable, "-m", "counterpoint", *words]
        env = {**os.environ, "TERM": "xterm", **environ}
        done = subprocess.Popen(command, cwd=folder, stdout=ours, stderr=ours, env=env)
        os.close(ours)
        chunks = []
        while True:
            try:
                chunk = os.read(theirs, 65536)
            except OSError:
                break
            if not chunk:
                break
            chunks.append(chunk)
        assert done.wait(PATIENCE) == 0
    finally:
        os.close(theirs)
    return b"".join(chunks).decode()


@pytest.mark.e2e
def test_a_terminal_gets_colours_unless_they_are_refused(ledger):
    """Colours there; with NO_COLOR the same words without colours."""
    coloured = on_a_terminal(ledger, "list")
    assert "\x1b[36m" in coloured
    bare = on_a_terminal(ledger, "list", NO_COLOR="1")
    assert "\x1b[3" not in bare
    assert "Lay the keel" in bare


class AtOnce:
    """A timer that does not wait."""

    def __init__(self, _seconds: float, act: Callable[[], None]) -> None:
        self.start = act

    def cancel(self) -> None:
        """Know that it is over."""

    join = cancel


LONG = [
    (("audit", "verify"), "Verifying"),
    (("audit", "rebuild"), "Replaying"),
    (("plan", "plan.md"), "Making 2 items"),
    (("backup", "copy.db"), "Copying the database"),
    (("restore", "old.db", "--yes"), "Verifying the backup"),
    (("export", "--output", "out.md"), "Reading the work"),
    (("vault", "add", "plan.md"), "Reading documents"),
]


@pytest.mark.parametrize(("words", "said"), LONG)
def test_a_long_command_shows_how_far_it_is(call, ledger, on_terminal, monkeypatch, words, said):
    """Progress goes to standard error, and the answer stands alone on the output; a short one shows none."""
    assert call("backup", "old.db").code == 0
    Path("plan.md").write_text("# Pond\n- [ ] Dig\n")
    with monkeypatch.context() as patch:
        patch.setattr(output.threading, "Timer", AtOnce)
        out, err = on_terminal()
        assert run(words) == 0
    assert said in err.getvalue()
    assert said not in out.getvalue()
    _, err = on_terminal()
    assert run(["plan", "plan.md", "--parent", "harbour-1"]) == 0
    assert "Making" not in err.getvalue()


def test_progress_is_no_markup_and_nothing_where_nobody_looks(on_terminal, monkeypatch, capsys):
    """The name of a project may be what another wrote."""
    with output.output_for().counting("Moving") as count:
        count(2)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(output.threading, "Timer", AtOnce)
    _, err = on_terminal()
    with output.output_for().counting("Moving [bold]it[/]\x1b[2J") as count:
        count(7)
        count(12_000)
    assert "Moving [bold]it[/]" in err.getvalue()
    assert "\x1b[2J" not in err.getvalue()


def test_a_table_on_a_terminal_has_colours(ledger, on_terminal):
    """The words that have a colour have it, headings are bold."""
    out, _ = on_terminal()
    assert run(["list"]) == 0
    assert "\x1b[1mtitle" in out.getvalue()
    assert "\x1b[36mactive" in out.getvalue()


def test_a_terminal_too_narrow_for_a_table_gets_a_field_a_line(ledger, on_terminal, monkeypatch):
    """No heading and no id is cut into letters; at 100 columns it is a table."""
    for columns, is_table in (("30", False), ("100", True)):
        out, _ = on_terminal()
        monkeypatch.setenv("COLUMNS", columns)
        assert run(["list"]) == 0
        assert ("\x1b[1mtitle" in out.getvalue()) is is_table
        assert ("title: Lay the keel" in out.getvalue()) is not is_table


@pytest.mark.parametrize(("name", "value"), [("TERM", "dumb"), ("NO_COLOR", "1")])
def test_colours_can_be_refused(ledger, on_terminal, monkeypatch, name, value):
    """The same words come without them."""
    out, _ = on_terminal()
    monkeypatch.setenv(name, value)
    assert run(["list"]) == 0
    assert run(["status"]) == 0
    assert "\x1b[3" not in out.getvalue()
    assert "Lay the keel" in out.getvalue()


def test_no_colour_leaves_for_a_file(call, ledger):
    """What is not a terminal gets plain text."""
    for words in READING[:4]:
        assert "\x1b" not in call(*words.split()).out


def test_what_is_counted_is_said_in_its_number():
    """One of something is told of as one, many as many."""
    assert [counted(one, "entry") for one in (0, 1, 2000)] == [
        "0 entries",
        "1 entry",
        "2,000 entries",
    ]
    assert [counted(one, "key") for one in (1, 2)] == ["1 key", "2 keys"]
    said = [agree(many, "text", verb) for many in (1, 2) for verb in ("is", "was", "waits")]
    assert said == [
        *("1 text is", "1 text was", "1 text waits"),
        *("2 texts are", "2 texts were", "2 texts wait"),
    ]


@pytest.mark.parametrize("words", [["import", "beads"], ["backup"]])
def test_a_name_that_is_too_long_for_a_file_is_refused(call, ledger, words):
    """Exit code 2, and no inner error."""
    said = call(*words, "x" * 5_000)
    assert (said.code, "name of a file is too long" in said.err) == (2, True)
