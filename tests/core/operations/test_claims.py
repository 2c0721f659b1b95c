"""Claims: who holds what, and who no longer does."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

import pytest

from builders import known_connection
from counterpoint.core.coordinator import Core
from counterpoint.core.model.access import Principal
from counterpoint.core.model.evidence import Command
from counterpoint.core.model.filters import Check, Edit, Note, ReadyFilter, Report
from counterpoint.core.model.identity import Origin
from counterpoint.core.model.presence import Presence
from counterpoint.core.model.sessions import Claim, Session
from counterpoint.core.model.work import Area
from counterpoint.core.operations.readiness import busy_areas
from counterpoint.core.operations.recording.holders import Holders
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.store import Reading
from counterpoint.kernel.errors import (
    AlreadyClaimed,
    ClaimLost,
    InvalidInput,
    NotClaimHolder,
    NotFound,
    NotReady,
)
from fakes.studio import Studio

N = TypeVar("N")

DONE = Report(outcome="done", summary="it works")


@pytest.fixture
def task(ada):
    """Give the id of a task that is ready."""
    return ada.plans.create(ada.plans.read("# Plan\n- [ ] One {#one}\n  - areas: src\n")).ready[0]


def test_start_claims_and_remembers_the_tree(studio, ada, task):
    """The claim, its lease, the start point and the woken plan land in one entry."""
    studio.tree.write("src/old", "1")
    started = ada.claims.start(task, 10)
    assert (started.claim.token, started.claim.session) == (1, ada.caller.actor.session)
    assert started.claim.leased_until == "2026-01-02T03:14:05.000Z"
    assert started.snapshot.files.startswith('{"src/old":"')
    assert (started.item.status, started.item.assignee) == ("active", "ada")
    assert (started.renewed, started.taken_over_from) == (False, "")
    assert ada.items.get(started.item.parent).status == "active"
    entry = studio.last()
    assert (entry.action, entry.subject) == ("task.started", task)
    assert entry.facts == {"token": 1, "until": started.claim.leased_until}
    tables = {row.table for row in entry.rows}
    assert tables == {"items", "claims", "contributions", "start_points"}


def test_a_claim_in_a_session_that_many_share_is_nobodys_without_its_token(studio, task):
    """A second start there may be another caller's; whoever has the token ends it, and when it lapses others may begin."""
    first, beside = (
        studio.core("ada", session="ses_all", capability="all", is_shared=True) for _ in range(2)
    )
    began = first.claims.start(task).claim.token
    assert began > 1
    assert first.overview.held() == beside.overview.held() == beside.overview.to_continue() == ()
    said = {
        studio.refuses(
            InvalidInput, lambda wrong=wrong: beside.tasks.finish(task, wrong, DONE)
        ).hint
        for wrong in (1, began - 1, began + 1)
    }
    assert len(said) == 1
    for proposed in (beside.claims.start, beside.claims.succeed):
        fault = studio.refuses(AlreadyClaimed, lambda proposed=proposed: proposed(task))
        assert "the token that came with its claim" in fault.hint
    studio.clock.pass_by(minutes=31)
    taken = beside.claims.start(task)
    assert (taken.claim.token > began, taken.renewed) == (True, False)
    studio.refuses(InvalidInput, lambda: first.tasks.finish(task, began, DONE))
    assert first.tasks.finish(task, taken.claim.token, DONE).item.status == "done"


def test_a_second_start_renews_and_keeps_token_and_start_point(studio, ada, task):
    """What was written before the renewal still counts as the caller's work."""
    first = ada.claims.start(task)
    studio.tree.write("src/new", "1")
    studio.clock.pass_by(minutes=20)
    second = ada.claims.start(task)
    assert second.renewed
    assert second.claim.token == first.claim.token
    assert second.snapshot == first.snapshot
    assert second.claim.leased_until > first.claim.leased_until
    assert studio.last().action == "claim.renewed"
    found = ada.tasks.finish(task, 1, DONE)
    assert [change.path for change in found.measured.files] == ["src/new"]


def test_a_shorter_renewal_never_cuts_the_lease(ada, task):
    """Asking for five minutes takes nothing from thirty."""
    until = ada.claims.start(task, 30).claim.leased_until
    assert ada.claims.start(task, 5).claim.leased_until == until


def test_a_lease_that_ran_out_is_taken_over_once_with_a_higher_token(studio, ada, bob, task):
    """The second of those who come late finds the first."""
    ada.claims.start(task, 30)
    studio.clock.pass_by(minutes=31)
    offer = bob.ready.offers(ReadyFilter(), 5)[0]
    assert "the lease of ada has run out" in offer.why
    taken = bob.claims.start(task)
    assert (taken.claim.token, taken.taken_over_from, taken.item.assignee) == (2, "ada", "bob")
    assert taken.item.version == 3
    entry = studio.last()
    assert (entry.action, entry.facts["taken_over_from"]) == ("task.taken_over", "ada")
    studio.refuses(AlreadyClaimed, lambda: studio.core("eve").claims.start(task))


def test_a_late_worker_writes_nothing_with_the_old_token(studio, ada, bob, task):
    """finish, note, submit and verify are fenced off; so is an edit of the state."""
    ada.claims.start(task, 30)
    studio.clock.pass_by(minutes=31)
    bob.claims.start(task)
    studio.tree.write("out.md", "x")
    studio.refuses(ClaimLost, lambda: ada.tasks.finish(task, 1, DONE))
    note = Note(kind="comment", body="late", item=task)
    studio.refuses(ClaimLost, lambda: ada.journal.append(note, 1))
    studio.refuses(ClaimLost, lambda: ada.reviews.submit(task, "out.md", "late", 1))
    check = Check(item=task, command=Command(argv=("true",)))
    studio.refuses(ClaimLost, lambda: ada.gates.verify(check, 1))
    assert studio.tree.ran == []
    studio.refuses(AlreadyClaimed, lambda: ada.items.edit(task, Edit(status="done")))
    assert bob.tasks.finish(task, 2, DONE).item.status == "done"


def test_ones_own_lease_that_ran_out_is_renewed_by_next_too(studio, ada, task):
    """The work since the first start is not forgotten."""
    ada.claims.start(task, 1)
    studio.clock.pass_by(minutes=5)
    started, offer = ada.claims.take_next(ReadyFilter())
    assert (started.renewed, started.claim.token, offer.item.id) == (True, 1, task)
    assert studio.last().subject == task


def test_a_lapsed_lease_is_not_renewed_into_anothers_area(studio, ada, bob, task):
    """Between the end of the lease and the renewal somebody else began there."""
    other = ada.plans.create(ada.plans.read("# P\n- [ ] Two\n  - areas: src/x\n")).ready[0]
    ada.claims.start(task, 1)
    studio.refuses(NotReady, lambda: bob.claims.start(other))
    studio.clock.pass_by(minutes=5)
    bob.claims.start(other)
    fault = studio.refuses(NotReady, lambda: ada.claims.start(task))
    assert "area src overlaps src/x" in fault.facts["reasons"][0]


def test_ones_own_areas_are_in_nobodys_way_but_the_others(ada, bob, task):
    """A session may hold two items in one place; another session may not join it there."""
    other = ada.plans.create(ada.plans.read("# P\n- [ ] Two\n  - areas: src/x\n")).ready[0]
    ada.claims.start(task)
    assert [o.item.id for o in bob.ready.offers(ReadyFilter(), 5)] == []
    assert [o.item.id for o in ada.ready.offers(ReadyFilter(), 5)] == [other]
    assert ada.claims.start(other).claim.token == 1


def test_an_ended_claim_is_never_renewed(studio, ada, person, task):
    """A token ends with its outcome, even if a person puts the item back to active."""
    ada.claims.start(task)
    ada.tasks.finish(task, 1, Report(outcome="partial", summary="half"))
    person.items.edit(task, Edit(status="active"))
    assert [o.item.id for o in ada.ready.offers(ReadyFilter(), 5)] == [task]
    again = ada.claims.start(task)
    assert (again.renewed, again.claim.token, again.taken_over_from) == (False, 2, "")
    ada.tasks.finish(task, 2, DONE)
    assert [o.outcome for o in ada.overview.outcomes(task)] == ["partial", "done"]


@pytest.mark.parametrize(("token", "fault"), [(None, NotClaimHolder), (7, InvalidInput), (1, None)])
def test_a_write_under_a_claim_carries_its_token(studio, ada, task, token, fault):
    """No token, or one that was never given out, is refused."""
    ada.claims.start(task)
    if fault is None:
        ada.tasks.finish(task, token, DONE)
    else:
        studio.refuses(fault, lambda: ada.tasks.finish(task, token, DONE))


def test_an_earlier_token_of_ones_own_is_refused_too(studio, ada, task):
    """A retry that comes after the same session began anew must not end the second claim."""
    ada.claims.start(task)
    ada.tasks.finish(task, 1, Report(outcome="partial", summary="half"))
    ada.claims.start(task)
    late = Report(outcome="done", summary="late")
    fault = studio.refuses(ClaimLost, lambda: ada.tasks.finish(task, 1, late))
    assert fault.facts == {"holder": "ada", "token": 1}


def test_who_never_claimed_cannot_finish(studio, ada, bob, person, task):
    """Without a claim, with somebody else's, and after it was given back."""
    studio.refuses(NotClaimHolder, lambda: ada.tasks.finish(task, 1, DONE))
    ada.claims.start(task)
    studio.refuses(NotClaimHolder, lambda: bob.tasks.finish(task, None, DONE))
    studio.refuses(ClaimLost, lambda: bob.tasks.finish(task, 1, DONE))
    person.items.edit(task, Edit(status="open"))
    studio.refuses(NotClaimHolder, lambda: ada.tasks.finish(task, 1, DONE))


def test_what_cannot_be_claimed(studio, ada, person, task):
    """A plan, an unknown item, a closed one; and nobody claims without a session."""
    root = ada.items.get(task).parent
    assert "holds work" in studio.refuses(NotReady, lambda: ada.claims.start(root)).message
    studio.refuses(NotFound, lambda: ada.claims.start("demo-99"))
    studio.refuses(InvalidInput, lambda: person.claims.start(task))
    studio.refuses(InvalidInput, lambda: person.claims.take_next(ReadyFilter()))
    ada.items.edit(task, Edit(status="skipped"))
    assert "it is skipped" in studio.refuses(NotReady, lambda: ada.claims.start(task)).message


def test_next_takes_the_most_urgent_that_is_wanted(studio, ada, bob):
    """Priority, then age; label, profile, kind and root narrow it down."""
    made = ada.plans.create(
        ada.plans.read(
            "# Plan\n- [ ] A\n- [ ] B\n  - priority: 0\n- [ ] C\n  - labels: x\n"
            "- [ ] D\n  - profile: judge\n"
        )
    )
    a, b, c, d = (item.id for item in made.items[1:])
    assert [o.item.id for o in bob.ready.offers(ReadyFilter(), 9)] == [b, a, c, d]
    assert [o.item.id for o in bob.ready.offers(ReadyFilter(), 9, after=(0, 3))] == [a, c, d]
    assert bob.claims.take_next(ReadyFilter(label="x"))[0].item.id == c
    assert bob.claims.take_next(ReadyFilter(profile="judge"))[0].item.id == b
    assert bob.claims.take_next(ReadyFilter(root="demo-9")) is None
    assert bob.claims.take_next(ReadyFilter(kinds=("issue",))) is None
    assert [o.item.id for o in bob.ready.offers(ReadyFilter(profile="coder"), 9)] == [a]
    assert studio.last().facts["token"] == 1


def test_offers_say_how_many_wait(ada):
    """Work that sets others free says so."""
    ada.plans.create(ada.plans.read("# P\n- [ ] A {#a}\n- [ ] B\n  - after: a\n"))
    (offer,) = ada.ready.offers(ReadyFilter(), 9)
    assert (offer.unblocks, offer.why[-1]) == (1, "1 item waits for it")


def test_of_sixteen_who_race_for_a_task_one_wins(tmp_path):
    """Fifty races on one file: one claim, fifteen refusals, each of the right kind."""
    studio = Studio(tmp_path / "race.db")
    author = studio.core("author")
    text = "# Race\n" + "\n".join(f"- [ ] t{n}" for n in range(50))
    tasks = author.plans.create(author.plans.read(text)).ready
    won: list[tuple[str, str]] = []
    lost: list[str] = []
    odd: list[BaseException] = []
    barrier = threading.Barrier(16, timeout=30)

    def race(number: int) -> None:
        name = f"runner-{number}"
        core = studio.core(name)
        for task in tasks:
            barrier.wait()
            try:
                won.append((task, core.claims.start(task).claim.agent))
            except AlreadyClaimed:
                lost.append(task)
            except BaseException as fault:
                odd.append(fault)
                barrier.abort()
                raise

    threads = [threading.Thread(target=race, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(50)
    assert odd == []
    assert sorted(task for task, _ in won) == sorted(tasks)
    assert len(lost) == 15 * 50
    with studio.view() as view:
        assert {c.item: c.agent for c in view.select(Claim)} == dict(won)
    studio.check()
    studio.close()


class Asked:
    """A view that writes down which nouns were asked for."""

    def __init__(self, view: Reading) -> None:
        self.view = view
        self.nouns: list[object] = []

    def select(self, noun: type[N], **more: Any) -> list[N]:
        """Ask the real view."""
        self.nouns.append(noun)
        return self.view.select(noun, **more)

    def presences(self, seats: Sequence[str]) -> list[Presence]:
        """Ask the real view."""
        self.nouns.append(Presence)
        return self.view.presences(seats)


def test_what_others_hold_is_asked_in_four_statements_however_many_hold_something(studio, ada, bob):
    """For the claims, their sessions, the connections of these, and all areas; an item without areas has none."""
    text = "# P\n- [ ] A\n  - areas: a, a2\n- [ ] B\n  - areas: b\n- [ ] C\n"
    held = ada.plans.create(ada.plans.read(text)).ready
    for item in held:
        ada.claims.start(item)
    with studio.view() as view:
        asked = Asked(view)
        context = studio.context(studio.core("cid"))
        found = busy_areas(cast("Reading", asked), Holders(cast("Reading", asked), context))
    assert found == dict(zip(held, [("a", "a2"), ("b",), ()], strict=True))
    assert asked.nouns == [Claim, Session, Presence, Area]


def test_an_agent_whom_nothing_attests_hears_it_at_its_first_claim_alone(studio, ada):
    first, second = ada.plans.create(ada.plans.read("# P\n- [ ] A\n- [ ] B\n")).ready
    rae = studio.core("rae").caller
    untold = replace(
        rae, actor=replace(rae.actor, principal=None), origin=Origin(boot="b", doubt="orphan")
    )
    core = Core(studio.ports, untold)
    (warning,) = core.claims.start(first).warnings
    assert "only a person who signs" in warning
    assert "counterpoint agent create" in warning
    assert core.claims.start(second).warnings == ()


@pytest.mark.parametrize(("started", "is_warned"), [(5, True), (50, False)])
def test_an_agent_that_another_may_have_left_hears_that_too(studio, ada, started, is_warned):
    """Whoever was there before it may have started it: those two do not judge each other."""
    first = ada.plans.create(ada.plans.read("# P\n- [ ] A\n")).ready[0]
    other = known_connection("cn_eve", boot="b", started=started)
    with recording(studio.context(ada), "connection.opened") as change:
        change.put(other)
    own = known_connection("cn_rae", boot="b", started=20, held_since=10)
    rae = studio.core("rae").caller
    actor = replace(rae.actor, principal=Principal(strength="connection", id="cn_rae"))
    core = Core(studio.ports, replace(rae, actor=actor, connection=own))
    assert bool(core.claims.start(first).warnings) == is_warned
