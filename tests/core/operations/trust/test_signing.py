"""What a ledger says of its signer where there is no ledger, no signer, or too many of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Check
from counterpoint.core.model.journal import Receipt
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.trust.heads import FIRST_EPOCH, Epoch, Growth, SignedHead
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.operations.trust.signing import Signing
from counterpoint.kernel.errors import InvalidInput, SignerAway, StaleVersion, Unavailable
from fakes.studio import Studio


@dataclass
class Odd:
    """A signer that is away, or that others are always faster at."""

    inner: Any
    away: bool = False
    late: bool = False
    lost: bool = False
    before: str = ""

    def seen(self, origin: str) -> str | None:
        """Answer another ledger, if one was here before."""
        if self.away:
            raise Unavailable("away")
        return self.before or self.inner.seen(origin)

    def known_key(self, ledger: str) -> bytes | None:
        """Answer the key, unless it was lost."""
        if self.away:
            raise Unavailable("away")
        return None if self.lost else self.inner.known_key(ledger)

    def __getattr__(self, name: str) -> Any:
        """Answer what the signer does, or refuse it."""
        if self.away:
            raise Unavailable("away")
        return getattr(self.inner, name)

    def sign_head(self, ledger: str, head: Growth) -> SignedHead:
        """Refuse a head as one that does not lead on from the last."""
        if self.late:
            raise StaleVersion("another was faster")
        return self.inner.sign_head(ledger, head)


@pytest.fixture
def studio() -> Iterator[Studio]:
    """Give a project with a few entries."""
    opened = Studio()
    opened.core("ada").memory.put("project", "n", 1)
    yield opened
    opened.close()


def signing(studio: Studio, **ports: Any) -> Signing:
    """Answer the verbs about signed heads, with other surroundings."""
    core = Core(replace(studio.ports, **ports), studio.system.caller)
    return core.signing


def test_a_project_without_a_ledger_has_nothing_signed(studio: Studio) -> None:
    """Nobody is asked for a signature; what needs one says so."""
    none = signing(studio, project="none")
    assert (none.sign(), none.last(), none.at(0), none.keys()) == (None, None, None, ())
    for asked in (lambda: none.key, none.head, lambda: none.statement(b"x")):
        with pytest.raises(SignerAway):
            asked()


def test_what_was_signed_is_told_while_the_signer_is_away(studio: Studio) -> None:
    """The last head is kept beside the ledger; of another size nobody can tell."""
    signed = signing(studio).sign()
    assert signed is not None
    assert signing(studio).at(signed.size) == signing(studio).head() == signed
    away = signing(studio, signer=Odd(studio.ports.signer, away=True))
    assert (away.head().note, away.at(signed.size)) == (signed.note, None)
    assert away.unsigned().why == "away"
    with studio.view() as view:
        assert [fault.message for fault in away.faults(view)] == ["away"]
    studio.drawer.notes.clear()
    with pytest.raises(Unavailable):
        away.head()
    reading = signing(studio, signer=Odd(studio.ports.signer, away=True), may_sign=False)
    with pytest.raises(SignerAway, match="nothing"):
        reading.head()


def test_whoever_is_always_too_late_is_told(studio: Studio) -> None:
    """After some attempts; the head is not signed."""
    late = signing(studio, signer=Odd(studio.ports.signer, late=True))
    with pytest.raises(SignerAway, match="all the time"):
        late.sign()


def test_no_ledger_where_one_was_signed_is_a_fault(studio: Studio) -> None:
    """As a ledger that is another one; whoever signs in no place has nothing to compare with."""
    signer = Odd(studio.ports.signer, before="led_before")
    for project, words in (("none", "there is no ledger"), ("demo", "the ledger is led_demo")):
        found = signing(studio, signer=signer, project=project).unsigned()
        assert (found.why.split(",")[0], found.broken) == (words, True)
        assert not signing(studio, project=project).unsigned().broken


def test_an_epoch_has_a_reason(studio: Studio) -> None:
    """It stands in the ledger for ever."""
    size = studio.image().size
    with pytest.raises(InvalidInput, match="reason"):
        signing(studio).open_epoch("  ")
    assert studio.image().size == size


def test_a_signer_that_lost_its_key_is_told(studio: Studio) -> None:
    """The ledger names the key of its epoch."""
    signing(studio).open_epoch("restored")
    with studio.view() as view:
        assert list(signing(studio).faults(view)) == []
        lost = signing(studio, signer=Odd(studio.ports.signer, lost=True))
        assert [fault.code for fault in lost.faults(view)][:1] == ["signer_away"]


def test_an_epoch_that_nobody_signed_is_told(studio: Studio) -> None:
    """Whoever writes it into the ledger alone has no head of it."""
    signing(studio).sign()
    with recording(studio.context(studio.system), "epoch.opened") as change:
        change.put(
            Epoch(
                project="demo",
                number=FIRST_EPOCH + 1,
                public_key="",
                left_size=1,
                left_root="",
                reason=Prose("mine"),
                confirmed_by="",
                agent="eve",
                opened_at=change.now,
            )
        )
    with studio.view() as view:
        told = [fault.message for fault in signing(studio).faults(view)]
    assert any("tells of epoch" in one for one in told), told


def test_work_goes_on_without_a_signer() -> None:
    """A project is opened, and a check leaves its receipt, which the head of the ledger covers later."""
    opened = Studio(signer=Odd(None, away=True))
    ada = opened.core("ada")
    item = ada.plans.create(ada.plans.read("# P\n- [ ] A\n  - verify: make\n")).items[1].id
    token = ada.claims.start(item).claim.token
    ada.gates.verify(Check(item=item), token)
    (receipt,) = ada.overview.rows(Receipt)
    assert receipt.signature == ""
    assert opened.system.projects.find().public_key == ""
    opened.close()
