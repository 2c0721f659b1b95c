"""Plans: a whole tree at once, or nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit, ReadyFilter, Report
from counterpoint.core.model.work import Criterion, Item
from counterpoint.kernel.errors import Conflict, InvalidInput, MalformedDocument, NotFound
from fakes.studio import Studio

PLAN = """# Build it {#build}
What it is for.
- labels: big

## Design
- [ ] Draw
  - areas: docs, src/**
  - accept: it is drawn
  - accept: it is read
  - verify: make docs
  - labels: paper
  - priority: 1
  - profile: artist
  - review: yes
  - artifact: yes
  With care.
## Build
- [ ] Hammer
  - after: Draw
  - [x] Buy nails
    - accept: they are sharp
"""


def test_a_plan_becomes_items_with_their_facets(studio, ada):
    """Titles, places, texts, gates, criteria and what is in the way."""
    made = ada.plans.create(ada.plans.read(PLAN))
    root, design, build, draw, hammer, nails = made.items
    assert (root.id, root.body, root.kind) == ("demo-1", "What it is for.", "plan")
    assert [i.parent for i in made.items] == ["", root.id, root.id, design.id, build.id, hammer.id]
    assert {i.root for i in made.items} == {root.id}
    assert (build.blockers, hammer.blockers, hammer.held) == (1, 2, 1)
    assert (nails.status, nails.held, nails.closed_at) == ("done", 1, nails.created_at)
    assert made.ready == (draw.id,)
    found = ada.overview.facets(draw.id)
    assert (found.labels, found.areas) == (("paper",), ("docs", "src/**"))
    assert [c.text for c in found.criteria] == ["it is drawn", "it is read"]
    assert [(g.name, g.kind, g.argv) for g in found.gates] == [
        ("artifact", "artifact", ()), ("check-1", "check", ("make", "docs")),
        ("review", "review", ()),
    ]  # fmt: skip
    assert (draw.priority, draw.profile, draw.body) == (1, "artist", "With care.")
    assert ada.overview.find(Criterion, nails.id, 0).met
    entry = studio.last()
    assert (entry.action, entry.subject) == ("plan.created", root.id)
    assert entry.facts == {"title": "Build it", "items": 6}
    assert ada.overview.facets(build.id).progress.by_category() == {"open": 1}


def test_a_plan_calls_ready_what_can_be_taken(ada, bob):
    """Nothing done, parked, gated, above open sub-tasks or in the area of a held item: as `next` says."""
    held = ada.plans.create(Draft(kind="task", title="Held", areas=("docs",))).root.id
    ada.claims.start(held)
    tasks = (
        Draft(kind="task", title="Free"),
        Draft(kind="task", title="Done", done=True),
        Draft(kind="task", title="Parked", status="backlog"),
        Draft(kind="task", title="Gated", approval=True),
        Draft(kind="task", title="Above", children=(Draft(kind="task", title="Below"),)),
        Draft(kind="task", title="Overlapping", areas=("docs/a.md",)),
        Draft(kind="task", title="Waiting", needs=("Free",)),
    )
    made = bob.plans.create(Draft(kind="plan", title="All", children=tasks))
    offered = [offer.item for offer in bob.ready.offers(ReadyFilter(root=made.root.id), 9)]
    assert [item.title for item in offered] == ["Free", "Below"]
    assert made.ready == tuple(item.id for item in offered)


def test_an_exported_plan_makes_the_same_plan_again(studio, ada):
    """Markdown out, Markdown in: the same tree under other ids."""
    first = ada.plans.create(ada.plans.read(PLAN))
    again = ada.plans.create(ada.plans.read(ada.overview.markdown(first.root.id)))

    def shape(made):
        return [(i.title, i.kind, i.body, i.status, i.blockers, i.position) for i in made.items]

    assert shape(again) == shape(first)
    ready = [ada.items.get(item).title for item in (*first.ready, *again.ready)]
    assert ready == ["Draw", "Draw"]


def test_a_preview_makes_nothing(studio, ada):
    """It answers the same refusals as making it would."""
    before = studio.image()
    planned = ada.plans.preview(ada.plans.read(PLAN))
    assert [part.draft.title for part in planned][:2] == ["Build it", "Design"]
    assert studio.image() == before
    phase = Draft(kind="phase", title="P")
    for call in (ada.plans.preview, ada.plans.create):
        studio.refuses(InvalidInput, lambda c=call: c(phase))
        studio.refuses(InvalidInput, lambda c=call: c(phase, "demo-99"))


def test_a_plan_below_an_item_takes_the_next_place(studio, ada):
    """Its root is that of the tree, and it waits with what holds it."""
    made = ada.plans.create(ada.plans.read("# P\n## One\n- [ ] A\n## Two\n- [ ] B\n"))
    two = made.items[2].id
    below = ada.plans.create(Draft(kind="task", title="C"), two).root
    assert (below.root, below.parent, below.position, below.held) == (made.root.id, two, 1, 1)
    task = made.items[3].id
    studio.refuses(InvalidInput, lambda: ada.plans.create(Draft(kind="phase", title="x"), task))
    ada.items.edit(task, Edit(status="cancelled"))
    studio.refuses(Conflict, lambda: ada.plans.create(Draft(kind="task", title="x"), task))


def test_a_plan_may_wait_for_items_that_are_there(studio, ada):
    """By their ids; an unknown one is a fault of its line."""
    first = ada.plans.create(Draft(kind="task", title="First")).root.id
    made = ada.plans.create(ada.plans.read(f"# P\n## One\n- after: {first}\n- [ ] A\n"))
    assert made.items[1].blockers == 1
    assert made.items[2].held == 1
    assert made.ready == ()
    unknown = ada.plans.read("# P\n- [ ] A\n  - after: demo-99, nothing\n")
    fault = studio.refuses(MalformedDocument, lambda: ada.plans.create(unknown))
    assert [f["line"] for f in fault.facts["faults"]] == [2, 2]
    token = ada.claims.start(first).claim.token
    done = ada.tasks.finish(first, token, Report(outcome="done", summary="x"))
    assert done.released == (made.items[1].id, made.items[2].id)


def test_a_phase_of_finished_tasks_is_finished(ada):
    """A plan that was begun elsewhere goes on where it stands."""
    made = ada.plans.create(
        ada.plans.read("# P\n## One\n- [x] A\n## Two\n- [x] B\n- [ ] C\n## Three\n- [ ] D\n")
    )
    assert [i.status for i in made.items[:4]] == ["open", "done", "open", "open"]
    assert [o.item.title for o in ada.ready.offers(ReadyFilter(), 9)] == ["C"]
    whole = ada.plans.create(ada.plans.read("# Q\n## One\n- [x] A\n"))
    assert {i.status for i in whole.items} == {"done"}
    gated = ada.plans.create(ada.plans.read("# Q\n## One\n- review: yes\n- [x] A\n"))
    assert [i.status for i in gated.items] == ["open", "open", "done"]


def test_finished_work_put_below_a_part_may_finish_it(ada):
    """The last thing it waited for arrived finished."""
    made = ada.plans.create(Draft(kind="plan", title="Empty"))
    ada.plans.create(Draft(kind="task", title="A", done=True), made.root.id)
    assert ada.items.get(made.root.id).status == "done"


def test_a_template_is_filled_and_read(studio, ada):
    """Unknown ones are not found; values never become structure."""
    studio.shelf.texts["fix"] = "# Fix {{what}}\n{{why=No reason.}}\n- [ ] Do {{what}}\n"
    draft = ada.plans.from_template("fix", {"what": "it", "why": "- [ ] more"})
    assert (draft.title, draft.body) == ("Fix it", "- [ ] more")
    assert [child.title for child in draft.children] == ["Do it"]
    with pytest.raises(NotFound):
        ada.plans.from_template("none", {})


def test_a_project_is_opened_once_with_a_prefix_of_its_own(tmp_path):
    """Another project of the same store gets another prefix; a strange name is refused."""
    first = Studio(tmp_path / "store.db")
    second = Studio(tmp_path / "store.db", project="de.mo")
    assert first.system.projects.find().prefix == "demo"
    assert second.system.projects.open("again").prefix == "demo2"
    assert second.core("ada").plans.create(Draft(kind="task", title="x")).root.id == "demo2-1"
    assert first.system.project == "demo"
    with pytest.raises(InvalidInput):
        Studio(tmp_path / "store.db", project="Not A Name")
    with first.view() as view:
        assert view.select(Item) == []
    first.close()
    second.close()


class Overtaken:
    """A store in which somebody else writes first, once."""

    def __init__(self, store, first):
        self.store, self.first = store, first

    def __getattr__(self, name):
        return getattr(self.store, name)

    def writing(self, project):
        first, self.first = self.first, None
        if first is not None:
            first()
        return self.store.writing(project)


def test_of_two_who_open_a_project_one_makes_it(tmp_path):
    """The other hears of the one that is there."""
    studio = Studio(tmp_path / "store.db")
    studio.ports = replace(studio.ports, project="second")
    rival = studio.system
    slow = Overtaken(studio.store, lambda: rival.projects.open("by the rival"))
    studio.ports = replace(studio.ports, store=slow)
    assert studio.system.projects.open("too late").title == "by the rival"
    with studio.view() as view:
        assert view.head().size == 1
    studio.close()


def test_before_a_project_is_opened_nothing_is_found(tmp_path):
    """Asking for it is not an error of the program."""
    studio = Studio(tmp_path / "store.db")
    studio.ports = replace(studio.ports, project="other")
    core = studio.core("ada")
    assert core.projects.find() is None
    for call in (core.overview.state, core.items.project):
        with pytest.raises(NotFound):
            call()
    studio.close()
