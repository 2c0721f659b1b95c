"""Witnesses that are told, and what comparing with them finds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.ledger.merkle import verify_consistency
from counterpoint.core.model.filters import Note
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.trust.heads import Epoch, SignedHead, WitnessedHead
from counterpoint.core.model.work import Project
from counterpoint.core.operations.recording.unit import recording
from counterpoint.evidence.trust.signer import MemorySigner
from counterpoint.kernel.errors import CounterpointError, ForkRefused, Unavailable
from fakes.studio import FixedKey, Studio, fixed_signer


@dataclass
class Clerk:
    """A witness that keeps what it is given, a ref without a look. away: what each call of a method raises."""

    name: str = "clerk"
    kept: list[SignedHead] = field(default_factory=list)
    away: dict[str, CounterpointError] = field(default_factory=dict)
    blind: bool = False
    is_ref: bool = False
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
        if self.kept and not self.blind and not self.is_ref:
            last = self.kept[-1]
            proof = prove(last.size, head.size)
            verify_consistency(last.size, head.size, last.root, head.root, proof)

    def _fail(self, method: str) -> None:
        if method in self.away:
            raise self.away[method]


@dataclass
class Away:
    """A signer that cannot be asked for what it remembers."""

    inner: Any

    def known_key(self, ledger: str) -> bytes | None:
        """Be away."""
        raise Unavailable("away")

    def __getattr__(self, name: str) -> Any:
        """Do all else."""
        return getattr(self.inner, name)


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
    assert sizes(clerk) == [3]
    write(studio)
    verbs.tell()
    assert sizes(clerk) == [3, 5]
    found = studio.system.audit.verify()
    assert found.sound
    assert [(one.witness, one.size) for one in found.witnesses] == [("clerk", 5)]


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
    assert "clerk: the ledger has 3 entries, but 4 were signed" in found.faults[-1].message
    assert found.faults[-1].facts["witness"] == "clerk"
    (fault,) = studio.system.witnessing.tell().faults
    assert isinstance(fault, ForkRefused)
    assert sizes(clerk) == [4]


def test_a_head_by_another_key_is_a_fault(studio, clerk):
    """Neither the signer's nor one that an epoch names can have made it."""
    write(studio)
    head = studio.system.signing.head()
    clerk.kept.append(replace(head, note=head.note.replace("\n3\n", "\n1\n")))
    assert "not signed by a key" in studio.system.audit.verify(extent="entries").faults[-1].message
    assert studio.system.signing.leaving().head == head


def test_a_head_of_an_epoch_that_was_left_is_a_remark_until_the_next_one(studio, clerk):
    """An epoch is told by its entry; the witness goes on with the new one."""
    write(studio)
    studio.system.witnessing.tell()
    studio.system.signing.open_epoch("A new disk")
    found = studio.system.audit.verify()
    assert found.sound
    assert found.remarks == ("clerk: its head of 3 entries is of epoch 1, which was left",)
    studio.system.witnessing.tell()
    assert sizes(clerk) == [3, 4]
    assert studio.system.audit.verify().remarks == ()


def older(clerk: Clerk) -> Studio:
    """Answer an older copy of a ledger of which the witness has three entries."""
    clerk.is_ref = True
    whole = Studio(witnesses=lambda: (clerk,))
    write(whole)
    write(whole)
    whole.system.witnessing.tell()
    assert sizes(clerk) == [4]
    copy = Studio(witnesses=lambda: (clerk,))
    write(copy)
    return copy


def test_an_epoch_tells_what_a_witness_had_seen_of_what_was_left(clerk: Clerk) -> None:
    """Database and signer were put back together: a fault, until a person says that it was on purpose."""
    copy = older(clerk)
    assert "4 were signed" in copy.system.audit.verify().faults[0].message
    in_commits = replace(copy.ports, witnesses=tuple, trailers=lambda _: (clerk.known("led_"),))
    left = type(copy.system)(in_commits, copy.system.caller).signing.leaving()
    assert left.head is not None
    assert left.head.size == 4
    copy.system.signing.open_epoch("The machine was restored")
    (epoch,) = copy.system.signing.epochs()
    assert (epoch.left_epoch, epoch.left_size) == (1, 4)
    assert epoch.left_root == clerk.kept[0].root.hex()
    found = copy.system.audit.verify()
    assert found.sound
    assert found.remarks == ("clerk: its head of 4 entries is of epoch 1, which was left",)


def opened(studio: Studio, **left: Any) -> list[str]:
    """Open an epoch as somebody who has database and key would, and answer what a look finds wrong."""
    told = {"left_epoch": 1, "left_size": 2, "left_root": "ab" * 32} | left
    context = studio.context(studio.system)
    with recording(context, "epoch.opened") as change:
        number = len(studio.system.signing.epochs()) + 2
        made = Epoch(
            project="demo", number=number, public_key="", reason=Prose("mine"),
            confirmed_by="", agent="eve", gone=(), opened_at=change.now, **told,
        )  # fmt: skip
        change.put(made)
        change.add_facts(epoch=number, confirmed=False, left=told["left_epoch"])
    studio.system.signing.go_on(made)
    return [one.message for one in studio.system.audit.verify(extent="entries").faults]


def test_an_epoch_that_tells_less_than_a_witness_had_seen_is_a_fault(clerk: Clerk) -> None:
    """By its size, by its root, or by not telling of that epoch; what the ledger begins with is told by it."""
    start = "clerk: its head of 4 entries is of epoch 1, which was left, but "
    assert opened(older(clerk)) == [f"{start}with 2"]
    for left, words in (
        ({"left_size": 4}, "with others"),
        ({"left_epoch": 0, "left_size": -1}, "epoch 2 tells of no head of it"),
        ({"left_epoch": 0, "left_size": 9}, "epoch 2 tells of no head of it"),
    ):
        clerk.kept.clear()
        assert opened(older(clerk), **left) == [start + words]
    for left in ({"left_size": 5}, {"left_epoch": 2}):
        clerk.kept.clear()
        assert opened(older(clerk), **left) == []
    for left in ({"left_size": 1}, {"left_epoch": 0, "left_size": -1}):
        clerk.kept.clear()
        studio = Studio(witnesses=lambda: (clerk,))
        write(studio)
        studio.system.witnessing.tell()
        assert opened(studio, **left) == []


def test_a_witness_that_has_more_than_was_signed_here_contradicts_the_signer(
    studio: Studio, clerk: Clerk
) -> None:
    """Ledger and signer were put back and the ledger went on; a signer that is away, or of others, is none to compare with."""
    other = Studio()
    write(other)
    write(other)
    clerk.blind = True
    clerk.kept.append(other.system.signing.head())
    write(studio)
    write(studio, sign=False)
    whole = studio.ports
    (fault,) = studio.system.audit.verify().faults
    assert fault.message == "clerk: it has the head of 4 entries, and only 3 were signed here"
    assert "on purpose" in fault.hint
    studio.ports = replace(whole, signer=Away(whole.signer))
    (remark,) = studio.system.witnessing.compare().remarks
    assert remark.message == "clerk: what it has of 4 entries is not known here"
    own = MemorySigner(key=lambda: FixedKey(b"n" * 32), clock=studio.clock)
    studio.ports = replace(whole, signer=own)
    (remark,) = studio.system.witnessing.compare().remarks
    assert remark.message == "clerk: what it has of 4 entries is not known here"
    studio.ports = replace(whole, signer=fixed_signer(studio.clock))
    (fault,) = studio.system.witnessing.compare().faults
    assert "only 0 were signed here" in fault.message


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
        "clerk: it has the head of 4 entries, and the ledger has 3"
    ]
    write(studio)
    found = studio.system.audit.verify()
    assert found.sound
    assert found.remarks == ("clerk: what it has of 4 entries is not known here",)


def test_one_who_is_away_is_named_and_compared_by_what_is_known(studio, clerk):
    """What it had is a witness still; who waits for an answer asks nobody elsewhere."""
    write(studio)
    studio.system.witnessing.tell()
    clerk.away["ask"] = Unavailable("nobody listens there")
    found = studio.system.audit.verify()
    assert found.sound
    assert found.remarks == ("clerk: nobody listens there",)
    assert found.witnesses[0].size == 3
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
    assert sizes(clerk) == [3]


def test_what_the_signer_would_refuse_is_given_to_nobody(studio, clerk):
    """A ledger that does not extend its own signed head, and a head by a key that it does not name."""
    write(studio)
    other = Studio(signer=studio.ports.signer, anchors=studio.drawer, witnesses=lambda: (clerk,))
    assert other.system.witnessing.tell().faults == []
    with recording(other.context(other.system), "project.changed") as change:
        key = studio.ports.signer.public_key("led_demo").hex()
        change.put(replace(change.get(Project), public_key=key))
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


def quoting(studio: Studio, *notes: str) -> Core:
    """Answer the core of the same project in a repository whose commits have heads, the newest first."""
    heads = tuple(
        WitnessedHead(size=int(note.split("\n")[1]), time="2026-01-02T03:04:05.000Z", note=note)
        for note in notes
    )
    ports = replace(studio.ports, trailers=lambda ledger: heads if ledger == "led_demo" else ())
    return Core(ports, studio.system.caller)


def test_any_head_in_a_commit_that_the_ledger_does_not_begin_with_is_a_fault(studio):
    """The newest may fit well: who rolled a ledger back goes on from there."""
    other = Studio()
    write(other)
    write(other)
    write(studio)
    first = studio.system.signing.head().note
    found = quoting(studio, first, other.system.signing.head().note).audit.verify()
    assert [one.message for one in found.faults] == [
        "commit trailers: the ledger has 3 entries, but 4 were signed: it was cut off, or an older copy is in its place"
    ]
    assert [(one.witness, one.size) for one in found.witnesses][1:] == [("commit trailers", 4)]


def test_anybody_can_write_a_commit_so_a_head_that_nobody_signed_accuses_nobody(studio):
    """It is told, and is no fault; a commit without one is nothing."""
    write(studio)
    note = studio.system.signing.head().note
    forged = note.replace("\n3\n", "\n9\n")
    found = quoting(studio, forged, note).audit.verify()
    assert found.sound
    assert "commit trailers: 1 head is signed by no key of this ledger" in found.remarks
    assert found.witnesses[-1].size == 3
    assert [one.witness for one in quoting(studio, forged).audit.verify().witnesses] == ["clerk"]


def test_heads_of_epochs_that_were_left_are_told_only_of_the_newest_commit(studio):
    """The older ones stay in the history for ever."""
    write(studio)
    before = studio.system.signing.head().note
    studio.system.signing.open_epoch("A new disk")
    after = studio.system.signing.head().note
    (remark,) = (one for one in quoting(studio, before).audit.verify().remarks if "trailers" in one)
    assert "of epoch 1, which was left" in remark
    told = quoting(studio, before).witnessing.compare().remarks
    assert ["next commit" in one.hint for one in told if "trailers" in one.message] == [True]
    found = quoting(studio, after, before).audit.verify()
    assert not [one for one in (*found.remarks, *found.faults) if "trailers" in str(one)]


def test_commits_that_cannot_be_read_are_a_remark(studio):
    """The rest is compared all the same."""

    def away(ledger: str) -> tuple[WitnessedHead, ...]:
        raise Unavailable(f"git does not read {ledger}")

    ports = replace(studio.ports, trailers=away)
    found = Core(ports, studio.system.caller).audit.verify()
    assert found.sound
    assert found.remarks == ("commit trailers: git does not read led_demo",)
