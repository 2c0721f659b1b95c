"""What a command can leave beside a ledger that lies among files of others, and in other repositories."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from counterpoint.app import App, open_app
from counterpoint.core.model.evidence import Command, Execution
from counterpoint.core.model.filters import Note
from counterpoint.core.model.trust.checking import Checking, Sandboxing
from counterpoint.evidence.local import LocalEvidence
from counterpoint.evidence.running.hidden import absent_ledgers, hidden_paths, without_begun
from counterpoint.evidence.trust.known import KnownLedgers
from counterpoint.kernel.clock import SystemClock
from counterpoint.kernel.ownership import BESIDE
from counterpoint.protocol.rendezvous import find_rendezvous

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(sys.platform != "linux", reason="other systems have no namespaces"),
]

HOT = (
    "import os, sys, struct; head = bytes.fromhex('d9d505f920a163d7') + struct.pack('>IIIII', 0, 1234, 1, 512, 4096);"
    " open(sys.argv[1], 'wb').write(head.ljust(512, b'\\0') + b'\\0' * 4104)"
)
"""Lays a journal that has SQLite cut a database off after its first page."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the home of the account, and a tree in it."""
    folder = tmp_path / "home"
    (folder / "tree" / ".git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return folder


def runs(tree: Path, database: Path, script: str, sandbox: Sandboxing = "auto") -> Execution:
    """Run a script as a check of a ledger in a file."""
    evidence = LocalEvidence(
        clock=SystemClock(), checking=lambda: Checking(sandbox=sandbox), database=database
    )
    execution = evidence.run(tree, Command(argv=("sh", "-c", script)))
    if sandbox != "off" and execution.sandbox == "none":
        pytest.skip("this system lets nobody make a namespace")
    return execution


def opened(tree: Path, database: Path) -> App:
    """Open a ledger in a file, as a process of its own would."""
    return open_app(tree, dict(os.environ), db=str(database), project="demo")


@pytest.mark.parametrize("sandbox", ["auto", "off"])
@pytest.mark.parametrize("place", ["data/x.db", "home/x.db", "home/tree/x.db", "home/link.db"])
def test_no_journal_of_a_command_rolls_a_ledger_back(
    tmp_path: Path, home: Path, place: str, sandbox: Sandboxing
) -> None:
    """Neither in a sandbox, which hides it, nor without one: who opens the ledger next puts it aside."""
    (home / "link.db").symlink_to(tmp_path / "data/x.db")
    (tmp_path / "data").mkdir()
    database = (tmp_path / place).resolve()
    with closing(opened(home / "tree", database)) as app:
        app.person().journal.append(Note(kind="comment", body="kept"))
        before = app.person().feed.last()
        runs(home / "tree", database, f'{sys.executable} -c "{HOT}" {database}-journal', sandbox)
        journal = Path(f"{database}-journal")
        is_laid = journal.exists() and bool(journal.stat().st_size)
        assert is_laid is (sandbox == "off")
        # With the log gone, all that was committed is in the database, and SQLite looks at the journal first.
    with closing(opened(home / "tree", database)) as app:
        assert app.person().feed.last() == before
        assert app.person().audit.verify().sound
    asides = [path.name for path in database.parent.glob("*-journal.left-by-a-check-*")]
    assert len(asides) == (sandbox == "off")


def test_what_lies_beside_a_ledger_is_neither_read_nor_taken_away(
    tmp_path: Path, home: Path
) -> None:
    """Also what is not there yet; what has other names stays as it is."""
    database = tmp_path / "data" / "x.db"
    (tmp_path / "data/own").mkdir(parents=True)
    (tmp_path / "data/file").write_text("of others")
    (tmp_path / "data/link").symlink_to("file")
    with closing(opened(home / "tree", database)) as app:
        person = app.person()
        person.journal.append(Note(kind="comment", body="kept"))
        person.signing.sign()
        (database.parent / "reads").mkdir()
        (database.parent / "reads/recording").write_text("who read what")
        script = (
            "cat reads/recording checkpoints/*; rm -r reads checkpoints; mkdir -p trusted/demo; touch trusted/demo/x; "
            "ls -A reads checkpoints trusted; echo made > own/made; cat link"
        )
        execution = runs(home / "tree", database, f"cd {database.parent}; {script}")
    assert "who read what" not in execution.output
    assert "counterpoint/" not in execution.output
    assert (database.parent / "reads/recording").read_text() == "who read what"
    assert [*(database.parent / "checkpoints").iterdir()]
    assert not (database.parent / "trusted").exists()
    assert "of others" in execution.output
    assert (database.parent / "own/made").read_text() == "made\n"


@pytest.mark.parametrize("place", ["data/x.db", "home/x.db"])
def test_what_acts_beside_a_ledger_of_another_project_is_laid_by_no_command(
    tmp_path: Path, home: Path, place: str
) -> None:
    """No file that this program opens there, such as a log, which SQLite would take over, or what says where a server is; and the ledger opens."""
    database = tmp_path / place
    database.parent.mkdir(exist_ok=True)
    with closing(opened(home / "tree", database)) as app:
        app.person().journal.append(Note(kind="comment", body="kept"))
    script = "; ".join(f"echo forged > {database}{ending}" for ending in BESIDE)
    runs(home / "tree", home / "tree/.counterpoint/ledger.db", script)
    files = [path.read_bytes() for path in database.parent.glob("x.db*")]
    assert len(files) == len(BESIDE) if place == "home/x.db" else 2
    assert not any(b"forged" in content for content in files)
    with closing(opened(home / "tree", database)) as app:
        assert app.person().audit.verify().sound
        rendezvous = find_rendezvous(database)
        rendezvous.listen().close()
        rendezvous.clear()


def test_a_log_that_is_removed_meanwhile_is_laid_by_no_command(tmp_path: Path, home: Path) -> None:
    """While a check runs the ledger is opened and closed, with which the log goes; nor is any folder laid there from which this program reads."""
    database = tmp_path / "data" / "x.db"
    database.parent.mkdir()
    for name in ("started", "go"):
        os.mkfifo(home / "tree" / name)
    with closing(opened(home / "tree", database)) as app:
        app.person().journal.append(Note(kind="comment", body="before"))
    Path(f"{database}-wal").touch()
    script = (
        f"echo > started; read line < go; cd {database.parent}; echo forged > x.db-wal; mkdir templates supervised;"
        " echo > specs-demo.json"
    )
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(runs, home / "tree", home / "tree/.counterpoint/ledger.db", script)
        (home / "tree/started").read_text()
        with closing(opened(home / "tree", database)) as app:
            app.person().journal.append(Note(kind="comment", body="meanwhile"))
            last = app.person().feed.last()
        assert not Path(f"{database}-wal").exists()
        (home / "tree/go").write_text("\n")
        run.result()
    assert {path.name for path in database.parent.iterdir()} == {"x.db", "x.db-queue"}
    with closing(opened(home / "tree", database)) as app:
        assert app.person().feed.last() == last


@pytest.mark.parametrize(
    "said", ["XDG_STATE_HOME=.local/state", "XDG_CONFIG_HOME=.config", "XDG_CACHE_HOME=.cache"]
)
def test_no_command_writes_what_this_program_has_of_a_person(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    """Neither in the folder that is, nor in that of a shell of the person's without the variable, where nothing is yet."""
    variable, default = said.split("=")
    monkeypatch.setenv(variable, str(tmp_path / "x"))
    folders = [home / default / "counterpoint", tmp_path / "x/counterpoint"]
    script = f"for one in {folders[0]} {folders[1]}; do mkdir -p $one/y; touch $one/y/forged; done"
    runs(home / "tree", home / "tree/.counterpoint/ledger.db", script)
    assert [[*folder.iterdir()] for folder in folders] == [[], []]
    monkeypatch.delenv(variable)
    folders[0].rmdir()
    runs(home / "tree", home / "tree/.counterpoint/ledger.db", script)
    assert [*folders[0].iterdir()] == []


def test_a_home_that_there_is_not_is_not_made(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    home = tmp_path / "nobody"
    assert str(Path.cwd()) not in hidden_paths(None, tmp_path / "tree", {})
    hidden_paths(None, tmp_path / "tree", {"HOME": str(home)})
    assert not home.exists()
    home.mkdir()
    hidden_paths(None, tmp_path / "tree", {"HOME": str(home)})
    assert (home / ".local/state/counterpoint").exists()


@pytest.mark.parametrize("name", ["checkpoints", "reads", "trusted"])
def test_folders_of_the_tree_with_the_same_names_are_worked_in(home: Path, name: str) -> None:
    """A ledger in the tree itself hides what this program has made there, and nothing else."""
    tree, database = home / "tree", home / "tree/x.db"
    (tree / name).mkdir()
    (tree / name / "weights").write_text("mine")
    with closing(opened(tree, database)) as app:
        app.person().journal.append(Note(kind="comment", body="kept"))
        execution = runs(tree, database, f"cat {name}/weights; echo more > {name}/more")
    assert execution.output == "mine"
    assert (tree / name / "more").exists()


def test_a_command_lays_no_ledger_into_another_repository(home: Path, tmp_path: Path) -> None:
    """Neither beside its tree nor in the home; one that a person begins meanwhile stays, and so does what was there."""
    tree, database = home / "tree", home / "tree/.counterpoint/ledger.db"
    for name in ("empty", "has", "busy"):
        (home / name / ".git").mkdir(parents=True)
    (home / "has/.counterpoint").mkdir()
    (home / "has/.counterpoint/ledger.db").write_text("theirs")
    for place in (database, home / "busy/.counterpoint/ledger.db"):
        place.parent.mkdir()
    script = "for one in empty has busy; do mkdir -p ../$one/.counterpoint; echo mine > ../$one/.counterpoint/ledger.db; done"
    with closing(open_app(tree, dict(os.environ))) as app:
        assert app.ports
    execution: Any = runs(tree, database, script)
    assert not (home / "empty/.counterpoint").exists()
    assert (home / "empty/.counterpoint.left-by-a-check").exists()
    assert str(home / "empty/.counterpoint.left-by-a-check") in execution.put_aside
    assert (home / "has/.counterpoint/ledger.db").read_text() == "theirs"
    assert not (home / "busy/.counterpoint/ledger.db").exists()


def test_a_ledger_that_a_person_begins_meanwhile_stays(home: Path, tmp_path: Path) -> None:
    """The account knows of it, and no command could tell it that."""
    place = home / "other/.counterpoint/ledger.db"
    (home / "other/.git").mkdir(parents=True)
    absent = place.parent
    assert absent in absent_ledgers(None, home / "tree", os.environ)
    place.parent.mkdir()
    place.touch()
    assert without_begun([str(absent)], 0, os.environ) == (str(absent),)
    known = KnownLedgers(folder=tmp_path / "state/counterpoint/ledgers", place=str(place))
    known.make(is_anew=False)
    assert without_begun([str(absent)], 0, os.environ) == ()


def test_a_command_lays_no_ledger_where_one_was(home: Path, tmp_path: Path) -> None:
    """What the account knows of the place from before is of another file, whose name the repository tells everybody."""
    tree, place = home / "tree", home / "other/.counterpoint/ledger.db"
    (home / "other/.git").mkdir(parents=True)
    known = KnownLedgers(folder=tmp_path / "state/counterpoint/ledgers", place=str(place))
    known.trust("other", "led_1", "2026-01-01T00:00:00.000Z", "")
    for file in known.folder.iterdir():
        os.utime(file, (0, 0))
    script = f"mkdir {place.parent}; echo mine > {place}"
    execution = runs(tree, tree / ".counterpoint/ledger.db", script)
    assert not place.exists()
    assert f"{place.parent}.left-by-a-check" in execution.put_aside
