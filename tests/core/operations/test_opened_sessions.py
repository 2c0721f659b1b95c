"""Sessions that are opened for work or an audit: written in, taken up, ended, read again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Handover, Note
from counterpoint.core.model.journal import Record
from counterpoint.core.model.sessions import Handoff, Session, SessionFilter, SessionOpening
from counterpoint.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound, SessionEnded

HOUR = 60
PAUSE = Handover(
    action="pause", summary="half", next_steps=("on",), blockers=("key",), context='{"b":2}'
)


def line(text="did", **more):
    """Answer a line of a log."""
    return Note(**({"kind": "log", "body": text} | more))


def opening(item="", **details):
    """Answer the opening of a session about some work."""
    return SessionOpening(purpose="work", is_own=True, item=item, details=details)


@pytest.fixture
def plan(studio, ada):
    """Give the id of a plan with one task."""
    studio.clock.pass_by(seconds=1)
    task = Draft(kind="task", title="T")
    return ada.plans.create(Draft(kind="plan", title="P", children=(task,))).root.id


@pytest.fixture
def work(ada, plan):
    """Give the id of a session of ada about that plan."""
    return ada.sessions.open(opening(plan, role="opus")).id


def test_the_first_one_opened_is_the_session_that_one_came_with(ada, plan, work):
    """The next one is another; a person has none that came with them."""
    assert work == ada.caller.actor.session
    assert ada.sessions.own() == ada.sessions.named("") == work
    second = ada.sessions.open(opening(role="opus")).id
    assert second != work
    found = ada.sessions.get(work)
    assert (found.details, found.session.item, found.session.purpose) == (
        {"role": "opus"},
        plan,
        "work",
    )
    assert ada.sessions.get(second).session.item == ""


def test_a_person_has_a_session_too(studio, person):
    """It has to be named."""
    opened = person.sessions.open(opening(role="human"))
    assert person.sessions.own() == ""
    studio.refuses(InvalidInput, lambda: person.sessions.named(""))
    person.sessions.log(opened.id, line())
    assert person.sessions.named(opened.id) == opened.id


def test_nothing_is_opened_about_nothing(studio, ada):
    """Nor written in what is not there."""
    studio.refuses(NotFound, lambda: ada.sessions.open(opening("demo-99")))
    studio.refuses(NotFound, lambda: ada.sessions.get("ses_x"))
    studio.refuses(NotFound, lambda: ada.sessions.log("ses_x", line()))
    studio.refuses(NotFound, lambda: ada.sessions.resume("ses_x"))
    studio.refuses(InvalidInput, lambda: ada.sessions.named(""))


def test_a_line_is_about_the_work_of_its_session(ada, plan, work):
    assert ada.sessions.log(work, line()).item == plan
    assert ada.sessions.log(work, line(item="demo-2")).item == "demo-2"
    assert ada.sessions.log(work, line()).session == work


def test_only_its_agent_writes_in_a_session(studio, ada, bob, person, work):
    studio.refuses(Forbidden, lambda: bob.sessions.log(work, line()))
    studio.refuses(Forbidden, lambda: bob.sessions.end(work, "completed"))
    studio.refuses(Forbidden, lambda: bob.sessions.pause(work, PAUSE))
    person.sessions.log(work, line())


def test_a_paused_session_is_taken_up_once(studio, ada, bob, work):
    """With what it left; from then on it is theirs."""
    paused = ada.sessions.pause(work, PAUSE)
    assert (paused.session.status, paused.handoff.summary) == ("paused", "half")
    studio.refuses(Conflict, lambda: ada.sessions.log(work, line()))
    assert ada.sessions.own() != work
    taken = bob.sessions.resume(work)
    assert (taken.session.agent, taken.session.status) == ("bob", "active")
    assert taken.handoff is not None
    assert taken.handoff.next_steps == ("on",)
    studio.refuses(Conflict, lambda: ada.sessions.resume(work))
    studio.refuses(Forbidden, lambda: ada.sessions.log(work, line()))
    bob.sessions.log(work, line())
    assert ada.sessions.own() != work
    bob.sessions.pause(work, PAUSE)
    assert ada.sessions.resume(work).session.agent == "ada"
    assert ada.sessions.own() == work


def test_work_goes_on_in_the_next_session(ada, work):
    """Of one's own; it becomes the next one that is opened."""
    ada.sessions.end(work, "completed", "all")
    following = ada.sessions.own()
    ada.in_session(following).journal.append(line())
    assert ada.sessions.own() == following != work
    assert ada.sessions.open(opening(role="opus")).id == following


@pytest.mark.parametrize("status", ["completed", "failed", "handed_off"])
def test_an_ended_session_stays_as_it_is(studio, ada, bob, work, status):
    """It is refused to everybody."""
    ended = ada.sessions.end(work, status, "all")
    assert (ended.session.status, ended.session.ended_at) == (status, studio.last().time)
    for call in (
        lambda: ada.sessions.log(work, line()),
        lambda: ada.sessions.pause(work, PAUSE),
        lambda: ada.sessions.resume(work),
        lambda: ada.sessions.end(work, "failed"),
        lambda: ada.claims.start("demo-2"),
        lambda: ada.sessions.abandon(work, "again"),
    ):
        fault = studio.refuses(SessionEnded, call)
        assert {"session": work, "state": status}.items() <= fault.facts.items()
        assert fault.hint.startswith("What has ended stays as it is")


def test_ending_gives_back_what_it_holds(ada, work):
    """So that others can take it up."""
    ada.claims.start("demo-2")
    ada.sessions.end(work, "failed")
    assert ada.items.get("demo-2").status == "open"


def test_lists_are_of_one_purpose(studio, ada, bob, plan, work):
    """By work, status and type of agent, the latest first, over several pages of the store."""
    bob.journal.append(line())
    for _ in range(104):
        studio.clock.pass_by(seconds=1)
        ada.sessions.open(opening(role="haiku"))
    found = ada.sessions.list(SessionFilter(purpose="work"), None, 200)
    assert len(found) == 105
    assert found[-1].session.id == work
    rest = ada.sessions.list(
        SessionFilter(purpose="work"), (found[100].session.started_at, found[100].session.id), 200
    )
    assert rest == found[101:]
    assert [one.session.id for one in ada.sessions.list(SessionFilter(item=plan), None, 9)] == [
        work
    ]
    assert ada.sessions.list(SessionFilter(status="failed"), None, 9) == []
    assert len(ada.sessions.list(SessionFilter(details={"role": "haiku"}), None, 200)) == 104


def test_redacted_details_are_no_harm(ada, person, work):
    """It is one for work still, of an agent of whom only the name is left."""
    person.erasing.of_row(Session, work, reason="asked")
    found = ada.sessions.list(SessionFilter(purpose="work"), None, 9)
    assert [(one.session.agent, one.details) for one in found] == [("ada", {})]
    assert ada.sessions.history(work).details == {}


def test_a_history_is_what_happened_up_to_an_entry(studio, ada, bob, plan, work):
    """From the ledger alone: lines, artifacts, other acts, the handoff, the end."""
    ada.sessions.log(work, line(kind="decision", body="x", details={"data": {"n": 1}}))
    ada.sessions.log(work, line(kind="artifact", body="created", files=("a.py",)))
    bob.journal.append(line("elsewhere"))
    ada.sessions.log(work, line(body="broke", details={"type": "error"}))
    middle = studio.last().sequence
    ada.sessions.pause(work, PAUSE)
    bob.sessions.resume(work)
    bob.sessions.end(work, "completed", "all of it")
    found = ada.sessions.history(work)
    assert [(one.type, one.message) for one in found.log] == [("decision", "x"), ("error", "broke")]
    assert found.of("artifact")[0].path == "a.py"
    assert found.of("decision")[0].details == {"data": {"n": 1}}
    assert found.final == "all of it"
    assert found.handoff["summary"] == "half"
    assert found.session["status"] == "completed"
    assert found.details == {"role": "opus"}
    then = ada.sessions.history(work, middle)
    assert (then.final, then.handoff, then.session["status"]) == ("", {}, "active")
    assert ada.sessions.history(work, middle + 1).handoff["next_steps"] == ["on"]
    for at in (0, 10**6):
        studio.refuses(InvalidInput, lambda at=at: ada.sessions.history(work, at))


def test_redacted_words_are_marked_in_a_history(ada, person, work):
    """The rest of it is told as ever."""
    record = ada.sessions.log(work, line("secret", details={"type": "error"})).id
    ada.sessions.pause(work, PAUSE)
    person.erasing.of_row(Record, record, reason="asked")
    person.erasing.of_row(Handoff, "demo-h1", reason="asked")
    found = ada.sessions.history(work)
    assert found.log[0].message == "[redacted]"
    assert found.handoff["next_steps"] == "[redacted]"


def audit(core, session="", **more):
    """Open an audit session and answer it."""
    return core.sessions.open(SessionOpening(purpose="audit", id=session, **more))


def test_an_opening_is_told_in_the_log(studio, ada, plan):
    """Of the caller's own with the work that it is about; of another under its id."""
    begun = ada.sessions.open(replace(opening(plan), facts={"role": "opus"}))
    entry = studio.last()
    assert (entry.subject, entry.facts) == (plan, {"session": begun.id, "role": "opus"})
    audit(ada, "mine", item=plan)
    assert (studio.last().subject, studio.last().facts) == ("mine", {"session": "mine"})
    assert studio.last().actor.session == "mine"


def test_an_id_is_taken_once(studio, ada):
    """Also that of a session which a write has begun; without one it gets one of its own."""
    audit(ada, "mine")
    studio.refuses(Conflict, lambda: audit(ada, "mine"))
    ada.journal.append(line())
    studio.refuses(Conflict, lambda: audit(ada, ada.caller.actor.session))
    assert audit(ada).id not in {"mine", ada.caller.actor.session}


def test_all_sessions_are_listed_from_where_one_was(ada):
    """The oldest first, whatever they are for, or only those in one state."""
    for name in "abc":
        audit(ada, name)
    ada.sessions.abandon("b", "lost")
    oldest = SessionFilter(oldest_first=True)
    first = ada.sessions.list(oldest, None, 1)[0].session
    rest = ada.sessions.list(oldest, (first.started_at, first.id), 9)
    assert [first.id, *(one.session.id for one in rest)] == ["a", "b", "c"]
    failed = ada.sessions.list(SessionFilter(status="failed"), None, 9)
    assert [one.session.id for one in failed] == ["b"]
    assert ada.sessions.list(SessionFilter(purpose="work"), None, 9) == []


def test_an_abandoned_session_accepts_no_more_and_holds_nothing(studio, ada, bob, person, plan):
    """What it had claimed is free again; only a reason ends it, from whose it is or from a person."""
    audit(ada, "mine")
    inside = ada.in_session("mine")
    inside.claims.start("demo-2")
    studio.refuses(InvalidInput, lambda: bob.sessions.abandon("mine", " "))
    studio.refuses(NotFound, lambda: bob.sessions.abandon("none", "lost"))
    studio.refuses(Forbidden, lambda: bob.sessions.abandon("mine", "lost"))
    assert person.sessions.abandon("mine", "lost").status == "failed"
    assert studio.last().facts["reason"] == "lost"
    assert ada.items.get("demo-2").status == "open"
    studio.refuses(SessionEnded, lambda: inside.journal.append(line()))
    studio.refuses(SessionEnded, lambda: ada.sessions.abandon("mine", "again"))


def test_a_session_is_idle_since_something_last_came_from_it(studio, ada, work):
    """A record, a handoff; while it holds something it is never idle."""
    studio.clock.pass_by(minutes=2)
    assert ada.sessions.get(work).idle_ms >= 120_000
    at = ada.sessions.log(work, line()).created_at
    assert (ada.sessions.get(work).last_active_at, ada.sessions.get(work).idle_ms < 5_000) == (
        at,
        True,
    )
    ada.claims.start("demo-2", minutes=60)
    studio.clock.pass_by(minutes=50)
    assert ada.sessions.get(work).idle_ms == 0
    studio.clock.pass_by(minutes=11)
    assert ada.sessions.get(work).idle_ms >= 60 * 60_000
    assert (
        ada.sessions.pause(work, PAUSE).handoff.created_at == ada.sessions.get(work).last_active_at
    )
