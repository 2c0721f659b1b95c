"""What writers sign: all that this process appended for them, and nothing that anybody else did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.ledger.merkle import verify_inclusion
from counterpoint.core.ledger.note import from_base64
from counterpoint.core.model.access import Principal
from counterpoint.core.model.filters import Note
from counterpoint.core.model.trust.writers import WriterProof, WriterSignature
from counterpoint.core.operations.recording.authored import Authored
from counterpoint.core.operations.recording.unit import Unit
from counterpoint.core.ports.store import Append
from counterpoint.kernel.errors import MalformedDocument, ProofMismatch
from fakes.studio import Studio

ADA, EVE = "cn_agent_ada", "cn_agent_eve"


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    """Give a project in a file."""
    made = Studio(tmp_path / "ledger.db")
    yield made
    made.close()


def note(core: Core, text: str = "Seven") -> int:
    """Append an entry and answer its place."""
    core.journal.append(Note(kind="comment", body=text))
    return core.feed.last()


def elsewhere(studio: Studio) -> Studio:
    """Answer the same project as another process has it."""
    other = object.__new__(Studio)
    other.__dict__ |= studio.__dict__
    other.ports = replace(studio.ports, authored=Authored())
    return other


def kept(studio: Studio) -> list[WriterSignature]:
    """Answer the signatures that are there."""
    with studio.view() as view:
        return list(view.signatures())


def unsigned(studio: Studio) -> tuple[int, tuple[int, ...]]:
    """Answer what a sound ledger tells of entries without a signature, from both looks."""
    found = studio.system.audit.verify()
    quick = studio.system.audit.verify(extent="entries")
    assert found.sound
    assert quick.sound
    assert (found.signed, found.unsigned) == (quick.signed, quick.unsigned)
    assert found.unsigned_places == quick.unsigned_places
    return found.unsigned, found.unsigned_places


def change(studio: Studio, statement: str) -> None:
    """Change the database as somebody with a SQL shell."""
    connection = apsw.Connection(str(studio.database))
    connection.execute(statement)
    connection.close()


def test_each_writer_signs_its_own_entries_in_one_row(studio: Studio) -> None:
    """Two that write in turn have a range each; a later signature takes the place of the one before."""
    ada, eve = studio.core("ada"), studio.core("eve")
    first = note(ada)
    note(eve)
    assert studio.system.writers.waits
    assert studio.system.writers.sign() == 2
    note(ada)
    assert studio.system.writers.sign() == 1
    assert studio.system.writers.sign() == 0
    assert not studio.system.writers.waits
    assert [(one.writer, one.first) for one in kept(studio)] == [(ADA, first), (EVE, first + 1)]
    assert unsigned(studio) == (0, ())
    assert studio.system.audit.verify().signed == 3


def test_what_was_appended_in_a_writers_name_elsewhere_is_not_signed(studio: Studio) -> None:
    """Neither before the writer's own, nor between, nor after: it is told where."""
    mine, forged = studio.core("ada", session="s"), elsewhere(studio).core("ada", session="s")
    places: list[int] = []
    for _ in range(2):
        places.append(note(forged))
        note(mine)
        note(mine)
    studio.system.writers.sign()
    places.append(note(forged))
    note(mine)
    studio.system.writers.sign()
    note(studio.system)
    assert unsigned(studio) == (3, tuple(places))
    assert [one.writer for one in kept(studio)] == [ADA] * 3


def test_two_processes_each_sign_what_they_appended(studio: Studio) -> None:
    """Of a credential that two servers of one ledger know, for example."""
    other = elsewhere(studio)
    for _ in range(3):
        note(studio.core("ada", session="s"))
        note(other.core("ada", session="s"))
        studio.system.writers.sign()
    other.system.writers.sign()
    assert unsigned(studio) == (0, ())
    assert len(kept(studio)) == 6


def test_what_was_undone_is_not_signed(studio: Studio) -> None:
    """An entry that did not land leaves its place to another one."""
    ada = studio.core("ada")

    def undone() -> None:
        with Unit(studio.context(ada)) as unit:
            unit.begin(studio.context(ada), "note.recorded").append()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        undone()
    place = note(ada)
    assert studio.system.writers.sign() == 1
    assert kept(studio)[0].first == place
    assert unsigned(studio) == (0, ())


def test_a_process_that_was_killed_leaves_its_last_entries_unsigned(studio: Studio) -> None:
    """The next one signs only its own."""
    note(studio.core("ada"))
    studio.system.writers.sign()
    lost = note(studio.core("ada"))
    after = elsewhere(studio)
    note(after.core("ada"))
    after.system.writers.sign()
    assert unsigned(studio) == (1, (lost,))


def test_twenty_places_are_told_and_all_are_counted(studio: Studio) -> None:
    """The lowest of all writers."""
    first = note(studio.core("ada", session="s"))
    for number in range(24):
        note(studio.core("ada" if number % 2 else "eve", session=f"s{number % 2}"))
    assert unsigned(studio) == (25, tuple(range(first, first + 20)))


def test_a_person_does_not_sign_as_a_writer(studio: Studio) -> None:
    """What a person does is signed with a key of his own."""
    ada = studio.core("ada")
    core = Core(studio.ports, replace(ada.caller, actor=replace(ada.caller.actor, principal=None)))
    note(core)
    assert not studio.system.writers.waits
    assert unsigned(studio) == (0, ())


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE signatures SET writer = 'cn_agent_eve' WHERE writer = 'cn_agent_ada'",
        "UPDATE signatures SET first = first + 1000",
        "UPDATE signatures SET note = replace(note, 'writer/v1', 'writer/v2')",
        "UPDATE signatures SET note = ''",
        "UPDATE signatures SET delegation = ''",
        "UPDATE signatures SET delegation = note",
        "UPDATE signatures SET note = (SELECT max(note) FROM signatures)",
        "UPDATE signatures SET delegation = (SELECT max(delegation) FROM signatures)",
        "INSERT INTO signatures SELECT project, 0, writer, delegation, note FROM signatures LIMIT 1",
        "INSERT INTO signatures SELECT 'other', first, writer, delegation, note FROM signatures",
    ],
)
def test_a_signature_that_was_changed_or_used_again_is_found(
    studio: Studio, statement: str
) -> None:
    """In each column, and in the name of another writer."""
    note(studio.core("ada"))
    note(studio.core("eve"))
    studio.system.writers.sign()
    change(studio, statement)
    found = studio.system.audit.verify()
    assert found.faults
    assert all(fault.hint and fault.code for fault in found.faults)


def test_signatures_that_were_taken_away_are_told_as_missing(studio: Studio) -> None:
    """Nothing in the ledger says that they were there."""
    place = note(studio.core("ada"))
    studio.system.writers.sign()
    change(studio, "DELETE FROM signatures")
    assert unsigned(studio) == (1, (place,))


def test_an_entry_that_cannot_be_read_ends_no_range(studio: Studio) -> None:
    """Whose it is nobody can tell."""
    note(studio.core("ada"))
    with studio.store.writing("demo") as writing:
        head = writing.head()
        writing.append(
            Append(
                sequence=head.size,
                previous=head.leaf,
                data=b"no entry",
                leaf=bytes(32),
                time=studio.clock.now(),
                subject="",
                action="",
                frontier=head.frontier,
                nodes=(),
            )
        )
    note(studio.core("ada"))
    assert studio.system.writers.sign() == 1
    assert len(kept(studio)) == 1


def test_a_ledger_that_became_shorter_is_looked_at_anew(studio: Studio) -> None:
    """What was remembered of the longer one is forgotten."""
    studio.ports.authored.log.append((ADA, 1000, bytes(32)))
    assert studio.system.writers.sign() == 0
    assert not studio.system.writers.waits
    note(studio.core("ada"))
    assert studio.system.writers.sign() == 1


def test_a_ledger_that_is_not_there_has_nothing_to_sign(tmp_path: Path) -> None:
    """Nothing was appended yet, though something was noted."""
    studio = Studio(tmp_path / "ledger.db")
    studio.ports = replace(studio.ports, project="other", authored=Authored())
    studio.ports.authored.log.append((ADA, 0, bytes(32)))
    assert studio.system.writers.sign() == 0
    studio.close()


def test_credentials_sign_as_connections_do(studio: Studio) -> None:
    """By the id of the credential."""
    ada = studio.core("ada")
    actor = replace(ada.caller.actor, principal=Principal(strength="credential", id="agt_1"))
    note(Core(studio.ports, replace(ada.caller, actor=actor)))
    studio.system.writers.sign()
    assert [one.writer for one in kept(studio)] == ["agt_1"]
    assert unsigned(studio) == (0, ())


def test_an_export_holds_the_signatures_of_what_it_holds(studio: Studio) -> None:
    """What was appended after the end that is signed is not in it, and neither is its signature."""
    note(studio.core("ada"))
    studio.system.writers.sign()
    studio.system.signing.renew()
    lines = list(studio.system.audit.export())
    assert sum(b'"sig"' in line for line in lines) == 1
    studio.ports = replace(studio.ports, may_sign=False)
    note(studio.core("ada"))
    studio.system.writers.sign()
    assert sum(b'"sig"' in line for line in studio.system.audit.export()) == 0


def test_a_signature_whose_end_cannot_be_read_is_not_exported(studio: Studio) -> None:
    """Nobody can tell whether it is of what is exported."""
    ada = studio.core("ada")
    note(ada)
    note(ada)
    studio.system.writers.sign()
    change(
        studio,
        "UPDATE signatures SET note = replace(note, '2' || char(10) || '2', 'x' || char(10) || '2')",
    )
    studio.system.signing.renew()
    with pytest.raises(MalformedDocument):
        list(studio.system.audit.export())


def test_one_entry_is_shown_to_be_its_writers_own(studio: Studio) -> None:
    """By a signature, and the path to its root; or it is told that there is none."""
    ada = studio.core("ada")
    places = [note(ada) for _ in range(3)]
    studio.system.writers.sign()
    proof = studio.system.writers.prove(places[1])
    assert proof is not None
    assert proof.signature is not None
    assert proof.signature == kept(studio)[0]
    with studio.view() as view:
        leaf = view.node(0, places[1])
    root = from_base64(proof.signature.note.split("\n")[6])
    path = [bytes.fromhex(part) for part in proof.path]
    verify_inclusion(proof.place, 3, leaf, path, root)
    assert studio.system.writers.prove(note(ada)) == WriterProof(writer=ADA)
    assert studio.system.writers.prove(note(studio.core("eve"))) == WriterProof(writer=EVE)
    assert studio.system.writers.prove(0) is None
    change(studio, "UPDATE signatures SET first = first + 1")
    with pytest.raises(ProofMismatch):
        studio.system.writers.prove(places[2])
