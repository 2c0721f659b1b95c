"""A plan again: what each changed line changes, and what stays; tests/cli/work/test_plan_updates.py tells the rest."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.answers import PlanUpdate
from counterpoint.core.model.filters import Edit, ItemFilter, Report
from fakes.studio import Studio

PLAN = """# P
## A
- [ ] x
  - labels: red
  - accept: it runs
  - areas: src
- [ ] y
## B
- [ ] z
"""


def item_of(core: Core, title: str) -> str:
    """Answer the id of the item of a title."""
    return next(i.id for i in core.overview.items(ItemFilter(), 0, 99) if i.title == title)


@pytest.fixture
def update(ada: Core) -> Callable[..., PlanUpdate]:
    """Give what applies a text to the plan, which is made from `PLAN`."""
    ada.plans.create(ada.plans.read(PLAN))

    def update(text: str, *, prune: bool = False) -> PlanUpdate:
        update = ada.plan_updates.apply(ada.plans.read(text), prune=prune)
        assert update is not None
        return update

    return update


def test_a_plan_comes_back_from_its_export(update: Callable[..., PlanUpdate], ada: Core) -> None:
    """The ids that stand there for names mean the items, also where they have a name of their own."""
    update(PLAN.replace("- [ ] z", "- [ ] z {#last}"))
    text = ada.overview.markdown(item_of(ada, "P"))
    same = update(text)
    assert (same.created, same.changed, same.gone) == ((), (), ())
    (change,) = update(text.replace("] x", "] longer")).changed
    assert change.fields == ("title",)


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ("- labels: red", "- labels: red, blue", {"x": ("labels",)}),
        ("- accept: it runs", "- accept: it flies", {"x": ("acceptance",)}),
        ("- areas: src", "- areas: lib", {"x": ("areas",)}),
        ("- [ ] z", "- [ ] z {#last}", {"z": ("name",)}),
        ("- [ ] z\n", "- [ ] z\n  - after: y\n", {"z": ("after",)}),
        ("- [ ] y\n## B\n", "## B\n- [ ] y\n", {"y": ("parent",)}),
        ("- [ ] z\n", "- [ ] z\n- [ ] new\n  - after: z\n", {}),
    ],
)
def test_each_changed_line_changes_its_item_alone(
    update: Callable[..., PlanUpdate], before: str, after: str, changed: dict[str, tuple[str, ...]]
) -> None:
    """The same text again changes nothing; what is new is no change."""
    text = PLAN.replace(before, after)
    assert {str(one.item.title): one.fields for one in update(text).changed} == changed
    again = update(text)
    assert (again.changed, again.created, again.remarks) == ((), (), ())


def test_what_is_new_waits_for_what_the_plan_says(
    studio: Studio, ada: Core, update: Callable[..., PlanUpdate]
) -> None:
    """With the items that were there before."""
    (created,) = update(f"{PLAN}- [ ] new\n  - after: z\n").created
    (need,) = ada.overview.facets(created.id).needs
    assert need.id == item_of(ada, "z")


def test_what_has_ended_stays_as_it_is_and_is_told(
    ada: Core, update: Callable[..., PlanUpdate]
) -> None:
    """Its changes, and that it was dropped and stands in the plan."""
    done, dropped = item_of(ada, "x"), item_of(ada, "y")
    token = ada.claims.start(done).claim.token
    ada.tasks.finish(done, token, Report(outcome="done", summary="so"))
    ada.items.edit(dropped, Edit(status="cancelled", reason="no"))
    text = PLAN.replace("- [ ] x\n", "- [x] x\n  - review: yes\n").replace(": red", ": blue")
    found = update(text)
    assert found.changed == ()
    ended, out = found.remarks
    assert ended.startswith(f"line 3: {done} 'x' is done, so its add_labels, review stays")
    assert out.startswith(f"line 8: {dropped} 'y' is cancelled and stands in the plan")


def test_nobody_approves_the_start_of_what_has_begun(
    ada: Core, update: Callable[..., PlanUpdate]
) -> None:
    """The other gates of the line are put to it."""
    name = item_of(ada, "y")
    ada.claims.start(name)
    found = update(PLAN.replace("- [ ] y\n", "- [ ] y\n  - approval: yes\n  - review: yes\n"))
    begun = f"line 7: {name} has begun, so nobody approves its start any more"
    assert found.remarks == (begun,)
    assert {str(one.item.title): one.fields for one in found.changed} == {"y": ("review",)}


def test_a_phase_that_went_is_cancelled_with_all_below(
    studio: Studio, ada: Core, update: Callable[..., PlanUpdate]
) -> None:
    """Each is told, and the phase is ended once."""
    before = studio.image().size
    found = update(PLAN.partition("## B")[0], prune=True)
    assert [str(item.title) for item in found.pruned] == ["B", "z"]
    assert {ada.items.get(item.id).status for item in found.pruned} == {"cancelled"}
    assert studio.image().size == before + 1


def test_the_plan_that_has_ended_is_named_where_another_is_made(ada: Core) -> None:
    """By its title or its name, whichever ended after it."""
    draft = ada.plans.read("# P\n- [ ] a\n")
    ended = []
    for title in ("P", "Q"):
        ended.append(ada.plans.create(ada.plans.read(f"# {title} {{#{title}}}\n- [ ] a\n")).root.id)
        ada.items.edit(ended[-1], Edit(status="cancelled", reason="no"))
    for text in ("# P\n- [ ] a\n", "# New {#P}\n- [ ] a\n"):
        (remark,) = ada.plan_updates.remarks_of_ended(ada.plans.read(text))
        assert remark.startswith(f"{ended[0]} is cancelled already")
    assert ada.plan_updates.remarks_of_ended(ada.plans.read("# R\n- [ ] a\n")) == ()
    ada.plans.create(draft)
    assert ada.plan_updates.remarks_of_ended(draft) == ()
