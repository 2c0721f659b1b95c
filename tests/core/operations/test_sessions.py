"""Sessions: pausing, ending, resuming, continuing."""

from __future__ import annotations

import pytest

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit, Handover, Note, Report
from counterpoint.core.model.journal import StartPoint
from counterpoint.core.model.sessions import Session
from counterpoint.kernel.errors import (
    AlreadyClaimed,
    ClaimLost,
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    SessionEnded,
)

DONE = Report(outcome="done", summary="so")


@pytest.fixture
def held(ada):
    """Give a task that ada holds."""
    item = ada.plans.create(Draft(kind="task", title="A")).root.id
    ada.claims.start(item)
    return item


def mine(core):
    """Answer the id of a core's session."""
    return core.caller.actor.session


def test_the_first_write_opens_the_session(studio, ada):
    """It belongs to the agent that made it."""
    assert ada.overview.find(Session, mine(ada)) is None
    ada.memory.put("project", "n", 1)
    session = ada.overview.find(Session, mine(ada))
    assert (session.agent, session.status, session.ended_at) == ("ada", "active", "")


def test_a_pause_keeps_the_claims_and_leaves_a_handoff(studio, ada, held):
    """The next write wakes the session again."""
    found = ada.sessions.hand_over(
        Handover(action="pause", summary="s", next_steps=("n",), blockers=("b",), context="c")
    )
    assert (found.session.status, [c.item for c in found.claims]) == ("paused", [held])
    handoff = found.handoff
    assert (handoff.id, handoff.item, handoff.next_steps) == ("demo-h1", held, ("n",))
    assert ada.overview.last_handoff() == ada.overview.last_handoff(mine(ada)) == handoff
    entry = studio.last()
    assert (entry.action, entry.subject) == ("session.paused", held)
    assert entry.facts == {"session": mine(ada), "handoff": "demo-h1"}
    ada.journal.append(Note(kind="comment", body="still here"))
    assert ada.overview.find(Session, mine(ada)).status == "active"


def test_a_resume_answers_what_was_left(studio, ada, held):
    """Claims and handoff of one's own session; only a paused one is resumed."""
    studio.refuses(Conflict, lambda: ada.sessions.hand_over(Handover(action="resume")))
    ada.sessions.hand_over(Handover(action="pause", summary="s"))
    found = ada.sessions.hand_over(Handover(action="resume", session=mine(ada)))
    assert (found.session.status, found.handoff.summary) == ("active", "s")
    assert [c.item for c in found.claims] == [held]
    assert studio.last().action == "session.resumed"
    fresh = studio.core("eve")
    studio.refuses(Conflict, lambda: fresh.sessions.hand_over(Handover(action="resume")))
    other = Handover(action="resume", session=mine(fresh))
    studio.refuses(InvalidInput, lambda: ada.sessions.hand_over(other))


def test_an_end_gives_the_claims_back_and_refuses_every_write(studio, ada, held):
    """Handed over if something is left, completed if not."""
    found = ada.sessions.hand_over(Handover(action="end", summary="bye"))
    assert (found.session.status, [c.item for c in found.claims]) == ("handed_off", [held])
    assert found.session.ended_at
    assert ada.items.get(held).status == "open"
    assert studio.last().facts["given_back"] == [held]
    for write in (
        lambda: ada.claims.start(held),
        lambda: ada.items.edit(held, Edit(title="x")),
        lambda: ada.journal.append(Note(kind="comment", body="x")),
        lambda: ada.memory.put("project", "n", 1),
        lambda: ada.plans.create(Draft(kind="task", title="x")),
        lambda: ada.sessions.hand_over(Handover(action="end")),
        lambda: ada.sessions.hand_over(Handover(action="pause")),
    ):
        studio.refuses(SessionEnded, write)
    idle = studio.core("eve")
    assert idle.sessions.hand_over(Handover(action="end")).session.status == "completed"
    left = studio.core("eve")
    ended = left.sessions.hand_over(Handover(action="end", next_steps=("more",)))
    assert ended.session.status == "handed_off"


@pytest.mark.parametrize("how", ["paused", "lapsed"])
def test_a_continued_session_hands_its_claims_over_with_higher_tokens(studio, ada, bob, held, how):
    """The one before is fenced off. What it handed over goes on from its start, what it left begins anew."""
    studio.tree.write("src/new", "1")
    if how == "paused":
        ada.sessions.hand_over(Handover(action="pause", summary="s"))
    else:
        studio.clock.pass_by(minutes=31)
    found = bob.sessions.hand_over(Handover(action="continue", session=mine(ada)))
    assert found.session.continues == mine(ada)
    (claim,) = found.claims
    assert (claim.token, claim.session, claim.agent) == (2, mine(bob), "bob")
    assert claim.leased_until > claim.claimed_at
    assert (found.handoff is None) == (how == "lapsed")
    assert ada.overview.find(Session, mine(ada)).status == "handed_off"
    point = ada.overview.find(StartPoint, held, 2)
    first = ada.overview.find(StartPoint, held, 1)
    assert (point.files == first.files) == (how == "paused")
    assert studio.last().facts == {
        "why": "handed_over" if how == "paused" else "lapsed",
        "continues": mine(ada),
        "claims": [held],
        "succeeds": "cn_agent_ada",
    }
    item = bob.items.get(held)
    assert (item.assignee, item.version) == ("bob", 3)
    studio.refuses(ClaimLost, lambda: ada.tasks.finish(held, 1, DONE))
    done = bob.tasks.finish(held, 2, DONE)
    assert [change.path for change in done.measured.files] == (
        ["src/new"] if how == "paused" else []
    )


def test_a_session_that_is_at_work_cannot_be_continued(studio, ada, bob, held):
    other = Handover(action="continue", session=mine(ada))
    fault = studio.refuses(AlreadyClaimed, lambda: bob.sessions.hand_over(other))
    assert "2026-01-02T03:34:05.000Z" in fault.hint
    assert fault.facts == {"holder": "ada", "until": "2026-01-02T03:34:05.000Z"}


def test_an_ended_session_is_continued_for_its_handoff(studio, ada, bob, held):
    """There are no claims any more, but words."""
    ada.sessions.hand_over(Handover(action="end", summary="read this"))
    found = bob.sessions.hand_over(Handover(action="continue", session=mine(ada)))
    assert (found.handoff.summary, found.claims) == ("read this", ())
    again = bob.sessions.hand_over(Handover(action="continue", session=mine(ada)))
    assert again.session == found.session


def test_wrong_handovers_are_refused(studio, ada, bob, person):
    """No session, no name, oneself, nobody, a second one."""
    studio.refuses(InvalidInput, lambda: person.sessions.hand_over(Handover(action="end")))
    for session, fault in [("", InvalidInput), (mine(ada), InvalidInput), ("ses_x", NotFound)]:
        ask = Handover(action="continue", session=session)
        studio.refuses(fault, lambda ask=ask: ada.sessions.hand_over(ask))
    for core in (bob, studio.core("eve", session="ses_eve")):
        core.memory.put("project", core.caller.actor.name, 1)
    live = Handover(action="continue", session=mine(bob))
    fault = studio.refuses(Forbidden, lambda: ada.sessions.hand_over(live))
    assert (fault.facts["agent"], "Wait until" in fault.hint) == ("bob", True)
    bob.sessions.hand_over(Handover(action="pause"))
    ada.sessions.hand_over(live)
    second = Handover(action="continue", session="ses_eve")
    studio.refuses(Conflict, lambda: ada.sessions.hand_over(second))


def test_a_handoff_without_a_claim_is_of_the_item_it_was_started_for(studio):
    """The connection knows what it is about."""
    author = studio.core("author")
    item = author.plans.create(Draft(kind="task", title="A")).root.id
    core = studio.core("ada", item=item)
    assert core.sessions.hand_over(Handover(action="pause")).handoff.item == item
    assert author.overview.last_handoff("ses_nobody") is None


def test_a_caller_writes_in_another_session(studio, ada):
    """What is written is that session's; under a key it is one transaction with the rest."""
    other = studio.core("ada")
    other.memory.put("project", "m", 1)
    session = mine(other)

    def run():
        ada.memory.put("project", "a", 1)
        ada.in_session(session).memory.put("project", "b", 1)
        return {"ok": True}

    before = studio.image().size
    assert ada.once("key", {"n": 1}, run) == {"ok": True}
    assert studio.image().size == before + 2
    assert (studio.last().actor.name, studio.last().actor.session) == ("ada", session)
    assert ada.once("key", {"n": 1}, run) == {"ok": True}
    assert studio.image().size == before + 2


def test_whose_work_was_continued_is_told_whatever_was_continued_since(studio, ada, bob, held):
    """What it had changed before is no part of the work that began anew."""
    studio.tree.write("src/old", "1")
    studio.clock.pass_by(minutes=31)
    bob.sessions.hand_over(Handover(action="continue", session=mine(ada)))
    studio.clock.pass_by(minutes=1)
    cyd, eve = studio.core("cyd"), studio.core("eve")
    cyd.claims.start(cyd.plans.create(Draft(kind="task", title="Other")).root.id)
    cyd.sessions.hand_over(Handover(action="pause", summary="s"))
    eve.sessions.hand_over(Handover(action="continue", session=mine(cyd)))
    studio.tree.write("src/new", "1")
    measured = bob.tasks.finish(held, 2, DONE).measured
    assert measured is not None
    assert [change.path for change in measured.files] == ["src/new"]
    assert [(apart.by, apart.paths) for apart in measured.apart] == [("ada", ("src/old",))]
