"""The real program in trouble: a clear refusal, the right exit code, and nothing half-done."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import resource
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from counterpoint.app import Identity, open_app
from counterpoint.core.model.filters import Note

pytestmark = [pytest.mark.e2e, pytest.mark.faults, pytest.mark.durable, pytest.mark.timeout(300)]

READS = (("status",), ("audit", "verify"))
"""A command that looks at rows, and one that reads every entry; all open the database alike."""

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


@pytest.mark.parametrize("room", [0, 4_096, 20_000])
@pytest.mark.parametrize("words", [(), ("--in-process",)], ids=["relay", "in process"])
def test_a_first_start_on_a_full_disk_says_that_the_disk_is_full(
    folder: Path, connect: Any, wire: Any, room: int, words: tuple[str, ...]
) -> None:
    """Wherever room ends, down to none for the server's log; it works again once there is some."""

    def narrow() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    client = connect(folder, *words, preexec_fn=narrow)
    number = client.send("tools/call", {"name": "brief", "arguments": {}})
    note = {"kind": "finding", "text": "Knots"}
    number = client.send("tools/call", {"name": "note", "arguments": note})
    answer = client.read()
    while answer["id"] != number:
        answer = client.read()
    if "error" in answer:
        assert "File too large" in answer["error"]["message"], answer
        assert answer["error"]["data"]["safe_to_retry"] is True
    else:
        told = answer["result"]["structuredContent"]
        assert (told["error"], told["retryable"]) == ("store_full", True), told
    client.close()
    assert connect(folder).call("brief")
