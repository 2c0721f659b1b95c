"""Somebody with the database and the server's key enters an approval: every verifier finds it."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from counterpoint.app import App
from counterpoint.core.coordinator import Core
from counterpoint.core.ledger.entry import Entry, RowImage
from counterpoint.core.ledger.merkle import Frontier, leaf_hash
from counterpoint.core.model.access import Actor, Principal
from counterpoint.core.model.filters import Report
from counterpoint.core.model.identity import ProposedAct
from counterpoint.core.ports.store import Append
from counterpoint.kernel.clock import Timestamp
from fakes.people import Person
from fakes.studio import Studio

VERIFIER = Path(__file__).parents[3] / "docs" / "verifier" / "verify.py"


def enter(
    app: App,
    principal: Principal | None,
    action: str = "item.approved",
    subject: str = "",
    rows: tuple[RowImage, ...] = (),
) -> None:
    """Write an approval, or another act, straight into the database, its chain, tree and head made anew."""
    with app.store.writing(app.project) as writing:
        head = writing.head()
        entry = Entry(
            project=app.project,
            sequence=head.size,
            time=Timestamp(head.time),
            actor=Actor(kind="human", name="ann", principal=principal),
            action=action,
            subject=subject or f"{app.project}-3",
            facts={"subject": "abc"},
            rows=rows,
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


@pytest.mark.both_databases
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


@pytest.mark.parametrize("what", ["review", "waiver", "policy"])
def test_what_nobody_signed_is_found_where_a_person_is_asked_for(
    app: App, call: Callable[..., Any], agent: Core, what: str
) -> None:
    """It claims no key: an unsigned person met or waived the gate of a review, or asked for less."""
    person = Person(studio=Studio())
    enrol(app, person)
    strict = ProposedAct(action="policy.changed", decision={"policy": "person"})
    people = app.person().people
    signed = people.sign(people.prepare(strict, person.key), person.seal)
    app.confirmed(signed).projects.ask_of_reviews("person")
    task = agent.plans.create(agent.plans.read("# Extra\n- [ ] Bolt\n  - review: yes\n")).ready[0]
    token = agent.claims.start(task).claim.token
    agent.tasks.finish(task, token, Report(outcome="done", summary="it holds"))
    assert call("audit", "verify").code == 0
    gate = {"item": task, "name": "review"}
    acts = {
        "review": ("item.approved", "gates", gate, {"status": "met"}),
        "waiver": ("item.edited", "gates", gate, {"status": "waived"}),
        "policy": ("policy.changed", "projects", {}, {"reviews": "attested"}),
    }
    action, table, key, columns = acts[what]
    row = RowImage(table=table, key=key, values=columns, whole=False)
    enter(app, None, action, task, (row,))
    said = call("audit", "verify")
    assert said.code == 1
    assert ("no person signed that" if what == "policy" else "review without a person") in said.out
    assert call("audit", "export", "forged").code == 0
    assert call("verify", "forged").code == 1
    verifier = runpy.run_path(str(VERIFIER))
    with pytest.raises(verifier["Broken"], match="nobody signed"):
        verifier["verify"](Path("forged").read_bytes())


def enrol(app: App, person: Person | None = None) -> str:
    """Answer the id of a key that a person enrolled."""
    person = person or Person(studio=Studio())
    people = app.person().people
    proposed = people.enrolment(person.public_key, "ann", "passphrase")
    signed = people.sign(people.prepare(proposed, person.key), person.seal)
    return app.confirmed(signed).people.enrol(person.public_key, proposed).id
