"""What every database answers about the areas that others held from a working tree."""

from __future__ import annotations

import pytest

from counterpoint.core.model.journal import Outcome, StartPoint
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Area
from counterpoint.core.ports.store import HeldArea
from counterpoint.kernel.clock import Timestamp

EARLY, SINCE, LATE = (Timestamp(f"2026-0{month}-01T00:00:00.000Z") for month in (1, 2, 3))


@pytest.mark.parametrize(
    ("state", "leased_until", "ended_at", "updated_at", "is_held"),
    [
        ("live", LATE, "", EARLY, True),
        ("live", EARLY, "", LATE, False),
        ("released", LATE, LATE, LATE, True),
        ("released", LATE, EARLY, LATE, False),
        ("released", LATE, "", LATE, True),
        ("released", LATE, "", EARLY, False),
    ],
)
@pytest.mark.parametrize("unlike", ["", "session", "tree", "project"])
def test_an_area_is_held_until_its_claim_ends(
    store, save, task, example, state, leased_until, ended_at, updated_at, is_held, unlike
):
    """By its lease, by the end of the work, or by when it was given back; of other sessions in the same tree."""
    with store.writing("p") as writing:
        save(
            writing,
            task(1, updated_at=updated_at),
            *(example(Area, project="p", item="T-1", pattern=pattern) for pattern in ("b", "a/**")),
            example(
                Claim,
                project="p",
                item="T-1",
                token=2,
                session="ses_1",
                agent="bob",
                state=state,
                leased_until=leased_until,
            ),
            example(StartPoint, project="p", item="T-1", token=2, tree="."),
        )
        if ended_at:
            save(writing, example(Outcome, project="p", item="T-1", token=2, ended_at=ended_at))
    with store.reading("q" if unlike == "project" else "p") as view:
        tree = "../other" if unlike == "tree" else "."
        session = "ses_1" if unlike == "session" else "ses_2"
        areas = view.held_areas(tree, SINCE, session)
    expected = [HeldArea("T-1", "bob", "a/**"), HeldArea("T-1", "bob", "b")]
    assert areas == (expected if is_held and not unlike else [])
