"""Specs made, found, listed and read whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from builders import Agent, Workshop, git
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Report
from counterpoint.dialects.foundry.models.specs import SpecDraft
from counterpoint.dialects.foundry.specs.operations import Specs
from counterpoint.kernel.errors import InvalidInput, NotFound, PathOutside

PLAN, REVIEW = ".plans/export.md", ".plan-reviews/export-review-full.md"


@pytest.fixture
def specs(ada: Agent) -> Specs:
    """Answer the verbs for specs."""
    return ada.core.use(Specs)


@pytest.fixture
def planned(repository: Path) -> Path:
    """Answer the repository with a plan and its review in the folder of specs."""
    for name in (PLAN, REVIEW):
        (repository / "specs" / name).parent.mkdir(parents=True)
        (repository / "specs" / name).write_text("# Export\n")
    return repository


def _new(**more: str) -> SpecDraft:
    given = {"name": "Export", "plan_path": PLAN, "plan_review_path": REVIEW, "template": "empty"}
    return SpecDraft(**{**given, **more})


def test_a_spec_is_made_with_its_plan(specs: Specs, planned: Path) -> None:
    """It is pending, and its document says what was given."""
    made, document = specs.create(_new(mission="Let data go", category="decision"))
    assert (made.spec, made.path) == (
        "export-2026-01-02-001",
        "specs/pending/export-2026-01-02-001.json",
    )
    assert (document["title"], document["status"]) == ("Export", "pending")
    assert document["metadata"] == {
        "mission": "Let data go",
        "template": "empty",
        "category": "decision",
        "plan_path": PLAN,
        "plan_review_path": REVIEW,
    }
    assert specs.document(made.spec) == document


def test_the_specs_of_a_name_and_a_day_are_counted(
    specs: Specs, planned: Path, workshop: Workshop
) -> None:
    """A second one of the same name is the second; of the next day it is the first again."""
    names = [specs.create(_new())[0].spec for _ in range(2)]
    workshop.clock.pass_by(minutes=24 * 60)
    names.append(specs.create(_new())[0].spec)
    assert names == ["export-2026-01-02-001", "export-2026-01-02-002", "export-2026-01-03-001"]


def test_a_dry_run_makes_nothing(specs: Specs, planned: Path) -> None:
    """It tells what would be made, and takes no number."""
    assert specs.create(_new(), dry_run=True)[0].spec == "export-2026-01-02-001"
    assert specs.list() == []
    assert specs.create(_new())[0].spec == "export-2026-01-02-001"


@pytest.mark.parametrize(
    ("more", "refusal"),
    [
        ({"plan_path": ".plans/none.md"}, NotFound),
        ({"plan_review_path": ".plans"}, InvalidInput),
        ({"plan_path": "../../secret.md"}, PathOutside),
        ({"plan_path": "/etc/passwd"}, PathOutside),
        ({"template": "complex"}, InvalidInput),
        ({"category": "fun"}, InvalidInput),
    ],
)
def test_a_spec_without_its_plan_is_refused(
    specs: Specs, planned: Path, more: dict[str, str], refusal: type[Exception]
) -> None:
    """So is a template or a category that there is not; nothing is made."""
    with pytest.raises(refusal):
        specs.create(_new(**more))
    assert specs.list() == []


def test_a_plan_is_named_from_the_folder_of_specs_however_it_is_given(
    specs: Specs, planned: Path
) -> None:
    """Also a link is followed, and must end inside of the project."""
    (planned / "docs").mkdir()
    (planned / "docs/plan.md").write_text("# Plan\n")
    (planned / "specs/out.md").symlink_to("/etc/passwd")
    (planned / "specs/linked.md").symlink_to(planned / "docs/plan.md")
    given = (PLAN, f"specs/{PLAN}", str(planned / "specs" / PLAN), "../docs/plan.md", "linked.md")
    assert [specs.plan_file(path) for path in given] == [PLAN] * 3 + ["../docs/plan.md"] * 2
    with pytest.raises(PathOutside):
        specs.plan_file("out.md")


def test_specs_are_listed_by_folder_with_how_far_they_are(
    made: Callable[..., str], specs: Specs, ada: Agent
) -> None:
    """By id with numbers as numbers, page by page; plans of other dialects are among them."""
    for number in ("010", "002", "001"):
        made(spec=f"export-2026-01-02-{number}")
    plan = ada.core.plans.create(Draft(kind="plan", title="Another")).root.id
    ada.core.plans.create(Draft(kind="task", title="A single task"))
    task = ada.core.items.find("export-2026-01-02-002/task-1-1", "node")
    assert task is not None
    started = ada.core.claims.start(task.id)
    ada.core.tasks.finish(task.id, started.claim.token, Report(outcome="done", summary="Done"))
    every = [one.spec for one in specs.list()]
    assert every == [plan, *(f"export-2026-01-02-{number}" for number in ("001", "002", "010"))]
    (active,) = specs.list("active")
    assert (active.spec, active.tally.total, active.tally.completed) == (
        "export-2026-01-02-002",
        4,
        1,
    )
    assert active.current is not None
    assert (active.current.id, active.current.status, active.current.tally.total) == (
        "phase-1",
        "in_progress",
        2,
    )
    assert [one.spec for one in specs.list(after=every[1], limit=1)] == [every[2]]
    assert specs.list("nowhere") == []
    assert specs.list(counted=False)[2].tally.total == 0
    assert specs.folders() == {"pending": 3, "active": 1, "completed": 0, "archived": 0}


def test_a_spec_is_found_by_its_id(root: str, specs: Specs) -> None:
    """By that of its root too; one that there is not is told apart."""
    found = specs.find("export-2026-01-02-001")
    assert found is not None
    assert found == specs.find(root)
    assert (found.folder, found.path) == ("pending", "specs/pending/export-2026-01-02-001.json")
    assert specs.find("nothing") is None
    assert specs.get(root).tally.total == 4
    with pytest.raises(NotFound):
        specs.get("nothing")


def test_a_plan_lies_in_the_main_tree_or_in_that_of_the_caller(
    workshop: Workshop, planned: Path, tmp_path: Path
) -> None:
    """Also for whoever works in a linked one."""
    beside = tmp_path / "beside"
    git(planned, "worktree", "add", "-q", str(beside), "-b", "other")
    (beside / "specs").mkdir()
    (beside / "specs/own.md").write_text("# Own\n")
    specs = workshop.agent("eve", app=workshop.beside(beside)).core.use(Specs)
    assert [specs.plan_file(name) for name in (PLAN, "own.md")] == [PLAN, "own.md"]
    assert specs.plan_file(str(beside / "specs/own.md")) == "own.md"


def test_nothing_of_a_secret_comes_into_an_id(specs: Specs, planned: Path) -> None:
    """Nor into the title."""
    secret = "ghp_" + "a1B2" * 9
    made, document = specs.create(_new(name=f"Use {secret}"))
    assert "a1b2" not in made.spec.lower()
    assert secret not in str(document)
