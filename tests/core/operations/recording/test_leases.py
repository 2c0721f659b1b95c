"""Leases that are renewed by whatever their holder calls, and only when that is due."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Handover, Note, Report
from counterpoint.core.model.sessions import Claim
from counterpoint.core.operations.recording import leases
from counterpoint.core.operations.recording.leases import Leases
from counterpoint.core.ports.store import Store
from counterpoint.kernel.clock import Timestamp, later
from counterpoint.kernel.errors import AlreadyClaimed, StoreReadOnly
from fakes.studio import Studio


@pytest.fixture
def holder(studio: Studio) -> Core:
    """Give somebody who holds a task, and whose connection has a secret."""
    core = studio.core("ada", capability="secret")
    core.claims.start(core.plans.create(Draft(kind="task", title="A")).root.id)
    return core


def size_of(studio: Studio) -> int:
    """Answer how many entries there are."""
    with studio.view() as view:
        return view.head().size


def claim_of(studio: Studio, item: str = "demo-1") -> Claim:
    """Answer the claim of a task."""
    with studio.view() as view:
        found = view.find(Claim, item)
    assert found is not None
    return found


def test_any_call_renews_a_lease_that_is_half_over(studio: Studio, holder: Core) -> None:
    """Before that nothing is written, and nothing is looked at in the store."""
    before = claim_of(studio)
    holder.claims.keep()
    size = size_of(studio)
    studio.clock.pass_by(minutes=14)
    holder.claims.keep()
    assert size_of(studio) == size
    studio.clock.pass_by(minutes=1)
    holder.claims.keep()
    assert (size_of(studio), studio.last().action) == (size + 1, "claim.renewed")
    after = claim_of(studio)
    assert (after.token, after.claimed_at) == (before.token, before.claimed_at)
    assert after.leased_until > before.leased_until
    holder.claims.keep()
    assert size_of(studio) == size + 1
    # So whoever works for hours, and calls now and then, keeps it.
    for _ in range(8):
        studio.clock.pass_by(minutes=20)
        holder.claims.keep()
    studio.refuses(AlreadyClaimed, lambda: studio.core("eve").claims.start("demo-1"))


def test_a_lease_is_renewed_by_what_was_given(studio: Studio, holder: Core) -> None:
    """A short one stays short; one that is longer than usual is left as it is until little is left."""
    short, long = (holder.plans.create(Draft(kind="task", title=name)).root.id for name in "BC")
    holder.claims.start(short, 4)
    holder.claims.start(long, 240)
    studio.clock.pass_by(minutes=3)
    before = claim_of(studio, long)
    holder.claims.keep()
    assert claim_of(studio, long) == before
    studio.clock.pass_by(minutes=4)
    holder.claims.keep()
    studio.clock.pass_by(minutes=8)
    assert studio.core("eve").claims.start(short).taken_over_from == "ada"


def test_what_has_lapsed_or_is_paused_is_not_renewed(studio: Studio, holder: Core) -> None:
    """Others may have begun beside it; a session that is paused waits for whoever takes it up."""
    studio.clock.pass_by(minutes=31)
    before = claim_of(studio)
    holder.claims.keep()
    assert claim_of(studio) == before
    holder.claims.start("demo-1")
    holder.sessions.hand_over(Handover(action="pause", summary="later"))
    studio.clock.pass_by(minutes=20)
    before = claim_of(studio)
    holder.claims.keep()
    assert claim_of(studio) == before


def test_what_was_taken_over_meanwhile_is_left_alone(
    studio: Studio, holder: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is looked at again inside of the transaction."""
    studio.clock.pass_by(minutes=20)
    with studio.view() as view:
        stale = view.find(Claim, "demo-1")

    def found(*_words: object) -> list[Claim | None]:
        return [stale]

    holder.tasks.finish("demo-1", 1, Report(outcome="partial", summary="half"))
    monkeypatch.setattr("counterpoint.core.operations.claims._running", found)
    before = claim_of(studio)
    holder.claims.keep()
    assert claim_of(studio) == before


def test_who_cannot_write_is_not_kept_from_reading(studio: Studio, holder: Core) -> None:
    """A full disk is for the call itself to meet; whoever has no secret holds nothing that can be told."""
    studio.clock.pass_by(minutes=20)

    class Full:
        """A store that takes nothing."""

        def reading(self, project: str) -> object:
            """Refuse."""
            raise StoreReadOnly("no room")

    blind = Core(replace(studio.ports, store=cast("Store", Full())), holder.caller)
    blind.claims.keep()
    before = claim_of(studio)
    studio.core("ada").claims.keep()
    assert claim_of(studio) == before


def test_a_change_of_claims_is_looked_for_anew(studio: Studio, holder: Core) -> None:
    """Whoever held nothing at his last call and takes a task up is renewed all the same."""
    holder.tasks.finish("demo-1", 1, Report(outcome="done", summary="so"))
    holder.claims.keep()
    made = holder.plans.create(Draft(kind="task", title="B")).root.id
    holder.claims.start(made)
    studio.clock.pass_by(minutes=20)
    holder.journal.append(Note(kind="comment", body="still here"))
    holder.claims.keep()
    assert studio.last().action == "claim.renewed"


def test_only_so_many_connections_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that was heard first is looked for anew."""
    monkeypatch.setattr(leases, "_MOST", 2)
    known = Leases()
    now = Timestamp("2026-01-01T00:00:00.000Z")
    for seat in ("a", "b", "c"):
        known.expect(seat, later(now, 900), now, 1800)
    assert [known.is_due(seat, now) for seat in ("a", "b", "c")] == [True, False, False]
    assert known.is_due("c", later(now, 225))
