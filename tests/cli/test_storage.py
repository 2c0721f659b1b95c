"""Databases on a server at the command line, and ledgers on their way between two databases."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import counterpoint.storage.postgres
from counterpoint.cli.context import open_here
from counterpoint.core.model.filters import Note
from counterpoint.storage.move import move_project

PASSING = "sesame"


@pytest.fixture
def address(databases: Any) -> Iterator[str]:
    """Give the address, with a password, of a PostgreSQL database without tables."""
    made = databases.empty()
    yield made.replace("postgres:@", f"postgres:{PASSING}@")
    databases.drop(made)


def test_a_ledger_moves_to_a_server_and_back(call, ledger, address, tmp_path):
    """Each side verifies, and the root stays the same; what can be read there is the same."""
    root = call("audit", "verify", "--json").json["root"]
    there = call("storage", "move", ".counterpoint/ledger.db", address, "--json")
    assert there.code == 0
    assert [one["root"] for one in there.json["projects"]] == [root]
    assert there.json["projects"][0]["appended_meanwhile"] == 0
    shown = ("list", "--json", "--project", "harbour")
    assert call(*shown, "--db", address).out == call(*shown).out
    # Where other repositories can be, the first look remembers which one this is.
    root = call("audit", "verify", "--json", "--db", address, "--project", "harbour").json["root"]
    back = tmp_path / "back.db"
    said = call("storage", "move", address, str(back))
    assert said.code == 0
    assert root in said.out
    assert "stay with the signer of this account" in said.err
    assert call("audit", "verify", "--json", "--db", str(back)).json["root"] == root
    for words in (("doctor",), ("status",), ("storage", "move", address, address)):
        option = () if words[0] == "storage" else ("--db", address, "--project", "harbour")
        told = call(*words, *option)
        assert PASSING not in told.out + told.err


def test_a_project_is_moved_once(call, ledger, address):
    """The second time it is somewhere else."""
    assert call("storage", "move", ".counterpoint/ledger.db", address).code == 0
    again = call("storage", "move", ".counterpoint/ledger.db", address)
    assert again.code == 3
    assert "was moved to" in again.err


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("missing.db", "other.db"), 1, "no ledger"),
        ((".counterpoint/ledger.db", ".counterpoint/../.counterpoint/ledger.db"), 2, "same"),
        ((".counterpoint/ledger.db", "other.db", "--project", "nobody"), 1, "harbour"),
        ((".counterpoint/ledger.db", "mysql://host/db"), 2, "PostgreSQL"),
    ],
    ids=["no ledger", "the same", "no project", "another server"],
)
def test_a_move_that_cannot_be_makes_nothing(call, ledger, words, code, told):
    """It is refused before the other database is made."""
    said = call("storage", "move", *words)
    assert said.code == code
    assert told in said.err
    assert not (ledger / "other.db").exists()
    assert not (ledger / "missing.db").exists()


def test_a_ledger_that_does_not_verify_is_not_moved(call, ledger):
    """The fault is told; the other database has nothing of the project."""
    place = ledger / ".counterpoint" / "ledger.db"
    link = sqlite3.connect(place, isolation_level=None)
    link.execute("UPDATE items SET status = 'said by no entry' WHERE number = 2")
    link.close()
    said = call("storage", "move", str(place), "other.db")
    assert said.code == 1
    assert "does not verify" in said.err
    assert not (ledger / "other.db").exists()


def test_a_server_is_not_restored_from_a_file(call, ledger, address):
    """The refusal names the way that there is."""
    said = call("restore", ".counterpoint/ledger.db", "--db", address)
    assert said.code == 2
    assert "storage move" in said.err


def test_looking_at_a_server_makes_nothing_there(call, ledger, address):
    """Without a ledger there the command ends, and it is still without one."""
    for _ in range(2):
        said = call("status", "--db", address)
        assert said.code == 3
        assert "no ledger" in said.err


def test_without_the_driver_the_command_says_what_to_install(call, ledger, monkeypatch):
    """The product does not need it unless a server is named."""
    for name in [name for name in sys.modules if name.startswith("counterpoint.storage.postgres.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(counterpoint.storage.postgres, "store", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    said = call("status", "--db", "postgresql://host/db")
    assert said.code == 3
    assert "counterpoint[postgres]" in said.err


def test_a_backup_of_a_server_is_a_file_that_verifies(call, ledger, address, tmp_path):
    """It holds every project of the server."""
    call("storage", "move", ".counterpoint/ledger.db", address)
    kept = tmp_path / "kept.db"
    assert call("backup", str(kept), "--db", address, "--project", "harbour").code == 0
    assert call("audit", "verify", "--db", str(kept), "--project", "harbour").code == 0


def test_what_was_moved_says_where_to_and_takes_no_entry_any_more(call, ledger, agent):
    """Nothing advises an epoch there, which would make two histories of one; where it is now work goes on."""
    agent.signing.sign()
    place = ledger / "moved.db"
    assert call("storage", "move", ".counterpoint/ledger.db", str(place)).code == 0
    there = ("--db", str(place), "--project", "harbour")
    app = open_here(db=str(place), project="harbour")
    app.person().journal.append(Note(kind="finding", body="written where it is now"))
    app.close()
    assert call("audit", "prove", "--checkpoint", *there).code == 0
    size = call("status", "--json").json["ledger"]["size"]
    for words in (
        ("audit", "epoch", "--reason", "so"),
        ("reject", "harbour-4", "--reason", "so"),
        ("storage", "move", ".counterpoint/ledger.db", "third.db"),
    ):
        said = call(*words)
        assert said.code != 0
        assert str(place) in said.err
        assert "audit epoch" not in said.err
    for words in (("status",), ("audit", "verify"), ("doctor",)):
        said = call(*words)
        assert str(place) in said.out + said.err, words
        assert "audit epoch" not in said.out + said.err
    assert call("status", "--json").json["ledger"]["size"] == size
    assert call("audit", "verify", *there).code == 0


def test_a_move_that_was_cut_off_before_it_was_told_is_repeated(call, ledger):
    """What is there already, whole, is not copied again; the copy that was left then says so."""
    place = ledger / "moved.db"
    there, here = open_here(db=str(place)), open_here(db=str(ledger / ".counterpoint/ledger.db"))
    move_project(here.store, there.store, "harbour")
    there.close()
    here.close()
    assert call("storage", "move", ".counterpoint/ledger.db", str(place)).code == 0
    assert str(place) in call("audit", "verify").err
