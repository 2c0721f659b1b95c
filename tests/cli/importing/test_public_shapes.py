"""Sources in the shapes that public projects have: every task in one is an item, or is told."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest


def bead(name: str, *edges: tuple[str, str], **more: Any) -> dict[str, Any]:
    """Answer an issue of beads."""
    links = [{"issue_id": name, "depends_on_id": other, "type": kind} for other, kind in edges]
    usual = {"title": f"Do {name}", "status": "open", "priority": 2, "issue_type": "task"}
    return {"id": name, **usual, "dependencies": links, **more}


BEADS = {
    "flat": [
        bead("app-a1", labels=["ui"], created_at="2025-10-01T08:00:00Z", created_by="ann"),
        bead("app-b2", ("app-a1", "blocks"), status="in_progress", assignee="ann"),
        bead("app-c3", ("app-gone", "blocks"), issue_type="bug", priority=0),
        bead("app-d4", status="closed", closed_at="2025-10-02T08:00:00Z", close_reason="Fixed in main"),
    ],
    "epics": [
        bead("k-1", ("k-1.1", "blocks"), ("k-1.2", "blocks"), issue_type="epic"),
        bead("k-1.1", ("k-1", "parent-child")),
        bead("k-1.2", ("k-1", "parent-child"), ("k-1.1", "blocks")),
        bead("k-2", ("k-1", "discovered-from"), status="tombstone", deleted_at="2025-10-02T08:00:00Z"),
        bead("k-3", ("k-1", "related"), status="hooked"),
    ],
    "long": [
        bead("z-1", description="Why.", design="How.", notes="Ask Bo.", acceptance_criteria="- [ ] Fast\n- [x] Small"),
        bead("z-2", comments=[{"author": "bo", "text": "Done?", "created_at": "2025-10-03T08:00:00Z"}]),
        bead("z-3", status="deferred", due_at="2026-01-01T00:00:00Z", estimated_minutes=90),
        bead("z-4", title="x" * 700, status="pinned", external_ref="gh-9"),
    ],
    "damaged": [
        bead("q-1", ("q-2", "blocks"), status="closed"),
        bead("q-2", ("q-3", "blocks"), status="closed"),
        bead("q-3", ("q-1", "blocks"), status="closed"),
        bead("q-3", title="Again"),
        bead("", title="Nameless"),
        bead("q-4", status="strange", title=""),
        "{ cut",
    ],
}  # fmt: skip


def part(number: Any, title: str = "Do", **more: Any) -> dict[str, Any]:
    """Answer a task of task-master."""
    return {"id": number, "title": title, "description": "Why", "dependencies": [], **more}


TASK_MASTER = {
    "finished": {"master": {"tasks": [
        part(1, status="done", subtasks=[part(1), part(2, dependencies=[1])]),
        part(2, status="completed", dependencies=[1], subtasks=[part(1, status="done")]),
    ]}},
    "old": {"tasks": [part(1, status="pending"), part(2, status="review", dependencies=["1"]), part("x", status="odd")]},
    "tags": {
        "master": {"tasks": [part(1, status="in-progress", priority="urgent")]},
        "login": {"tasks": [part(1, status="deferred"), part(2, dependencies=[7])], "metadata": {"description": "Later"}},
        "none": {"tasks": []},
    },
    "damaged": {"master": {"tasks": [
        part(1, dependencies=[2]), part(2, dependencies=[1]), part(2, "Twice"), 7, {"title": "No id"},
        part(3, status="done", subtasks=[part(1, status="pending"), "words"]),
    ]}},
}  # fmt: skip


def backlog_task(head: str, body: str = "") -> str:
    """Answer a file of Backlog.md."""
    return f"---\n{head}\n---\n{body}"


MARKED = (
    "\n## Description\n\nWhy so.\n\n## Acceptance Criteria\n<!-- AC:BEGIN -->\n- [x] #1 Fast\n- [ ] #2 Small\n  and cheap\n"
    "<!-- AC:END -->\n\n## Implementation Plan\n\n1. First\n\n## Implementation Notes\n\nMind it.\n"
)
BACKLOG = {
    "plain": {
        "tasks/task-1 - A.md": backlog_task("id: task-1\ntitle: A\nstatus: To Do\nassignee: @claude", MARKED),
        "tasks/task-2 - B.md": backlog_task("id: task-2\ntitle: B\nstatus: Done\nassignee:\n  - @ann\n  - @bo", MARKED),
    },
    "archived": {
        "tasks/task-1 - A.md": backlog_task("id: task-1\ntitle: A\nstatus: In Progress"),
        "archive/tasks/task-1 - Old.md": backlog_task("id: task-1\ntitle: Old\nstatus: Done"),
        "completed/task-3 - C.md": backlog_task("id: task-3\ntitle: 'C'\nstatus: Done\ndependencies: [task-1, task-99]"),
    },
    "others": {
        "tasks/README.md": "# How\n\nWe work so.\n",
        "tasks/task-5 - E.md": backlog_task("id: task-5\ntitle: Fix: the thing\nstatus: Ready for QA"),
        "tasks/task-6 - F.md": backlog_task("title: No id\nstatus: To Do"),
        "tasks/task-7 - G.md": "---\nid: task-7\ntitle: never ends\n",
        "drafts/draft-1 - H.md": backlog_task("id: draft-1\ntitle: H\nstatus: Draft"),
    },
    "nested": {
        "tasks/task-8 - P.md": backlog_task("id: TASK-8\ntitle: P\nstatus: Done\ndependencies: [TASK-8.1]"),
        "tasks/task-8.1 - Q.md": backlog_task("id: TASK-8.1\ntitle: Q\nstatus: To Do\nparent_task_id: TASK-8"),
        "tasks/task-9 - R.md": backlog_task("id: task-9\ntitle: R\nmodified_files: [../x, src/a]", "Words alone.\n"),
    },
}  # fmt: skip

OPENSPEC = {
    "numbers": "## 1. Setup\n\n- [x] 1.1 Buy\n- [?] 1.2 Deferred, not done\n\n## 2. Do\n\n- [ ] 2.1 Hang\n",
    "marks": "# Tasks\n\n- [~] half\n- [-] dropped\n- [>] moved\n- [\u00a0] blank\n- [/] begun\n",
    "fences": "## A\n\n- [ ] one\n\n````md\n- [ ] example\n```\n- [ ] example\n````\n\n<!--\n- [ ] hidden\n-->\n- [ ] last\n",
    "nested": "## 实现\n\n- [ ] 写\n  - [ ] 测\n    - [X] 🚀\n* [ ] star\n1. [ ] number\n",
}  # fmt: skip
SPEC_KIT = {
    "template": "# Tasks: Lamps\n\n## Format\n\nWords\n\n## Phase 1: Setup\n\n- [ ] T001 Make it\n- [x] T002 [P] Try it in src/a.py\n",
    "stories": "# Tasks: B\n\n## Phase 3: User Story 1\n\n### Tests\n\n- [ ] T010 [P] [US1] Test\n\n### Do\n\n- [ ] T011 [US1] Do (depends on T010)\n",
    "marks": "# Tasks: C\n\n- [~] T001 half\n- [!] T002 urgent\n- [-] T003 dropped\n- [ ] T001 twice\n",
    "heads": "# Tasks: D\n\n" + "## Notes\n\nWords\n\n" * 20 + "## Do\n\n- [ ] T001 It\n",
}  # fmt: skip


def boxes_in(text: str) -> int:
    """Count the boxes of a check-list that are neither in a fence nor in a comment."""
    plain = re.sub(r"(?s)````.*?````|<!--.*?-->", "", text)
    return len(re.findall(r"(?m)^\s*(?:[-*]|\d+\.) \[.\] ", plain))


def tasks_in(value: Any) -> int:
    """Count the tasks of a document of task-master, damaged ones too."""
    if (
        isinstance(value, dict)
        and "tasks" not in value
        and "id" not in value
        and "title" not in value
    ):
        return sum(map(tasks_in, value.values()))
    some = value["tasks"] if "tasks" in value else value.get("subtasks", [])
    own = "tasks" not in value
    return own + sum(tasks_in(each) if isinstance(each, dict) else 1 for each in some)


def lay(folder: Path, tool: str, source: Any) -> tuple[str, int]:
    """Lay a source; answer how it is called, and how many tasks it has."""
    if tool == "beads":
        lines = [each if isinstance(each, str) else json.dumps(each) for each in source]
        (folder / "issues.jsonl").write_text("\n".join(lines))
        return "issues.jsonl", len(lines)
    if tool == "task-master":
        (folder / "tasks.json").write_text(json.dumps(source))
        return "tasks.json", tasks_in(source)
    if tool == "backlog":
        for name, text in source.items():
            (folder / "backlog" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "backlog" / name).write_text(text)
        (folder / "backlog" / "tasks").mkdir(exist_ok=True)
        return ".", len(source)
    place = {"openspec": "openspec/changes/lamps", "spec-kit": "specs/001-lamps"}[tool]
    (folder / place).mkdir(parents=True)
    (folder / place / "tasks.md").write_text(source)
    return ".", boxes_in(source)


def phases_of(call: Any) -> int:
    """Count the phases of a ledger."""
    items = call("list", "--all", "--json").json["items"]
    return sum(item["kind"] == "phase" for item in items)


SHAPES = [
    (tool, name, source)
    for tool, sources in (
        ("beads", BEADS), ("task-master", TASK_MASTER), ("backlog", BACKLOG), ("openspec", OPENSPEC), ("spec-kit", SPEC_KIT),
    )
    for name, source in sources.items()
]  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "source"),
    [(tool, source) for tool, _, source in SHAPES],
    ids=[f"{tool}-{name}" for tool, name, _ in SHAPES],
)
def test_every_task_of_a_source_is_an_item_or_is_told(
    call: Any, ledger: Path, tool: str, source: Any
) -> None:
    """With default flags; a look says the same, and the same again is nothing."""
    name, count = lay(ledger, tool, source)
    before = phases_of(call)
    looked = call("import", tool, name, "--dry-run", "--json").json["sources"]
    answer = call("import", tool, name, "--json")
    assert answer.code == 0, answer.err
    arrivals = answer.json["sources"]
    assert [each["remarks"] for each in arrivals] == [each["remarks"] for each in looked]
    phases = phases_of(call) - before
    items = sum(each["items"] for each in arrivals) - phases
    told = [remark for each in arrivals for remark in each["remarks"] if _is_of_a_task(remark)]
    assert items + len(told) == count, (items, told)
    for each in call("import", tool, name, "--json").json["sources"]:
        assert (each["created"], each["changed"], each["kept"], each["records"]) == (0, [], [], 0)


def _is_of_a_task(remark: str) -> bool:
    """Return whether a remark tells of a task that is no item."""
    is_edge = "it waits for" in remark or "the area " in remark or "is of " in remark
    return (
        remark.endswith("is left out") or ("not imported" in remark and "deleted" in remark)
    ) and not is_edge
