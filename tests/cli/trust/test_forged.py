"""Somebody with the database and the server's key enters an approval: every verifier finds it."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from counterpoint.app import App
from counterpoint.core.ledger.entry import Entry
from counterpoint.core.ledger.merkle import Frontier, leaf_hash
from counterpoint.core.model.access import Actor, Principal
from counterpoint.core.ports.store import Append
from counterpoint.kernel.clock import Timestamp
from fakes.people import Person
from fakes.studio import Studio

VERIFIER = Path(__file__).parents[3] / "docs" / "verifier" / "verify.py"


def enter(app: App, principal: Principal) -> None:
    """Write an approval straight into the database, its chain, tree and head made anew."""
    with app.store.writing(app.project) as writing:
        head = writing.head()
        entry = Entry(
            project=app.project,
            sequence=head.size,
            time=Timestamp(head.time),
            actor=Actor(kind="human", name="ann", principal=principal),
            action="item.approved",
            subject=f"{app.project}-3",
            facts={"subject": "abc"},
            previous=head.leaf,
        )
        data = entry.to_bytes()
        leaf = leaf_hash(data)
        frontier, nodes = Frontier.from_bytes(head.frontier).extend((leaf,))
        writing.append(
            Append(
                sequence=head.size,
                previous=head.leaf,
                data=data,
                leaf=leaf,
                time=entry.time,
                subject=entry.subject,
                action=entry.action,
                frontier=frontier.to_bytes(),
                nodes=tuple(nodes),
            )
        )


@pytest.mark.parametrize("enrolled", [False, True])
def test_a_forged_approval_is_found_by_every_verifier(
    app: App, call: Callable[..., Any], *, enrolled: bool
) -> None:
    """By `audit verify` on the live ledger, by `verify` on a bundle, and by the small program."""
    key = enrol(app) if enrolled else "SHA256:nobody"
    assert call("audit", "verify").code == 0
    enter(app, Principal(strength="person", id=key))
    said = call("audit", "verify")
    assert said.code == 1
    assert "says that a person did it" in said.out
    assert call("audit", "export", "forged").code == 0
    assert call("verify", "forged").code == 1
    verifier = runpy.run_path(str(VERIFIER))
    with pytest.raises(verifier["Broken"], match="person"):
        verifier["verify"](Path("forged").read_bytes())


def enrol(app: App) -> str:
    """Answer the id of a key that a person enrolled."""
    person = Person(studio=Studio())
    people = app.person().people
    proposed = people.enrolment(person.public_key, "ann", "passphrase")
    signed = people.sign(people.prepare(proposed, person.key), person.seal)
    return app.confirmed(signed).people.enrol(person.public_key, proposed).id
