"""Witnesses that a project asks for: who may ask, who counts, and what is refused below that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.ledger.note import open_note
from counterpoint.core.ledger.offline import verify_any
from counterpoint.core.ledger.witnesses.cosignature import CosignerKey, cosign
from counterpoint.core.ledger.witnesses.quorum import WitnessPolicy
from counterpoint.core.model.filters import Note
from counterpoint.core.model.trust.heads import SignedHead, WitnessedHead
from counterpoint.kernel.errors import Forbidden, QuorumMissing, StoreCorrupt, Unavailable
from fakes.people import Person
from fakes.studio import FixedKey, Studio


@dataclass
class Eye:
    """A witness elsewhere that cosigns what it is given.

    is_away: whether it answers nobody. before: what is done once it is asked, and before it answers.
    """

    number: int
    before: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])
    signed_size: int = 0
    is_away: bool = False
    kept: str = ""
    pair: FixedKey = field(init=False)

    def __post_init__(self) -> None:
        self.pair = FixedKey(bytes([self.number]) * 32)

    @property
    def name(self) -> str:
        """Its name."""
        return f"w{self.number}"

    @property
    def key(self) -> CosignerKey:
        """Its key."""
        return CosignerKey(name=self.name, public_key=self.pair.public_key)

    def known(self, ledger: str) -> WitnessedHead | None:
        """Answer what is kept of it."""
        del ledger
        if not self.kept:
            return None
        size = int(self.kept.split("\n")[1])
        return WitnessedHead(size=size, time="2026-01-02T03:04:05.000Z", note=self.kept)

    def ask(self, ledger: str, head: SignedHead, prove: Any) -> WitnessedHead | None:
        """Answer the same, if it is there."""
        del head, prove
        self._fail()
        return self.known(ledger)

    def keep(self, ledger: str, head: SignedHead, prove: Any) -> None:
        """Cosign a head, and keep it."""
        self.kept = self.cosign(ledger, head, prove)

    def cosign(self, ledger: str, head: SignedHead, prove: Any) -> str:
        """Cosign a head."""
        del ledger, prove
        self._fail()
        self.signed_size = head.size
        text = open_note(head.note).text
        return head.note + cosign(text, self.key, self.pair.sign, 1_700_000_000)

    def _fail(self) -> None:
        if self.before:
            self.before.pop()()
        if self.is_away:
            raise Unavailable("it does not answer")


@dataclass
class Yard:
    """A project with two witnesses."""

    one: Eye = field(default_factory=lambda: Eye(1))
    two: Eye = field(default_factory=lambda: Eye(2))

    def __post_init__(self) -> None:
        eyes = (self.one, self.two)
        self.studio = Studio(
            witnesses=lambda: eyes, cosigned=lambda _: tuple(eye.kept for eye in eyes if eye.kept)
        )
        self.verbs = self.studio.core("ann", kind="human").witness_policies

    def policy(self, count: int) -> WitnessPolicy:
        """Answer a policy with both."""
        return WitnessPolicy(count=count, keys=(self.one.key, self.two.key) if count else ())

    def write(self, *, signs: bool = True) -> None:
        """Append an entry, and have it signed."""
        self.studio.system.journal.append(Note(kind="comment", body="x"))
        if signs:
            self.studio.system.signing.sign()

    def faults(self, **how: Any) -> list[str]:
        """Verify, and answer the codes of what was found."""
        return [one.code for one in self.studio.system.audit.verify(**how).faults]


@pytest.fixture
def yard() -> Yard:
    """Give such a project."""
    return Yard()


def test_who_answers_counts_and_who_is_away_is_missed(yard: Yard) -> None:
    """Verifying keeps nothing; what was kept before counts if it leaves no entry out."""
    yard.verbs.require(yard.policy(2), "for the auditors")
    assert yard.studio.last().facts["reason"] == "for the auditors"
    yard.write()
    assert yard.faults() == []
    assert (yard.one.kept, yard.two.kept) == ("", "")
    yard.two.is_away = True
    assert yard.faults() == ["quorum_missing"]
    assert yard.faults(extent="entries") == ["quorum_missing"]
    assert yard.faults(alone=True) == []
    yard.two.is_away = False
    yard.studio.system.witnessing.tell()
    yard.two.is_away = True
    assert yard.faults() == []
    for signs in (False, True):
        yard.write(signs=signs)
        assert yard.faults() == ["quorum_missing"]
    found = yard.studio.system.audit.verify()
    assert (found.quorum.count, found.quorum.signed) == (2, ("w1",))


def test_who_asks_nobody_takes_what_was_kept_within_five_minutes(yard: Yard) -> None:
    """A tool of an agent asks no witness, and a server tells them within a minute."""
    yard.verbs.require(yard.policy(2))
    yard.write()
    yard.studio.system.witnessing.tell()
    yard.write()
    assert yard.faults(extent="soon") == []
    yard.studio.clock.pass_by(minutes=6)
    assert yard.faults(extent="soon") == ["quorum_missing"]
    assert yard.faults() == []


def test_what_is_exported_has_its_witnesses_or_is_refused(yard: Yard) -> None:
    """They are asked first; the bundle then holds by itself."""
    yard.verbs.require(yard.policy(2))
    yard.write()
    yard.two.is_away = True
    audit, exports = yard.studio.system.audit, yard.studio.system.exports
    for export in (lambda: list(audit.export()), exports.head):
        with pytest.raises(QuorumMissing, match="w2 has not"):
            export()
    for export in (exports.receipt, exports.verdict):
        with pytest.raises(QuorumMissing):
            export("none", "in-toto") if export == exports.receipt else export("none")
    yard.two.is_away = False
    report = verify_any(list(audit.export()), audit.key)
    assert report.sound
    assert report.quorum.signed == ("w1", "w2")
    assert exports.head()[1].note.count("— w") == 2


def test_a_head_of_an_epoch_that_was_left_does_not_count(yard: Yard) -> None:
    """What the witnesses saw before the ledger went on anew vouches for nothing after it."""
    yard.verbs.require(yard.policy(2))
    yard.write()
    yard.studio.system.witnessing.tell()
    assert yard.faults() == []
    yard.studio.core("ann", kind="human").signing.open_epoch("restored")
    yard.one.is_away = yard.two.is_away = True
    assert "quorum_missing" in yard.faults()


def test_people_ask_for_witnesses_and_nobody_else(yard: Yard) -> None:
    """No agent; and once anybody has a key, nobody without a signature. The same again writes nothing."""
    agent = yard.studio.core("ada").witness_policies
    yard.studio.refuses(Forbidden, lambda: agent.require(yard.policy(1)))
    yard.verbs.require(yard.policy(1))
    before = yard.studio.image()
    yard.verbs.require(yard.policy(1))
    assert yard.studio.image() == before
    pat = Person(studio=yard.studio)
    pat.enrol()
    for count in (0, 2):
        yard.studio.refuses(Forbidden, lambda count=count: yard.verbs.require(yard.policy(count)))
        yard.studio.refuses(Forbidden, lambda count=count: agent.require(yard.policy(count)))
    proposed = pat.unsigned.witness_policies.proposed(yard.policy(2))
    pat.does(proposed).witness_policies.require(yard.policy(2))
    assert yard.verbs.current().count == 2
    yard.studio.system.signing.sign()
    assert yard.faults() == []
    assert yard.studio.system.audit.rebuild().differences == ()


def test_nothing_is_asked_by_default(yard: Yard) -> None:
    """And a ledger that nobody has signed yet misses nobody."""
    assert yard.verbs.standing().fault is None
    yard.write()
    assert yard.faults() == []
    assert yard.studio.system.audit.verify().quorum.count == 0


def test_without_a_signed_head_all_are_missing(yard: Yard) -> None:
    """Nobody can have cosigned what nobody signed."""
    yard.verbs.require(yard.policy(1))
    assert yard.verbs.standing().signers == ()
    assert yard.faults() == ["quorum_missing"]


def test_a_head_that_was_signed_while_witnesses_were_asked_is_asked_for_anew(yard: Yard) -> None:
    """A few times; where others sign all the time nobody has the newest."""
    yard.verbs.require(yard.policy(1))
    yard.write()
    yard.two.is_away = True

    def overtake() -> None:
        yard.write()
        raise Unavailable("it has a later head, and signs no older one")

    yard.one.before = [overtake]
    assert yard.verbs.standing(asks=True).signers == (yard.one.key,)
    assert yard.one.signed_size == yard.studio.image().size
    assert not yard.one.before
    yard.one.before = [overtake]
    before = yard.studio.image().size
    assert yard.verbs.vouched().size == before + 1
    assert not yard.one.before
    yard.write()
    yard.one.before = [overtake] * 99
    assert yard.verbs.standing(asks=True).signers == ()
    with pytest.raises(Unavailable, match="have heads of this ledger signed all the time"):
        yard.verbs.vouched()


def test_before_a_project_is_opened_nothing_is_asked_of_witnesses(yard: Yard) -> None:
    """Nor of one that has moved away."""
    elsewhere = Core(replace(yard.studio.ports, project="other"), yard.studio.system.caller)
    standing = elsewhere.witness_policies.standing(yard.policy(2))
    assert (standing.policy.count, standing.fault) == (0, None)


def test_what_cannot_be_read_while_witnesses_are_counted_is_a_fault(yard: Yard) -> None:
    """It is among the others, and no crash."""
    yard.verbs.require(yard.policy(1))
    yard.write()

    def kept(_ledger: str) -> tuple[str, ...]:
        raise StoreCorrupt("it has no columns")

    ports = replace(yard.studio.ports, cosigned=kept)
    audit = Core(ports, yard.studio.system.caller).audit
    assert "store_corrupt" in [fault.code for fault in audit.verify().faults]
    assert audit.verify(alone=True).faults == ()
