"""The tools `template_list`, `template_preview` and `template_create_plan`."""

from __future__ import annotations

import re
from typing import Any

import pytest

from builders import Agent, Workshop

SHEET = """
name: Small thing
description: A thing about {{ what }}
category: small
variables:
  what:
    description: What it is
    required: true
    pattern: "[a-z ]+"
  how:
    default: well
phases:
  - name: Think
    tasks:
      - Think of {{ what }}
  - name: Do
    tasks:
      - Do it {{ how }}
      - Look at it
"""


@pytest.fixture
def shelf(workshop: Workshop) -> None:
    """Put a template on the project's shelf."""
    folder = workshop.root / ".counterpoint" / "templates"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "small.yaml").write_text(SHEET)


def test_templates_are_listed(opus: Agent, shelf: None) -> None:
    """The built-in ones and the project's, with their variables."""
    entries = []
    asked: dict[str, Any] = {"limit": 4}
    while True:
        answer = opus.does("template_list", **asked)
        entries += answer["templates"]
        if "next_cursor" not in answer:
            break
        asked["cursor"] = answer["next_cursor"]
    by_slug = {entry["slug"]: entry for entry in entries}
    assert len(by_slug) == len(entries) >= 6
    small = by_slug["small"]
    assert (small["name"], small["phases_count"], small["category"]) == ("Small thing", 2, "small")
    assert small["variables"][0] == {
        "name": "what",
        "required": True,
        "description": "What it is",
        "pattern": "[a-z ]+",
    }
    only = opus.does("template_list", category="small")["templates"]
    assert [entry["slug"] for entry in only] == ["small"]


def test_a_preview_is_what_is_made(opus: Agent, shelf: None) -> None:
    """Phase by phase, task by task, and nothing is written by it."""
    values = {"what": "a login"}
    size = opus.ledger_size
    preview = opus.does("template_preview", slug="small", variables=values)["preview"]
    assert opus.ledger_size == size
    assert preview["variables_applied"] == {"what": "a login", "how": "well"}
    made = opus.does("template_create_plan", template="small", variables=values, activate=True)
    assert made["plan"]["status"] == "active"
    assert (made["plan"]["phases"], made["plan"]["total_tasks"]) == (2, 3)
    shown = opus.does("plan_get", slug=made["plan"]["slug"])["plan"]
    assert [
        (phase["name"], [task["name"] for task in phase["tasks"]]) for phase in shown["phases"]
    ] == [(phase["name"], [task["name"] for task in phase["tasks"]]) for phase in preview["phases"]]
    assert shown["title"] == preview["title"]
    assert shown["template"]["slug"] == "small"


def test_plans_of_one_template_have_slugs_of_chance(opus: Agent, shelf: None) -> None:
    asked = {"template_slug": "small", "variables": {"what": "x"}, "title": "Same"}
    slugs = [opus.does("template_create_plan", **asked)["plan"]["slug"] for _ in range(3)]
    assert len(set(slugs)) == 3
    assert all(re.fullmatch("plan-[a-z0-9]{6}", slug) for slug in slugs)
    named = opus.does("template_create_plan", **asked, slug="mine")["plan"]
    assert (named["slug"], named["status"]) == ("mine", "draft")


def test_a_dry_run_answers_what_would_be_made(opus: Agent, shelf: None) -> None:
    """The same answer but for a slug of chance, and nothing is written; what making it would refuse is refused."""
    asked = {"template_slug": "small", "variables": {"what": "x"}, "activate": True}
    size = opus.ledger_size
    dry = opus.does("template_create_plan", **asked, dry_run=True)
    assert opus.ledger_size == size
    made = opus.does("template_create_plan", **asked)
    assert dry == {**made, "plan": {**made["plan"], "slug": None}, "dry_run": True}
    named = opus.does("template_create_plan", **asked, slug="mine", dry_run=True)["plan"]
    assert named["slug"] == "mine"
    taken = opus.is_refused(
        "template_create_plan", **asked, slug=made["plan"]["slug"], dry_run=True
    )
    assert taken["details"]["kind"] == "conflict"


@pytest.mark.parametrize("values", [{}, {"what": "X"}, {"what": "x", "more": "y"}, {"what": [1]}])
@pytest.mark.parametrize("tool", ["template_preview", "template_create_plan"])
def test_wrong_values_are_refused(
    opus: Agent, shelf: None, tool: str, values: dict[str, Any]
) -> None:
    """By the preview as by the making."""
    assert opus.is_refused(tool, template="small", variables=values)["code"] == "validation_error"


def test_a_template_that_is_not_there_is_not_found(opus: Agent) -> None:
    for slug in ("nothing", "../keys/project"):
        assert opus.is_refused("template_preview", slug=slug)["code"] in {
            "not_found",
            "validation_error",
        }
