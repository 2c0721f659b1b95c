"""Taking over from who is gone, and leaving alone who is there: sessions, claims, and parts in work."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.access import Actor, Principal
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import (
    Check,
    Edit,
    Handover,
    Judgment,
    Note,
    ReadyFilter,
    Report,
)
from counterpoint.core.model.identity import Contribution, Origin, Succession
from counterpoint.core.model.sessions import Claim, Session, SessionOpening
from counterpoint.core.operations.recording.context import Caller
from counterpoint.core.ports.host import OnlyHost
from counterpoint.kernel.errors import (
    AlreadyClaimed,
    ClaimLost,
    Conflict,
    Forbidden,
    NotClaimHolder,
    NotFound,
)
from fakes.studio import ROOT, Studio

DONE = Report(outcome="done", summary="so")
NO = Judgment(approves=False, reason="no")


@dataclass(slots=True, kw_only=True)
class Hall(OnlyHost):
    """A server that knows who is connected, as a test says."""

    here: set[str] = field(default_factory=set)
    ended: dict[str, float] = field(default_factory=dict)

    def is_here(self, seat: str, within: float) -> bool:
        """Answer whether a connection is open."""
        del within
        return seat in self.here

    def absence(self, seat: str) -> float | None:
        """Answer how long one has been gone."""
        return self.ended.get(seat)


def window(studio: Studio, principal: str, secret: str = "", session: str = "", **more) -> Core:
    """Answer a window of one client, which all have the same name; empty: nobody is attested."""
    attested = Principal(strength="connection", id=principal) if principal else None
    name = session or studio.mint.mint("ses")
    actor = Actor(kind="agent", name="raw", session=name, principal=attested)
    return Core(studio.ports, Caller(actor=actor, root=ROOT, capability=secret, **more))


def mine(core: Core) -> str:
    """Answer the id of a core's session."""
    return core.caller.actor.session


@pytest.fixture
def hall(studio: Studio) -> Hall:
    """Give the server that all windows are connected to."""
    made = Hall()
    studio.ports = replace(studio.ports, host=made)
    return made


@pytest.fixture
def first(studio: Studio, hall: Hall) -> Core:
    """Give a window that is connected."""
    opened = window(studio, "cn_1", "secret")
    hall.here.add(mine(opened))
    return opened


@pytest.fixture
def second(studio: Studio, hall: Hall) -> Core:
    """Give another window of the same client."""
    return window(studio, "cn_2", "another")


@pytest.fixture
def item(first: Core) -> str:
    """Give a task that the first window holds."""
    made = first.plans.create(Draft(kind="task", title="A")).root.id
    first.claims.start(made)
    return made


def leave(hall: Hall, core: Core, seconds: float) -> None:
    """Let a connection have ended so long ago."""
    hall.here.discard(mine(core))
    hall.ended[mine(core)] = seconds


def test_who_names_anothers_session_writes_nothing_in_it(studio, first, second, item):
    """Not even with the token of the claim; whether attested or not."""
    for principal in ("cn_2", ""):
        thief = window(studio, principal, "another", session=mine(first))
        for proposed in (
            lambda thief=thief: thief.journal.append(Note(kind="comment", body="I was here")),
            lambda thief=thief: thief.tasks.finish(item, 1, DONE),
            lambda thief=thief: thief.claims.start(item),
            lambda thief=thief: thief.sessions.hand_over(Handover(action="end")),
        ):
            studio.refuses(Forbidden, proposed)
        inside = second.in_session(mine(first))
        studio.refuses(
            Forbidden, lambda inside=inside: inside.journal.append(Note(kind="comment", body="x"))
        )
    assert first.tasks.finish(item, 1, DONE).item.status == "done"


def test_who_is_started_again_goes_on_where_he_was(studio, hall, first, item):
    """With the secret of before he has session, claim and token, and the parts in work."""
    leave(hall, first, 0)
    again = window(studio, "cn_3", "secret", session=mine(first))
    again.journal.append(Note(kind="comment", body="back"))
    assert studio.last().facts["succeeds"] == "cn_1"
    assert again.overview.find(Session, mine(first)).principal == "cn_3"
    assert again.overview.find(Succession, "cn_3", mine(first), "cn_1").is_whole
    assert again.tasks.finish(item, 1, DONE).item.status == "done"
    # The process of before, if it should live, is a stranger now; only its own secret could help it.
    late = window(studio, "cn_1", "lost", session=mine(first))
    studio.refuses(Forbidden, lambda: late.journal.append(Note(kind="comment", body="me too")))


def test_another_label_makes_no_other_session(studio, hall):
    """Who is not attested and brings the secret goes on, whatever he calls himself."""
    bare = window(studio, "", "secret")
    bare.journal.append(Note(kind="comment", body="one"))
    named = Core(studio.ports, replace(bare.caller, actor=replace(bare.caller.actor, name="zoe")))
    named.journal.append(Note(kind="comment", body="two"))
    found = named.overview.find(Session, mine(bare))
    assert (found.principal, found.agent, studio.last().actor.name) == ("?raw", "raw", "zoe")


def test_a_restart_makes_no_judge_of_a_worker(studio, hall):
    """The parts in work of the one before are the next one's, however he came to the session."""
    first = window(studio, "cn_1", "secret")
    first.plans.create(first.plans.read("# P\n## One\n- review: yes\n- [ ] A\n- [ ] B\n"))
    first.claims.start("demo-3")
    first.tasks.finish("demo-3", 1, DONE)
    first.claims.start("demo-4")
    approve = Judgment(approves=True, reason="fine")
    for principal, capability in (("cn_3", "secret"), ("cn_4", "none")):
        again = window(studio, principal, capability)
        leave(hall, first, 60)
        if capability == "none":
            again.sessions.hand_over(Handover(action="continue", session=mine(first)))
        else:
            inside = again.in_session(mine(first))
            inside.journal.append(Note(kind="comment", body="back"))
        studio.refuses(Forbidden, lambda again=again: again.reviews.review("demo-2", approve))


def test_a_live_session_is_taken_up_by_nobody(studio, hall, first, second, item):
    """Whatever was asked for: the refusal says who has it, and what helps."""
    asked = Handover(action="continue", session=mine(first))
    fault = studio.refuses(AlreadyClaimed, lambda: second.sessions.hand_over(asked))
    assert fault.hint.endswith("A person can free it.")
    studio.refuses(AlreadyClaimed, lambda: second.claims.start(item))
    studio.refuses(AlreadyClaimed, lambda: second.claims.succeed(item))
    studio.refuses(Forbidden, lambda: second.sessions.abandon(mine(first), "mine now"))
    leave(hall, first, 59)
    studio.refuses(AlreadyClaimed, lambda: second.claims.start(item))
    leave(hall, first, 60)
    taken = second.sessions.hand_over(asked)
    assert [claim.item for claim in taken.claims] == [item]
    assert second.overview.find(Contribution, item, "cn_2", "worked") is not None
    studio.refuses(ClaimLost, lambda: first.tasks.finish(item, 1, DONE))


def test_a_task_of_who_is_gone_is_taken_over_after_the_time_of_grace(
    studio, hall, first, second, item
):
    """By a claim of its own, with a higher token; what stood in the way of others does not stop it."""
    leave(hall, first, 60)
    taken = second.claims.start(item)
    assert (taken.claim.token, taken.taken_over_from) == (2, "raw")
    assert studio.last().facts["why"] == "gone"
    other = second.plans.create(Draft(kind="task", title="B")).root.id
    first.claims.start(other)
    assert second.claims.succeed(other).token == 2
    assert studio.last().facts["taken_over_from"] == "raw"


@pytest.mark.parametrize("door", ["start", "next", "continue", "succeed"])
@pytest.mark.parametrize("why", ["principal", "gone", "lapsed"])
def test_a_take_over_begins_evidence_anew_and_who_goes_on_answers_for_all(
    studio, hall, first, why, door
):
    """What another left is told apart; nobody loses his remarks by taking his own task over."""
    text = "# Plan\n- [ ] One\n  - areas: src\n"
    item = first.plans.create(first.plans.read(text)).ready[0]
    begun = first.claims.start(item).snapshot
    studio.tree.write("outside.txt", "1")
    studio.tree.commit()
    studio.tree.write("src/b.py", "1")
    taker = window(studio, "cn_1" if why == "principal" else "cn_3", "third")
    if why == "lapsed":
        # Another try lies in between, which nobody ended either.
        studio.clock.pass_by(minutes=31)
        between = window(studio, "cn_2", "another")
        between.claims.start(item)
        studio.clock.pass_by(minutes=31)
        first = between
    studio.clock.pass_by(minutes=1)
    leave(hall, first, 61 if why == "gone" else 0)
    match door:
        case "start":
            taken = taker.claims.start(item).claim
        case "next":
            # What is held is offered once its lease has run out.
            studio.clock.pass_by(minutes=31)
            taken = taker.claims.take_next(ReadyFilter())[0].claim
        case "continue":
            taken = taker.sessions.hand_over(Handover(action="continue", session=mine(first)))
            taken = taken.claims[0]
        case _:
            taken = taker.claims.succeed(item)
    again = taker.claims.start(item)
    assert (again.renewed, again.claim.token) == (True, taken.token)
    studio.tree.write("src/c.py", "1")
    ended = taker.tasks.finish(item, taken.token, DONE)
    if why == "lapsed" or (why == "gone" and door != "succeed"):
        assert again.snapshot.taken_at > begun.taken_at
        assert [change.path for change in ended.measured.files] == ["src/c.py"]
        assert ended.measured.commits == ()
        (left,) = ended.measured.apart
        assert (left.reason, left.paths) == ("left_before", ("outside.txt", "src/b.py"))
        # Who commits between two starts is not known, but that it was before this one.
        assert len(left.commits) == 1
        remark = (
            f"2 files and 1 commit left from {left.by}, before the take-over: outside.txt, src/b.py"
        )
        assert remark in ended.outcome.remarks
        return
    assert again.snapshot == replace(begun, token=taken.token)
    assert ended.measured.apart == ()
    assert [change.path for change in ended.measured.files] == [
        "outside.txt",
        "src/b.py",
        "src/c.py",
    ]
    assert ended.outcome.remarks[0] == "1 of 3 changed files lie outside the areas: outside.txt"


def test_what_is_open_again_begins_with_the_tree_as_it_is_then(studio, ada, bob, item, first):
    """What was ended before has evidence of its own."""
    studio.tree.write("a.txt", "1")
    ended = first.tasks.finish(item, 1, replace(DONE, outcome="partial"))
    assert ended.measured.file_count == 1
    taken = bob.claims.start(item).claim.token
    assert bob.tasks.finish(item, taken, DONE).measured.file_count == 0


def test_in_another_tree_what_began_elsewhere_counts_from_its_commit(studio, hall, first, tmp_path):
    """What was not committed where it began never lay here; the checks of who goes on are run where he is."""
    studio.tree.write("draft.txt", "never committed")
    item = first.plans.create(Draft(kind="task", title="A", checks=(("make",),))).root.id
    begun = first.claims.start(item).snapshot
    leave(hall, first, 61)
    del studio.tree.files["draft.txt"]
    studio.tree.write("src/a.py", "1")
    studio.tree.commit()
    second = window(studio, "cn_1", "another")
    elsewhere = replace(second.caller, root=tmp_path, home=ROOT)
    second = Core(studio.ports, elsewhere)
    taken = second.claims.start(item)
    assert (taken.snapshot.commit, taken.snapshot.files) == (begun.commit, "")
    assert second.gates.verify(Check(item=item, gates=("check-1",)), taken.claim.token).passed
    ended = second.tasks.finish(item, taken.claim.token, DONE)
    assert [change.path for change in ended.measured.files] == ["src/a.py"]


def test_what_was_given_back_is_taken_up_from_nobody(studio, first, second, item):
    first.tasks.finish(item, 1, Report(outcome="partial", summary="half"))
    taken = second.claims.start(item)
    assert (taken.taken_over_from, taken.claim.token) == ("", 2)


def test_two_connections_of_one_process_take_nothing_from_each_other(studio, hall, first, item):
    """As long as both are there; after the end of one the other has it at once."""
    beside = window(studio, "cn_1", "third")
    studio.refuses(AlreadyClaimed, lambda: beside.claims.start(item))
    named = Handover(action="continue", session=mine(first))
    studio.refuses(AlreadyClaimed, lambda: beside.sessions.hand_over(named))
    leave(hall, first, 0)
    assert beside.claims.start(item).claim.token == 2
    assert "succeeds" not in studio.last().facts


def test_who_comes_again_is_offered_what_he_had_begun(studio, hall, first, second, item):
    """Once his connection is gone; nobody else is offered it, nor is he what another has taken up since."""
    first.journal.append(Note(kind="milestone", body="half"))
    again, bare = window(studio, "cn_1", "third"), window(studio, "", "fourth")
    assert [one.session.id for one in first.overview.to_continue()] == [mine(first)]
    assert again.overview.to_continue() == ()
    leave(hall, first, 0)
    (offered,) = again.overview.to_continue()
    assert (offered.session.id, offered.held[0].claim.token) == (mine(first), 1)
    assert (offered.left.kind, offered.left.body) == ("milestone", "half")
    for other in (second, bare):
        assert other.overview.to_continue() == ()
    again.sessions.hand_over(Handover(action="continue", session=offered.session.id))
    assert [one.session.id for one in again.overview.to_continue()] == [mine(again)]


def test_who_opened_or_paused_a_session_is_offered_it_until_it_has_ended(studio, first, second):
    """Also where it holds nothing; of others, and of the session that a connection only writes in, nobody is."""
    first.journal.append(Note(kind="milestone", body="half"))
    assert first.overview.to_continue() == ()
    opened = first.sessions.open(SessionOpening(purpose="audit")).id
    (offered,) = first.overview.to_continue()
    assert (offered.session.id, offered.held, offered.left) == (opened, (), None)
    first.sessions.end(opened, "completed")
    assert first.overview.to_continue() == ()
    left = mine(first)
    studio.clock.pass_by(minutes=1)
    first.sessions.hand_over(Handover(action="pause", summary="later"))
    (offered,) = first.overview.to_continue()
    assert (offered.session.id, offered.left.summary) == (left, "later")
    assert second.overview.to_continue() == ()


def test_what_a_person_frees_is_told_to_who_held_it(studio, first, second, item, person):
    """A task, or all that a session holds; until he or another takes it up again."""
    other = first.plans.create(Draft(kind="task", title="B")).root.id
    first.claims.start(other)
    freed = person.claims.release(mine(first))
    assert [(one.status, held.item, held.agent) for one, held in freed] == [
        ("open", item, "raw"),
        ("open", other, "raw"),
    ]
    told = [(one.item, one.token, one.by) for one in first.claims.freed()]
    assert told == [(item, 1, "pat"), (other, 1, "pat")]
    assert second.claims.freed() == ()
    fault = studio.refuses(NotClaimHolder, lambda: first.tasks.finish(item, 1, DONE))
    assert fault.message.startswith(f"pat released {item} at ")
    second.claims.start(item)
    first.claims.start(other)
    assert first.claims.freed() == ()
    person.claims.release(other)
    studio.refuses(Conflict, lambda: person.claims.release(other))
    studio.refuses(Conflict, lambda: person.claims.release(mine(person) or mine(first)))
    studio.refuses(NotFound, lambda: person.claims.release("demo-99"))


def test_nobody_ends_the_live_claims_of_others_in_passing(studio, first, second, item, person):
    """Cancelling what is above names all of them; a maintainer may, and so may a person."""
    root = first.plans.create(first.plans.read("# P\n## One\n- [ ] A\n- [ ] B\n- [ ] C\n")).root.id
    for name in ("demo-4", "demo-5"):
        first.claims.start(name)
    second.claims.start("demo-6")
    away = Edit(status="cancelled", reason="no")
    fault = studio.refuses(AlreadyClaimed, lambda: second.items.edit(root, away))
    assert fault.facts["items"] == ["demo-4", "demo-5"]
    studio.refuses(AlreadyClaimed, lambda: second.items.edit("demo-4", away))
    studio.refuses(Forbidden, lambda: second.claims.release("demo-4"))
    keeper = window(studio, "cn_9", "key", scopes=frozenset({"maintain"}))
    keeper.claims.release("demo-4")
    keeper.items.edit(root, away)
    held = {claim.item for claim in studio_claims(studio) if claim.is_held}
    assert held == {item}


def studio_claims(studio: Studio) -> list[Claim]:
    """Answer all claims."""
    with studio.view() as view:
        return view.select(Claim)


def test_a_person_who_takes_up_a_session_inherits_nothing_but_what_it_holds(
    studio, first, item, person
):
    """He judges the rest by his own name and key."""
    other = first.plans.create(Draft(kind="task", title="B")).root.id
    first.claims.start(other)
    first.tasks.finish(other, 1, DONE)
    first.sessions.hand_over(Handover(action="pause", summary="s"))
    person.sessions.resume(mine(first))
    assert person.overview.find(Contribution, other, "cn_human_pat", "worked") is None
    assert person.overview.find(Contribution, item, "cn_human_pat", "worked") is not None


def test_where_an_end_is_declared_nobody_who_is_at_work_is_asked(studio, first, second):
    """What runs outlives its part; it is ended by its own word."""
    task = Draft(kind="task", title="T")
    part = Draft(kind="phase", title="P", lifecycle="declared", status="active", children=(task,))
    first.plans.create(Draft(kind="plan", title="R", children=(part,)))
    first.claims.start("demo-3")
    assert second.items.edit("demo-2", Edit(status="cancelled", reason="no")).status == "cancelled"
    assert first.tasks.finish("demo-3", 1, DONE).item.status == "done"


def test_who_is_at_work_is_not_asked_by_the_end_of_what_holds_his_part_either(first, second):
    """Of all the tree, only what ends with the whole has to be free."""
    task = Draft(kind="task", title="T")
    part = Draft(kind="phase", title="P", lifecycle="declared", children=(task,))
    first.plans.create(Draft(kind="plan", title="R", children=(part,)))
    first.claims.start("demo-3")
    assert second.items.edit("demo-1", Edit(status="cancelled", reason="no")).status == "cancelled"
    assert first.tasks.finish("demo-3", 1, DONE).item.status == "done"


def test_what_is_handed_over_brings_the_parts_of_that_session_alone(studio, first, second, item):
    """Whoever takes it up judges what its holder did elsewhere, and nothing that was done in it."""
    beside = window(studio, "cn_1", "secret", seat=mine(first))
    elsewhere = first.plans.create(Draft(kind="task", title="B")).root.id
    beside.claims.start(elsewhere)
    first.tasks.finish(item, 1, DONE)
    first.sessions.hand_over(Handover(action="pause", summary="s"))
    second.sessions.resume(mine(first))
    for core in (second, window(studio, "cn_2", "a third")):
        studio.refuses(Forbidden, lambda core=core: core.reviews.review(item, NO))
        core.reviews.review(elsewhere, NO)


def test_who_shares_a_credential_takes_up_by_name_what_another_connection_left(studio, hall):
    """As a client over HTTP that was started again with its token; in passing it takes nothing."""
    principal = Principal(strength="credential", id="tok_1")

    def client(secret: str) -> Core:
        opened = window(studio, "cn_x", secret)
        actor = replace(opened.caller.actor, principal=principal)
        return Core(studio.ports, replace(opened.caller, actor=actor))

    first, again = client("one"), client("two")
    made = first.plans.create(Draft(kind="task", title="A")).root.id
    first.claims.start(made)
    inside = again.in_session(mine(first))
    studio.refuses(Forbidden, lambda: inside.tasks.finish(made, 1, DONE))
    studio.refuses(AlreadyClaimed, lambda: again.claims.start(made))
    taken = again.sessions.hand_over(Handover(action="continue", session=mine(first)))
    assert [claim.item for claim in taken.claims] == [made]
    assert studio.last().facts["why"] == "principal"
    # What he has in a connection that ended he may end too; what another has left he may only take up.
    leave(hall, again, 0)
    third = client("three")
    assert third.sessions.abandon(mine(again), "begun anew").status == "failed"
    assert third.items.get(made).status == "open"


def test_what_another_left_is_taken_up_and_not_thrown_away(studio, hall, first, second, item):
    """While the lease runs; a person may end it."""
    leave(hall, first, 60)
    studio.refuses(AlreadyClaimed, lambda: second.sessions.abandon(mine(first), "gone"))
    taken = second.sessions.hand_over(Handover(action="continue", session=mine(first)))
    assert [claim.item for claim in taken.claims] == [item]


def test_who_is_started_again_judges_nothing_of_before_by_whatever_connection(studio, hall, first):
    """Neither over one without the secret, nor after one more start; nor does he do what he had loosened."""
    plan = "# P\n## One\n- review: yes\n- [ ] A\n- [ ] B\n  - verify: false\n"
    first.plans.create(first.plans.read(plan))
    first.items.edit("demo-4", Edit(checks=()))
    first.claims.start("demo-3")
    first.tasks.finish("demo-3", 1, DONE)
    for principal in ("cn_3", "cn_4", "cn_3", "cn_4"):
        again = window(studio, principal, "secret", session=mine(first))
        again.journal.append(Note(kind="comment", body="back"))
        beside = window(studio, principal, "a third")
        for item in ("demo-2", "demo-3"):
            fault = studio.refuses(
                Forbidden, lambda item=item, beside=beside: beside.reviews.review(item, NO)
            )
            assert "worked on" in fault.message
        studio.refuses(Forbidden, lambda beside=beside: beside.claims.start("demo-4"))


def test_who_is_started_again_after_his_session_ended_is_who_worked(studio, hall, first):
    """He opens the next one with his secret, and that says who he was; so it is after every start."""
    first.plans.create(first.plans.read("# P\n## One\n- review: yes\n- [ ] A\n"))
    first.claims.start("demo-3")
    first.tasks.finish("demo-3", 1, DONE)
    first.sessions.hand_over(Handover(action="end", summary="all of it"))
    for principal in ("cn_3", "cn_4"):
        session, seat = first.identities.recall("secret")
        again = window(studio, principal, "secret", session, seat=seat)
        again.sessions.hand_over(Handover(action="end", summary="nothing more"))
        beside = window(studio, principal, "another")
        studio.refuses(Forbidden, lambda beside=beside: beside.reviews.review("demo-2", NO))


def test_who_only_says_to_be_a_person_ends_no_live_claim(studio, first):
    """Neither by reopening the task, nor by closing what is above it."""
    first.plans.create(first.plans.read("# P\n## One\n- [ ] A\n"))
    first.claims.start("demo-3")
    said = Caller(actor=Actor(kind="human", name="pat"), root=ROOT, origin=Origin(doubt="served"))
    for item, status in (("demo-3", "open"), ("demo-2", "cancelled")):
        edit = Edit(status=status)
        studio.refuses(
            AlreadyClaimed,
            lambda item=item, edit=edit: Core(studio.ports, said).items.edit(item, edit),
        )


def test_what_a_client_left_is_offered_first_and_once_when_it_is_started_again(studio, hall, first):
    """Whatever comes before it by priority; nobody else is offered it first."""
    urgent, left = (
        first.plans.create(Draft(kind="task", title=title, priority=priority)).root.id
        for title, priority in (("B", 0), ("A", 3))
    )
    first.claims.start(left)
    leave(hall, first, 999)
    again, other = window(studio, "cn_2", "secret"), window(studio, "cn_3", "third")
    offers = {
        core: [offer.item.id for offer in core.ready.offers(ReadyFilter(), 9)]
        for core in (again, other)
    }
    assert offers == {again: [left, urgent], other: [urgent, left]}
