"""Claims: who holds an item, and who may write under a claim of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from counterpoint.core.model.sessions import Claim
from counterpoint.core.rules.claims import Proof, held_until, holder_of, other_claim, prove
from counterpoint.kernel.clock import Timestamp

CLAIM = Claim(
    project="demo", item="demo-1", token=2, session="ses_a", agent="ada", state="live",
    claimed_at=Timestamp("2026-01-02T03:00:00.000Z"),
    leased_until=Timestamp("2026-01-02T03:30:00.000Z"),
    seconds=1800,
)  # fmt: skip
BEFORE = Timestamp("2026-01-02T03:29:59.999Z")


@pytest.mark.parametrize(
    ("session", "token", "expected"),
    [
        ("ses_a", 2, "proved"),
        ("ses_a", 1, "lost"),
        ("ses_a", 3, "wrong_token"),
        ("ses_a", None, "no_token"),
        ("ses_b", 2, "lost"),
        ("ses_b", None, "not_held"),
    ],
)
def test_a_write_is_proved_by_session_and_token(
    session: str, token: int | None, expected: Proof
) -> None:
    """A token of before, and another session's, have lost the claim."""
    assert prove(CLAIM, session, token) == expected


def test_where_others_write_in_the_session_a_wrong_token_says_nothing_of_the_right_one() -> None:
    """Whether it is lower or higher would lead to it."""
    said = {prove(CLAIM, "ses_a", token, is_shared=True) for token in (1, 3)}
    assert said == {"wrong_token"}
    assert prove(CLAIM, "ses_a", 2, is_shared=True) == "proved"
    assert prove(CLAIM, "ses_a", None, is_shared=True) == "no_token"
    assert prove(CLAIM, "ses_b", 1, is_shared=True) == "lost"


def test_a_claim_that_is_not_there_or_has_ended_proves_nothing() -> None:
    """Who took the item over counts before whether that claim has ended."""
    released = replace(CLAIM, state="released")
    assert prove(None, "ses_a", 2) == "not_held"
    assert prove(released, "ses_a", 2) == "ended"
    assert prove(released, "ses_b", 2) == "lost"


def test_an_item_is_anothers_only_while_the_lease_runs() -> None:
    """Not ones own, not one that was given back."""
    assert other_claim(CLAIM, "ses_b", BEFORE) is CLAIM
    assert other_claim(CLAIM, "ses_a", BEFORE) is None
    assert other_claim(CLAIM, "ses_b", CLAIM.leased_until) is None
    assert other_claim(replace(CLAIM, state="released"), "ses_b", BEFORE) is None
    assert other_claim(None, "ses_b", BEFORE) is None


def test_a_holder_without_a_name_is_named_by_the_session() -> None:
    """The words are the same in readiness and in refusals."""
    assert held_until(CLAIM) == "held by ada until 2026-01-02T03:30:00.000Z"
    assert holder_of(replace(CLAIM, agent="")) == "ses_a"
