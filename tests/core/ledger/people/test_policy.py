"""Whether reviews met the policy of their project, as entries show; test_confirmed.py forges whole ledgers."""

from __future__ import annotations

import pytest

from counterpoint.core.ledger.people.policy import Policy


@pytest.mark.parametrize(
    ("before", "after", "fact", "fault"),
    [
        ("attested", "self", None, "lets people judge their own work, and no person signed that"),
        ("person", "self", None, "lets people judge their own work, and no person signed that"),
        ("person", "attested", None, "asks for less of reviews, and no person signed that"),
        ("attested", "person", None, ""),
        ("attested", "self", "self", ""),
        ("person", "attested", "attested", ""),
        ("attested", "self", "person", "asks for something else of reviews than was signed"),
    ],
)
def test_less_is_asked_of_reviews_by_a_person_alone(
    before: str, after: str, fact: str | None, fault: str
) -> None:
    """Who signs what he asks for; fact: what a person has signed, None for an entry of nobody."""
    policy = Policy()
    who = {"w": {"k": "human", "i": {"k": "person", "i": "k"}}, "f": {"policy": fact}}
    nobody = {"w": {"k": "agent", "n": "ada"}}
    first = {"t": "projects", "k": {}, "v": {"reviews": before}}
    assert list(policy.read({"n": 1, "r": [first], **nobody})) == []
    row = {"t": "projects", "k": {}, "c": {"reviews": after}}
    faults = list(policy.read({"n": 2, "r": [row], **(who if fact else nobody)}))
    assert faults == ([fault] if fault else [])
