"""Who may take gates away, and what follows for whoever did."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import known_connection
from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Edit, Handover, Judgment, Note, ReadyFilter, Report
from counterpoint.core.model.identity import Contribution, ProposedAct
from counterpoint.core.model.journal import Verdict
from counterpoint.core.model.work import Gate
from counterpoint.core.operations.recording.contributions import relax_project
from counterpoint.core.operations.recording.unit import recording
from counterpoint.kernel.errors import Forbidden, GateClosed
from fakes.people import Person
from fakes.studio import Studio

PLAN = """# Plan
- [ ] C
## One
- review: yes
- [ ] A
  - verify: false
- [ ] B
"""
YES = Judgment(approves=True, reason="so")
NO = Judgment(approves=False, reason="no")
DONE = Report(outcome="done", summary="done")
BACK = Report(outcome="partial", summary="later")
LOOSER = {
    "waive": Edit(waive=("check-1",), reason="flaky"),
    "drop": Edit(checks=()),
    "skip": Edit(status="skipped"),
}


@pytest.fixture
def ids(ada: Core) -> dict[str, str]:
    """Answer the ids of a plan by their titles."""
    return {item.title: item.id for item in ada.plans.create(ada.plans.read(PLAN)).items}


def parts(studio: Studio, how: str) -> set[tuple[str, str]]:
    """Answer who has such a part in what."""
    with studio.view() as view:
        return {(one.item, one.principal) for one in view.select(Contribution, how=how)}


def unattested(studio: Studio, core: Core) -> Core:
    """Answer the core of the same caller where nothing is known of him but a name."""
    actor = replace(core.caller.actor, principal=None, session=studio.mint.mint("ses"))
    return Core(studio.ports, replace(core.caller, actor=actor))


@pytest.mark.parametrize("how", sorted(LOOSER))
def test_who_changed_gates_before_work_began_does_not_do_that_work(
    studio: Studio, ada: Core, bob: Core, ids: dict[str, str], how: str
) -> None:
    """He may plan so, and is offered other work; somebody else does it."""
    ada.items.edit(ids["A"], LOOSER[how])
    if how == "skip":
        ada.items.edit(ids["A"], Edit(status="open"))
    fault = studio.refuses(Forbidden, lambda: ada.claims.start(ids["A"]))
    assert "may not do the work" in fault.message
    taken = [ada.claims.take_next(ReadyFilter()) for _ in range(3)]
    assert [one and one[0].item.id for one in taken] == [ids["C"], ids["B"], None]
    assert bob.claims.start(ids["A"]).claim.token == 1


def test_a_mark_holds_for_all_that_is_below(studio: Studio, ada: Core, ids: dict[str, str]) -> None:
    """Who lets the review of a phase go does none of its tasks, by claim, word or plan; others he does."""
    ada.items.edit(ids["One"], Edit(waive=("review",), reason="small"))
    studio.refuses(Forbidden, lambda: ada.claims.start(ids["B"]))
    studio.refuses(Forbidden, lambda: ada.items.edit(ids["B"], Edit(status="active")))
    done = ada.plans.read("# X\n- [x] Y\n").children[0]
    studio.refuses(Forbidden, lambda: ada.plans.create(done, ids["One"]))
    assert ada.claims.start(ids["C"]).claim.token == 1
    assert parts(studio, "loosened") == {(ids["One"], "cn_agent_ada")}


@pytest.mark.parametrize("how", sorted(LOOSER))
def test_once_work_has_begun_people_and_maintainers_loosen(
    studio: Studio, ada: Core, bob: Core, ids: dict[str, str], how: str
) -> None:
    ada.claims.start(ids["A"])
    ada.tasks.finish(ids["A"], 1, BACK)
    worker, maintainer = (studio.core(n, scopes=frozenset({"maintain"})) for n in ("ada", "bob"))
    for agent in (ada, bob, worker):
        studio.refuses(Forbidden, lambda agent=agent: agent.items.edit(ids["A"], LOOSER[how]))
    maintainer.items.edit(ids["A"], LOOSER[how])
    assert parts(studio, "loosened") == {(ids["A"], "cn_agent_bob")}


NESTED = """# Plan
- [ ] C
## Outer
### Inner
- review: yes
- [ ] A
- [ ] B
"""


@pytest.mark.parametrize("dropped", ["Outer", "Inner"])
def test_a_part_in_which_work_has_begun_is_not_dropped_past_its_review(
    studio: Studio, ada: Core, bob: Core, dropped: str
) -> None:
    """Its work would stay and nobody would judge it: neither by itself nor with what holds it; a maintainer may."""
    ids = {item.title: item.id for item in ada.plans.create(ada.plans.read(NESTED)).items}
    ada.claims.start(ids["A"])
    ada.tasks.finish(ids["A"], 1, DONE)
    for agent in (ada, bob):
        studio.refuses(
            Forbidden, lambda agent=agent: agent.items.edit(ids[dropped], Edit(status="cancelled"))
        )
    maintainer = studio.core("bob", scopes=frozenset({"maintain"}))
    assert maintainer.items.edit(ids[dropped], Edit(status="cancelled")).status == "cancelled"


def test_what_nobody_has_begun_is_dropped_and_a_whole_takes_its_parts_along(
    ada: Core, ids: dict[str, str]
) -> None:
    """Plans change, and to give a plan up finishes nothing."""
    again = {item.title: item.id for item in ada.plans.create(ada.plans.read(PLAN)).items}
    assert ada.items.edit(ids["One"], Edit(status="cancelled")).status == "cancelled"
    ada.claims.start(again["B"])
    ada.tasks.finish(again["B"], 1, DONE)
    ada.items.edit(again["Plan"], Edit(status="cancelled"))
    assert ada.items.get(again["One"]).status == "cancelled"


def test_a_person_waives_and_it_is_told_how_independently(
    studio: Studio, ada: Core, person: Core, ids: dict[str, str]
) -> None:
    """The gate says it, and so does the entry; nothing keeps a person from work."""
    ada.claims.start(ids["A"])
    person.items.edit(ids["A"], LOOSER["waive"])
    gate = person.overview.find(Gate, ids["A"], "check-1")
    assert gate is not None
    assert (gate.status, gate.independence) == ("waived", "attested")
    assert studio.last().facts["independence"] == "attested"
    assert parts(studio, "loosened") == set()


def test_an_agents_shell_is_no_person(studio: Studio, ada: Core, ids: dict[str, str]) -> None:
    """Whoever runs a command: if an agent that is known stands behind it, it is the agent."""
    ada.claims.start(ids["A"])
    shell = studio.core("eve", kind="human")
    principal = shell.caller.actor.principal
    assert principal is not None
    context = studio.context(studio.system)
    with recording(context, "test.made") as change:
        change.put(known_connection(principal.id))
    studio.refuses(Forbidden, lambda: shell.items.edit(ids["A"], LOOSER["waive"]))
    studio.refuses(Forbidden, lambda: shell.projects.ask_of_reviews("declared"))


def test_work_is_not_moved_out_from_under_its_review(
    studio: Studio, ada: Core, bob: Core, person: Core, ids: dict[str, str]
) -> None:
    """Begun by a person only; before that by one who then does not do it. Where as much is asked, by all."""
    bob.items.edit(ids["A"], Edit(parent=ids["Plan"]))
    studio.refuses(Forbidden, lambda: bob.claims.start(ids["A"]))
    ada.claims.start(ids["B"])
    for agent in (ada, bob):
        studio.refuses(
            Forbidden, lambda agent=agent: agent.items.edit(ids["B"], Edit(parent=ids["Plan"]))
        )
    assert person.items.edit(ids["B"], Edit(parent=ids["Plan"])).parent == ids["Plan"]
    ada.items.edit(ids["B"], Edit(parent=ids["One"]))
    assert bob.items.edit(ids["C"], Edit(parent=ids["One"])).parent == ids["One"]


def test_who_lets_work_begin_does_not_do_it(studio: Studio, ada: Core, bob: Core) -> None:
    """The approval of a start is somebody else's; he may judge the end."""
    text = "# P\n- [ ] A\n  - approval: yes\n  - review: yes\n"
    item = ada.plans.create(ada.plans.read(text)).items[1].id
    ada.reviews.review(item, YES)
    studio.refuses(Forbidden, lambda: ada.claims.start(item))
    bob.claims.start(item)
    assert bob.tasks.finish(item, 1, DONE).item.status == "review"
    assert ada.reviews.review(item, YES).item.status == "done"


def test_what_comes_done_or_begun_is_a_part(studio: Studio, ada: Core, ids: dict[str, str]) -> None:
    """Who plans work as done does not approve it."""
    ada.plans.create(ada.plans.read("# X\n- [x] Y\n").children[0], ids["One"])
    assert (ids["One"], "cn_agent_ada") in parts(studio, "worked")
    studio.refuses(Forbidden, lambda: ada.reviews.review(ids["One"], YES))


def test_every_word_that_moves_work_on_is_a_part(
    studio: Studio, ada: Core, ids: dict[str, str]
) -> None:
    """To begin, to hand in and to leave out is; to send back is none, and neither is to reopen."""
    ada.items.edit(ids["B"], Edit(status="active"))
    bob, cyd, dan = (studio.core(name) for name in ("bob", "cyd", "dan"))
    bob.items.edit(ids["B"], Edit(status="review"))
    cyd.items.edit(ids["B"], Edit(status="active"))
    dan.items.edit(ids["C"], Edit(status="skipped"))
    cyd.items.edit(ids["C"], Edit(status="open"))
    found = {who for _, who in parts(studio, "worked")}
    assert found == {"cn_agent_ada", "cn_agent_bob", "cn_agent_dan"}


def test_whoever_takes_up_a_paused_session_has_a_part_in_what_it_holds(
    studio: Studio, ada: Core, ids: dict[str, str]
) -> None:
    """Whatever is held there is his from then on."""
    ada.claims.start(ids["B"])
    ada.sessions.hand_over(Handover(action="pause", summary="s"))
    session = ada.caller.actor.session
    studio.core("bob").sessions.resume(session)
    assert (ids["One"], "cn_agent_bob") in parts(studio, "worked")


def test_what_is_in_review_is_not_ended_by_who_did_it(
    studio: Studio, ada: Core, bob: Core, ids: dict[str, str]
) -> None:
    """Where no gate asks for a verdict the word of somebody else is one."""
    ada.claims.start(ids["B"])
    ada.items.edit(ids["B"], Edit(status="review"))
    studio.refuses(Forbidden, lambda: ada.items.edit(ids["B"], Edit(status="done")))
    assert bob.items.edit(ids["B"], Edit(status="done")).status == "done"


def test_finished_work_passes_no_open_blocker(
    studio: Studio, ada: Core, ids: dict[str, str]
) -> None:
    """By its tool or by word; what is given back may be blocked, and what blocks all is the phase's."""
    ada.claims.start(ids["B"])
    record = ada.journal.append(Note(kind="blocker", body="no key", item=ids["B"])).id
    ada.journal.append(Note(kind="blocker", body="no key", item=ids["One"]))
    fault = studio.refuses(GateClosed, lambda: ada.tasks.finish(ids["B"], 1, DONE))
    assert fault.facts["blockers"] == [record]
    studio.refuses(GateClosed, lambda: ada.items.edit(ids["B"], Edit(status="done")))
    ada.journal.resolve(record, "found")
    assert ada.tasks.finish(ids["B"], 1, DONE).item.status == "done"


def test_what_is_to_wait_since_it_was_begun_may_end(
    ada: Core, person: Core, ids: dict[str, str]
) -> None:
    """A dependency holds a start, and nobody says by it that the work cannot go on."""
    ada.claims.start(ids["B"])
    person.items.edit(ids["B"], Edit(add_needs=(ids["C"],)))
    assert ada.tasks.finish(ids["B"], 1, DONE).item.status == "done"


def test_a_whole_does_not_end_past_the_gates_below_it(
    studio: Studio, ada: Core, bob: Core, person: Core, ids: dict[str, str]
) -> None:
    """One who has no part in it leaves it out; once begun, a person."""
    ada.claims.start(ids["A"])
    ada.tasks.finish(ids["A"], 1, BACK)
    for agent in (ada, bob):
        studio.refuses(
            Forbidden, lambda agent=agent: agent.items.edit(ids["Plan"], Edit(status="skipped"))
        )
    assert person.items.edit(ids["Plan"], Edit(status="skipped")).status == "skipped"
    assert person.items.get(ids["A"]).status == "skipped"


def handed_in(core: Core, item: str) -> None:
    """Do a task and all that its review waits for."""
    token = core.claims.start(item).claim.token
    core.tasks.finish(item, token, DONE)


def test_the_default_asks_for_two_attested_principals(studio: Studio, ada: Core, bob: Core) -> None:
    """A rejection opens nothing, and is heard from whoever did not do it."""
    plan = ada.plans.create(
        ada.plans.read("# P\n- [ ] A\n  - review: yes\n- [ ] B\n  - review: yes\n")
    )
    item, other = (one.id for one in plan.items[1:])
    nobody, stranger = unattested(studio, ada), unattested(studio, bob)
    handed_in(nobody, item)
    fault = studio.refuses(Forbidden, lambda: stranger.reviews.review(item, YES))
    assert "two attested principals" in fault.message
    studio.refuses(Forbidden, lambda: bob.reviews.review(item, YES))
    assert stranger.reviews.review(item, NO).verdict.independence == "declared"
    handed_in(ada, other)
    assert bob.reviews.review(other, YES).verdict.independence == "attested"


def test_where_names_are_enough_the_same_one_is_not(
    studio: Studio, ada: Core, bob: Core, person: Core
) -> None:
    """A person says so once; the verdict tells it."""
    item = ada.plans.create(ada.plans.read("# P\n- [ ] A\n  - review: yes\n")).items[1].id
    studio.refuses(Forbidden, lambda: ada.projects.ask_of_reviews("declared"))
    person.projects.ask_of_reviews("declared", "a container")
    told = studio.last().facts
    assert (told["policy"], told["before"]) == ("declared", "attested")
    size = studio.image().size
    person.projects.ask_of_reviews("declared")
    assert studio.image().size == size
    handed_in(unattested(studio, ada), item)
    same = studio.core("ada")
    studio.refuses(Forbidden, lambda: same.reviews.review(item, YES))
    reviewed = unattested(studio, bob).reviews.review(item, YES)
    assert (reviewed.verdict.independence, reviewed.item.status) == ("declared", "done")


def test_where_a_person_is_asked_for_only_a_key_is_one(
    studio: Studio, ada: Core, bob: Core, person: Core
) -> None:
    """Neither another agent nor whoever sits at a command line; nor do these ask for less again."""
    item = ada.plans.create(ada.plans.read("# P\n- [ ] A\n  - review: yes\n")).items[1].id
    person.projects.ask_of_reviews("person")
    handed_in(ada, item)
    for core in (bob, person):
        fault = studio.refuses(Forbidden, lambda core=core: core.reviews.review(item, YES))
        assert fault.facts == {"reviews": "person", "independence": "attested"}
    studio.refuses(Forbidden, lambda: person.projects.ask_of_reviews("attested"))
    known = Person(studio=studio)
    known.enrol()
    known.judge(item, YES)
    with studio.view() as view:
        (verdict,) = view.select(Verdict, item=item)
    assert verdict.independence == "person"
    less = ProposedAct(action="policy.changed", decision={"policy": "attested"})
    assert known.does(less).projects.ask_of_reviews("attested").reviews == "attested"


CHECKED = """# Plan
- [ ] A
  - areas: src, docs
  - accept: it grows
  - accept: it blooms
  - verify: true
- [ ] B
  - areas: src
"""
LESS = {
    "areas": Edit(areas=()),
    "an area": Edit(areas=("src/a", "docs")),
    "a sentence": Edit(acceptance=("it blooms",)),
    "other words": Edit(acceptance=("it may grow", "it blooms")),
}


@pytest.mark.parametrize("how", sorted(LESS))
def test_what_checks_watch_and_what_must_be_true_is_taken_away_by_no_worker(
    studio: Studio, ada: Core, bob: Core, person: Core, how: str
) -> None:
    """As a check: once work has begun by a person, before that by who then does not do it."""
    item = ada.plans.create(ada.plans.read(CHECKED)).items[1].id
    ada.claims.start(item)
    ada.tasks.finish(item, 1, BACK)
    for agent in (ada, bob):
        studio.refuses(Forbidden, lambda agent=agent: agent.items.edit(item, LESS[how]))
    assert person.items.edit(item, LESS[how]).version > 1
    other = ada.plans.create(ada.plans.read(CHECKED)).items[1].id
    ada.items.edit(other, LESS[how])
    studio.refuses(Forbidden, lambda: ada.claims.start(other))
    assert bob.claims.start(other).claim.token == 1


def test_who_works_may_ask_more_of_himself(ada: Core) -> None:
    """A wider area, one sentence more; and an area that no check watches is a plan."""
    plan = ada.plans.create(ada.plans.read(CHECKED)).items
    for item in (plan[1].id, plan[2].id):
        ada.claims.start(item)
    wider = Edit(areas=("**", "lib"), acceptance=("it bears", "it grows", "it blooms"))
    ada.items.edit(plan[1].id, wider)
    ada.items.edit(plan[2].id, Edit(areas=("lib",)))
    assert ada.overview.facets(plan[2].id).areas == ("lib",)


def test_the_mark_goes_along_when_an_item_below_is_moved_away(
    studio: Studio, ada: Core, bob: Core, ids: dict[str, str]
) -> None:
    """Who let the review of a phase go does none of its tasks, wherever somebody puts them."""
    ada.items.edit(ids["One"], Edit(waive=("review",), reason="small"))
    ada.items.edit(ids["B"], Edit(parent=ids["Plan"]))
    studio.refuses(Forbidden, lambda: ada.claims.start(ids["B"]))
    assert parts(studio, "loosened") == {(ids["One"], "cn_agent_ada"), (ids["B"], "cn_agent_ada")}
    assert bob.claims.start(ids["B"]).claim.token == 1


def test_the_mark_of_a_project_holds_for_all_its_work(
    studio: Studio, ada: Core, bob: Core, person: Core, ids: dict[str, str]
) -> None:
    """Made before work begins; afterwards it takes a person, or a maintainer who did not work."""

    def lessen(core: Core) -> None:
        with recording(studio.context(core), "policy.changed") as change:
            relax_project(change, "take gates from")
            change.add_facts(less=True)

    lessen(ada)
    studio.refuses(Forbidden, lambda: ada.claims.start(ids["A"]))
    assert ada.claims.take_next(ReadyFilter()) is None
    bob.claims.start(ids["A"])
    worker, maintainer = (studio.core(n, scopes=frozenset({"maintain"})) for n in ("bob", "cyd"))
    for agent in (ada, bob, worker):
        fault = studio.refuses(Forbidden, lambda agent=agent: lessen(agent))
        assert "work has begun" in fault.message
    for core in (person, maintainer):
        lessen(core)
    assert parts(studio, "loosened") == {("", "cn_agent_ada"), ("", "cn_agent_cyd")}
    person.projects.ask_of_reviews("person")
    studio.refuses(Forbidden, lambda: lessen(maintainer))


def test_where_a_person_is_asked_for_nothing_is_left_out_past_a_review(
    studio: Studio, bob: Core, ids: dict[str, str]
) -> None:
    """Before work began anybody may leave a part out; a review is waived first, which a person signs."""
    person = Person(studio=studio)
    person.enrol()
    strict = ProposedAct(action="policy.changed", decision={"policy": "person"})
    person.does(strict).projects.ask_of_reviews("person")
    left_out = Edit(status="skipped")
    refused = studio.refuses(GateClosed, lambda: bob.items.edit(ids["One"], left_out))
    assert "review" in refused.message
    assert "waive" in refused.hint
    waived = ProposedAct(action="item.edited", subject=ids["One"], decision={"waived": ["review"]})
    edit = Edit(waive=("review",), reason="not needed")
    person.does(waived, "not needed").items.edit(ids["One"], edit)
    assert bob.items.edit(ids["One"], left_out).status == "skipped"
    assert studio.system.audit.verify().sound
