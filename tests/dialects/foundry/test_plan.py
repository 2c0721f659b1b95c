"""Plans: skeletons that nobody's file gives way to, and what lies beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from builders import Agent, Workshop


def done(agent: Agent, action: str, **more: Any) -> dict[str, Any]:
    """Answer the data of a call of the tool."""
    reply = agent.call("plan", {"action": action, **more})
    assert not reply.is_error, reply.text
    return reply.answer["data"]


def code(agent: Agent, action: str, **more: Any) -> str:
    """Answer the code with which a call is refused."""
    return agent.call("plan", {"action": action, **more}).answer["data"]["error_code"]


def test_a_plan_begins_as_a_skeleton(foundry: Agent, workshop: Workshop) -> None:
    """Its path is the one that a spec is made with: from the folder of specs on."""
    data = done(foundry, "create", name="Export my Data!")
    slug = data["plan_slug"]
    assert slug == f"export-my-data-{workshop.clock.now()[:10]}"
    assert data == {
        "plan_name": "Export my Data!",
        "plan_slug": slug,
        "plan_path": f".plans/{slug}.md",
    }
    text = (workshop.root / "specs" / data["plan_path"]).read_text("utf-8")
    assert text.startswith("# Export my Data!\n")
    assert "## Success criteria" in text


def test_a_plan_that_is_there_is_not_written_over(foundry: Agent, workshop: Workshop) -> None:
    """The second of a name on a day is refused."""
    path = workshop.root / "specs" / done(foundry, "create", name="Export")["plan_path"]
    path.write_text("mine")
    assert code(foundry, "create", name="export") == "DUPLICATE_ENTRY"
    assert path.read_text() == "mine"


def test_a_retry_hears_the_first_answer(foundry: Agent) -> None:
    """The plan is made once."""
    first = done(foundry, "create", name="Export", idempotency_key="k")
    assert done(foundry, "create", name="Export", idempotency_key="k") == first


def test_plans_are_listed_with_their_reviews(foundry: Agent, workshop: Workshop) -> None:
    """By name, in pages; a link is no plan."""
    assert done(foundry, "list") == {"plans": [], "count": 0, "plans_dir": "specs/.plans"}
    paths = [done(foundry, "create", name=name)["plan_path"] for name in ("Two", "One")]
    reviews = workshop.root / "specs/.plan-reviews"
    reviews.mkdir()
    name = Path(paths[1]).stem
    (reviews / f"{name}-review-full.md").write_text("good")
    (workshop.root / "specs/.plans/link.md").symlink_to("/etc/hostname")
    (workshop.root / "specs/.plans/notes.txt").write_text("none")
    listed = done(foundry, "list")["plans"]
    assert [one["path"] for one in listed] == sorted(paths)
    assert listed[0]["reviews"] == [f".plan-reviews/{name}-review-full.md"]
    assert [one["has_review"] for one in listed] == [True, False]
    assert listed[0]["size_bytes"] == (workshop.root / "specs" / listed[0]["path"]).stat().st_size
    first = foundry.call("plan", {"action": "list", "limit": 1}).answer
    rest = done(foundry, "list", limit=1, cursor=first["meta"]["pagination"]["cursor"])
    assert [*first["data"]["plans"], *rest["plans"]] == listed


def test_a_folder_of_plans_that_leads_away_is_refused(
    foundry: Agent, workshop: Workshop, tmp_path: Path
) -> None:
    """For reading and for writing."""
    (tmp_path / "away").mkdir()
    (workshop.root / "specs").mkdir()
    (workshop.root / "specs/.plans").symlink_to(tmp_path / "away")
    assert code(foundry, "create", name="Export") == "VALIDATION_ERROR"
    assert code(foundry, "list") == "VALIDATION_ERROR"
    assert list((tmp_path / "away").iterdir()) == []


def test_what_cannot_be_written_or_looked_through_is_refused(
    foundry: Agent, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file in the way of the folder; more plans than anybody has."""
    (workshop.root / "specs").mkdir()
    (workshop.root / "specs/.plans").write_text("in the way")
    assert code(foundry, "create", name="Export") == "DUPLICATE_ENTRY"
    (workshop.root / "specs/.plans").unlink()
    done(foundry, "create", name="Export")
    done(foundry, "create", name="Import")
    monkeypatch.setattr("counterpoint.dialects.foundry.reviews.operations.MOST", 1)
    assert code(foundry, "list") == "VALIDATION_ERROR"
