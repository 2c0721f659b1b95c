"""Refusals of trust that need no process: of signers that are half away, of keys that nobody lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.access import Actor, TokenRequest
from counterpoint.core.model.filters import Judgment
from counterpoint.core.model.identity import Contribution, Origin, Peer
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.trust.heads import Epoch
from counterpoint.core.operations.recording.context import Caller
from counterpoint.core.operations.recording.contributions import carry_marks, mark_relaxed
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.rules.outline import plain
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.damage import fault_of
from counterpoint.kernel.errors import Conflict, Forbidden, ForkRefused, StoreBusy, Unavailable
from fakes.people import Person
from fakes.studio import Studio


@dataclass
class HalfAway:
    """A signer that knows its places and cannot be asked for anything else."""

    inner: Any

    def placed(self) -> dict[str, str]:
        """Answer what was signed here."""
        return self.inner.placed()

    def __getattr__(self, name: str) -> Any:
        """Be away."""
        raise Unavailable("away")


@dataclass
class NoEpochs:
    """A signer that goes away when an epoch is to be opened."""

    inner: Any

    def open_epoch(self, ledger: str, head: object) -> None:
        """Be away."""
        raise Unavailable("away")

    def __getattr__(self, name: str) -> Any:
        """Do all else."""
        return getattr(self.inner, name)


@pytest.fixture
def studio() -> Iterator[Studio]:
    """Give a project with an entry."""
    opened = Studio()
    opened.core("ada").memory.put("project", "n", 1)
    yield opened
    opened.close()


def test_a_signer_that_goes_away_between_two_questions_is_a_remark(studio: Studio) -> None:
    """What it said before counts."""
    half = Core(replace(studio.ports, signer=HalfAway(studio.ports.signer)), studio.system.caller)
    with studio.view() as view:
        assert [fault.message for fault in half.signing.faults(view)] == ["away"]


def test_an_epoch_that_the_ledger_does_not_tell_of_is_not_signed(studio: Studio) -> None:
    """Whoever asks for it has seen another ledger."""
    other = Epoch(
        project="demo", number=9, public_key="", left_epoch=0, left_size=-1, left_root="", gone=(),
        reason=Prose("so"), confirmed_by="", agent="pat",
        opened_at=Timestamp("2026-01-02T03:04:05.000Z"),
    )  # fmt: skip
    with pytest.raises(ForkRefused, match="not of 9"):
        studio.system.signing.go_on(other)


def test_where_nobody_had_a_key_none_is_recovered(studio: Studio) -> None:
    """The first is made in another way."""
    with pytest.raises(Conflict, match="nobody has had a key"):
        studio.core("pat", kind="human").people.refuse_recovery()


def test_a_store_that_is_busy_says_nothing_of_the_ledger() -> None:
    """So it is no fault of it."""

    def part() -> None:
        raise StoreBusy("others write")

    with pytest.raises(StoreBusy):
        fault_of(part)


def test_ending_a_token_is_proposed_by_its_name(studio: Studio) -> None:
    """A person signs which it is."""
    studio.core("pat", kind="human").tokens.create(TokenRequest(name="ci"))
    assert studio.system.tokens.proposed_revocation("ci").decision == {"name": "ci"}


def test_what_a_server_starts_brings_no_credential(studio: Studio) -> None:
    peer = Peer((), "boot", is_served=True)
    with pytest.raises(Forbidden, match="brings no credential"):
        studio.system.identities.attest(peer, set(), "cpt_" + "0" * 64)


def test_what_a_server_starts_judges_nothing(studio: Studio) -> None:
    """It is done for one of its callers, and nobody can say for which."""
    ada = studio.core("ada")
    ada.plans.create(ada.plans.read("# P\n## One\n- review: yes\n- [ ] A\n"))
    caller = Caller(
        actor=Actor(kind="human", name="pat"),
        root=studio.system.caller.root,
        origin=Origin(doubt="served"),
    )
    with pytest.raises(Forbidden):
        Core(studio.ports, caller).reviews.review("demo-2", Judgment(approves=True, reason="fine"))


def test_a_mark_that_is_above_already_is_not_carried(studio: Studio) -> None:
    """What moves below the same whole stays under it."""
    ada = studio.core("ada")
    ada.plans.create(ada.plans.read("# P\n## One\n- [ ] A\n"))
    with recording(ada._context, "item.edited", "demo-3") as change:
        mark_relaxed(change, "demo-1")
        carry_marks(change, "demo-3", "demo-1")
        found = [one.item for one in change.select(Contribution) if one.how == "loosened"]
        assert found == ["demo-1"]


def test_text_in_a_fence_is_left_as_it_is() -> None:
    """What stands outside of it is held for text."""
    kept = "```\n# a\n```\n"
    assert plain(kept + "# b").startswith(kept)
    assert "\\# b" in plain(kept + "# b")


def test_a_recovery_signs_for_itself_and_is_finished_once(studio: Studio) -> None:
    """Another's key is not let in by it; what the signer did not do is done by the next command."""
    pat, cyd, eve = (Person(studio=studio, name=name) for name in ("pat", "cyd", "eve"))
    pat.enrol()
    theirs = cyd.unsigned.people.recovery(cyd.public_key, "cyd", "passphrase")
    with pytest.raises(Forbidden, match="signs for itself"):
        eve.does(theirs, "lost").people.recover(cyd.public_key, theirs, "lost")
    whole = studio.ports
    studio.ports = replace(whole, signer=NoEpochs(whole.signer))
    with pytest.raises(Unavailable):
        cyd.recover()
    studio.ports = whole
    assert cyd.unsigned.people.finish_recovery(cyd.key)
    assert not cyd.unsigned.people.finish_recovery(cyd.key)
