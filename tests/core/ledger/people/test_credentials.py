"""Credentials that somebody forged who has the database and the server's key: found by both verifiers."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from counterpoint.core.model.access import SCOPES, TokenRequest
from counterpoint.kernel.clock import Timestamp, later
from fakes.people import Person
from fakes.story import Entry, Story, signed_anew
from fakes.studio import Studio

DIGEST = "ab" * 32
EARLY, WORKER, MAINTAINER = 0, 1, 2
"""The credentials of the story: before anybody had a key, one that works, and one that a person signed."""


def make(person: Person, name: str, *, maintains: bool = False, signs: bool = False) -> str:
    """Answer the id of a credential that a person made."""
    tokens = person.unsigned.tokens
    scopes = SCOPES if maintains else SCOPES[:2]
    request = TokenRequest(name=name, kind="agent", scopes=scopes)
    draft = tokens.draft("agent")
    if signs:
        tokens = person.does(tokens.proposed(request, draft)).tokens
    return tokens.create(request, draft).token.id


class Agents(Story):
    """A ledger in which agents got credentials: before anybody had a key, unsigned, and signed."""

    def __init__(self, *, is_late: bool = False) -> None:
        """Make one that maintains while nobody has a key, two later, and end the first.

        is_late: one more, after the key was revoked.
        """
        self.studio = Studio()
        self.pat = Person(studio=self.studio)
        make(self.pat, "early", maintains=True)
        self.pat.enrol()
        make(self.pat, "worker")
        make(self.pat, "maintainer", maintains=True, signs=True)
        self.pat.unsigned.tokens.renew("worker", "agent", lasts_seconds=60)
        act = self.pat.unsigned.tokens.proposed_renewal("maintainer", "agent", lasts_seconds=60)
        self.pat.does(act).tokens.renew("maintainer", "agent", lasts_seconds=60)
        self.pat.unsigned.tokens.revoke("early", "agent")
        if is_late:
            self.pat.revoke(self.pat.unsigned.people.get("pat"))
            make(self.pat, "late", maintains=True)
        self._export()

    def made(self, which: int) -> Entry:
        """Answer a copy of the entry that makes one of them, with another id and another digest."""
        entry = deepcopy([one for one in self.entries if one["a"] == "token.created"][which])
        row = self.row(entry)
        row["k"]["id"] = entry["s"] = "agt_forged"
        row["v"]["sha256"] = DIGEST
        if "digest" in entry["f"]:
            entry["f"]["digest"] = DIGEST
        return entry | {"t": self.entries[-1]["t"]}

    def row(self, entry: Entry) -> Any:
        """Answer the row of the credential in an entry."""
        return next(one for one in entry["r"] if one["t"] == "tokens")

    def renewed(self, which: int) -> Entry:
        """Answer a copy of the entry that renews one of them."""
        made = [one for one in self.entries if one["a"] == "token.created"][which]["s"]
        renewals = [
            one for one in self.entries if (one["a"], one.get("s")) == ("token.renewed", made)
        ]
        entry = deepcopy(renewals[0]) | {"t": self.entries[-1]["t"]}
        self.row(entry)["c"]["expires_at"] = later(Timestamp(entry["t"]), 60)
        return entry

    def revoked(self) -> Entry:
        """Answer an entry that ends the one that maintains."""
        entry = deepcopy(self.entries[self.place("token.revoked")]) | {"t": self.entries[-1]["t"]}
        made = [one for one in self.entries if one["a"] == "token.created"][MAINTAINER]
        row = self.row(entry)
        row["k"]["id"] = entry["s"] = made["s"]
        row["c"]["revoked_at"] = entry["t"]
        return entry

    def finds(self, entry: Entry) -> bool:
        """Answer whether both verifiers find an entry more."""
        return self.is_found([*self.entries, entry])

    def signs(self, entry: Entry) -> None:
        """Have Pat sign what an entry says."""
        signed_anew(entry, self.pat, subject=entry["s"], decision={**entry["f"]})


@pytest.fixture(scope="module")
def story() -> Agents:
    """The ledger, which no test changes."""
    return Agents()


def test_a_credential_that_maintains_is_a_persons_act_once_anybody_has_a_key(story: Agents) -> None:
    """Somebody with the database and the key of the project makes none; one that works takes no signature."""
    assert not story.is_found(story.entries)
    assert not story.finds(story.made(WORKER))
    forged = story.made(WORKER)
    story.row(forged)["v"]["scopes"] = forged["f"]["scopes"] = list(SCOPES)
    assert story.finds(forged)
    signed = story.made(MAINTAINER)
    assert story.finds(signed)
    story.signs(signed)
    assert not story.finds(signed)


@pytest.mark.parametrize(
    "change",
    [
        {"sha256": "cd" * 32},
        {"name": "other"},
        {"scopes": ["read"]},
        {"scopes": "maintain"},
        {"scopes": None},
        {"sha256": None},
        {"sha256": ""},
        {"sha256": ["ab"]},
        {"maker": {}},
    ],
)
def test_a_credential_is_the_one_that_was_signed(story: Agents, change: dict[str, Any]) -> None:
    """Its secret, its name and what it may do; and its columns are of their sorts."""
    forged = story.made(MAINTAINER)
    story.row(forged)["v"] |= change
    story.signs(forged)
    assert story.finds(forged)


def _as(**columns: Any) -> Callable[[Agents, Entry], object]:
    return lambda story, entry: story.row(entry)["v"].update(columns)


def _known_id(story: Agents, entry: Entry) -> None:
    made = next(one for one in story.entries if one["a"] == "token.created")
    story.row(entry)["k"]["id"] = entry["s"] = made["s"]


def _known_digest(story: Agents, entry: Entry) -> None:
    made = next(one for one in story.entries if one["a"] == "token.created")
    story.row(entry)["v"]["sha256"] = story.row(made)["v"]["sha256"]


def _change(story: Agents, entry: Entry) -> None:
    row = story.row(entry)
    row["c"] = row.pop("v")


FORGERIES: tuple[Callable[[Agents, Entry], object], ...] = (
    lambda story, entry: entry["r"].append(deepcopy(story.row(entry))),
    lambda story, entry: entry.update(s="agt_other"),
    lambda story, entry: entry.update(a="note.written"),
    lambda story, entry: story.row(entry).update(v=None),
    lambda story, entry: story.row(entry).update(v={}),
    lambda story, entry: _as(maker=story.pat.key)(story, entry),
    _known_id,
    _known_digest,
    _change,
)


@pytest.mark.parametrize("forge", FORGERIES)
def test_no_credential_comes_in_in_another_way(
    story: Agents, forge: Callable[[Agents, Entry], object]
) -> None:
    """Beside another act, in the place of another one, with another's secret, or in a person's name."""
    forged = story.made(WORKER)
    forge(story, forged)
    assert story.finds(forged)


@pytest.mark.parametrize(
    "columns",
    [
        {"sha256": DIGEST},
        {"scopes": list(SCOPES)},
        {"revoked_at": ""},
        {"revoked_at": None},
        {"expires_at": "", "revoked_at": None},
    ],
)
def test_what_a_credential_is_changes_by_its_end_alone(
    story: Agents, columns: dict[str, Any]
) -> None:
    """Whoever exchanges the digest for a while is that credential: of that there is no entry that holds."""
    forged = story.revoked()
    assert not story.finds(forged)
    row = story.row(forged)
    row["c"] = {name: forged["t"] if one is None else one for name, one in columns.items()}
    assert story.finds(forged) is (columns != {"revoked_at": None})


@pytest.mark.parametrize(
    "columns",
    [
        {"sha256": DIGEST},
        {"scopes": list(SCOPES)},
        {"expires_at": "", "sha256": DIGEST},
        {"expires_at": "", "revoked_at": ""},
        {"expires_at": 7},
        {"expires_at": ""},
        {"expires_at": "2030-01-01T00:00:00.000Z"},
        {},
    ],
)
def test_a_renewal_changes_the_end_of_a_credential_alone(
    story: Agents, columns: dict[str, Any]
) -> None:
    forged = story.renewed(WORKER)
    assert not story.finds(forged)
    story.row(forged)["c"] = columns
    assert story.finds(forged)


def test_a_credential_that_maintains_is_renewed_by_a_person(story: Agents) -> None:
    """Once anybody has a key; and it is the one that was signed."""
    forged = story.renewed(WORKER)
    made = [one for one in story.entries if one["a"] == "token.created"][MAINTAINER]
    story.row(forged)["k"]["id"] = forged["s"] = made["s"]
    assert story.finds(forged)
    signed = story.renewed(MAINTAINER)
    story.signs(signed)
    assert not story.finds(signed)
    signed["f"]["digest"] = DIGEST
    story.signs(signed)
    assert story.finds(signed)


@pytest.mark.parametrize("seconds", [0, 61, -1, "60", None, True])
def test_a_renewal_lasts_as_long_as_it_says(story: Agents, seconds: object) -> None:
    forged = story.renewed(WORKER)
    forged["f"]["seconds"] = seconds
    assert story.finds(forged)


@pytest.mark.parametrize("action", ["token.renewed", "token.revoked"])
def test_a_digest_is_no_credential_that_is_changed(story: Agents, action: str) -> None:
    forged = story.renewed(WORKER) if action == "token.renewed" else story.revoked()
    made = [one for one in story.entries if one["a"] == "token.created"][WORKER]
    story.row(forged)["k"]["id"] = forged["s"] = story.row(made)["v"]["sha256"]
    assert story.finds(forged)


def test_a_credential_that_nobody_made_is_not_renewed(story: Agents) -> None:
    forged = story.renewed(WORKER)
    story.row(forged)["k"]["id"] = forged["s"] = "agt_nobody"
    assert story.finds(forged)


def test_a_credential_that_nobody_made_does_not_end(story: Agents) -> None:
    """There is no row to change."""
    forged = story.revoked()
    story.row(forged)["k"]["id"] = forged["s"] = "agt_nobody"
    assert story.finds(forged)


def test_after_the_last_key_is_revoked_nobody_is_asked() -> None:
    """As the program has it: a maintainer takes a signature while somebody can give one."""
    late = Agents(is_late=True)
    assert not late.is_found(late.entries)
