"""Refusals of trust that need no process: of signers that are half away, of keys that nobody lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.access import TokenRequest
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.trust.heads import Epoch
from counterpoint.core.operations.auditing.parts import fault_of
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import Conflict, ForkRefused, StoreBusy, Unavailable
from fakes.studio import Studio


@dataclass
class HalfAway:
    """A signer that knows its places and cannot be asked for anything else."""

    inner: Any

    def seen(self, origin: str) -> str | None:
        """Answer what was signed here."""
        return self.inner.seen(origin)

    def __getattr__(self, name: str) -> Any:
        """Be away."""
        raise Unavailable("away")


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
        project="demo", number=9, public_key="", left_size=-1, left_root="",
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
