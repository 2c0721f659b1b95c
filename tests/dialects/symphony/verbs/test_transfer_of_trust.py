"""Who worked on an issue and what is asked of it go along to another project."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import known_connection
from counterpoint.core.coordinator import Core
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Check, Edit, Judgment
from counterpoint.core.model.identity import Connection
from counterpoint.core.operations.recording.unit import recording
from counterpoint.dialects.symphony.verbs.transfer import Transfer
from counterpoint.kernel.errors import Forbidden, GateClosed
from fakes.boards import Board
from fakes.studio import Studio

NO = Judgment(approves=False, reason="no")


def there(studio: Studio, core: Core) -> Core:
    """Answer the core of the same caller in the other project."""
    return Core(replace(studio.ports, project="api"), core.caller)


@pytest.fixture
def api(studio: Studio) -> Core:
    """Give the system's core in another project of the database."""
    core = there(studio, studio.system)
    core.projects.open("An interface")
    return core


def known(studio: Studio) -> Connection:
    """Answer what is kept of ada's process."""
    return known_connection("cn_agent_ada", agent="ada", opened_at=studio.clock.now())


def test_who_worked_on_an_issue_does_not_judge_it_in_its_new_place(
    studio: Studio, ada: Core, api: Core, board: Board
) -> None:
    """Parts and gates go along; what had met a gate was left behind."""
    item = board.issue(checks=(("true",),))
    token = ada.claims.start(item).claim.token
    ada.gates.verify(Check(item=item), token)
    with recording(studio.context(studio.system), "test.made") as change:
        change.put(known(studio))
    moved = ada.use(Transfer).move(item, "api", "so").item.id
    api.items.edit(moved, Edit(status="active"))
    with pytest.raises(GateClosed, match="check-1"):
        api.items.edit(moved, Edit(status="done"))
    with pytest.raises(Forbidden):
        there(studio, ada).reviews.review(moved, NO)
    kept = api.overview.find(Connection, "cn_agent_ada")
    assert kept is not None
    assert kept.project == "api"
    assert api.audit.rebuild().differences == ()


def test_what_holds_the_start_of_an_issue_goes_along(ada: Core, bob: Core, api: Core) -> None:
    """And what was waived stays so."""
    labels = ("phase:research",)
    gates = Draft(kind="issue", title="G", labels=labels, review=True, approval=True)
    made = ada.plans.create(gates).root.id
    bob.items.edit(made, Edit(waive=("review",), reason="small"))
    moved = bob.use(Transfer).move(made, "api", "so").item.id
    assert api.items.get(moved).blockers == 1
    found = {gate.name: gate.status for gate in api.overview.facets(moved).gates}
    assert found == {"approval": "closed", "review": "waived"}


def test_an_issue_is_not_moved_to_where_less_is_asked(
    studio: Studio, ada: Core, person: Core, api: Core, board: Board
) -> None:
    """By whoever works on it; a person may."""
    item = board.issue()
    ada.claims.start(item)
    there(studio, person).projects.ask_of_reviews("declared")
    with pytest.raises(Forbidden):
        ada.use(Transfer).move(item, "api", "so")
    ada.sessions.abandon(ada.caller.actor.session, "gone")
    assert person.use(Transfer).move(item, "api", "so").item.id == "api-1"
    assert api.items.get("api-1").status == "open"
