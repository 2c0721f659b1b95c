"""Backups, and what may be restored from them."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from counterpoint.app import open_app
from counterpoint.core.model.filters import Note
from fakes.tampering import edited


@pytest.fixture
def backup(call, ledger, tmp_path) -> Path:
    """A backup of the ledger of six entries."""
    target = tmp_path / "backup.db"
    assert call("backup", str(target)).code == 0
    return target


def database(ledger: Path) -> Path:
    """Answer where the ledger of a folder lies."""
    return ledger / ".counterpoint" / "ledger.db"


def grow(ledger: Path) -> None:
    """Append a seventh entry, and have the ledger signed there."""
    app = open_app(ledger, {})
    app.person().journal.append(Note(kind="comment", body="Seven"))
    app.person().signing.sign()
    assert app.person().audit.verify().sound
    app.close()


def edit(path: Path, *statements: str) -> None:
    """Change a database file behind the product's back, triggers taken away."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.create_function("edited", 3, edited)
    triggers = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
    for (name,) in triggers.fetchall():
        connection.execute(f'DROP TRIGGER "{name}"')
    for statement in statements:
        connection.execute(statement)
    connection.close()


def everything(folder: Path) -> dict[str, bytes]:
    """Answer the content of every file of a folder but the queue's."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(p.relative_to(folder)): p.read_bytes() for p in files if "queue" not in p.name}


def test_a_backup_is_a_whole_private_copy(call, ledger, backup):
    """Only its owner can read it, and it says the same as the ledger."""
    assert backup.stat().st_mode & 0o077 == 0
    same = call("log", "--json", "--db", str(backup), "--project", "harbour").out
    assert same == call("log", "--json").out


def test_a_backup_without_a_name_is_named_after_the_time(call, ledger):
    """It lies in the data folder, and its name is told."""
    found = call("backup", "--json").json
    assert found["file"].startswith(f"{ledger}/.counterpoint/backups/ledger-20")
    assert Path(found["file"]).stat().st_size == found["bytes"]


def test_a_backup_overwrites_nothing(call, ledger, tmp_path):
    """A file that is there stays what it is."""
    target = tmp_path / "mine"
    target.write_text("mine")
    assert call("backup", str(target)).code == 1
    assert target.read_text() == "mine"
    said = call("backup", str(tmp_path / "none" / "mine"))
    assert (said.code, "there is no folder" in said.err, "doctor" in said.err) == (2, True, False)


def test_one_entry_that_a_backup_lacks_is_said_as_one(call, ledger, tmp_path):
    """In the words of one."""
    call("note", "Ahoy")
    call("backup", str(tmp_path / "mine.db"))
    call("note", "Ahoy again")
    said = call("restore", str(tmp_path / "mine.db"))
    assert "the last entry is not in the backup" in said.err


def test_a_backup_brings_the_ledger_back(call, ledger, backup):
    """What came later is gone from the ledger, and kept aside whole; all verifies again."""
    grow(ledger)
    said = call("restore", str(backup), "--yes", "--json")
    assert said.code == 0
    assert said.json["projects"] == [{"project": "harbour", "size": 6, "known": 8}]
    assert said.json["lost"] == [
        {"project": "harbour", "what": "the last 2 entries are not in the backup"}
    ]
    assert "the last 2 entries are not in the backup" in said.err
    assert call("status", "--json").json["ledger"]["size"] == 6
    assert "8 were signed" in said.json["not_signed"][0]
    assert call("audit", "verify").code == 1
    assert call("audit", "epoch", "--reason", "The disk failed").code == 0
    assert call("audit", "verify").code == 0
    assert call("audit", "rebuild").code == 0
    replaced = call("log", "--json", "--db", said.json["replaced"], "--project", "harbour").json
    assert len(replaced["entries"]) == 8
    folder = ledger / ".counterpoint"
    assert len(list((folder / "checkpoints").glob("harbour.note.replaced-*"))) == 1
    assert list(folder.glob(".restore-*")) == []


def test_another_ledger_is_put_in_the_place_of_this_one_by_its_own_flag_alone(
    call, ledger, backup, tmp_path, monkeypatch
):
    """Not by a yes, and not where this one is lost; what would be gone is told, and the way back is one that goes."""
    other = tmp_path / "quay"
    other.mkdir()
    (theirs := open_app(other, {})).person().journal.append(Note(kind="comment", body="Theirs"))
    theirs.close()
    monkeypatch.chdir(other)
    strange = tmp_path / "strange.db"
    assert call("backup", str(strange)).code == 0
    monkeypatch.chdir(ledger)
    assert call("status").code == 0
    before = everything(ledger)
    said = call("restore", "--yes", str(strange))
    assert (said.code, said.out) == (1, "")
    assert "of quay: the ledger of harbour" in said.err
    assert "6 entries) is not in the backup at all" in said.err
    assert "--other-ledger" in said.err
    assert everything(ledger) == before
    (folder := database(ledger).parent).joinpath("ledger.db").rename(tmp_path / "away.db")
    assert call("restore", "--yes", str(strange)).code == 1
    assert not database(ledger).exists()
    (tmp_path / "away.db").rename(folder / "ledger.db")
    said = call("restore", "--yes", "--other-ledger", str(strange))
    assert said.code == 0
    assert "Restored quay: 2 entries" in said.out
    back = said.out.partition("The way back to it: `counterpoint ")[2].partition("`")[0].split()
    assert back[:3] == ["restore", "--yes", "--other-ledger"]
    assert call(*back).code == 0
    assert call("status", "--json").json["project"]["id"] == "harbour"
    assert call("audit", "verify").code == 0


def test_a_restored_ledger_can_be_read_while_it_is_written(call, ledger, backup):
    """It is in WAL mode again, which a backup is not."""
    assert call("restore", str(backup), "--yes").code == 0
    app = open_app(ledger, {})
    app.person().journal.append(Note(kind="comment", body="On"))
    assert database(ledger).with_name("ledger.db-wal").exists()
    app.close()


KILLED = """
import os, sys
from counterpoint.cli.main import run
left = int(sys.argv[1])
def watch(event, arguments):
    global left
    if event in ("os.rename", "os.link", "os.remove", "os.truncate"):
        left -= 1
        if left < 0:
            os._exit(9)
sys.addaudithook(watch)
sys.exit(run(["restore", sys.argv[2], "--yes"]))
"""
"""Restores, and dies before one of the calls that change names of files."""


@pytest.mark.faults
@pytest.mark.slow
def test_whatever_moment_a_restore_is_killed_at_one_whole_ledger_is_there(call, ledger, backup):
    """The old one with all that it had, or that of the backup: never none, and never a mixture."""
    grow(ledger)
    seen: list[int] = []
    for moment in range(60):
        code = subprocess.run(
            [sys.executable, "-c", KILLED, str(moment), str(backup)],
            timeout=60,
            check=False,
            capture_output=True,
        ).returncode
        size = call("status", "--json").json["ledger"]["size"]
        assert size in {8, 6}
        assert call("audit", "rebuild").code == 0
        seen.append(size)
        if code != 9:
            break
    assert seen[0] == 8
    assert seen[-1] == 6
    assert seen == sorted(seen, reverse=True)


def test_a_ledger_that_is_lost_comes_back_without_a_question(call, ledger, backup):
    """Where there is nothing, nothing can be replaced."""
    database(ledger).unlink()
    said = call("restore", str(backup))
    assert said.code == 0
    assert "6 entries, verified" in said.out
    assert call("audit", "verify").code == 0


def test_a_corrupt_ledger_is_replaced(call, ledger, backup):
    """What cannot be opened can be restored over, and is kept aside."""
    database(ledger).write_bytes(b"garbage" * 1000)
    assert call("status").code == 3
    said = call("restore", str(backup), "--yes", "--json")
    assert said.code == 0
    assert Path(said.json["replaced"]).read_bytes().startswith(b"garbage")
    assert call("audit", "verify").code == 0


def test_a_ledger_is_not_replaced_without_a_yes(call, ledger, backup):
    """With nobody to ask, the answer is not taken for granted."""
    grow(ledger)
    before = everything(ledger)
    said = call("restore", str(backup))
    assert said.code == 2
    assert "--yes" in said.err
    assert "2 entries" in said.err
    assert everything(ledger) == before


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        (
            "UPDATE entries SET data = edited(data, 'ada', 'eve') WHERE sequence = 2",
            1,
        ),
        ("UPDATE items SET priority = 9 WHERE id = 'harbour-4'", 1),
        ("UPDATE texts SET body = 'Elm' WHERE body LIKE 'Oak%'", 1),
        ("DELETE FROM documents", 1),
        ("PRAGMA user_version = 999", 3),
        ("PRAGMA application_id = 7", 3),
    ],
)
def test_a_backup_that_was_tampered_with_is_refused(call, ledger, backup, statement, code):
    """Entries, tables, texts, the search, the version: nothing is replaced, nothing is left over."""
    edit(backup, statement)
    before = everything(ledger)
    said = call("restore", str(backup), "--yes")
    assert (said.code, said.out) == (code, "")
    assert "backup" in said.err
    assert everything(ledger) == before


@pytest.mark.parametrize("size", [0, 10, 5000, 200_000])
def test_a_backup_that_is_cut_off_is_refused(call, ledger, backup, size):
    """A copy that ended early is no backup, an empty one neither."""
    os.truncate(backup, size)
    before = everything(ledger)
    said = call("restore", str(backup), "--yes")
    assert (said.code, said.out) == (3, "")
    assert "older backup" in said.err
    assert everything(ledger) == before


def test_a_damaged_page_is_found_before_anything_is_replaced(call, ledger, backup):
    """Bytes that rotted in the middle of the file."""
    content = bytearray(backup.read_bytes())
    place = content.index(b"Lay the keel")
    content[place - 500 : place + 500] = bytes(1000)
    backup.write_bytes(content)
    before = everything(ledger)
    said = call("restore", str(backup), "--yes")
    assert said.code in {1, 3}
    assert everything(ledger) == before


def test_another_history_of_the_same_ledger_is_refused(call, ledger, backup):
    """A backup that verifies by itself, but not against the checkpoint that was kept here."""
    (app := open_app(ledger, {})).person().journal.append(Note(kind="comment", body="One way"))
    app.person().signing.sign()
    assert app.person().audit.verify().sound
    app.close()
    other = open_app(ledger, {}, db=str(backup), project="harbour")
    for body in ("Another way", "And on"):
        other.person().journal.append(Note(kind="comment", body=body))
    other.close()
    before = everything(ledger)
    said = call("restore", str(backup), "--yes")
    assert said.code == 1
    assert everything(ledger) == before


@pytest.mark.e2e
def test_nothing_is_replaced_under_a_process_that_has_it_open(start, call, ledger, backup):
    """Its writes would be lost; after it has ended the same call succeeds."""
    process = start("log", "--follow")
    assert process.stdout.readline()
    before = database(ledger).read_bytes()
    said = call("restore", str(backup), "--yes")
    assert said.code == 3
    assert "another process" in said.err
    assert database(ledger).read_bytes() == before
    process.kill()
    process.wait(20)
    assert call("restore", str(backup), "--yes").code == 0


def test_a_ledger_under_another_key_is_restored_with_a_warning(call, ledger, backup, place):
    """The entries verify; that old signatures need the old key is said."""
    shutil.rmtree(Path(os.environ["XDG_STATE_HOME"]))
    said = call("restore", str(backup), "--yes")
    assert said.code == 0
    assert "key" in said.err


def test_a_ledger_that_is_too_young_to_be_signed_comes_back_without_a_warning(
    call, ledger, tmp_path
):
    """It has no key yet that could be another one's."""
    young, target = str(tmp_path / "young.db"), str(tmp_path / "backup.db")
    app = open_app(ledger, {}, db=young, project="young")
    app.person().journal.append(Note(kind="comment", body="Ahoy"))
    app.close()
    assert call("backup", target, "--db", young).code == 0
    said = call("restore", target, "--yes", "--db", young)
    assert said.code == 0, said.err
    assert "verified" in said.out
    assert "has not the key" not in said.out + said.err
