"""The write path: whole calls, one answer to a key, time that never runs back."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.access import Actor
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.evidence import Command
from counterpoint.core.model.filters import Check, Note
from counterpoint.core.model.journal import Record, Reply
from counterpoint.core.model.work import Item
from counterpoint.core.operations.journal import Journal
from counterpoint.core.operations.recording.context import Caller
from counterpoint.core.operations.recording.unit import extend_entry, once, recording, transaction
from counterpoint.kernel.errors import Forbidden, InvalidInput, KeyReused, NotFound
from fakes.studio import ROOT, Studio


def noting(core, body="x"):
    """Answer a call that writes a record and answers its id."""
    return lambda: core.journal.append(Note(kind="comment", body=body)).id


def test_the_same_key_hears_the_first_answer_again(studio, ada):
    """Nothing is run or written the second time."""
    first = ada.once("k", ["note", "x"], noting(ada))
    before = studio.image()
    again = studio.core("ada", session=ada.caller.actor.session)
    assert again.once("k", ["note", "x"], noting(again)) == first == "demo-r1"
    assert studio.image() == before
    assert studio.last().facts["record"] == "demo-r1"


def test_a_key_with_other_arguments_is_refused(studio, ada):
    """Neither the old answer nor a second write."""
    ada.once("k", ["note", "x"], noting(ada))
    studio.refuses(KeyReused, lambda: ada.once("k", ["note", "y"], noting(ada, "y")))


def unattested(studio, session="", capability=""):
    """Answer the core of somebody whom nothing attests, under the name that everybody has."""
    actor = Actor(kind="agent", name="ada", session=session)
    return Core(studio.ports, Caller(actor=actor, root=ROOT, capability=capability))


def test_a_key_belongs_to_the_session_of_its_connection(studio, ada):
    """Two connections may use the same word, and have the same name and the same principal."""
    first = ada.once("k", 1, noting(ada))
    other = studio.core("ada")
    assert other.once("k", 1, noting(other)) != first


def test_a_key_of_whom_nothing_attests_belongs_to_his_session(studio):
    """A name proves nothing, and neither does the session of another that one names."""
    ada = unattested(studio, "ses_a", "secret of a")
    first = ada.once("k", 1, noting(ada))
    assert ada.once("k", 1, noting(ada)) == first
    other = unattested(studio, "ses_b", "secret of b")
    assert other.once("k", 1, noting(other)) != first
    thief = unattested(studio, "ses_a", "secret of b")
    studio.refuses(Forbidden, lambda: thief.once("k", 1, noting(thief)))
    outside = unattested(studio)
    assert outside.once("k", 1, noting(outside)) != first


def test_who_was_started_again_finds_what_he_was_answered_before(studio):
    """A fresh process has the same secret."""
    before, after = (
        studio.core(name, session="ses_a", capability="secret") for name in ("one", "two")
    )
    first = before.once("k", 1, noting(before))
    assert after.once("k", 1, noting(after)) == first
    stranger = studio.core("three", session="ses_a", capability="guessed")
    studio.refuses(Forbidden, lambda: stranger.once("k", 1, noting(stranger)))


def test_a_call_that_failed_keeps_nothing_under_its_key(studio, ada):
    studio.refuses(NotFound, lambda: ada.once("k", 1, lambda: ada.journal.resolve("demo-r9", "x")))
    assert ada.once("k", 1, noting(ada)) == "demo-r1"


def test_a_call_that_only_reads_keeps_no_answer(studio, ada):
    """There is nothing that a retry could repeat."""
    before = studio.image()
    assert ada.once("k", 1, lambda: ada.items.edit.__name__) == "edit"
    assert studio.image() == before


def test_all_writes_of_one_call_land_together(studio, ada):
    """A second verb that is refused takes the first with it."""

    def run():
        ada.journal.append(Note(kind="comment", body="one"))
        return ada.journal.append(Note(kind="comment", body="two", item="demo-9")).id

    studio.refuses(NotFound, lambda: ada.once("k", 1, run))


def test_a_refusal_that_is_swallowed_still_undoes_the_call(studio, ada):
    """A verb that failed half-way has written rows without an entry: they must not land."""
    item = ada.plans.create(Draft(kind="task", title="A")).root.id

    def half_way():
        with recording(ada._context, "item.edited", item) as change:
            change.put(change.get(Item, item).moved("active", change.now))
            raise InvalidInput("half-way")

    def run():
        with pytest.raises(InvalidInput), recording(studio.context(ada), "x.y"):
            raise InvalidInput("before anything was written")
        with recording(ada._context, "item.edited", item) as outer:
            outer.add_facts(fine=True)
        with pytest.raises(InvalidInput):
            half_way()
        return "swallowed"

    fault = studio.refuses(InvalidInput, lambda: ada.once("k", 1, run))
    assert fault.message == "half-way"


def test_racers_with_one_key_do_it_once(tmp_path):
    """All of them hear the same answer, and one entry was written."""
    studio = Studio(tmp_path / "store.db")
    barrier = threading.Barrier(8, timeout=30)
    answers: list[str] = []

    def race() -> None:
        core = studio.core("ada", session="ses_one")
        barrier.wait()
        answers.append(core.once("k", "same", noting(core)))

    threads = [threading.Thread(target=race) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert answers == ["demo-r1"] * 8
    with studio.view() as view:
        assert len(view.select(Reply)) == 1
        assert view.head().size == 2
    studio.check()
    studio.close()


def test_a_racer_with_other_arguments_is_refused_inside_the_transaction(tmp_path):
    """The key was free when it looked, and taken when it wrote."""
    studio = Studio(tmp_path / "store.db")
    late, early = (studio.core("ada", session="ses_one") for _ in range(2))
    studio.tree.during = lambda: early.once("k", "early", noting(early))
    check = Check(command=Command(argv=("x",)))

    def verify():
        return late.gates.verify(check).receipts[0].id

    with pytest.raises(KeyReused):
        late.once("k", "late", verify)
    with studio.view() as view:
        assert view.head().size == 2
    studio.close()


def test_a_clock_that_is_a_little_behind_is_absorbed(studio, ada):
    """The ledger's time stands still until the clock has caught up."""
    studio.clock.pass_by(minutes=10)
    first = ada.journal.append(Note(kind="comment", body="1"))
    studio.clock.pass_by(seconds=-60)
    second = ada.journal.append(Note(kind="comment", body="2"))
    assert second.created_at == first.created_at
    studio.clock.pass_by(seconds=61)
    assert ada.journal.append(Note(kind="comment", body="3")).created_at > first.created_at


def test_time_never_runs_back_inside_one_call(studio, ada):
    """Two entries of one transaction are in order even if the clock is set between them."""

    def run():
        first = ada.journal.append(Note(kind="comment", body="1"))
        studio.clock.pass_by(seconds=-30)
        second = ada.journal.append(Note(kind="comment", body="2"))
        return [first.created_at, second.created_at]

    first, second = ada.once("k", 1, run)
    assert first == second
    studio.clock.pass_by(seconds=30)


def test_the_conditions_of_a_call_are_asked_in_each_of_its_transactions(studio, ada):
    """Before anything is written; one that raises refuses what was to come, and leaves nothing."""
    asked = []

    def ask(view):
        asked.append(view.head().size)
        if len(asked) > 1:
            raise Forbidden("not now")

    def act(context):
        context.conditions = (ask,)
        first = Journal(context).append(Note(kind="comment", body="x"))
        with pytest.raises(Forbidden):
            Journal(context.in_session("ses_other")).append(Note(kind="comment", body="y"))
        with context.reading() as view:
            assert len(view.select(Record)) == 1
        return first.id

    before = studio.image()
    assert ada.use(act) == "demo-r1"
    assert len(asked) == 2
    assert studio.image() != before


def test_the_conditions_of_a_call_are_asked_in_its_first_view(studio, ada):
    """Before it does anything; later views belong to what it has begun."""
    asked = []

    def refuse(view):
        asked.append(view.head().size)
        if len(asked) == 1:
            raise Forbidden("not now")

    def look(context):
        context.conditions = (refuse,)
        with pytest.raises(Forbidden), context.reading() as view:
            view.find(Record, "none")
        with context.reading() as view:
            return view.head().size

    size = ada.use(look)
    assert asked == [size]


def test_verbs_know_the_key_of_their_call(studio, ada):
    """And that there is none."""

    def keyed(context):
        seen = [context.key]
        once(context, "k", [], lambda: seen.append(context.key))
        return seen

    assert ada.use(keyed) == ["", "k"]


def test_a_change_in_the_middle_of_another_has_its_time(studio, ada):
    """It lands before that one, and no entry is older than the one before it."""
    with recording(studio.context(ada), "outer.made") as change:
        change.open_session()
        studio.clock.pass_by(seconds=1)
        with recording(change.context, "inner.made") as inner:
            inner.add_facts(said="less")
        change.add_facts(said="more")
    assert inner.now == change.now
    studio.check()


def test_what_goes_on_with_an_act_lands_in_its_entry(studio, ada):
    """As one entry, with the rows of both in their order."""
    item = ada.plans.create(Draft(kind="task", title="A")).root.id
    context = studio.context(ada)
    with transaction(context):
        with recording(context, "item.edited", item) as first:
            first.put(first.get(Item, item).moved("active", first.now))
        resuming = extend_entry(context, item)
        assert resuming is not None
        with resuming as change:
            change.add_facts(more=True)
            change.put(replace(change.get(Item, item), version=5))
    last = studio.last()
    assert (last.action, last.facts, [row.table for row in last.rows]) == (
        "item.edited",
        {"more": True},
        ["items", "items"],
    )
    studio.check()


def test_nothing_goes_on_with_an_act_about_something_else_or_in_the_middle_of_another(studio, ada):
    """Then it has an entry of its own: that of another thing, or one that does not know what was written since, is not touched."""
    context = studio.context(ada)
    assert extend_entry(context, "demo-1") is None
    with transaction(context):
        assert extend_entry(context, "demo-1") is None
        with recording(context, "x.made", "demo-1"):
            pass
        assert extend_entry(context, "demo-2") is None
        with recording(context, "y.made", "demo-3"):
            assert extend_entry(context, "demo-1") is None


def test_what_fails_as_it_goes_on_undoes_the_act_too(studio, ada):
    """Though whoever asked swallows the refusal: half of the entry would be missing."""
    item = ada.plans.create(Draft(kind="task", title="A")).root.id

    def run():
        context = ada._context
        with recording(context, "item.edited", item) as first:
            first.put(first.get(Item, item).moved("active", first.now))
        with pytest.raises(InvalidInput), extend_entry(context, item):
            raise InvalidInput("half-way")
        return "swallowed"

    assert studio.refuses(InvalidInput, lambda: ada.once("k", 1, run)).message == "half-way"


def test_a_block_of_one_moment_sees_nothing_that_others_write_meanwhile(tmp_path):
    studio = Studio(tmp_path / "ledger.db")
    ada, bob = studio.core("ada"), studio.core("bob")
    noting(bob, "before")()
    with ada.one_moment():
        first = [record.id for record in ada.overview.recent("comment", limit=5)]
        noting(bob, "meanwhile")()
        assert [record.id for record in ada.overview.recent("comment", limit=5)] == first
    assert len(ada.overview.recent("comment", limit=5)) == len(first) + 1
    studio.store.close()
