"""PlanSessions: opened for a plan, followed, and ended when nothing comes from them."""

from __future__ import annotations

import pytest

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Handover, Note
from counterpoint.core.model.sessions import Handoff, Session
from counterpoint.dialects.agentic.verbs.plans import Planning
from counterpoint.dialects.agentic.verbs.sessions import PlanSessions, agent_type_of, context_of
from counterpoint.kernel.errors import AlreadyClaimed

HOUR = 60
PAUSE = Handover(
    action="pause", summary="half", next_steps=("on",), blockers=("key",), context='{"b":2}'
)


def line(text="did", **more):
    """Answer a line of a log."""
    return Note(**({"kind": "log", "body": text} | more))


@pytest.fixture
def plan(studio, ada):
    """Give the id of a plan with one task."""
    studio.clock.pass_by(seconds=1)
    task = Draft(kind="task", title="T")
    return (
        ada.use(Planning)
        .open(Draft(kind="plan", title="P", children=(task,)), "p", start=True)
        .item.id
    )


@pytest.fixture
def work(ada, plan):
    """Give the id of a session of ada about that plan."""
    return ada.use(PlanSessions).open("opus", plan, {"a": 1}).id


def test_a_session_is_opened_with_a_type_and_a_context(ada, person, work):
    """Of one whose words were redacted only the agent's name is left."""
    found = ada.sessions.get(work)
    assert (agent_type_of(found), context_of(found.session)) == ("opus", {"a": 1})
    person.erasing.of_row(Session, work, reason="asked")
    found = ada.sessions.get(work)
    assert (agent_type_of(found), context_of(found.session)) == ("ada", {})


def test_an_ended_session_is_followed_again_and_again(ada, bob, work):
    """Each time by another one, of the same type or of one that is told."""
    ada.sessions.end(work, "completed", "all")
    follow = bob.use(PlanSessions).follow
    first, second = follow(work).session, follow(work, "haiku").session
    assert first.id != second.id
    assert first.continues == second.continues == work
    assert [agent_type_of(bob.sessions.get(one.id)) for one in (first, second)] == ["opus", "haiku"]


def test_a_session_is_followed_with_everything(ada, bob, plan, work):
    """The context, the notes, the plan, the type of agent, and the claims."""
    ada.claims.start("demo-2")
    ada.sessions.pause(work, PAUSE)
    done = bob.use(PlanSessions).follow(work)
    assert context_of(done.session) == {
        "continued_from": work,
        "previous_agent": "opus",
        "handoff_notes": {
            "summary": "half",
            "next_steps": ["on"],
            "blockers": ["key"],
            "context_for_next": {"b": 2},
        },
        "inherited_context": {"a": 1},
    }
    assert done.session.item == plan
    assert bob.sessions.get(work).session.status == "handed_off"
    assert bob.in_session(done.session.id).claims.start("demo-2").renewed


def test_one_without_notes_is_followed_as_well(ada, bob, work):
    """Also a session that nobody opened for a plan."""
    assert ada.use(PlanSessions).follow(work).handoff is None
    bob.journal.append(line())
    bob.sessions.hand_over(Handover(action="pause", summary="s", context="plain words"))
    done = ada.use(PlanSessions).follow(bob.caller.actor.session)
    assert context_of(done.session)["previous_agent"] == "bob"
    assert context_of(done.session)["handoff_notes"]["context_for_next"] == "plain words"
    assert context_of(done.session)["inherited_context"] == {}


def test_one_at_work_is_not_followed(studio, ada, bob, work):
    """As long as it holds something."""
    ada.claims.start("demo-2")
    studio.refuses(AlreadyClaimed, lambda: bob.use(PlanSessions).follow(work))


def test_what_nobody_ended_is_swept_after_a_day(studio, ada, bob, work):
    """Not what logs, pauses or holds something meanwhile."""
    bob.use(PlanSessions).open("haiku")
    bob.claims.start("demo-2", minutes=60 * HOUR)
    logged = ada.use(PlanSessions).open("opus").id
    paused = ada.use(PlanSessions).open("opus").id
    ada.sessions.pause(paused, PAUSE)
    studio.clock.pass_by(minutes=20 * HOUR)
    ada.sessions.log(logged, line())
    studio.clock.pass_by(minutes=5 * HOUR)
    assert [one.id for one in bob.use(PlanSessions).sweep()] == [work]
    assert bob.sessions.get(work).session.status == "failed"
    assert bob.use(PlanSessions).sweep() == []
    with studio.view() as view:
        assert view.select(Handoff, session=work)[0].summary == "nothing came from it for a day"
