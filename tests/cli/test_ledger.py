"""Proving at the command line: verify, prove, export, rebuild."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from counterpoint.cli.trust import file_arguments
from counterpoint.core.ledger.checkpoint import open_checkpoint
from counterpoint.dialects.colibri.verbs.seals import Seals
from counterpoint.dialects.colibri.verbs.thoughts import Thoughts
from fakes.tampering import edited

VERIFIER = Path(__file__).parents[2] / "docs" / "verifier" / "verify.py"


def tamper(folder: Path, *statements: str) -> None:
    """Change the database behind the product's back, triggers taken away."""
    connection = sqlite3.connect(folder / ".counterpoint" / "ledger.db", isolation_level=None)
    connection.create_function("edited", 3, edited)
    triggers = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
    for (name,) in triggers.fetchall():
        connection.execute(f'DROP TRIGGER "{name}"')
    for statement in statements:
        assert connection.execute(statement).rowcount != 0
    connection.close()


def test_what_a_quick_look_leaves_out_is_said(call, ledger):
    """Whoever reads `Sound` reads what that is about."""
    assert "Not looked at" not in call("audit", "verify").err
    said = call("audit", "verify", "--quick")
    assert (said.code, "Not looked at: tables, texts, search, schema, file." in said.err) == (
        0,
        True,
    )
    assert "file" in call("audit", "verify", "--quick", "--json").json["not_looked_at"]


def test_a_sound_ledger_is_told_with_its_root(call, ledger):
    """Exit code 0, and the key that checkpoints are signed with."""
    call("audit", "prove", "--checkpoint")
    said = call("audit", "verify")
    assert said.code == 0
    assert said.out.startswith("Sound: 7 entries of harbour.\n")
    found = call("audit", "verify", "--json").json
    assert found["sound"] is True
    assert found["size"] == found["anchored"] == 7
    assert found["root"] in said.out
    assert found["key"] in said.out


def test_entries_without_a_signature_of_their_writer_are_explained(call, ledger):
    """A newcomer reads that it is no fault, and when a server signs them."""
    said = call("audit", "verify")
    count = call("audit", "verify", "--json").json["unsigned"]
    assert count > 1
    assert f"{count} entries have no signature of their writer yet" in said.err
    assert "not a fault" in said.err
    assert "a few seconds later" in said.err


@pytest.mark.parametrize(
    ("statement", "word"),
    [
        (
            "UPDATE entries SET data = edited(data, 'ada', 'eve') WHERE sequence = 2",
            "entry 3",
        ),
        ("DELETE FROM entries WHERE sequence = 3", "entry"),
        ("UPDATE texts SET body = 'Elm' WHERE body LIKE 'Oak%'", "text"),
    ],
)
def test_every_fault_is_named_and_the_answer_is_no(call, ledger, statement, word):
    """An edit, a removal and a changed text each end with exit code 1."""
    tamper(ledger, statement)
    said = call("audit", "verify")
    assert said.code == 1
    assert said.out.startswith("Broken: ")
    assert word in said.out
    found = call("audit", "verify", "--json")
    assert (found.code, found.json["sound"]) == (1, False)
    assert {"code", "message", "hint", "facts"} == set(found.json["faults"][0])


def test_a_ledger_that_was_cut_off_is_found_by_its_checkpoint(call, ledger):
    """The end is gone, head and all: only what was kept outside can tell."""
    note = ledger / "end.note"
    note.write_text(call("audit", "prove", "--checkpoint").out)
    assert call("audit", "verify", "--checkpoint", str(note)).code == 0
    (ledger / ".counterpoint" / "checkpoints" / "harbour.note").unlink()
    tamper(ledger, "DELETE FROM entries WHERE sequence = 5", "UPDATE heads SET size = 5")
    said = call("audit", "verify", "--checkpoint", str(note))
    assert said.code == 1
    assert "6" in said.out


def test_a_checkpoint_is_a_signed_note_and_nothing_else(call, ledger):
    """What stands on the output can go into a file as it is."""
    said = call("audit", "prove", "--checkpoint")
    assert open_checkpoint(said.out).size == 7
    assert call("audit", "prove", "--checkpoint", "--json").json["checkpoint"] == said.out


def test_proofs_of_inclusion_and_consistency_are_given(call, ledger):
    """Both with root, path and a signed checkpoint."""
    found = call("audit", "prove", "2", "--json").json
    assert (found["proof"], found["sequence"], found["size"]) == ("inclusion", 2, 7)
    assert "first_size" not in found
    assert open_checkpoint(found["checkpoint"]).root.hex() == found["root"]
    found = call("audit", "prove", "--since", "3", "--json").json
    assert (found["proof"], found["first_size"], found["size"]) == ("consistency", 3, 7)
    shown = call("audit", "prove", "2").out
    assert shown.startswith("Proof of inclusion\n")
    assert found["root"] in shown


@pytest.mark.parametrize(
    "words", [[], ["2", "--checkpoint"], ["--since", "2", "--checkpoint"], ["7"], ["--since", "8"]]
)
def test_a_proof_of_nothing_or_of_two_things_is_wrong_usage(call, ledger, words):
    """Exactly one of the three, and inside the ledger."""
    assert call("audit", "prove", *words).code == 2


def test_an_exported_ledger_verifies_without_one(call, ledger, tmp_path, monkeypatch):
    """The bundle and the key are all that is needed, elsewhere."""
    bundle = tmp_path / "harbour.bundle"
    said = call("audit", "export", str(bundle))
    assert said.code == 0
    key = call("audit", "verify", "--json").json["key"]
    assert key in said.out
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COUNTERPOINT_DB", str(tmp_path / "none.db"))
    found = call("audit", "verify", "--bundle", str(bundle), "--key", key, "--json").json
    assert (found["sound"], found["trusted"], found["size"]) == (True, True, 7)
    for wrong in ("", "x", key.replace("+", " ")):
        said = call("verify", str(bundle), "--key", wrong)
        assert (said.code, "counterpoint audit verify" in said.err) == (2, True), said.err
        assert f"{wrong!r} is no verifier key" in said.err.replace("\n", " ")
    said = call("audit", "verify", "--bundle", str(bundle))
    assert said.out.startswith("Sound: 7 entries of harbour in harbour.bundle.\n")
    assert "--key" in said.err


def test_a_bundle_that_was_edited_does_not_verify(call, ledger, tmp_path):
    """One word changed, one entry missing, another's key: each a no."""
    whole = call("audit", "export").out
    lines = whole.splitlines(keepends=True)
    key = call("audit", "verify", "--json").json["key"]
    edits = {
        "edited": whole.replace('"ada"', '"eve"'),
        "shorter": "".join(lines[:3] + lines[4:]),
    }
    for name, text in edits.items():
        (tmp_path / name).write_text(text)
        said = call("audit", "verify", "--bundle", str(tmp_path / name), "--key", key)
        assert said.code == 1, name
        assert said.out.startswith("Broken: ")
    (tmp_path / "junk").write_text("junk")
    assert call("audit", "verify", "--bundle", str(tmp_path / "junk")).code == 2


@pytest.fixture
def thought(app, agent):
    """Give the session of an agent who thought about a task and sealed it."""
    for kind in ("plan", "reflection"):
        agent.use(Thoughts).think(kind, f"a {kind}", task="harbour-4")
    return agent.use(Seals).seal(agent.caller.actor.session).session


def test_a_sealed_session_is_exported_and_verified_anywhere(
    call, ledger, thought, tmp_path, monkeypatch
):
    """No ledger, no database: the file, and the key from elsewhere."""
    bundle = tmp_path / "session.bundle"
    said = call("audit", "export", str(bundle), "--session", thought)
    assert said.code == 0
    key = call("audit", "verify", "--json").json["key"]
    assert f"counterpoint verify session.bundle --key '{key}'" in said.out
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COUNTERPOINT_DB", str(tmp_path / "none.db"))
    said = call("verify", str(bundle), "--key", key)
    assert said.code == 0
    assert said.out.startswith(f"Sound: 2 thoughts of {thought} of harbour in session.bundle.\n")
    found = call("verify", str(bundle), "--key", key, "--json").json
    assert (found["sound"], found["trusted"], found["session"]) == (True, True, thought)
    assert (found["thoughts"], found["seals"], found["texts"]) == (2, 1, 2)
    assert not (tmp_path / "none.db").exists()


def test_a_verified_ledger_tells_of_its_thoughts_and_redactions(call, ledger, thought, tmp_path):
    """How many there are, and how many texts are gone."""
    bundle = tmp_path / "ledger.bundle"
    assert call("audit", "redact", "harbour-r3", "--reason", "private").code == 0
    assert call("audit", "export", str(bundle)).code == 0
    said = call("verify", str(bundle))
    assert said.code == 0
    assert "  thoughts  2 in chains, 1 session sealed\n" in said.out
    assert "  redacted  1 text is gone on purpose\n" in said.out
    assert "--key" in said.err


@pytest.mark.parametrize("as_json", [False, True])
def test_what_was_changed_in_a_bundle_is_a_no(call, ledger, thought, tmp_path, as_json):
    """Exit code 1 with a fault; 2 if it is no bundle, or no file; 2 for a key that is none."""
    bundle = tmp_path / "session.bundle"
    call("audit", "export", str(bundle), "--session", thought)
    flags = ["--json"] if as_json else []
    bundle.write_bytes(bundle.read_bytes().replace(b"a plan", b"a whim"))
    said = call("verify", str(bundle), *flags)
    assert said.code == 1
    assert said.json["faults"][0]["code"] if as_json else said.out.startswith("Broken: ")
    assert call("verify", str(bundle), "--key", "x", *flags).code == 2
    bundle.write_text("junk")
    assert call("verify", str(bundle), *flags).code == 2
    assert call("verify", str(tmp_path / "none"), *flags).code == 2


def test_a_session_that_is_not_sealed_is_not_exported(call, ledger, agent, tmp_path):
    """It may still grow; nothing is left behind."""
    agent.use(Thoughts).think("plan", "x", task="harbour-4")
    target = tmp_path / "out"
    said = call("audit", "export", str(target), "--session", agent.caller.actor.session)
    assert said.code == 1
    assert "not sealed" in said.err
    assert call("audit", "export", "--session", "ses_none").code == 1
    assert [path for path in tmp_path.iterdir() if path.is_file()] == []


def test_an_export_never_overwrites(call, ledger, tmp_path):
    """A file that is there stays what it is."""
    target = tmp_path / "mine"
    target.write_text("mine")
    assert call("audit", "export", str(target)).code == 1
    assert target.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["mine"]


def _pipe(folder: Path) -> str:
    os.mkfifo(folder / "pipe")
    return str(folder / "pipe")


@pytest.mark.parametrize(
    "words",
    [
        ("verify",), ("audit", "verify", "--bundle"), ("audit", "verify", "--checkpoint"),
        ("restore", "--yes"), ("runs", "ingest"), ("key", "add", "--name", "x", "--public"),
        ("audit", "redact", "--reason", "x", "--text"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_of_what_somebody_sent_only_a_plain_file_is_read(call, ledger, tmp_path, words):
    """A device has no end, and from a pipe nothing may come."""
    for place in ("/dev/zero", _pipe(tmp_path)):
        said = call(*words, place)
        assert said.code == 2
        assert f"{place} is no plain file" in said.err


def test_a_bundle_has_a_size_that_is_stated(call, ledger, tmp_path, monkeypatch):
    """So has each of its lines; the small verifier takes no more either."""
    bundle = tmp_path / "harbour.bundle"
    call("audit", "export", str(bundle))
    monkeypatch.setattr(file_arguments, "LONGEST_LINE", 100)
    assert "a line has more than 100 bytes" in call("verify", str(bundle)).err
    monkeypatch.setattr(file_arguments, "LARGEST_BUNDLE", 100)
    said = call("verify", str(bundle))
    assert (said.code, "and 100 is the most" in said.err) == (2, True)


def test_the_small_verifier_reads_no_device(tmp_path):
    """Nor what is too large."""
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(file_arguments.LARGEST_BUNDLE + 1)
    for place in ("/dev/zero", _pipe(tmp_path), str(large)):
        done = subprocess.run(
            [sys.executable, str(VERIFIER), place], capture_output=True, check=False
        )
        assert done.returncode == 2
        assert b"is no bundle (a plain file of at most 4,000,000,000 bytes)" in done.stderr


def test_where_nothing_can_be_written_is_named(call, ledger, tmp_path):
    place = str(tmp_path / "none" / "x")
    for words in (("audit", "export"), ("key", "export")):
        said = call(*words, place)
        assert (said.code, said.err.splitlines()[0]) == (
            3, f"counterpoint: {place} cannot be written: No such file or directory",
        )  # fmt: skip
    (tmp_path / "file").touch()
    said = call("audit", "export", "--tiles", str(tmp_path / "file" / "x"))
    assert "cannot be written: Not a directory" in said.err


@pytest.mark.parametrize("words", [["--key", "x"], ["--bundle", __file__, "--project", "x"]])
def test_options_that_would_be_ignored_are_refused(call, ledger, words):
    """A key without a bundle, a project with one."""
    assert call("audit", "verify", *words).code == 2


def test_tables_that_are_not_the_fold_of_the_ledger_are_found(call, ledger):
    """Sound, then one cell changed behind the product's back."""
    said = call("audit", "rebuild")
    assert (said.code, said.out) == (0, "Same: 24 rows are what 6 entries say.\n")
    tamper(ledger, "UPDATE items SET assignee = 'nobody' WHERE id = 'harbour-4'")
    said = call("audit", "rebuild")
    assert said.code == 1
    assert "harbour-4" in said.out
    found = call("audit", "rebuild", "--json")
    assert (found.code, found.json["same"]) == (1, False)
    assert len(found.json["differences"]) == 1


def test_a_person_takes_a_text_away_and_the_ledger_still_verifies(call, ledger):
    """The words are gone from every answer and from the file; the proof holds."""
    hit = call("find", "oak", "--json").json["found"][0]["id"]
    said = call("audit", "redact", hit, "--reason", "private")
    assert said.code == 0
    assert said.out.startswith("Took 2 texts")
    assert call("audit", "redact", hit, "--reason", "private", "--json").json["redacted"] == []
    assert "it lasts" not in call("show", hit).out
    assert call("audit", "verify", "--json").json["redacted"] == 2
