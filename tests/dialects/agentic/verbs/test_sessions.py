"""PlanSessions: opened, written in, paused, taken up, followed, ended, told again."""

from __future__ import annotations

import pytest

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Handover, Note
from counterpoint.core.model.sessions import Handoff, Session
from counterpoint.dialects.agentic.nouns.sessions import Opening, SessionFilter
from counterpoint.dialects.agentic.verbs.plans import Planning
from counterpoint.dialects.agentic.verbs.sessions import PlanSessions
from counterpoint.kernel.errors import (
    AlreadyClaimed,
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    SessionEnded,
)

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
def stint(ada, plan):
    """Give the id of a stint of ada about that plan."""
    return ada.use(PlanSessions).open(Opening(agent_type="opus", item=plan, context={"a": 1})).id


def test_the_first_stint_is_the_session_that_one_came_with(ada, plan, stint):
    """The next one is another; a person has none that came with them."""
    assert stint == ada.caller.actor.session
    assert ada.use(PlanSessions).own() == ada.use(PlanSessions).named("") == stint
    second = ada.use(PlanSessions).open(Opening(agent_type="opus")).id
    assert second != stint
    found = ada.use(PlanSessions).get(stint)
    assert (found.agent_type, found.context, found.session.item) == ("opus", {"a": 1}, plan)
    assert ada.use(PlanSessions).get(second).session.item == ""


def test_a_person_has_a_stint_too(studio, person):
    """It has to be named."""
    opened = person.use(PlanSessions).open(Opening(agent_type="human"))
    assert person.use(PlanSessions).own() == ""
    studio.refuses(InvalidInput, lambda: person.use(PlanSessions).named(""))
    person.use(PlanSessions).log(opened.id, line())
    assert person.use(PlanSessions).named(opened.id) == opened.id


def test_nothing_is_opened_about_nothing(studio, ada):
    """Nor written in what is not there."""
    studio.refuses(
        NotFound, lambda: ada.use(PlanSessions).open(Opening(agent_type="x", item="demo-99"))
    )
    studio.refuses(NotFound, lambda: ada.use(PlanSessions).get("ses_x"))
    studio.refuses(NotFound, lambda: ada.use(PlanSessions).log("ses_x", line()))
    studio.refuses(NotFound, lambda: ada.use(PlanSessions).resume("ses_x"))
    studio.refuses(InvalidInput, lambda: ada.use(PlanSessions).named(""))


def test_a_line_is_about_the_work_of_its_stint(ada, plan, stint):
    """Unless it says otherwise."""
    assert ada.use(PlanSessions).log(stint, line()).item == plan
    assert ada.use(PlanSessions).log(stint, line(item="demo-2")).item == "demo-2"
    assert ada.use(PlanSessions).log(stint, line()).session == stint


def test_only_its_agent_writes_in_a_stint(studio, ada, bob, person, stint):
    """A person may."""
    studio.refuses(Forbidden, lambda: bob.use(PlanSessions).log(stint, line()))
    studio.refuses(Forbidden, lambda: bob.use(PlanSessions).end(stint, "completed"))
    studio.refuses(Forbidden, lambda: bob.use(PlanSessions).pause(stint, PAUSE))
    person.use(PlanSessions).log(stint, line())


def test_a_paused_stint_is_taken_up_once(studio, ada, bob, stint):
    """With what it left; from then on it is theirs."""
    paused = ada.use(PlanSessions).pause(stint, PAUSE)
    assert (paused.session.status, paused.context) == ("paused", {"a": 1})
    studio.refuses(Conflict, lambda: ada.use(PlanSessions).log(stint, line()))
    own = ada.use(PlanSessions).own()
    assert own != stint
    taken = bob.use(PlanSessions).resume(stint)
    assert (taken.session.agent, taken.session.status) == ("bob", "active")
    assert taken.handoff is not None
    assert taken.handoff.next_steps == ("on",)
    studio.refuses(Conflict, lambda: ada.use(PlanSessions).resume(stint))
    studio.refuses(Forbidden, lambda: ada.use(PlanSessions).log(stint, line()))
    bob.use(PlanSessions).log(stint, line())
    assert ada.use(PlanSessions).own() == own
    bob.use(PlanSessions).pause(stint, PAUSE)
    assert ada.use(PlanSessions).resume(stint).session.agent == "ada"
    assert ada.use(PlanSessions).own() == stint


def test_work_goes_on_in_the_next_session(ada, stint):
    """Of one's own; it becomes the next stint."""
    ada.use(PlanSessions).end(stint, "completed", "all")
    following = ada.use(PlanSessions).own()
    ada.seated(following).journal.append(line())
    assert ada.use(PlanSessions).own() == following != stint
    assert ada.use(PlanSessions).open(Opening(agent_type="opus")).id == following


@pytest.mark.parametrize("status", ["completed", "failed", "handed_off"])
def test_an_ended_stint_stays_as_it_is(studio, ada, bob, stint, status):
    """It is refused to everybody, but can be followed, again and again."""
    ended = ada.use(PlanSessions).end(stint, status, "all")
    assert (ended.session.status, ended.session.ended_at) == (status, studio.last().time)
    for call in (
        lambda: ada.use(PlanSessions).log(stint, line()),
        lambda: ada.use(PlanSessions).pause(stint, PAUSE),
        lambda: ada.use(PlanSessions).resume(stint),
        lambda: ada.use(PlanSessions).end(stint, "failed"),
    ):
        studio.refuses(SessionEnded, call)
    first, second = (
        bob.use(PlanSessions).follow(stint),
        bob.use(PlanSessions).follow(stint, "haiku"),
    )
    assert first.session.id != second.session.id
    assert first.session.continues == second.session.continues == stint
    assert bob.use(PlanSessions).get(second.session.id).agent_type == "haiku"


def test_ending_gives_back_what_it_holds(ada, stint):
    """So that others can take it up."""
    ada.claims.start("demo-2")
    ada.use(PlanSessions).end(stint, "failed")
    assert ada.items.get("demo-2").status == "open"


def test_a_stint_is_followed_with_everything(ada, bob, plan, stint):
    """The context, the notes, the plan, the type of agent, and the claims."""
    ada.claims.start("demo-2")
    ada.use(PlanSessions).pause(stint, PAUSE)
    done = bob.use(PlanSessions).follow(stint)
    assert done.context == {
        "continued_from": stint,
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
    assert bob.use(PlanSessions).get(stint).session.status == "handed_off"
    assert bob.seated(done.session.id).claims.start("demo-2").renewed


def test_one_without_notes_is_followed_as_well(ada, bob, stint):
    """Also a session that nobody opened as a stint."""
    assert ada.use(PlanSessions).follow(stint).context["handoff_notes"] is None
    bob.journal.append(line())
    bob.sessions.hand_over(Handover(action="pause", summary="s", context="plain words"))
    done = ada.use(PlanSessions).follow(bob.caller.actor.session)
    assert done.context["previous_agent"] == "bob"
    assert done.context["handoff_notes"]["context_for_next"] == "plain words"
    assert done.context["inherited_context"] == {}


def test_one_at_work_is_not_followed(studio, ada, bob, stint):
    """As long as it holds something."""
    ada.claims.start("demo-2")
    studio.refuses(AlreadyClaimed, lambda: bob.use(PlanSessions).follow(stint))


def test_lists_are_of_stints_only(studio, ada, bob, plan, stint):
    """By work, status and type of agent, the latest first, over several pages of the store."""
    bob.journal.append(line())
    for _ in range(104):
        studio.clock.pass_by(seconds=1)
        ada.use(PlanSessions).open(Opening(agent_type="haiku"))
    found = ada.use(PlanSessions).list(SessionFilter(), None, 200)
    assert len(found) == 105
    assert found[-1].session.id == stint
    rest = ada.use(PlanSessions).list(
        SessionFilter(), (found[100].session.started_at, found[100].session.id), 200
    )
    assert rest == found[101:]
    assert [
        one.session.id for one in ada.use(PlanSessions).list(SessionFilter(item=plan), None, 9)
    ] == [stint]
    assert ada.use(PlanSessions).list(SessionFilter(status="failed"), None, 9) == []
    assert len(ada.use(PlanSessions).list(SessionFilter(agent_type="haiku"), None, 200)) == 104


def test_what_nobody_ended_is_swept_after_a_day(studio, ada, bob, stint):
    """Not what logs, pauses or holds something meanwhile."""
    bob.use(PlanSessions).open(Opening(agent_type="haiku"))
    bob.claims.start("demo-2", minutes=60 * HOUR)
    logged = ada.use(PlanSessions).open(Opening(agent_type="opus")).id
    paused = ada.use(PlanSessions).open(Opening(agent_type="opus")).id
    ada.use(PlanSessions).pause(paused, PAUSE)
    studio.clock.pass_by(minutes=20 * HOUR)
    ada.use(PlanSessions).log(logged, line())
    studio.clock.pass_by(minutes=5 * HOUR)
    assert [one.id for one in bob.use(PlanSessions).sweep()] == [stint]
    assert bob.use(PlanSessions).get(stint).session.status == "failed"
    assert bob.use(PlanSessions).sweep() == []
    with studio.view() as view:
        assert view.select(Handoff, session=stint)[0].summary == "nothing came from it for a day"


def test_redacted_details_are_no_harm(ada, person, stint):
    """It is a stint still, of an agent of whom only the name is left."""
    person.redaction.redact(Session, stint, reason="asked")
    found = ada.use(PlanSessions).list(SessionFilter(), None, 9)
    assert [(one.agent_type, one.context) for one in found] == [("ada", {})]
    assert ada.use(PlanSessions).replay(stint).context == {}


def test_a_replay_is_what_happened_up_to_an_entry(studio, ada, bob, plan, stint):
    """From the ledger alone: lines, artifacts, other deeds, the handoff, the end."""
    ada.use(PlanSessions).log(stint, line(kind="decision", body="x", details={"data": {"n": 1}}))
    ada.use(PlanSessions).log(stint, line(kind="artifact", body="created", files=("a.py",)))
    bob.journal.append(line("elsewhere"))
    ada.use(PlanSessions).log(stint, line(body="broke", details={"type": "error"}))
    middle = studio.last().sequence
    ada.use(PlanSessions).pause(stint, PAUSE)
    bob.use(PlanSessions).resume(stint)
    bob.use(PlanSessions).end(stint, "completed", "all of it")
    found = ada.use(PlanSessions).replay(stint)
    assert [(one.type, one.message) for one in found.log] == [
        ("decision", "x"),
        ("error", "broke"),
    ]
    assert found.of("artifact")[0].path == "a.py"
    assert found.of("decision")[0].content == {"n": 1}
    assert found.final == "all of it"
    assert found.handoff["summary"] == "half"
    assert found.session["status"] == "completed"
    assert (found.agent_type, found.context) == ("opus", {"a": 1})
    then = ada.use(PlanSessions).replay(stint, middle)
    assert (then.final, then.handoff, then.session["status"]) == ("", {}, "active")
    assert ada.use(PlanSessions).replay(stint, middle + 1).handoff["next_steps"] == ["on"]
    for at in (0, 10**6):
        studio.refuses(InvalidInput, lambda at=at: ada.use(PlanSessions).replay(stint, at))


def test_redacted_words_are_marked_in_a_replay(ada, person, stint):
    """The rest of it is told as ever."""
    record = ada.use(PlanSessions).log(stint, line("secret", details={"type": "error"})).id
    ada.use(PlanSessions).pause(stint, PAUSE)
    from counterpoint.core.model.journal import Record

    person.redaction.redact(Record, record, reason="asked")
    person.redaction.redact(Handoff, "demo-h1", reason="asked")
    found = ada.use(PlanSessions).replay(stint)
    assert found.log[0].message == "[redacted]"
    assert found.handoff["next_steps"] == "[redacted]"
