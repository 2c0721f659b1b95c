"""Witnesses that are told, and what comparing with them finds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from counterpoint.core.ledger.merkle import verify_consistency
from counterpoint.core.model.filters import Note
from counterpoint.core.model.trust.heads import SignedHead, WitnessedHead
from counterpoint.kernel.errors import CounterpointError, ForkRefused, Unavailable
from fakes.studio import Studio


@dataclass
class Clerk:
    """A witness that keeps what it is given. away: what each call of a method raises."""

    name: str = "clerk"
    kept: list[SignedHead] = field(default_factory=list)
    away: dict[str, CounterpointError] = field(default_factory=dict)
    blind: bool = False
    asked: int = 0

    def known(self, ledger: str) -> WitnessedHead | None:
        """Answer the last."""
        assert ledger.startswith("led_")
        self._fail("known")
        if not self.kept:
            return None
        head = self.kept[-1]
        note = "" if self.blind else head.note
        return WitnessedHead(size=head.size, time="2026-01-02T03:04:05.000Z", note=note)

    def ask(self, ledger: str, head: SignedHead, prove: Any) -> WitnessedHead | None:
        """Answer the last, and look whether what is asked about extends it."""
        self._fail("ask")
        self.asked += 1
        self._check(head, prove)
        return self.known(ledger)

    def keep(self, ledger: str, head: SignedHead, prove: Any) -> None:
        """Keep one that extends the last."""
        del ledger
        self._fail("keep")
        self._check(head, prove)
        self.kept.append(head)

    def _check(self, head: SignedHead, prove: Any) -> None:
        if self.kept and not self.blind:
            last = self.kept[-1]
            proof = prove(last.size, head.size)
            verify_consistency(last.size, head.size, last.root, head.root, proof)

    def _fail(self, method: str) -> None:
        if method in self.away:
            raise self.away[method]


@pytest.fixture
def clerk() -> Clerk:
    """A witness."""
    return Clerk()


@pytest.fixture
def studio(clerk: Clerk) -> Studio:
    """A project with one witness."""
    return Studio(witnesses=lambda: (clerk,))


def write(studio: Studio, *, sign: bool = True) -> None:
    """Append an entry, and have it signed."""
    studio.system.journal.append(Note(kind="comment", body="x"))
    if sign:
        studio.system.signing.sign()


def sizes(clerk: Clerk) -> list[int]:
    """Answer the sizes that a witness has."""
    return [head.size for head in clerk.kept]


def test_a_witness_is_given_each_head_once_and_only_signed_ones(studio, clerk):
    """What waits for a signature is nothing that anybody vouches for."""
    verbs = studio.system.witnessing
    assert verbs.tell().remarks == []
    assert clerk.kept == []
    write(studio)
    write(studio, sign=False)
    for _ in range(2):
        assert not verbs.tell().faults
    assert sizes(clerk) == [2]
    write(studio)
    verbs.tell()
    assert sizes(clerk) == [2, 4]
    found = studio.system.audit.verify()
    assert found.sound
    assert [(one.witness, one.size) for one in found.witnesses] == [("clerk", 4)]


def test_nothing_is_told_or_compared_before_there_is_a_ledger(clerk):
    """A project that nobody opened has no id that a witness could know it by."""
    studio = Studio(witnesses=lambda: (clerk,))
    empty = replace(studio.ports, project="nobody")
    core = type(studio.system)(empty, studio.system.caller)
    assert core.witnessing.tell().remarks == core.witnessing.compare().witnesses == []


def test_a_witness_without_a_head_is_told_of_once_something_was_signed(studio, clerk):
    """Before it could have none; after, somebody may have taken it away."""
    (has,) = studio.system.witnessing.compare().witnesses
    assert (has.size, has.time) == (-1, "")
    assert studio.system.audit.verify().remarks == ()
    write(studio)
    found = studio.system.audit.verify()
    assert found.sound
    assert found.remarks == ("clerk: it has no head of this ledger yet",)


def test_a_head_that_the_ledger_does_not_begin_with_is_a_fault_and_stays(studio, clerk):
    """Of more entries, or of others: what the witness has is evidence."""
    other = Studio()
    write(other)
    write(other)
    clerk.kept.append(other.system.signing.head())
    write(studio)
    found = studio.system.audit.verify(extent="entries")
    assert [one.code for one in found.faults] == ["fork_refused"]
    assert "clerk: the ledger has 2 entries, but 3 were signed" in found.faults[-1].message
    assert found.faults[-1].facts["witness"] == "clerk"
    (fault,) = studio.system.witnessing.tell().faults
    assert isinstance(fault, ForkRefused)
    assert sizes(clerk) == [3]


def test_a_head_by_another_key_is_a_fault(studio, clerk):
    """Neither the signer's nor one that an epoch names can have made it."""
    write(studio)
    head = studio.system.signing.head()
    clerk.kept.append(replace(head, note=head.note.replace("\n2\n", "\n1\n")))
    assert "not signed by a key" in studio.system.audit.verify(extent="entries").faults[-1].message


def test_a_head_of_an_epoch_that_was_left_is_a_remark_until_the_next_one(studio, clerk):
    """An epoch is told by its entry; the witness goes on with the new one."""
    write(studio)
    studio.system.witnessing.tell()
    studio.system.signing.open_epoch("A new disk")
    found = studio.system.audit.verify()
    assert found.sound
    assert found.remarks == ("clerk: its head of 2 entries is of epoch 1, which was left",)
    studio.system.witnessing.tell()
    assert sizes(clerk) == [2, 3]
    assert studio.system.audit.verify().remarks == ()


def test_a_witness_that_only_tells_a_size_contradicts_a_ledger_that_is_shorter(studio, clerk):
    """Of one that is longer nothing is known until it cosigns again."""
    other = Studio()
    write(other)
    write(other)
    clerk.blind = True
    clerk.kept.append(other.system.signing.head())
    write(studio)
    found = studio.system.audit.verify()
    assert [one.message for one in found.faults] == [
        "clerk: it has the head of 3 entries, and the ledger has 2"
    ]
    write(studio)
    found = studio.system.audit.verify()
    assert found.sound
    assert found.remarks == ("clerk: what it has of 3 entries is not known here",)


def test_one_who_is_away_is_named_and_compared_by_what_is_known(studio, clerk):
    """What it had is a witness still; who waits for an answer asks nobody elsewhere."""
    write(studio)
    studio.system.witnessing.tell()
    clerk.away["ask"] = Unavailable("nobody listens there")
    found = studio.system.audit.verify()
    assert found.sound
    assert found.remarks == ("clerk: nobody listens there",)
    assert found.witnesses[0].size == 2
    assert studio.system.audit.verify(extent="soon").remarks == ()
    assert clerk.asked == 0
    clerk.away["known"] = Unavailable("a file is not readable")
    found = studio.system.audit.verify()
    assert found.remarks[-1] == "clerk: a file is not readable"
    assert found.witnesses == ()
    (remark,) = studio.system.witnessing.tell().remarks
    assert remark.message == "clerk: a file is not readable"


def test_two_witnesses_one_away_the_other_is_told(clerk):
    """Whoever is not there keeps nobody from hearing."""
    away = Clerk(name="away", away={"keep": Unavailable("nobody listens there")})
    studio = Studio(witnesses=lambda: (away, clerk))
    write(studio)
    assert [one.message for one in studio.system.witnessing.tell().remarks] == [
        "away: nobody listens there"
    ]
    assert sizes(clerk) == [2]


def test_what_the_signer_would_refuse_is_given_to_nobody(studio, clerk):
    """A ledger that does not extend its own signed head, and a head by a key that it does not name."""
    write(studio)
    other = Studio(signer=studio.ports.signer, anchors=studio.drawer, witnesses=lambda: (clerk,))
    assert other.system.witnessing.tell().faults == []
    assert clerk.kept == []


def test_a_proof_is_made_only_of_what_the_ledger_has(studio, clerk):
    """A witness that asks for more hears that there is none."""
    write(studio)
    studio.system.witnessing.tell()
    clerk.kept[-1] = replace(clerk.kept[-1], size=9)
    write(studio)
    (remark,) = studio.system.audit.verify().remarks
    assert "no proof that" in remark


def test_cosignatures_that_are_kept_go_along_with_the_checkpoint(studio, clerk):
    """Those over the same text, each once; of another head, and of one that cannot be read, none."""
    write(studio)
    studio.system.signing.renew()
    note = studio.system.audit.checkpoint()
    line = "— witness AAAAAAAA\n"
    clerk.kept.append(replace(studio.system.signing.head(), note=note + line))
    assert studio.system.audit.checkpoint() == note + line
    clerk.away["known"] = Unavailable("a file is not readable")
    assert studio.system.audit.checkpoint() == note
    del clerk.away["known"]
    write(studio)
    assert line not in studio.system.audit.checkpoint()
