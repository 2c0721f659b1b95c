"""The real program in trouble: a clear refusal, the right exit code, and nothing half-done."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import resource
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from counterpoint.app import App, Identity, open_app
from counterpoint.core.model.filters import Note
from fakes.tampering import edited

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

READS = (("status",), ("list",), ("log",), ("audit", "verify"), ("audit", "rebuild"))
PR_CAPBSET_DROP = 24
OVERRIDES = (1, 2)
"""The capabilities that let root write what is read-only."""


@pytest.fixture
def ledger(folder: Path) -> Path:
    """Give a database with some work in it, at rest."""
    app = open_app(folder, {})
    core = app.core(Identity(kind="agent", name="ada", session="ses_" + "a" * 26))
    made = core.plans.create(core.plans.read("# Plan\n## One\n- [ ] First\n- [ ] Second\n"))
    core.claims.start(made.ready[-1])
    core.journal.append(Note(kind="decision", body="we keep it simple"))
    path = app.database
    app.close()
    return path


def content(database: Path) -> dict[str, str]:
    """Answer what the database and its log hold, as digests; the lock files do not matter."""
    paths = (database, database.with_name(f"{database.name}-wal"))
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in paths
        if path.exists() and path.stat().st_size
    }


def rows(database: Path) -> dict[str, list[Any]]:
    """Answer everything that stands in the tables of a database at rest."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        named = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'search%'"
        names = [name for (name,) in connection.execute(named).fetchall()]
        return {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in names}  # noqa: S608 -- the names come from the schema


@contextmanager
def harming(database: Path) -> Iterator[sqlite3.Connection]:
    """Open a database as somebody who wants to change the past."""
    with closing(sqlite3.connect(database)) as connection:
        connection.executescript("DROP TRIGGER entries_stay; DROP TRIGGER entries_remain;")
        yield connection
        connection.commit()


def assert_refused(ran: Any, code: int, *words: str) -> None:
    """The exit code fits, all words are said, a next step too, and no traceback."""
    assert ran.returncode == code, (ran.stdout, ran.stderr)
    said = ran.stdout + ran.stderr
    assert [word for word in words if word not in said] == [], said
    assert "Traceback" not in said
    assert ran.stderr.strip(), "it does not say what to do next"


def refusal_of(client: Any, wire: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool that must be refused; answer the refusal, which says what to do next."""
    with pytest.raises(wire.Refused) as refused:
        client.call(tool, **arguments)
    answer = refused.value.answer
    assert answer["hint"]
    assert "Traceback" not in json.dumps(answer)
    return answer


def test_a_database_of_a_later_program_is_refused_by_name_and_version(
    ledger, folder, counterpoint, connect, wire
):
    """Every command and every tool call says both versions; the file stays as it is."""
    with closing(sqlite3.connect(ledger)) as connection:
        [version] = connection.execute("PRAGMA user_version").fetchone()
        connection.execute(f"PRAGMA user_version = {version + 40}")
        connection.commit()
    before = content(ledger)
    for words in READS:
        ran = counterpoint(*words, cwd=folder)
        assert_refused(ran, 3, str(ledger), f"version {version + 40}", f"up to {version}")
    client = connect(folder)
    answer = refusal_of(client, wire, "remember", action="set", key="k", value=1)
    assert answer["error"] == "store_newer"
    assert refusal_of(client, wire, "brief")["error"] == "store_newer"
    assert content(ledger) == before


@pytest.mark.parametrize("harm", ["head", "pages", "text", "foreign"])
def test_a_corrupt_file_is_named_and_left_alone(ledger, folder, counterpoint, connect, wire, harm):
    """Whatever is wrong with the file, the answer is never one from half of it."""
    raw = ledger.read_bytes()
    if harm == "head":
        ledger.write_bytes(b"\xff" * 100 + raw[100:])
    elif harm == "pages":
        ledger.write_bytes(raw[:4096] + b"\xff" * (len(raw) - 4096))
    elif harm == "text":
        ledger.write_text("this is no database, but a letter to somebody\n" * 200)
    else:
        ledger.unlink()
        with closing(sqlite3.connect(ledger)) as connection:
            connection.executescript("CREATE TABLE recipes (name TEXT); PRAGMA user_version = 3;")
    for leftover in ledger.parent.glob("ledger.db-*"):
        leftover.unlink()
    before = content(ledger)
    for words in READS:
        assert_refused(counterpoint(*words, cwd=folder), 3, str(ledger))
    told = refusal_of(connect(folder), wire, "remember", action="set", key="k", value=1)
    assert (told["error"], told["kind"]) == ("store_corrupt", "unavailable")
    assert content(ledger) == before


def lose_overrides() -> None:
    """Give up, for good, what lets root write everything."""
    for capability in OVERRIDES:
        if os.geteuid() == 0 and ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0):
            raise PermissionError


@pytest.fixture
def ordinary(counterpoint, folder) -> dict[str, Any]:
    """Give what makes a process obey modes; skip where root cannot be made to."""
    if os.geteuid() == 0:
        if not hasattr(ctypes.CDLL(None), "prctl"):
            pytest.skip("root ignores modes here, and there is no prctl to give that up")
        barred = folder.parent / "barred"
        barred.touch(mode=0o000)
        read = ["sh", "-c", 'cat "$0"', str(barred)]
        try:
            code = subprocess.run(
                read, preexec_fn=lose_overrides, check=False, capture_output=True, timeout=20
            ).returncode
        except subprocess.SubprocessError:
            code = 0
        if code == 0:
            pytest.skip("root ignores modes here, and may not give that up")
    return {"preexec_fn": lose_overrides}


@pytest.fixture(params=["file", "file and folder"])
def frozen(request, ledger) -> Iterator[Path]:
    """Give a database that must not be written, alone or with its folder."""
    for path in [*ledger.parent.glob("ledger.db*")]:
        path.chmod(0o444)
    if "folder" in request.param:
        ledger.parent.chmod(0o555)
    yield ledger
    ledger.parent.chmod(0o755)
    for path in ledger.parent.glob("ledger.db*"):
        path.chmod(0o644)


def test_a_read_only_database_is_told_and_nothing_is_written(
    frozen, folder, counterpoint, connect, wire, ordinary
):
    """A write is refused as read-only; a command that cannot read either says so with code 3."""
    before = content(frozen)
    ran = counterpoint("status", cwd=folder, **ordinary)
    if ran.returncode:
        assert_refused(ran, 3, str(frozen))
    client = connect(folder, **ordinary)
    answer = refusal_of(client, wire, "remember", action="set", key="k", value=1)
    assert answer["error"] == "store_read_only"
    assert str(frozen) in answer["message"]
    assert content(frozen) == before


def test_a_database_that_somebody_keeps_locked_is_told_as_busy(
    ledger, folder, counterpoint, connect, wire
):
    """Reading and writing wait a moment and give up; when the lock is gone the same call works."""
    client = connect(folder)
    with closing(sqlite3.connect(ledger, isolation_level=None)) as stranger:
        stranger.execute("PRAGMA locking_mode = EXCLUSIVE")
        stranger.execute("BEGIN EXCLUSIVE")
        assert_refused(counterpoint("status", cwd=folder), 3, "locked", str(ledger))
        answer = refusal_of(client, wire, "remember", action="set", key="k", value=1)
        assert (answer["error"], answer["retryable"]) == ("store_busy", True)
        stranger.execute("ROLLBACK")
    assert client.call("remember", action="set", key="k", value=1)["version"] == 1
    assert counterpoint("status", cwd=folder).returncode == 0


def test_a_disk_without_room_is_told_and_what_was_answered_stays(
    ledger, folder, connect, wire, counterpoint
):
    """The write that does not fit is refused whole; the ledger before it verifies."""
    room = 400_000

    def narrow() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    client = connect(folder, preexec_fn=narrow)
    fill = {"action": "set", "value": "x" * 40_000}
    kept = fill_up(client, wire, fill)
    assert kept >= 1
    answer = refusal_of(client, wire, "remember", key="again", **fill)
    assert answer["error"] == "store_full"
    client.call("brief")
    assert client.close() == 0
    told = counterpoint("audit", "rebuild", "--json", cwd=folder)
    assert told.returncode == 0, told.stdout
    assert json.loads(told.stdout)["rows"]["state"] == kept
    assert counterpoint("audit", "verify", cwd=folder).returncode == 0


def fill_up(client: Any, wire: Any, fill: dict[str, Any]) -> int:
    """Remember values until one is refused; answer how many were taken."""
    for number in range(200):
        try:
            client.call("remember", key=f"k{number}", **fill)
        except wire.Refused:
            return number
    raise AssertionError("there is always room")


def test_a_backup_without_room_leaves_no_half_of_a_file(ledger, folder, counterpoint):
    """The command ends with code 3, and neither the copy nor a passing part of it is there."""

    def narrow() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    before = {path.name for path in folder.iterdir()}
    ran = counterpoint("backup", "safe.db", cwd=folder, preexec_fn=narrow)
    assert_refused(ran, 3, "disk is full", str(folder / "safe.db"))
    assert "not an error" not in ran.stderr
    assert {path.name for path in folder.iterdir()} == before


def test_a_backup_that_was_damaged_replaces_nothing(ledger, folder, counterpoint):
    """`restore` looks through the file first; the present ledger stays as it is."""
    assert counterpoint("backup", "safe.db", cwd=folder).returncode == 0
    safe = folder / "safe.db"
    with harming(safe) as connection:
        connection.execute("UPDATE items SET title = 'forged' WHERE title = 'First'")
    before = rows(ledger)
    ran = counterpoint("restore", "safe.db", "--yes", cwd=folder)
    assert_refused(ran, 1, "items", "Nothing was replaced")
    raw = safe.read_bytes()
    safe.write_bytes(raw[: len(raw) // 2])
    assert_refused(
        counterpoint("restore", "safe.db", "--yes", cwd=folder), 3, "Nothing was replaced"
    )
    assert rows(ledger) == before
    assert sorted(path.name for path in ledger.parent.glob("ledger.db.*")) == []


def test_garbage_on_the_input_of_a_server_changes_nothing(ledger, folder, connect):
    """Bytes that are no message, in any amount, are answered or passed over; the next call works."""
    before = content(ledger)
    client = connect(folder, greet=False)
    for line in (
        bytes(range(256)).replace(b"\n", b""),
        b"\x00" * 5000,
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params"',
        b"[" * 2000,
        b'{"jsonrpc": "2.0", "id": {}, "method": 7}',
        b'"\xff\xfe"',
    ):
        client.write(line)
    assert client.greet()["serverInfo"]["name"] == "counterpoint"
    assert client.call("brief")
    assert client.close() == 0
    assert content(ledger) == before


def test_an_entry_that_was_edited_is_found_and_named(ledger, folder, counterpoint):
    """`audit verify` answers no, names the entry, and changes nothing."""
    assert counterpoint("audit", "verify", cwd=folder).returncode == 0
    with harming(ledger) as connection:
        [written] = connection.execute("SELECT data FROM entries WHERE sequence = 1").fetchone()
        forged = edited(written, "First", "Fisrt")
        connection.execute("UPDATE entries SET data = ? WHERE sequence = 1", (forged,))
    before = rows(ledger)
    assert_refused(counterpoint("audit", "verify", cwd=folder), 1, "entry 2", "chain_broken")
    told = json.loads(counterpoint("audit", "verify", "--json", cwd=folder).stdout)
    assert told["sound"] is False
    assert rows(ledger) == before


def test_a_row_that_no_entry_wrote_is_found_by_a_rebuild(ledger, folder, counterpoint):
    """The ledger is whole, but a table says something else: exit code 1 with the row's name."""
    with closing(sqlite3.connect(ledger)) as connection:
        connection.execute("UPDATE items SET status = 'done' WHERE title = 'First'")
        connection.commit()
    assert counterpoint("audit", "verify", cwd=folder).returncode == 0
    assert_refused(counterpoint("audit", "rebuild", cwd=folder), 1, "demo-3", "items")


def test_a_ledger_that_was_cut_off_disagrees_with_its_checkpoint(ledger, folder, counterpoint):
    """A consistent but older database takes the place of the present one, and is found out."""
    older = folder / "older.db"
    shutil.copyfile(ledger, older)
    app = open_app(folder, {})
    app.person().journal.append(Note(kind="decision", body="what somebody wants to hide"))
    app.close()
    assert counterpoint("audit", "verify", cwd=folder).returncode == 0
    shutil.copyfile(older, ledger)
    before = rows(ledger)
    ran = counterpoint("audit", "verify", cwd=folder)
    assert_refused(ran, 1, "checkpoint")
    assert counterpoint("audit", "verify", cwd=folder).returncode == 1
    assert rows(ledger) == before


def test_a_project_that_the_ledger_does_not_have_is_refused(ledger, folder, counterpoint):
    """The refusal names those there are, and makes none."""
    before = rows(ledger)
    for words in READS:
        assert_refused(counterpoint(*words, "--project", "other", cwd=folder), 3, "other", "demo")
    assert rows(ledger) == before


def test_a_folder_without_a_ledger_is_refused_and_stays_empty(folder, counterpoint):
    """Looking makes nothing."""
    for words in READS:
        assert_refused(counterpoint(*words, cwd=folder), 3, "counterpoint init")
    assert list(folder.iterdir()) == []


def test_the_work_of_another_project_is_as_if_it_were_not_there(ledger, folder, connect, wire):
    """A foreign id and a wrong id are refused with the same words, and nothing is written."""
    client = connect(folder, "--project", "other")
    client.call("brief")
    before = rows(ledger)
    foreign = refusal_of(client, wire, "show", id="demo-3")
    wrong = refusal_of(client, wire, "show", id="demo-9")
    assert foreign["error"] == wrong["error"] == "not_found"
    assert foreign["message"].replace("demo-3", "demo-9") == wrong["message"]
    for tool, arguments in (
        ("start", {}),
        ("edit", {"title": "mine"}),
        ("note", {"kind": "comment", "text": "x"}),
        ("submit", {"summary": "x"}),
    ):
        assert refusal_of(client, wire, tool, id="demo-3", **arguments)["error"] == "not_found"
    client.close()
    assert rows(ledger) == before


@pytest.mark.parametrize("path", ["../secret.txt", "/etc/hostname", "link.txt", "a/../../x"])
def test_a_path_outside_the_project_is_refused(ledger, folder, connect, wire, path):
    """Dots, absolute names and links that lead out are refused; nothing is written."""
    (folder.parent / "secret.txt").write_text("secret\n")
    (folder / "link.txt").symlink_to(folder.parent / "secret.txt")
    client = connect(folder)
    client.call("brief")
    before = rows(ledger)
    note = {"kind": "comment", "text": "look", "files": [path]}
    assert refusal_of(client, wire, "note", **note)["error"] == "path_outside"
    handed_in = {"id": "demo-2", "path": path, "summary": "look"}
    assert refusal_of(client, wire, "submit", **handed_in)["error"] == "path_outside"
    client.close()
    assert rows(ledger) == before


def test_wrong_words_at_the_command_line_are_wrong_usage(ledger, folder, counterpoint):
    """An unknown command, option or id ends with the code that fits, and changes nothing."""
    before = content(ledger)
    assert counterpoint("stauts", cwd=folder).returncode == 2
    assert counterpoint("status", "--wrong", cwd=folder).returncode == 2
    assert counterpoint("mcp", "--surface", "wrong", cwd=folder).returncode == 2
    assert_refused(counterpoint("show", "demo-99", cwd=folder), 1, "demo-99")
    assert content(ledger) == before


def test_a_settled_app_is_what_these_tests_began_with(ledger, folder):
    """The ledger of these tests is sound before anything is done to it."""
    app: App = open_app(folder, {})
    assert app.person().audit.verify().sound
    app.close()
