"""People read moments by the clock of their machine."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from counterpoint.cli.local_time import localize
from counterpoint.cli.present import lease
from counterpoint.core.model.presence import Departure
from counterpoint.core.model.sessions import Claim
from counterpoint.kernel.clock import Timestamp


@pytest.fixture
def eastern(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set a zone five hours behind UTC, without summer time."""
    monkeypatch.setenv("TZ", "EST5")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("eastern")
def test_timestamps_of_the_core_are_local_in_what_people_read() -> None:
    """With their offset, since a sentence has no heading; what only resembles one stays."""
    reason = "its holder ann is gone since 2026-11-29T04:44:45.398Z; you take it over"
    local = "its holder ann is gone since 2026-11-28 23:44 (UTC-05:00); you take it over"
    assert localize(reason) == local
    assert localize("build-2026-11-29T04:44:45Z") == "build-2026-11-29T04:44:45Z"


def test_a_lease_says_for_how_long_its_holder_is_gone() -> None:
    claim = Claim(
        project="demo", seconds=1800, item="demo-1", token=1, session="ses_1", agent="ann", state="live", claimed_at=Timestamp("2026-11-29T04:40:00.000Z"),
        leased_until=Timestamp("2026-11-29T05:10:00.000Z"),
    )  # fmt: skip
    departure = Departure(
        is_over=False,
        since=Timestamp("2026-11-29T04:44:45.000Z"),
        free_at=Timestamp("2026-11-29T04:45:45.000Z"),
    )
    shown = lease(claim, Timestamp("2026-11-29T04:45:00.000Z"), departure)
    assert shown == "gone for 15 s, free for others in 45 s"
