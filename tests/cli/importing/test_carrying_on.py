"""An import carries on past what it cannot read, and reports each place; `--strict` refuses it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from counterpoint.core.coordinator import Core

TASK = """---
id: {id}
title: {title}
status: {status}
assignee: {assignee}
---

## Description

{text}

## Acceptance Criteria
<!-- AC:BEGIN -->
- [x] #1 It floats
- [ ] #2 It is dry
<!-- AC:END -->

## Implementation Plan

1. Saw

## Implementation Notes

Mind the knots.

## Risks

None.
"""


def write_task(folder: Path, name: str, **values: str) -> None:
    """Write a file of Backlog.md."""
    usual = {
        "id": "task-1",
        "title": "Hull",
        "status": "To Do",
        "assignee": "'@ann'",
        "text": "Oak.",
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(TASK.format(**{**usual, **values}))


@pytest.fixture
def backlog(ledger: Path) -> Path:
    """Lay a project of Backlog.md with every fault that is seen in public ones."""
    tasks = ledger / "backlog" / "tasks"
    write_task(tasks, "task-1 - Hull.md", assignee="@claude")
    write_task(
        tasks, "task-2 - Sails.md", id="task-2", title="Sails: all of them", assignee="[@ann, bob]"
    )
    write_task(tasks, "task-9 - None.md", id="")
    write_task(tasks, "task-8 - Broken.md", id="task-8", title="[")
    write_task(ledger / "backlog" / "archive" / "tasks", "task-1 - Old.md", title="Old")
    (tasks / "README.md").write_text("# How we work\n")
    (tasks / "task-7 - Latin.md").write_bytes(b"---\nid: task-7\ntitle: \xe9\n---\n")
    (ledger / "backlog" / "docs").mkdir()
    (ledger / "backlog" / "docs" / "guide.md").write_text("# Guide\n")
    return ledger


def test_a_project_of_backlog_comes_in_but_for_what_cannot(
    call: Any, backlog: Path, agent: Core
) -> None:
    """Each file that is left out is named with why; what was only mended is told apart."""
    answer = call("import", "backlog", ".", "--json")
    assert answer.code == 0, answer.err
    (source,) = answer.json["sources"]
    assert source["items"] == 3
    left_out = {loss["where"]: loss["problem"] for loss in source["left_out"]}
    assert left_out.keys() == {
        "tasks/README.md",
        "tasks/task-7 - Latin.md, line 3",
        "tasks/task-8 - Broken.md, line 5",
        "tasks/task-9 - None.md",
        "tasks/task-2 - Sails.md",
    }
    again = "the id 'TASK-1' was given tasks/task-1 - Hull.md already, so 'Old' is 'TASK-1-2' here"
    assert any(again in remark for remark in source["remarks"])
    assert agent.items.named("task-1-2").title == "Old"
    assert agent.items.named("task-1").title == "Hull"
    assert any(
        "line 5: @claude is no YAML without quotes" in remark for remark in source["remarks"]
    )
    hull = agent.overview.facets(agent.items.find("TASK-1").id)
    assert (hull.item.title, hull.item.assignee) == ("Hull", "claude")
    assert [criterion.text for criterion in hull.criteria] == ["It floats", "It is dry"]
    assert (
        hull.item.body
        == "Oak.\n\n## Plan\n\n1. Saw\n\n## Notes\n\nMind the knots.\n\n## Risks\n\nNone."
    )
    sails = agent.items.find("TASK-2")
    assert (sails.title, sails.assignee) == ("Sails: all of them", "ann")


def test_what_is_given_twice_or_looks_like_a_task_is_told(call: Any, ledger: Path) -> None:
    folder = ledger / "specs/001-lamps"
    folder.mkdir(parents=True)
    text = "# Tasks: L\n\n- [ ] T012 One\n- [ ] T012 Two\n☐ T013 Three\nTODO: Four\n"
    (folder / "tasks.md").write_text(text)
    (source,) = call("import", "spec-kit", ".", "--json").json["sources"]
    assert source["items"] == 3
    assert any(
        "T012 is there already, so 'Two' is '001-lamps/T012-2'" in each
        for each in source["remarks"]
    )
    assert "begins with `todo:`" in source["left_out"][0]["problem"]


def test_strict_refuses_what_would_be_left_out_or_changed(
    call: Any, backlog: Path, agent: Core
) -> None:
    """With every place, and nothing is written."""
    before = agent.overview.state().ledger_size
    refusal = call("import", "backlog", ".", "--strict")
    assert refusal.code != 0
    for place in ("README.md", "task-9 - None.md", "archive/tasks/task-1 - Old.md", "@claude"):
        assert place in refusal.err
    assert agent.overview.state().ledger_size == before


def test_people_are_told_losses_first_and_what_would_be(call: Any, backlog: Path) -> None:
    """A look never says that anything was imported."""
    lines = call("import", "backlog", ".", "--dry-run").out
    order = [
        lines.index(words)
        for words in ("would be left out:", "would be imported otherwise", "beside the work:")
    ]
    assert order == sorted(order)
    assert "was left out" not in lines
    assert "guide.md is a document and no task" in lines
    assert "was left out:" in call("import", "backlog", ".").out


def bead(name: str, *edges: tuple[str, str], **more: Any) -> str:
    """Answer a line of beads."""
    links = [{"issue_id": name, "depends_on_id": other, "type": kind} for other, kind in edges]
    return json.dumps(
        {"id": name, "title": name, "status": "open", "priority": 2, "dependencies": links, **more}
    )


def test_circles_of_beads_come_in_without_one_edge(call: Any, ledger: Path, agent: Core) -> None:
    """An epic that waits for its parts, issues that are closed and wait for each other, and a damaged line."""
    lines = [
        bead("bd-1", ("bd-1.1", "blocks"), issue_type="epic"),
        bead("bd-1.1", ("bd-1", "parent-child")),
        bead("bd-2", ("bd-3", "blocks"), status="closed"),
        bead("bd-3", ("bd-2", "blocks"), status="closed"),
        "{",
        bead("bd-3"),
    ]
    (ledger / "issues.jsonl").write_text("\n".join(lines))
    answer = call("import", "beads", "issues.jsonl", "--json")
    assert answer.code == 0, answer.err
    (source,) = answer.json["sources"]
    assert (source["items"], source["deadlocks"]) == (4, [])
    assert [loss["where"] for loss in source["left_out"]] == [
        "issues.jsonl, line 5", "issues.jsonl, line 6", "issues.jsonl, line 4",
    ]  # fmt: skip
    assert any(
        "line 1: bd-1: it waits for bd-1.1, which is a part" in each for each in source["remarks"]
    )
    assert [agent.items.find(name).status for name in ("bd-2", "bd-3")] == ["done", "done"]
    assert call("import", "beads", "issues.jsonl", "--strict", "--as", "x").code != 0


def test_parts_of_a_finished_task_are_finished(call: Any, ledger: Path, agent: Core) -> None:
    """Task-master writes no status of them; one that has its own keeps it."""
    parts = [{"id": 1, "title": "a"}, {"id": 2, "title": "b"}, 7]
    tasks = [
        {"id": 1, "title": "Hull", "status": "done", "subtasks": parts},
        {"id": 2, "title": "Sails", "status": "pending", "subtasks": [{"id": 1, "title": "c"}]},
        {
            "id": 3,
            "title": "Odd",
            "status": "done",
            "subtasks": [{"id": 1, "title": "d", "status": "pending"}],
        },
        "no task",
    ]
    (ledger / "tasks.json").write_text(json.dumps({"master": {"tasks": tasks}}))
    (source,) = call("import", "task-master", "tasks.json", "--json").json["sources"]
    states = {
        name: agent.items.find(name).status for name in ("1", "1.1", "1.2", "2.1", "3", "3.1")
    }
    assert states == {
        "1": "done", "1.1": "done", "1.2": "done", "2.1": "open", "3": "open", "3.1": "open",
    }  # fmt: skip
    assert len(source["left_out"]) == 2
    assert sum("2 × a part without a status" in remark for remark in source["remarks"]) == 1


MARKS = {" ": "open", "x": "done", "X": "done", "-": "cancelled", "~": "open", "/": "open", ">": "open", "?": "open", "!": "open", "\u00a0": "open", "\u3000": "open"}  # fmt: skip


@pytest.mark.parametrize("tool", ["openspec", "spec-kit", "markdown"])
def test_every_mark_in_a_box_is_a_task(call: Any, ledger: Path, agent: Core, tool: str) -> None:
    """Whatever stands in it, and whatever white space; a mark without a meaning is told with its line."""
    folder = {"openspec": "openspec/changes/lamps", "spec-kit": "specs/lamps", "markdown": "."}[
        tool
    ]
    (ledger / folder).mkdir(parents=True, exist_ok=True)
    lines = [f"- [{mark}] Task {n}" for n, mark in enumerate(MARKS)]
    (ledger / folder / "tasks.md").write_text("# Lamps\n\n## Setup\n\n" + "\n".join(lines) + "\n")
    source = "tasks.md" if tool == "markdown" else "."
    answer = call("import", tool, source, "--json")
    assert answer.code == 0, answer.err
    (arrival,) = answer.json["sources"]
    key = "tasks" if tool == "markdown" else "lamps"
    states = [agent.items.find(f"{key}/task-{n}").status for n in range(len(MARKS))]
    assert states == list(MARKS.values())
    report = "\n".join(arrival["remarks"])
    for n, mark in enumerate(MARKS):
        if mark in "~/>?!":
            assert f"tasks.md, line {n + 5}: the box `[{mark}]` has no meaning" in report


def test_headings_without_tasks_are_counted(call: Any, ledger: Path) -> None:
    """However many there are, they are one line of the report, with the file and the lines."""
    (ledger / "specs" / "a").mkdir(parents=True)
    heads = "".join(f"## Part {n}\n\nWords.\n\n" for n in range(40))
    (ledger / "specs" / "a" / "tasks.md").write_text(
        f"# A\n\n{heads}## Do\n\n- [?] T001 It\n- [ ] T002 Too\n"
    )
    lines = call("import", "spec-kit", ".").out.splitlines()
    assert len(lines) == 5
    assert "a/tasks.md, line 165: the box `[?]` has no meaning" in lines[2]
    assert "40 × a heading without a task" in lines[4]
