"""What writers sign: all that this process appended for them, and nothing that anybody else did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

import apsw
import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.ledger.entry import Entry
from counterpoint.core.ledger.merkle import root_of, verify_inclusion
from counterpoint.core.ledger.note import VerifierKey, from_base64
from counterpoint.core.ledger.writers.signature import (
    Range,
    seal_delegation,
    seal_range,
    writer_key,
)
from counterpoint.core.model.access import PROGRAM, Principal
from counterpoint.core.model.filters import Note
from counterpoint.core.model.trust.writers import WriterGrowth, WriterProof, WriterSignature
from counterpoint.core.operations.recording import caches
from counterpoint.core.operations.recording.caches import Authored
from counterpoint.core.operations.recording.unit import Unit
from counterpoint.core.operations.trust import writers
from counterpoint.core.operations.trust.signing import LedgerSigning
from counterpoint.core.ports.store import Append, Reading
from counterpoint.evidence.trust.signer import MemorySigner
from counterpoint.kernel.errors import MalformedDocument, ProofMismatch, SignerAway, StoreFull
from fakes.failing import FailingStore
from fakes.people import Person
from fakes.studio import FixedKey, Studio, fixed_signer

ADA, EVE = "cn_agent_ada", "cn_agent_eve"


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    """Give a project in a file, which another process opened and whose first key it named."""
    made = Studio(tmp_path / "ledger.db")
    made.system.signing.name_key()
    made.ports.authored.log.clear()
    yield made
    made.close()


class _Losing(MemorySigner):
    """A signer whose first answer about writers is lost."""

    is_lost = False

    def sign_ranges(
        self, ledger: str, origin: str, growths: Sequence[WriterGrowth]
    ) -> list[WriterSignature | None]:
        """Sign, and answer from the second time on."""
        made = super().sign_ranges(ledger, origin, growths)
        if not self.is_lost:
            self.is_lost = True
            raise SignerAway
        return made


class _Full(FailingStore):
    """A store that can be read and has no room."""

    def reading(self, project: str) -> AbstractContextManager[Reading]:
        """Open a view."""
        return self.inner.reading(project)


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


def test_however_much_was_written_is_looked_at_in_pages(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And of more writers than are remembered each has all signed; one that was forgotten begins a range of its own."""
    monkeypatch.setattr(writers, "PAGE", 2)
    monkeypatch.setattr(caches, "WRITERS", 1)
    ada, eve = studio.core("ada"), studio.core("eve")
    places = [note(one) for one in (ada, ada, eve, ada, ada)]
    studio.system.writers.sign()
    for place in places:
        proof = studio.system.writers.prove(place)
        assert proof is not None
        assert proof.signature is not None
    first = note(eve)
    studio.system.writers.sign()
    again = note(ada)
    studio.system.writers.sign()
    assert unsigned(studio) == (0, ())
    assert (ADA, again) in [(one.writer, one.first) for one in kept(studio)]
    assert first < again


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
    assert unsigned(studio) == (3, tuple(places))
    assert [one.writer for one in kept(studio)] == [ADA] * 3


def test_two_processes_each_sign_what_they_appended_and_nothing_below(studio: Studio) -> None:
    """Of a credential that two servers of one ledger know: what the other has signed beyond stays unsigned."""
    other = elsewhere(studio)
    for _ in range(2):
        note(studio.core("ada", session="s"))
        studio.system.writers.sign()
        note(other.core("ada", session="s"))
        other.system.writers.sign()
    assert unsigned(studio) == (0, ())
    assert len(kept(studio)) == 4
    late = note(other.core("ada", session="s"))
    note(studio.core("ada", session="s"))
    studio.system.writers.sign()
    assert other.system.writers.sign() == 0
    assert unsigned(studio) == (1, (late,))
    note(other.core("ada", session="s"))
    assert other.system.writers.sign() == 1
    assert unsigned(studio) == (1, (late,))


def test_a_signature_that_could_not_be_kept_is_kept_with_the_next(studio: Studio) -> None:
    """The signer does not sign it again, and it is not lost."""
    note(studio.core("ada"))
    full = replace(studio.ports, store=_Full(studio.ports.store, fault=StoreFull))
    with pytest.raises(StoreFull):
        Core(full, studio.system.caller).writers.sign()
    assert kept(studio) == []
    assert studio.system.writers.waits
    assert studio.system.writers.sign() == 1
    assert unsigned(studio) == (0, ())


def test_after_an_answer_of_the_signer_was_lost_the_next_entry_begins_anew(studio: Studio) -> None:
    """What the signer has signed already it does not sign again; its entries are told."""
    inner = fixed_signer(studio.clock)
    studio.ports = replace(studio.ports, signer=_Losing(key=inner.key, clock=inner.clock))
    lost = note(studio.core("ada"))
    with pytest.raises(SignerAway):
        studio.system.writers.sign()
    assert studio.system.writers.sign() == 0
    note(studio.core("ada"))
    assert studio.system.writers.sign() == 1
    assert unsigned(studio) == (1, (lost,))


def test_a_signer_that_lost_its_memory_begins_a_range_of_its_own(studio: Studio) -> None:
    """What was signed before stays; what waits is signed from there on, also where somebody else wrote since."""
    ada = studio.core("ada", session="s")
    for is_last in (False, True):
        note(ada)
        studio.system.writers.sign()
        attrgetter("_ranges")(studio.ports.signer).clear()
        note(ada)
        if is_last:
            note(elsewhere(studio).core("ada", session="s"))
        assert studio.system.writers.sign() == 1
    assert [one.first for one in kept(studio)] == [2, 3, 5]
    assert unsigned(studio) == (1, (6,))


def test_what_was_undone_is_not_signed(studio: Studio) -> None:
    """An entry that did not land leaves its place to another one."""
    ada = studio.core("ada")

    def undone() -> None:
        with Unit(context=studio.context(ada)) as unit:
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
    Person(studio=studio).enrol()
    assert not studio.system.writers.waits
    assert unsigned(studio) == (0, ())


def test_the_program_signs_what_it_wrote_for_nobody_who_is_attested(studio: Studio) -> None:
    """Its own sweeps and callers whom nothing attests; what somebody appends in nobody's name is told."""
    unattested = replace(studio.core("ada").caller.actor, principal=None)
    caller = replace(studio.core("ada").caller, actor=unattested)
    mine, forged = Core(studio.ports, caller), Core(elsewhere(studio).ports, caller)
    first = note(studio.system)
    note(mine)
    assert studio.system.writers.sign() == 1
    place = note(forged)
    note(mine)
    studio.system.writers.sign()
    assert [(one.writer, one.first) for one in kept(studio)] == [
        (PROGRAM, first),
        (PROGRAM, place + 1),
    ]
    assert unsigned(studio) == (1, (place,))
    proof = studio.system.writers.prove(place)
    assert proof is not None
    assert (proof.writer, proof.signature) == (PROGRAM, None)


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
        "UPDATE signatures SET note = replace(note, '3' || char(10) || '2', 'x' || char(10) || '2')",
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
    Person(studio=studio).enrol()
    assert studio.system.writers.prove(ada.feed.last()) is None
    change(studio, "UPDATE signatures SET first = first + 1")
    with pytest.raises(ProofMismatch):
        studio.system.writers.prove(places[2])


def test_a_key_that_was_left_signs_for_no_writer_any_more(studio: Studio) -> None:
    """Neither one that no epoch names yet; what it signed before stays, and both looks and the proof say so."""
    ada, before = studio.core("ada"), studio.ports.signer
    note(ada)
    assert studio.system.writers.sign() == 1
    after = MemorySigner(key=lambda: FixedKey(b"n" * 32), clock=studio.clock)
    studio.ports = replace(studio.ports, signer=after)
    note(ada)
    with pytest.raises(SignerAway, match="another than the one"):
        studio.system.writers.sign()
    studio.system.signing.open_epoch("The key was lost")
    assert studio.system.writers.sign() == 2
    studio.ports = replace(studio.ports, signer=before)
    third = note(ada)
    with pytest.raises(SignerAway, match="another than the one"):
        studio.system.writers.sign()
    assert "key of the signer is another" in studio.system.audit.verify().faults[0].message
    studio.ports = replace(studio.ports, signer=after)
    assert unsigned(studio) == (1, (third,))
    # Whoever still has the key that was left names a writer's key with it.
    one = next(found for found in reversed(kept(studio)) if found.writer == ADA)
    with studio.view() as view:
        entries = list(map(Entry.from_bytes, view.entries()))
        mine = [
            entry
            for entry in entries[one.first :]
            if entry.actor.principal and entry.actor.principal.id == ADA
        ]
        root = root_of([view.node(0, entry.sequence) for entry in mine])
    left, ours = FixedKey(), FixedKey(b"w" * 32)
    name = studio.system.audit.key.name
    named = VerifierKey(name=name, public_key=left.public_key)
    told = Range(first=one.first, last=third, count=len(mine), root=root)
    key = writer_key(name, ADA, ours.public_key)
    made = WriterSignature(
        writer=ADA,
        first=one.first,
        delegation=seal_delegation(named, ADA, ours.public_key, left.sign),
        note=seal_range(key, name, ADA, told, ours.sign),
    )
    with studio.ports.store.writing(studio.ports.project) as writing:
        writing.vouch(made)
    faults = studio.system.audit.verify().faults
    assert ["not named by a key" in fault.message for fault in faults] == [True]
    with pytest.raises(ProofMismatch, match="not named by a key"):
        studio.system.writers.prove(third)


def test_what_is_signed_while_somebody_looks_is_no_fault(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look that began before the ledger named a key finds the signatures that came meanwhile."""
    note(studio.core("ada"))
    assert studio.system.writers.sign()
    monkeypatch.setattr(LedgerSigning, "keys", lambda _: ())
    assert studio.system.audit.verify(alone=True).faults == ()
