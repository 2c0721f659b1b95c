"""Plans under a slug: opened, listed, moved, put away, pruned."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit, Note
from counterpoint.core.model.rows import REDACTED
from counterpoint.dialects.agentic.nouns import BriefRequest
from counterpoint.dialects.agentic.rules.progress import plan_standing, slug_of, standing_of
from counterpoint.dialects.agentic.verbs.briefs import Briefs
from counterpoint.dialects.agentic.verbs.plans import Planning
from counterpoint.dialects.agentic.verbs.pruning import Pruning
from counterpoint.dialects.agentic.verbs.steps import Steps
from counterpoint.kernel.errors import Conflict, Forbidden, GateClosed, NotFound

DAY = 24 * 60
WORDS = ("backlog", "active", "paused", "done", "archived")


def plan(title="Plan", *, tasks=("a", "b"), **more):
    """Answer the draft of a plan with one phase."""
    below = tuple(Draft(kind="task", title=name) for name in tasks)
    phase = Draft(kind="phase", title="One", children=below)
    return Draft(kind="plan", title=title, children=(phase,), **more)


def test_a_plan_gets_a_slug(ada):
    """The wanted one, or one of chance: what is in the ledger stays there when the title is taken away."""
    assert slug_of(ada.use(Planning).open(plan(), "mine")) == "mine"
    slugs = {slug_of(ada.use(Planning).open(plan("Mine"))) for _ in range(3)}
    assert len(slugs) == 3
    assert all(re.fullmatch("plan-[a-z0-9]{6}", slug) for slug in slugs)


def test_a_large_plan_gets_its_slug_in_slices(studio, ada):
    """Nothing is written before the first of them, and the slug is found when all see the plan."""
    before = ada.feed.last()
    tasks = tuple(f"t{number}" for number in range(150))
    made = ada.use(Planning).open(plan("Large", tasks=tasks))
    actions = [entry.action for entry in studio.system.audit.log(after=before)]
    assert actions == ["plan.drafted", "plan.drafted", "plan.created"]
    assert ada.use(Planning).get(slug_of(made)).item.id == made.item.id


def test_no_secret_comes_into_a_slug(ada):
    """A title is masked before a name is made of it: small letters would hide the shape of a key."""
    title = "Rotate " + "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    wish = BriefRequest(title=title, content_type="blog_post")
    assert ada.use(Briefs).create(wish).slug == "rotate-secret"


@pytest.mark.parametrize("before", WORDS)
def test_every_standing_leads_to_every_other(ada, before):
    """Once moved, the plan stands so; moved again nothing is written."""
    move = ada.use(Planning).move
    ada.use(Planning).open(plan(), "p")
    for after in WORDS:
        assert plan_standing(move("p", before)[0]) == before
        assert plan_standing(move("p", after)[0]) == after
        size = ada.overview.state().ledger_size
        assert plan_standing(move("p", after)[0]) == after
        assert ada.overview.state().ledger_size == size


def test_a_plan_that_is_begun_stays_begun(ada):
    """Taking a label away from it is no move."""
    ada.use(Planning).open(plan(), "p", start=True)
    ada.use(Steps).move_phase("p", 1, "active")
    item = ada.use(Planning).get("p").item
    ada.items.edit(item.id, Edit(add_labels=("archived",)))
    line, _ = ada.use(Planning).move("p", "active")
    assert (plan_standing(line), line.item.status) == ("active", "active")


def test_completing_names_what_it_skips(studio, ada):
    """A gate of the plan holds it."""
    ada.use(Planning).open(plan(), "p")
    assert ada.use(Planning).move("p", "done")[1] == ("One", "a", "b")
    ada.use(Planning).open(plan(review=True), "q")
    studio.refuses(GateClosed, lambda: ada.use(Planning).move("q", "done"))


def test_a_phase_is_skipped_with_all_below_it_by_one_word(ada):
    """Also one that would close itself with its last task."""
    phase = Draft(
        kind="phase", title="One", lifecycle="part", children=(Draft(kind="task", title="a"),)
    )
    ada.use(Planning).open(Draft(kind="plan", title="P", children=(phase,)), "p")
    assert ada.use(Planning).move("p", "done")[1] == ("One", "a")
    assert [standing_of(line) for line in ada.use(Planning).phases("p")] == ["skipped"]
    assert ada.use(Planning).phases("p", 0) == []


def test_archiving_says_when_and_why(ada):
    """What was done stays done, and what was open comes back as it was."""
    ada.use(Planning).open(plan(), "p")
    ada.use(Steps).move_task("p", 1, 0, "done")
    line, _ = ada.use(Planning).move("p", "archived", "old")
    assert ada.use(Planning).put_away("p") == {"at": line.item.updated_at, "reason": "old"}
    ada.use(Planning).move("p", "active")
    assert ada.use(Planning).put_away("p") == {}
    assert ada.use(Steps).phase("p", 1).progress.by_category()["done"] == 1


def test_a_plan_is_found_by_slug_or_id(studio, ada):
    line = ada.use(Planning).open(plan(), "p")
    assert ada.use(Planning).get(line.item.id) == ada.use(Planning).get("p")
    assert ada.use(Planning).find(line.item.id) == ada.use(Planning).get("p")
    assert ada.use(Planning).find("demo-2") is None
    assert ada.use(Planning).find("demo-99") is None
    studio.refuses(NotFound, lambda: ada.use(Planning).get("demo-2"))
    native = ada.plans.create(plan()).root.id
    assert slug_of(ada.use(Planning).get(native)) == native


def test_long_lists_go_on(studio, ada):
    """Over more than one page of the store; archived ones only when asked for."""
    for number in range(105):
        studio.clock.pass_by(seconds=1)
        ada.use(Planning).open(Draft(kind="plan", title=f"P{number}"), f"p{number}")
    ada.use(Planning).move("p50", "archived")
    found = ada.use(Planning).list(limit=200)
    assert [slug_of(line) for line in found] == [f"p{n}" for n in reversed(range(105)) if n != 50]
    assert len(ada.use(Planning).list(limit=200, with_archived=True)) == 105
    last = found[99].item
    rest = ada.use(Planning).list("", (last.updated_at, last.number), 200)
    assert rest == found[100:]


def test_a_cancelled_plan_counts_as_archived(ada):
    """It was given up natively."""
    line = ada.use(Planning).open(plan(), "p")
    ada.items.edit(line.item.id, Edit(status="cancelled"))
    assert plan_standing(ada.use(Planning).get("p")) == "archived"


@pytest.fixture
def shelved(studio, ada):
    """Give a plan with texts of every sort, archived for a hundred days, and one that stays."""
    keep = ada.use(Planning).open(plan("Keep", body="shared"), "keep").item.id
    ada.journal.append(Note(kind="finding", body="shared finding", item=keep))
    line = ada.use(Planning).open(
        plan("Gone", body="only here", attributes={"context": {"a": 1}}), "gone"
    )
    ada.items.edit(line.item.id, Edit(body="only here, later"))
    ada.journal.append(Note(kind="finding", body="found", item=line.item.id))
    ada.journal.append(Note(kind="finding", body="shared finding", item=line.item.id))
    blocker = ada.journal.append(Note(kind="blocker", body="stuck", item="demo-5"))
    ada.journal.resolve(blocker.id, "unstuck")
    ada.memory.put(line.item.id, "k", "first")
    ada.memory.put(line.item.id, "k", "second")
    ada.memory.put("project", "k", "other")
    ada.use(Briefs).create(
        BriefRequest(title="B", content_type="blog_post", description="brief", item=line.item.id)
    )
    ada.use(Planning).move("gone", "archived", "over")
    studio.clock.pass_by(minutes=100 * DAY)
    ada.use(Planning).open(plan("Late"), "late")
    ada.use(Planning).move("late", "archived")
    return line.item.id


def test_pruning_takes_the_texts_and_keeps_the_proofs(studio, ada, person, shelved):
    """Also those of before; what others have too stays; the slug is free again."""
    looked = person.use(Pruning).look(90)
    assert [(one.slug, one.item.id) for one in looked] == [("gone", shelved)]
    size = person.overview.state().ledger_size
    assert person.overview.state().ledger_size == size
    pruned = person.use(Pruning).prune(90)
    assert [(one.slug, one.texts) for one in pruned] == [("gone", looked[0].texts)]
    assert looked[0].texts >= 8
    with studio.store.reading("demo") as view:
        kept = {text.body for _, text in view.texts()}
    gone = {"only here", "only here, later", "found", "stuck", "unstuck", '"first"', '"second"'}
    assert not kept & gone
    assert {"shared", "shared finding", '"other"', "brief"} <= kept
    assert ada.items.get(shelved).body == REDACTED
    assert ada.items.get(shelved).status == "cancelled"
    studio.refuses(NotFound, lambda: ada.use(Planning).get("gone"))
    studio.refuses(Conflict, lambda: ada.use(Planning).move(shelved, "active"))
    assert slug_of(ada.use(Planning).open(plan(), "gone")) == "gone"
    audit = person.audit.verify()
    assert audit.sound
    assert person.audit.rebuild().differences == ()
    assert person.use(Pruning).prune(90) == []
    assert [slug_of(one) for one in ada.use(Planning).list("archived", None, 9)] == ["late"]


class Interrupted:
    """A store in which something happens before it is looked at for so many times."""

    def __init__(self, store, acts):
        """Act before these looks."""
        self._store, self._acts, self._looks = store, acts, 0

    def __getattr__(self, name):
        return getattr(self._store, name)

    def reading(self, project):
        """Act, and look."""
        self._looks += 1
        self._acts.get(self._looks, lambda: None)()
        return self._store.reading(project)


def test_a_plan_that_somebody_writes_in_meanwhile_is_not_pruned(studio, ada, person, shelved):
    """Once all texts were looked at, it is decided where they go; the next run looks again."""

    def take_up():
        ada.use(Planning).move("gone", "active")

    ports = replace(studio.ports, store=Interrupted(studio.store, {2: take_up}))
    assert Core(ports, person.caller).use(Pruning).prune(90) == []
    assert ada.items.get(shelved).body == "only here, later"
    assert person.erasing.list() == []
    ada.use(Planning).move("gone", "archived")
    studio.clock.pass_by(minutes=100 * DAY)
    assert "gone" in [one.slug for one in person.use(Pruning).prune(90)]


def test_a_plan_that_was_done_is_pruned_as_well(studio, ada, person):
    """One that has no text loses none; one without a slug goes by its id."""
    ada.use(Planning).open(Draft(kind="plan", title="Bare"), "bare")
    ada.use(Planning).move("bare", "done")
    native = ada.plans.create(Draft(kind="plan", title="Native")).root.id
    for name in ("bare", native):
        ada.use(Planning).move(name, "archived")
    ada.items.edit("demo-1", Edit(add_labels=("archived",)))
    other = ada.plans.create(Draft(kind="task", title="No plan")).root.id
    ada.items.edit(other, Edit(add_labels=("archived",)))
    studio.clock.pass_by(minutes=DAY)
    assert [one.slug for one in person.use(Pruning).prune(0)] == ["bare", native]
    assert ada.items.get("demo-1").status == "done"


def test_an_agent_prunes_nothing(studio, ada, shelved):
    studio.refuses(Forbidden, lambda: ada.use(Pruning).prune(0))
    assert [one.slug for one in ada.use(Pruning).look(0)] == ["gone"]
