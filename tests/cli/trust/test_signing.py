"""Attacks on what is signed, with the commands that people and agents have."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from counterpoint.app import open_app
from counterpoint.core.model.filters import Note
from fakes.harbour import where_it_is
from fakes.rewriting import rewrite
from fakes.stored import Stored

SIGNING = (
    ("audit", "prove", "--checkpoint"),
    ("audit", "prove", "0"),
    ("audit", "prove", "--since", "2"),
    ("audit", "export", "all.bundle"),
)


def state() -> Path:
    """Answer the folder of the signer's state."""
    return Path(os.environ["XDG_STATE_HOME"]) / "counterpoint" / "signer"


def write(ledger: Path, body: str) -> None:
    """Append an entry."""
    app = open_app(ledger, where_it_is())
    app.person().journal.append(Note(kind="comment", body=body))
    app.close()


def everything(folder: Path) -> dict[str, bytes]:
    """Answer the content of every file."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(p.relative_to(folder)): p.read_bytes() for p in files if "-shm" not in p.name}


@contextmanager
def taken_back() -> Iterator[None]:
    """Put the signer's state back to what it was before the block."""
    kept = everything(state())
    yield
    shutil.rmtree(state())
    for name, content in kept.items():
        (state() / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        (state() / name).write_bytes(content)
        (state() / name).chmod(0o600)


@pytest.fixture
def signed(call, ledger) -> Path:
    """A ledger of seven entries that are signed; the last of them names the key."""
    assert call("audit", "prove", "--checkpoint").code == 0
    return ledger


@pytest.mark.both_databases
def test_no_command_signs_a_history_that_was_written_anew(call, signed, stored):
    """The chain, the tree and the tables agree again; the signer has signed another one before."""
    rewrite(stored, b'"n":"ada"', b'"n":"eve"')
    before = everything(state())
    for words in SIGNING:
        said = call(*words)
        assert (said.code, "were signed" in said.err) == (1, True), words
    assert everything(state()) == before
    said = call("audit", "verify")
    assert said.code == 1
    assert "fork_refused" in said.out
    assert "were signed" in call("status").out


@pytest.mark.both_databases
def test_verifying_signs_nothing_and_writes_nothing(call, ledger):
    """Neither beside the ledger nor in the state of the signer."""
    before = everything(state()), everything(ledger / ".counterpoint")
    assert call("audit", "verify").code == 0
    assert call("status").code == 0
    assert call("audit", "rebuild").code == 0
    assert (everything(state()), everything(ledger / ".counterpoint")) == before


@pytest.mark.both_databases
def test_an_older_copy_is_refused_until_a_person_says_epoch(call, signed, stored):
    """A rollback; with an epoch the ledger goes on, and the head that was left is shown for ever."""
    older = stored.copied()
    write(signed, "Seven")
    assert call("audit", "prove", "--checkpoint").code == 0
    stored.put(older)
    for words in SIGNING:
        assert call(*words).code == 1, words
    assert "older copy" in call("audit", "verify").out
    write(signed, "Another seven")
    assert call("audit", "prove", "--checkpoint").code == 1
    assert call("audit", "epoch", "--reason", "The disk failed").code == 0
    said = call("audit", "verify")
    assert said.code == 0
    assert "unconfirmed, leaving the head of 8 entries" in said.out
    assert "The disk failed" in said.out
    (epoch,) = call("audit", "verify", "--json").json["epochs"]
    assert (epoch["number"], epoch["left_size"], epoch["confirmed"]) == (2, 8, False)
    assert "\nepoch 2\n" in call("audit", "prove", "--checkpoint").out


def test_a_machine_that_was_put_back_is_found_until_an_epoch_names_what_the_ref_had_seen(
    call, signed, tmp_path
):
    """Ledger and signer are older copies, so that only the repository remembers the last entry."""

    def tell() -> None:
        app = open_app(signed, {})
        assert not app.person().witnessing.tell().faults
        app.close()

    tell()
    kept = signed / ".counterpoint"
    shutil.copytree(kept, tmp_path / "old")
    with taken_back():
        write(signed, "Seven")
        assert call("audit", "prove", "--checkpoint").code == 0
        tell()
    shutil.rmtree(kept)
    shutil.copytree(tmp_path / "old", kept)
    said = call("audit", "verify")
    assert (said.code, "git ref: the ledger has 7 entries, but 8" in said.out) == (1, True)
    assert call("audit", "epoch", "--reason", "The machine was restored").code == 0
    found = call("audit", "verify", "--json").json
    assert (found["sound"], [one["left_size"] for one in found["epochs"]]) == (True, [8])
    assert found["remarks"] == ["git ref: its head of 8 entries is of epoch 1, which was left"]


def test_an_epoch_that_only_the_database_tells_of_is_refused(call, signed):
    """The entry and its row are not enough: the signer itself has to be told."""
    with taken_back():
        assert call("audit", "epoch", "--reason", "Mine").code == 0
    said = call("audit", "prove", "--checkpoint")
    assert said.code == 1
    assert "tells of epoch 2" in said.err


def test_a_checkpoint_that_was_replaced_by_an_older_one_changes_nothing(call, signed):
    """The signer knows better, and the next signature puts it right; a forged one is a fault."""
    (note,) = (signed / ".counterpoint").rglob("harbour.note")
    older = note.read_text()
    write(signed, "Seven")
    newer = call("audit", "prove", "--checkpoint").out
    assert note.read_text() == newer
    note.write_text(older)
    found = call("audit", "verify", "--json").json
    assert (found["sound"], found["anchored"]) == (True, 8)
    assert call("audit", "prove", "--checkpoint").out == newer
    assert note.read_text() == newer
    note.write_text(newer.replace("\n8\n", "\n9\n"))
    assert call("audit", "verify").code == 1


def test_a_signer_that_lost_its_state_is_another_one(call, signed):
    """What it signs is not kept, and `verify` says that the key is another until an epoch names it."""
    (note,) = (signed / ".counterpoint").rglob("harbour.note")
    kept = note.read_text()
    shutil.rmtree(state())
    assert call("audit", "verify").code == 0
    assert "no key of this ledger" in call("audit", "verify").err
    assert "signature" not in (looked := call("status")).out + looked.err
    write(signed, "Seven")
    assert call("audit", "prove", "--checkpoint").code == 0
    assert note.read_text() == kept
    said = call("audit", "verify")
    assert said.code == 1
    assert "key of the signer is another" in said.out
    assert call("audit", "epoch", "--reason", "A new machine").code == 0
    assert call("audit", "verify").code == 0


def test_a_signer_without_state_does_not_sign_against_the_checkpoint_that_is_kept(
    call, signed, stored
):
    """Whoever takes the state away and writes the history anew has to replace the checkpoint too."""
    shutil.rmtree(state())
    rewrite(stored, b'"n":"ada"', b'"n":"eve"')
    assert call("audit", "prove", "--checkpoint").code == 1


def test_work_goes_on_while_the_signer_is_away(call, signed):
    """`status` says how many entries wait, and since when."""
    (state()).chmod(0o777)
    write(signed, "Seven")
    found = call("status", "--json").json["ledger"]
    assert (found["size"], found["signed"]) == (8, 7)
    assert found["waiting_since"]
    assert "others can write" in found["not_signed_because"]
    assert found["broken"] is False
    assert "1 entry waits for a signature" in call("status").err
    # What was signed before is still proved; what was not is not.
    assert call("audit", "prove", "--checkpoint").out.splitlines()[1] == "7"
    assert call("audit", "prove", "7").code == 3
    assert call("audit", "export", "some.bundle").code == 0
    found = call("verify", "some.bundle", "--json").json
    assert (found["sound"], found["size"]) == (True, 7)
    state().chmod(0o700)
    assert call("audit", "prove", "7").code == 0


def _put_another_ledger_there(ledger: Path, stored: Stored) -> None:
    """Take everything beside the ledger away with it, its checkpoints too, and begin anew by a program of one's own."""
    stored.put()
    shutil.rmtree(ledger / ".counterpoint")
    app = open_app(ledger, where_it_is())
    app.begins_anew = True
    assert app.ports
    app.close()


@pytest.mark.both_databases
def test_a_ledger_in_the_place_of_another_is_found_before_it_is_to_be_signed(call, signed, stored):
    """By every command that looks, without a checkpoint and with nothing beside it, until an epoch."""
    _put_another_ledger_there(signed, stored)
    said = call("audit", "verify", "--json")
    assert (said.code, [one["code"] for one in said.json["faults"]]) == (1, ["fork_refused"])
    assert call("audit", "verify").code == 1
    checks = {one["name"]: one for one in call("doctor", "--json").json["checks"]}
    assert [checks[name]["verdict"] for name in ("key", "checkpoint")] == ["fail", "fail"]
    assert "another ledger was signed" in checks["key"]["found"]
    assert "Broken: the ledger is led_" in call("status").out
    assert call("status", "--json").json["ledger"]["broken"] is True
    assert call("audit", "epoch", "--reason", "Begun anew").code == 0
    assert call("audit", "verify").code == 0
    assert "Broken" not in call("status").out


def project(ledger: Path, name: str) -> None:
    """Write in a project of the database, also where it is a new one, and have it signed."""
    app = open_app(ledger, where_it_is() | {"COUNTERPOINT_PROJECT": name})
    app.begins_anew = True
    app.person().journal.append(Note(kind="comment", body="x"))
    app.person().signing.sign()
    app.close()


@pytest.mark.both_databases
def test_a_ledger_of_another_name_in_the_place_of_one_is_a_fault_until_an_epoch(
    call, signed, stored
):
    """Whoever looks is told which is not there any more; the epoch tells for ever without which it went on."""
    stored.put()
    shutil.rmtree(signed / ".counterpoint", ignore_errors=True)
    project(signed, "other")

    def of(*words: str):
        return call(*words, "--project", "other")

    said = of("audit", "verify", "--json")
    assert (said.code, [one["code"] for one in said.json["faults"]]) == (1, ["fork_refused"])
    assert "counterpoint/harbour was signed in this database" in said.json["faults"][0]["message"]
    checks = {one["name"]: one for one in of("doctor", "--json").json["checks"]}
    assert [checks[name]["verdict"] for name in ("key", "checkpoint")] == ["fail", "fail"]
    assert "Broken: the ledger led_" in of("status").out
    assert of("status", "--json").json["ledger"]["broken"] is True
    assert of("audit", "epoch", "--reason", "Begun anew").code == 0
    said = of("audit", "verify")
    assert said.code == 0
    assert ", without counterpoint/harbour" in said.out
    assert "Broken" not in of("status").out
    assert of("audit", "verify", "--json").json["epochs"][0]["gone"] == ["counterpoint/harbour"]


def test_projects_of_one_database_are_no_fault_and_each_tells_what_another_loses(
    call, signed, stored
):
    """What was signed there is there under its name, until an older copy is put in the place."""
    before = stored.copied()
    project(signed, "other")
    for name in ("harbour", "other"):
        assert call("audit", "verify", "--project", name).code == 0
    stored.put(before)
    said = call("audit", "verify", "--project", "harbour")
    assert said.code == 1
    assert "counterpoint/other was signed in this database" in said.out


def test_a_ledger_that_was_moved_is_no_fault_where_it_is(call, harbour, tmp_path):
    """In its place there is one to be told of."""
    first = tmp_path / "first"
    shutil.copytree(harbour, first)
    project(first, "harbour")
    first.rename(tmp_path / "second")
    project(tmp_path / "second", "harbour")
    moved = "--db", str(tmp_path / "second" / ".counterpoint" / "ledger.db")
    assert call("audit", "verify", *moved, "--project", "harbour").code == 0
    first.mkdir()
    project(first, "other")
    fresh = "--db", str(first / ".counterpoint" / "ledger.db")
    said = call("audit", "verify", *fresh, "--project", "other")
    assert (said.code, "counterpoint/harbour was signed" in said.out) == (1, True)


def test_a_ledger_in_the_place_of_another_is_not_signed(call, signed, stored):
    """Taken away and begun anew, with whatever is in it."""
    _put_another_ledger_there(signed, stored)
    said = call("audit", "prove", "--checkpoint")
    assert said.code == 1
    assert "another ledger" in said.err
    assert call("audit", "epoch", "--reason", "Begun anew").code == 0
    assert call("audit", "prove", "--checkpoint").code == 0
