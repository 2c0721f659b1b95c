"""Statuses, priorities and fields that a tool's own table does not name are understood or told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from counterpoint.cli.importing.readers.vocabulary import priority_of, state_of
from counterpoint.core.model.foreign import Remark

STATES = {"in-progress": "active", "blocked": "open"}


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("in-progress", "active"), ("In Progress", "active"), ("IN_PROGRESS", "active"), ("blocked", "open"),
        ("Blocked", "open"), ("Canceled", "cancelled"), ("won't fix", "cancelled"), ("Complete", "done"),
        ("on hold", "backlog"), ("готово", None), ("", None), ("thinking", None),
    ],
)  # fmt: skip
def test_a_status_means_what_its_letters_mean(status: str, state: str | None) -> None:
    """The tool's own table comes first; nobody guesses at what no table has."""
    assert state_of(status, STATES) == state


@pytest.mark.parametrize(
    ("priority", "is_scale", "number", "count"),
    [
        ("urgent", False, 0, 0), ("P1", False, 1, 0), ("1", True, 1, 0), ("1", False, 2, 1),
        ("", False, 2, 0), ("9", True, 2, 1), ("soon", False, 2, 1), ("Lowest", False, 4, 0),
    ],
)  # fmt: skip
def test_a_priority_is_a_word_or_a_number(
    priority: str, is_scale: bool, number: int, count: int
) -> None:
    """One that nobody knows is that of most, and is told."""
    remarks: list[Remark] = []
    assert priority_of(priority, "a", "x", remarks, is_scale=is_scale) == number
    assert len(remarks) == count


def test_odd_statuses_and_unread_fields_of_each_tool(call: Any, ledger: Path) -> None:
    """What is under way or given up there is so here; a field without a place is named with its file."""
    task = {"id": 1, "title": "a", "status": "in_progress", "dueDate": "2026-01-01", "mood": "x"}
    (ledger / "tasks.json").write_text(json.dumps({"tasks": [task]}))
    answer = call("import", "task-master", "tasks.json")
    assert "tasks.json, master.tasks[0]: field 'mood' has no place here" in answer.out
    assert "dueDate" not in answer.out
    (ledger / ".beads").mkdir()
    issue = {"id": "bd-1", "title": "b", "status": "In Progress", "priority": "P0", "pinned": True}
    issue |= {"acceptance_criteria": "- [X] done", "defer_until": "2027-01-01"}
    (ledger / ".beads/issues.jsonl").write_text(json.dumps(issue))
    answer = call("import", "beads", ".beads/issues.jsonl")
    assert f"{ledger.name} (beads)" in answer.out
    assert "line 1: field 'pinned'" in answer.out
    assert "ticked acceptance sentences" in answer.out
    assert "defer_until" not in answer.out
    (ledger / "backlog/tasks").mkdir(parents=True)
    front = "id: task-1\ntitle: c\nstatus: ◑ Canceled\npriority: soon\nmood: x\n"
    (ledger / "backlog/tasks/task-1.md").write_text(f"---\n{front}---\n")
    answer = call("import", "backlog", ".")
    assert "task-1: the priority 'soon' means medium here" in answer.out
    assert "tasks/task-1.md: field 'mood' has no place here" in answer.out
    items = {
        item["title"]: item for item in json.loads(call("list", "--all", "--json").out)["items"]
    }
    assert [(items[title]["status"], items[title]["priority"]) for title in "abc"] == [
        ("active", 2), ("active", 0), ("cancelled", 2),
    ]  # fmt: skip
    exported = call("export", "--format", "beads").out.splitlines()
    assert any('"defer_until":"2027-01-01"' in line for line in exported)


def test_waits_of_spec_kit_are_found_in_other_words(call: Any, ledger: Path) -> None:
    """`(after T001)` and `depends on T001` at the end of a title say the same as its own form."""
    (ledger / "specs/001-a").mkdir(parents=True)
    lines = "- [ ] T001 a\n- [ ] T002 b (after T001)\n- [ ] T003 c - depends on: T001, T009\n"
    (ledger / "specs/001-a/tasks.md").write_text(f"# Tasks: A\n## One\n{lines}")
    answer = call("import", "spec-kit", ".")
    assert "it waits for 001-a/T009, which is not there" in answer.out
    assert [line.split()[-1] for line in call("list").out.splitlines() if "T001" in line] == [
        "[waits]",
        "[waits]",
    ]


def test_statuses_of_linear_and_files_that_are_none_are_told(call: Any, ledger: Path) -> None:
    """A status or priority that nobody knows; a folder and a link in place of a file are named."""
    rows = "L-1,a,Ready to Merge,soon\nL-2,b,Won't do,No priority\nL-3,c,Triage,1\nL-4,d,,\n"
    (ledger / "i.csv").write_text(f"ID,Title,Status,Priority\n{rows}")
    answer = call("import", "linear", "i.csv")
    assert answer.out.count("means open here") == 1
    assert "L-1: the status 'Ready to Merge' means open here" in answer.out
    assert "L-1: the priority 'soon' means medium here" in answer.out
    items = json.loads(call("list", "--all", "--json").out)["items"]
    states = {item["title"]: (item["status"], item["priority"]) for item in items}
    assert [states[title] for title in "abcd"] == [
        ("open", 2), ("cancelled", 4), ("backlog", 0), ("open", 4),
    ]  # fmt: skip
    (ledger / "link.csv").symlink_to("i.csv")
    assert "it is a link: name what it leads to" in call("import", "linear", "link.csv").err
    assert "imported: .: it cannot be read" in call("import", "markdown", ".").err


def test_states_of_github_and_columns_of_linear_that_nobody_knows_are_told(
    call: Any, ledger: Path
) -> None:
    """What has no place here is neither taken for open nor dropped without a word."""
    states = [{"state": state} for state in ("OPEN", "TRIAGED", "MERGED", "")]
    states += [
        {"state": "CLOSED", "stateReason": reason}
        for reason in ("COMPLETED", "NOT_PLANNED", "MOVED")
    ]
    issues = [{"number": at, "title": f"i{at}"} | state for at, state in enumerate(states)]
    (ledger / "gh.json").write_text(json.dumps(issues))
    answer = call("import", "github", "gh.json").out
    assert answer.count("means") == 2
    assert "#1: the state 'TRIAGED' means open here" in answer
    assert "#6: closed as 'moved' means done here" in answer
    items = {
        item["title"]: item["status"]
        for item in json.loads(call("list", "--all", "--json").out)["items"]
    }
    assert [items[f"i{at}"] for at in range(7)] == [
        "open", "open", "done", "open", "done", "cancelled", "done",
    ]  # fmt: skip
    (ledger / "l.csv").write_text(
        "ID,Title,Status,Mood,Updated\nL-1,a,Done,x,2026-01-01\nL-2,b,Done,,\n"
    )
    answer = call("import", "linear", "l.csv").out
    assert "field 'Mood' has no place here" in answer
    assert "Updated" not in answer
