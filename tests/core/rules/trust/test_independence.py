"""How surely a judge is somebody else, and who may ask for less."""

from __future__ import annotations

from dataclasses import replace

import pytest

from counterpoint.core.model.access import Actor, Independence, Principal
from counterpoint.core.model.identity import Authority, Contribution
from counterpoint.core.rules.trust.callers import has_same_name, independence, may_ask_for, suffices

AGENT = Actor(kind="agent", name="ada", principal=Principal(strength="connection", id="cn_a"))
HUMAN = replace(AGENT, kind="human")
KNOWN = replace(HUMAN, principal=Principal(strength="person", id="key_a"))
NOBODY = replace(AGENT, principal=None)


def part(principal: str, how: str = "worked") -> Contribution:
    """Answer a part in something."""
    return Contribution(project="p", item="p-1", principal=principal, how=how)


@pytest.mark.parametrize(
    ("actor", "parts", "expected"),
    [
        (NOBODY, [], "declared"),
        (AGENT, [], "attested"),
        (AGENT, ["cn_b"], "attested"),
        (HUMAN, ["cn_b"], "attested"),
        (AGENT, ["cn_b", "?eve"], "declared"),
        (KNOWN, ["?eve"], "person"),
    ],
)
def test_two_are_attested_if_something_attests_each(
    actor: Actor, parts: list[str], expected: Independence
) -> None:
    """A person's key is independent of every agent."""
    assert independence(actor, map(part, parts)) == expected


def test_whoever_only_loosened_makes_nothing_less_sure() -> None:
    """He did not work on it."""
    assert independence(AGENT, [part("?eve", "loosened")]) == "attested"
    assert not has_same_name(AGENT, [part("?ada", "loosened")], ())
    assert has_same_name(AGENT, [part("?ada")], ())


@pytest.mark.parametrize(
    ("found", "policy", "counts"),
    [
        ("declared", "declared", True),
        ("declared", "attested", False),
        ("attested", "attested", True),
        ("attested", "person", False),
        ("person", "attested", True),
    ],
)
def test_a_project_takes_what_is_as_sure_as_it_asks(
    found: Independence, policy: Independence, counts: bool
) -> None:
    assert suffices(found, policy) == counts


@pytest.mark.parametrize(
    ("asker", "before", "after", "may"),
    [
        ("agent", "attested", "person", False),
        ("maintainer", "attested", "declared", False),
        ("nobody", "attested", "declared", False),
        ("person", "attested", "declared", True),
        ("person", "person", "attested", False),
        ("signed", "person", "declared", True),
        ("signed", "attested", "person", True),
    ],
)
def test_people_change_what_a_project_asks(
    asker: Authority, before: Independence, after: Independence, may: bool
) -> None:
    """For less than a person only one who signs."""
    assert may_ask_for(asker, before, after) == may
