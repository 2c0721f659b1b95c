"""Proving: what was tampered with is found, what was redacted is not held against anybody."""

from __future__ import annotations

import shutil
from dataclasses import replace

import apsw
import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.ledger.bundle import verify_bundle
from counterpoint.core.ledger.checkpoint import verify as verify_checkpoint
from counterpoint.core.ledger.derived import Origin
from counterpoint.core.ledger.entry import RowImage
from counterpoint.core.ledger.merkle import verify_consistency, verify_inclusion
from counterpoint.core.model.journal import Record
from counterpoint.core.model.rows import columns
from counterpoint.core.operations import audit
from counterpoint.core.operations.auditing import replay
from counterpoint.core.operations.journal import redactions
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import (
    ChainBroken,
    ForkRefused,
    InvalidInput,
    NotFound,
    ProofMismatch,
    SignerAway,
    StateDiffers,
)
from counterpoint.storage.rows import StoreWriting
from counterpoint.storage.sqlite import store
from fakes.filled import TABLES, fill, tamper
from fakes.studio import Studio, fixed_signer
from fakes.texts import kept_as


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """Give a filled database and its anchors, made once and copied by each test."""
    opened = Studio(tmp_path_factory.mktemp("filled") / "store.db")
    fill(opened)
    opened.check()
    opened.close()
    return opened


@pytest.fixture
def studio(filled, tmp_path):
    """Give a filled project in a file, anchored at its end."""
    shutil.copy(filled.database, tmp_path / "store.db")
    opened = Studio(tmp_path / "store.db")
    opened.mint = filled.mint
    opened.drawer.notes |= filled.drawer.notes
    yield opened
    opened.close()


ORIGIN = Origin(Timestamp("2026-11-20T10:00:00.000Z"), "ada", "")


def verify(studio):
    """Answer the faults a verification finds."""
    return studio.system.audit.verify().faults


def test_a_sound_ledger_is_sound_up_to_what_was_signed(studio):
    """Size, root and last leaf; what was signed before vouches for as much, and verifying signs nothing."""
    bob = studio.core("bob")
    studio.system.signing.sign()
    before = studio.system.audit.verify()
    assert before.sound
    assert before.anchored == before.size
    bob.memory.put("project", "m", 1)
    after = bob.audit.verify()
    assert (after.size, after.anchored, after.redacted) == (before.size + 1, before.size, 0)
    assert after.project == "demo"
    assert verify_checkpoint(studio.drawer.last("demo"), bob.audit.key).size == before.size


def test_a_verification_tells_how_far_it_is(studio):
    """From the first entry on, now and then."""
    heard: list[int] = []
    assert studio.system.audit.verify(progress=heard.append).sound
    assert heard == [1]


def test_an_empty_ledger_is_sound_and_not_anchored():
    """There is nothing to vouch for."""
    studio = Studio()
    studio.ports = replace(studio.ports, project="other")
    assert studio.system.audit.verify().sound
    assert studio.drawer.last("other") == ""
    studio.close()


@pytest.mark.parametrize("noun", TABLES, ids=lambda noun: noun.table)
def test_a_changed_cell_of_any_table_is_found(studio, noun):
    """One cell of one row; a table that is all key has rows added and removed instead."""
    column = next(c for c in columns(noun) if c.name not in noun.key and not c.is_prose)
    value = f'"{column.name}" + 1' if column.sort == "int" else f"\"{column.name}\" || 'x'"
    tamper(studio, (f'UPDATE {noun.table} SET "{column.name}" = {value}', ()))  # noqa: S608 -- names of the schema
    differences = studio.system.audit.rebuild().differences
    assert differences
    assert set(map(str, differences)) <= set(map(str, verify(studio)))
    assert studio.system.audit.verify(extent="entries").sound
    assert {fault.facts["table"] for fault in differences} == {noun.table}
    assert all("is not what the entries say" in fault.message for fault in differences)


def test_added_and_missing_rows_are_found(studio):
    """Before, between and behind the rows that are right."""
    insert = "INSERT INTO labels (project, item, name) VALUES ('demo', ?, 'x')"
    tamper(studio, (insert, ("demo-0",)), (insert, ("demo-9",)),
           ("DELETE FROM labels WHERE item = 'demo-3'", ()))  # fmt: skip
    found = studio.system.audit.rebuild()
    messages = sorted(fault.message for fault in found.differences)
    assert messages == [
        "row demo-0/x of labels is in the table, but no entry wrote it",
        "row demo-3/x of labels was written by an entry, but is not in the table",
        "row demo-9/x of labels is in the table, but no entry wrote it",
    ]
    assert found.rows["labels"] == 2


def test_only_the_first_differences_are_shown(studio):
    """Twenty of a table are enough to see that it is wrong."""
    insert = "INSERT INTO labels (project, item, name) VALUES ('demo', 'demo-7', ?)"
    tamper(studio, *((insert, (f"l{n:02d}",)) for n in range(30)))
    assert len(studio.system.audit.rebuild().differences) == 20


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET data = edited(data, 'finding', 'binding') WHERE sequence = 3",
        "DELETE FROM entries WHERE sequence = 4",
        (
            "UPDATE entries SET data = (SELECT data FROM entries WHERE sequence = 5)"
            " WHERE sequence = 4"
        ),
        "UPDATE entries SET data = x'7b7d' WHERE sequence = 0",
        "DELETE FROM entries WHERE sequence = (SELECT max(sequence) FROM entries)",
    ],
    ids=["edited", "deleted", "doubled", "unreadable", "last deleted"],
)
def test_a_changed_entry_is_found(studio, statement):
    """Whatever was done to the entries themselves."""
    tamper(studio, (statement, ()))
    assert verify(studio)


def test_swapped_entries_are_found(studio):
    """Two neighbours in each other's place."""
    connection = apsw.Connection(str(studio.database))
    rows = dict(connection.execute("SELECT sequence, data FROM entries WHERE sequence IN (2, 3)"))
    connection.close()
    update = "UPDATE entries SET data = ? WHERE sequence = ?"
    tamper(studio, (update, (rows[2], 3)), (update, (rows[3], 2)))
    assert any(isinstance(fault, ChainBroken) for fault in verify(studio))


def test_an_inserted_entry_is_found(studio):
    """One more at the end, which the head does not know."""
    tamper(studio, (
        ("INSERT INTO entries SELECT project, sequence + 1, data, leaf, subject, action"
        " FROM entries ORDER BY sequence DESC LIMIT 1"), ()))  # fmt: skip
    assert verify(studio)


def test_a_ledger_that_was_cut_off_with_care_is_found_by_its_anchor(studio):
    """Everything inside the file agrees; only the checkpoint outside knows more."""
    young = Studio(studio.database.with_name("young.db"))
    young.core("ada").memory.put("project", "n", 1)
    assert young.system.audit.verify().sound
    studio.system.signing.sign()
    young.drawer.notes |= studio.drawer.notes
    faults = verify(young)
    assert [type(fault) for fault in faults] == [ProofMismatch]
    assert "knows of" in faults[0].message
    with pytest.raises(ForkRefused):
        young.system.signing.sign()
    assert young.drawer.notes == studio.drawer.notes
    young.close()


def test_a_ledger_that_was_written_anew_is_found_by_a_checkpoint(studio):
    """As long as before, and sound in itself, but not the one that was signed."""
    other = Studio(studio.database.with_name("other.db"))
    other.clock.pass_by(minutes=1)
    fill(other)
    other.system.signing.renew()
    note = other.system.audit.checkpoint()
    assert [type(fault) for fault in studio.system.audit.verify((note,)).faults] == [ProofMismatch]
    other.close()


def test_a_checkpoint_of_somebody_else_is_a_fault(studio):
    """It is signed with another key; what is no note at all is one too."""
    stranger = Studio(
        studio.database.with_name("s.db"), signer=fixed_signer(studio.clock, b"s" * 32)
    )
    stranger.system.signing.renew()
    note = stranger.system.audit.checkpoint()
    assert len(studio.system.audit.verify((note, "no note")).faults) == 2
    stranger.close()


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE heads SET leaf = ?1 WHERE project = 'demo'", "does not name the last entry"),
        ("UPDATE heads SET size = size + 1 WHERE ?1 = ?1", "the ledger ends after"),
        ("UPDATE heads SET frontier = CAST(?1 AS BLOB)", "head's tree is not"),
        ("UPDATE nodes SET hash = zeroblob(32) WHERE ?1 = ?1", "stored node"),
        ("DELETE FROM nodes WHERE ?1 = ?1", "stored node"),
    ],
    ids=["leaf", "size", "frontier", "node", "no node"],
)
def test_a_changed_head_or_edge_is_found(studio, statement, words):
    """The end of the ledger and the edge of its tree belong to the entries."""
    tamper(studio, (statement, ("0" * 64,)))
    assert any(words in fault.message for fault in verify(studio))


@pytest.mark.parametrize(
    ("statement", "keys"),
    [
        ("UPDATE nodes SET hash = zeroblob(32) WHERE level = 4 AND position = 0", ["4/0"]),
        ("DELETE FROM nodes WHERE level = 4 AND position = 0", ["4/0"]),
        ("UPDATE entries SET leaf = zeroblob(32) WHERE sequence = 2", ["0/2", "0/3"]),
    ],
    ids=["node", "no node", "leaf"],
)
def test_any_wrong_hash_of_the_tree_is_found_by_a_rebuild(studio, statement, keys):
    """Also one that no present edge leans on, but that a proof will; an entry leans on the leaf before it."""
    tamper(studio, (statement, ()))
    faults = studio.system.audit.rebuild().differences
    assert [(type(fault), fault.facts["key"]) for fault in faults] == [
        (StateDiffers, key) for key in keys
    ]


def test_a_changed_text_is_found_and_a_redacted_one_is_counted(studio):
    """The chain holds without the text; with another text in its place it does not."""
    with studio.view() as view:
        made = kept_as(view, "a finding")
    studio.core("pat", kind="human").erasing.of_row(Record, "demo-r1", reason="private")
    audit = studio.system.audit.verify()
    # What a finding says stands in its title too, and an answer to it is kept.
    assert (audit.sound, audit.redacted) == (True, 3)
    assert studio.system.audit.rebuild().differences == ()
    row = bytes.fromhex(made[:32]), bytes(16), "x"
    tamper(studio, ("INSERT INTO texts VALUES ('demo', ?, ?, ?)", row))
    told = [fault.message for fault in verify(studio)]
    assert f"the text {made[:12]}… is kept, but an entry tells that it was taken away" in told


def test_a_text_that_is_missing_without_a_redaction_is_found(studio):
    """Nobody but a redaction takes a text away, and that stands in the ledger."""
    with studio.store.writing("demo") as writing:
        made = kept_as(writing, "a finding")
        writing.forget([made])
    told = [fault.message for fault in verify(studio)]
    assert f"the text {made[:12]}… is missing, and no entry tells that it was taken away" in told


def test_a_redaction_that_cannot_be_read_tells_nothing(studio):
    """Its entry is a fault of its own, and the text counts as missing."""
    studio.core("pat", kind="human").erasing.of_row(Record, "demo-r1", reason="private")
    tamper(studio, ("UPDATE entries SET data = x'7b7d' WHERE action = 'text.redacted'", ()))
    assert any("is missing" in fault.message for fault in verify(studio))
    with studio.view() as view:
        assert list(redactions(view)) == []


def test_proofs_lead_to_the_signed_root(studio):
    """Inclusion of every entry, consistency from every size, at the end and before it."""
    audit = studio.system.audit
    studio.system.signing.renew()
    early = verify_checkpoint(audit.checkpoint(), audit.key).size
    studio.core("bob").memory.put("project", "m", 1)
    size = audit.verify().size
    assert verify_checkpoint(audit.checkpoint(), audit.key).size == early
    studio.system.signing.renew()
    assert (early, verify_checkpoint(audit.checkpoint(), audit.key).size) == (size - 1, size)
    for sequence in range(size):
        # A size that was never signed is proved by the last one that was, and said so.
        for asked, end in ((size, size), (early, early), (3, size)):
            if sequence >= end:
                continue
            proof = audit.inclusion(sequence, asked)
            assert (proof.size, proof.asked) == (end, -1 if asked == end else asked)
            path = [bytes.fromhex(part) for part in proof.path]
            leaf, root = bytes.fromhex(proof.leaf), bytes.fromhex(proof.root)
            verify_inclusion(sequence, end, leaf, path, root)
            assert verify_checkpoint(proof.checkpoint, audit.key).root == root
        step = audit.consistency(sequence)
        path = [bytes.fromhex(part) for part in step.path]
        first, second = bytes.fromhex(step.first_root), bytes.fromhex(step.root)
        verify_consistency(sequence, size, first, second, path)
    assert audit.entry(size - 1).sequence == size - 1
    for wrong in (
        lambda: audit.inclusion(size), lambda: audit.inclusion(-1), lambda: audit.inclusion(0, 99),
        lambda: audit.consistency(size + 1), lambda: audit.consistency(-1),
    ):  # fmt: skip
        studio.refuses(InvalidInput, wrong)
    for place in (-1, size):
        studio.refuses(NotFound, lambda one=place: audit.entry(one))


def test_an_export_verifies_without_us(studio):
    """Entries, texts and a checkpoint of the end, in lines."""
    with pytest.raises(SignerAway, match="nothing of this ledger is signed"):
        list(studio.system.audit.export())
    studio.system.signing.renew()
    report = verify_bundle(studio.system.audit.export())
    assert (report.project, report.faults) == ("demo", ())
    assert report.size == studio.system.audit.verify().size


def test_the_log_is_narrowed_and_paged(studio):
    """By item and action; backwards from the end, or onward from a place."""
    audit = studio.system.audit
    assert [e.action for e in audit.log(limit=2)] == ["rows.written", "session.ended"]
    assert [e.sequence for e in audit.log(after=0, limit=2)] == [1, 2]
    assert [e.sequence for e in audit.log(before=2, limit=9)] == [1, 0]
    assert {e.subject for e in audit.log(subject="demo-3")} == {"demo-3"}
    assert [e.action for e in audit.log(action="task.started")] == ["task.started"]


@pytest.mark.parametrize("most", [0, 2, 50_000])
def test_a_replay_reads_a_row_before_it_changes_it_only_if_it_has_forgotten_it(
    studio, monkeypatch, most
):
    """However few rows it remembers, the tables come out the same."""
    found = []

    class Heard(StoreWriting):
        def find(self, noun, *key):
            found.append(key)
            return super().find(noun, *key)

    monkeypatch.setattr(replay, "MOST_REMEMBERED", most)
    monkeypatch.setattr(store, "StoreWriting", Heard)
    assert studio.system.audit.rebuild().differences == ()
    assert bool(found) is (most < 50_000)


def test_an_entry_of_an_unknown_table_breaks_the_rebuild(studio):
    """A ledger of a newer program is not read as less than it is."""
    tamper(studio, (
        ("UPDATE entries SET data = edited(data, '\"t\":\"projects\"', '\"t\":\"elsewhere\"')"
        " WHERE sequence = 0"), ()))  # fmt: skip
    told = [fault.message for fault in studio.system.audit.rebuild().differences]
    assert "entry 0: an entry writes to a table 'elsewhere' that there is not" in told
    with studio.store.writing("demo") as writing, pytest.raises(ChainBroken, match="elsewhere"):
        replay.Fold(writing).write({"t": "elsewhere", "k": {}, "v": {}}, ORIGIN)


def test_a_row_of_a_table_that_nobody_knows_is_shown_as_it_is() -> None:
    """A ledger may hold rows of a dialect that this program does not have."""
    image = RowImage(table="strangers", key={"id": "a"}, values={"title": "t"})
    assert audit._filled(image, None, Origin("", "ada", "")) is image


def test_what_is_not_signed_yet_is_not_exported_without_a_text_that_is_gone(studio):
    """The bundle could not tell why the text is missing; with a signature of the end it can."""
    studio.system.signing.renew()
    studio.core("pat", kind="human").erasing.of_row(Record, "demo-r1", reason="private")
    reader = Core(replace(studio.ports, may_sign=False), studio.system.caller)
    reader.signing.renew()
    with pytest.raises(SignerAway, match="not signed yet"):
        list(reader.audit.export())
    studio.system.signing.renew()
    assert list(studio.system.audit.export())
