"""What a person trusted of a configuration: signed, and not put there by anybody else."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from counterpoint.core.model.identity import ProposedAct
from counterpoint.core.model.trust.checking import Checking
from fakes.people import Person
from fakes.story import Entry, Story
from fakes.studio import Studio

SAID = Checking(commands=(("make", "test"),))
DIGEST = "ab" * 32


class Trusting(Story):
    """A ledger in which a configuration was trusted before anybody had a key, and another by who has one."""

    def __init__(self) -> None:
        """Let a person trust twice, and ask more of reviews."""
        self.studio = Studio()
        self.pat = Person(studio=self.studio)
        self.pat.unsigned.projects.trust(Checking(free=True), "/bin")
        self.pat.enrol()
        proposed = self.pat.unsigned.projects.proposed_trust(SAID, "/usr/bin")
        self.pat.does(proposed, "I have read it").projects.trust(SAID, "/usr/bin")
        ask = ProposedAct(action="policy.changed", decision={"policy": "person"})
        self.pat.does(ask).projects.ask_of_reviews("person")
        self._export()

    def slipped(self, action: str, **columns: str) -> list[Entry]:
        """Answer the entries with other columns of the project in the last one of an action."""
        entries = deepcopy(self.entries)
        row = next(one for one in entries[self.place(action)]["r"] if one["t"] == "projects")
        row["c"] |= columns
        return entries


@pytest.fixture(scope="module")
def trusting() -> Trusting:
    """Give such a ledger."""
    return Trusting()


def appended(story: Story, **columns: Any) -> list[Entry]:
    """Answer the entries with one behind them that nobody signs and that sets columns of the project."""
    row = {"t": "projects", "k": {}, "c": columns}
    last = {name: story.entries[-1][name] for name in ("v", "p", "t")}
    who = {"k": "system", "n": "counterpoint"}
    return [*story.entries, {**last, "a": "configuration.trusted", "w": who, "r": [row]}]


def test_a_person_with_a_key_trusts_a_configuration_signed(trusting: Trusting) -> None:
    """Both verifiers find it sound, and that somebody trusted before anybody had a key."""
    assert not trusting.is_found(trusting.entries)
    trusting.studio.check()


def test_a_trust_that_no_person_signed_is_found(trusting: Trusting) -> None:
    """Another digest or path in what he signed, either in another act of his, and an entry of nobody's."""
    for forged in (
        trusting.slipped("configuration.trusted", trusted=DIGEST),
        trusting.slipped("policy.changed", trusted=DIGEST),
        trusting.slipped("policy.changed", search_path="/home/eve"),
        appended(trusting, trusted=DIGEST),
        appended(trusting, search_path="/home/eve"),
    ):
        assert trusting.is_found(forged)
