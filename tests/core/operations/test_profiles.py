"""Profiles: put, found, put again."""

from __future__ import annotations


def test_a_profile_is_found_by_its_name(studio, ada, bob):
    """What one caller put another finds; the entry names it."""
    assert ada.projects.profile("judge") is None
    made = studio.core("ann", kind="human").projects.put_profile(
        "judge", instructions="Look for missing tests.", denied_tools=("plan",)
    )
    assert bob.projects.profile("judge") == made
    assert (made.title, made.denied_tools) == ("judge", ("plan",))
    last = studio.last()
    assert (last.action, last.facts) == ("profile.put", {"name": "judge"})


def test_a_profile_takes_the_place_of_the_one_before(studio):
    studio.core("ann", kind="human").projects.put_profile(
        "judge", title="Judge", instructions="one"
    )
    studio.core("ann", kind="human").projects.put_profile("judge", instructions="two")
    found = studio.core("bob").projects.profile("judge")
    assert found is not None
    assert (found.title, found.instructions) == ("judge", "two")
