"""Every parameter of the symphony tools is read back by another tool, whole, on a server started anew."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from typing import Any

from builders import commit, git
from counterpoint.app import open_app
from counterpoint.core.model.filters import Edit
from counterpoint.dialects.symphony.tools.phases import MARKER
from counterpoint.dialects.symphony.verbs.issues import Issues
from counterpoint.dialects.symphony.verbs.workspaces import Workspaces
from readback import FULL, LINE, Act, Back, Table, Write

SECTIONS = ("Problem", "Current State", "Findings", "Risks", "Recommendation")
TEXT = "# Research\n\n" + "\n\n".join(f"## {one}\n\nWhat is so, and how seen." for one in SECTIONS)
DIGEST = hashlib.sha256(TEXT.encode()).hexdigest()
PATH = "docs/tickets/DEMO-002/research.md"
READER = "reader"
MEMORY = ('He said "no":\t{"a": [1, null]}\n\u00e9\u4e16\U0001f600 \\ ' * 400)[:9_999] + "!"
"""As long as a file of memory may be."""
LABELS = [*(f"area {number:02} {'x' * 91}" for number in range(49)), "phase:research"]
FILES = [f"src/{number:03}/{'é' * 100}/{'x' * 200}.py" for number in range(100)]


def whole(name: str, *path: str, **more: Any) -> Back:
    """Return where something of an id is read whole."""
    return Back(tool="get_issue", arguments={"issue_id": name}, path=path, by=READER, **more)


def every(name: str, *parameters: str, **more: Any) -> dict[str, Back]:
    """Return that each of some parameters is read whole, under its own name."""
    return {one: whole(name, **more) for one in parameters}


def remembered(text: str) -> Back:
    """Return that memory, as an agent of its type is given it, has a text."""
    return Back(tool="get_issue", by="worker", path=("memory", f"has:{text}"), value=True)


def open_issue(folder: Path, names: dict[str, Any]) -> None:
    """Take an issue out of the backlog and write the marker and the artifact of its first phase."""
    app = open_app(folder, {"PATH": os.environ["PATH"]})
    issue = app.person().use(Issues).named(names["issue"])
    app.person().items.edit(issue.id, Edit(status="open"))
    app.person().use(Workspaces).open(issue.id, MARKER)
    app.close()
    commit(folder, PATH, TEXT)
    commit(
        folder,
        "docs/guide.md",
        "# Guide\n\n" + "The harbour keeps its anchors in the north shed. " * 9,
    )


def open_branch(folder: Path, names: dict[str, Any]) -> None:
    """Put a second issue on a branch of its own with a commit."""
    app = open_app(folder, {"PATH": os.environ["PATH"]})
    issue = app.person().use(Issues).named(names["other"])
    app.person().items.edit(issue.id, Edit(status="open"))
    git(folder, "switch", "-q", "-c", "work")
    commit(folder, "a.py", "a = 1\n" * 20_000)
    names["diff"] = git(folder, "diff", "main...work") + "\n"
    app.person().use(Workspaces).open(issue.id, MARKER)
    app.close()


def other_project(folder: Path, names: dict[str, Any]) -> None:
    """Begin another project in the same database."""
    app = open_app(folder, {"PATH": os.environ["PATH"]}, project="elsewhere")
    app.person().items.project()
    app.close()
    del names


ISSUE = ("--issue-id", "$issue", "--run-id", "run-7")
CONNECTIONS = {
    READER: ("--issue-id", "$issue"),
    "worker": (*ISSUE, "--agent-type", "worker"),
    "judge": (*ISSUE, "--agent-type", "judge"),
    "builder": ("--issue-id", "$other"),
    "critic": ("--issue-id", "$other", "--agent-type", "judge"),
    "planner": ("--issue-id", "$mover", "--agent-type", "planner"),
}
GATE = {"command": f"{sys.executable} -c pass", "label": 'Te"sts', "required": False}
OWN = {"command": "make", "label": "own", "exit_code": 3, "output": FULL, "required": False}
TABLE = Table(
    dialect="symphony",
    connections=CONNECTIONS,
    nothing={
        ("get_issue", "issue_id"): "reads",
        ("get_issue_status", "issue_id"): "reads",
        ("list_issues", "status"): "reads",
        ("list_issues", "labels"): "reads",
        **{
            ("search_learnings", name): "reads"
            for name in ("query", "cross_project", "min_quality_score")
        },
        **{("search_knowledge", name): "reads" for name in ("query", "top_k", "min_score")},
        **{("vault_retrieve", name): "reads" for name in ("query", "top_k")},
        **{
            ("query_run_events", name): "reads"
            for name in ("issue_id", "run_id", "event_type", "event_subtype", "offset")
        },
        ("complete_phase", "project_path"): "the server looks where it was started",
        ("complete_phase", "contracts_dir"): "the server has its own contracts",
        ("vault_delete", "path"): "names what is removed: it is found no more",
    },
    steps=(
        Write(
            tool="configure_project",
            arguments={
                "gates": [GATE],
                "sensitive_paths": FULL,
                "risk_thresholds": {"lowLines": 7, "highLines": 70, "lowFiles": 2, "highFiles": 9},
                "worker_instructions": FULL,
                "judge_instructions": FULL,
            },
            back=every(
                "project",
                "gates",
                "sensitive_paths",
                "risk_thresholds",
                "worker_instructions",
                "judge_instructions",
            ),
        ),
        Write(tool="create_issue", arguments={"title": "First"}, keep={"need": "identifier"}),
        Write(
            tool="create_issue",
            arguments={
                "title": LINE,
                "description": FULL,
                "priority": 4,
                "labels": LABELS,
            },
            keep={"issue": "identifier"},
            back={
                "title": Back(
                    tool="list_issues", path=("issues", "identifier=$issue", "title"), by=READER
                ),
                **every("$issue", "description", "priority"),
                "labels": whole("$issue"),
            },
        ),
        Write(
            tool="create_issue",
            arguments={"title": "Waits", "depends_on": ["$need"]},
            keep={"waits": "identifier"},
            back={"depends_on": whole("$waits", "depends_on", "0", "identifier", value="$need")},
        ),
        Write(
            tool="create_issue",
            arguments={"title": "Other", "labels": ["phase:ready"]},
            keep={"other": "identifier"},
        ),
        Act(do=open_issue),
        Write(
            tool="add_finding",
            by="worker",
            arguments={"category": "gap", "summary": FULL, "details": FULL, "files": FILES},
            keep={"finding": "id"},
            back={
                **every("$finding", "category", "summary", "details", "files"),
            },
        ),
        Write(
            tool="add_learning",
            by="worker",
            arguments={
                "pattern": FULL,
                "context": FULL,
                "applies_to": FULL,
                "learning_type": "gotcha",
            },
            keep={"learning": "id"},
            back=every("$learning", "pattern", "context", "applies_to", "learning_type"),
        ),
        Write(
            tool="add_comment",
            by="worker",
            arguments={"content": FULL},
            keep={"comment": "id"},
            back=every("$comment", "content"),
        ),
        Write(
            tool="record_test_health",
            by="worker",
            arguments={
                "test_count": 7_001,
                "test_files_changed": 2,
                "tests_added": 31,
                "tests_removed": 0,
                "execution_time_ms": 123_456,
            },
            keep={"health": "id"},
            back={
                "test_count": whole("$issue", "test_health", "test_count"),
                **every(
                    "$health",
                    "test_files_changed",
                    "tests_added",
                    "tests_removed",
                    "execution_time_ms",
                ),
            },
        ),
        Write(
            tool="record_coverage",
            arguments={
                "file_path": "src/a.py",
                "concept": LINE,
                "status": "has_issues",
                "ticket_id": "$issue",
                "notes": FULL,
            },
            keep={"coverage": "id"},
            back=every("$coverage", "file_path", "concept", "status", "ticket_id", "notes"),
        ),
        Write(
            tool="update_memory",
            by="worker",
            arguments={"scope": "global", "filename": "notes.md", "content": MEMORY},
            back={
                "scope": remembered("=== global/"),
                "filename": remembered("/notes.md ("),
                "content": remembered(f" ===\n{MEMORY}"),
            },
        ),
        Write(
            tool="vault_update",
            arguments={"path": "docs/guide.md"},
            back={
                "path": Back(
                    tool="vault_retrieve",
                    arguments={"query": "anchors in the north shed"},
                    path=("results", "0", "path"),
                    by=READER,
                )
            },
        ),
        Write(
            tool="complete_phase",
            by="worker",
            arguments={
                "completed_phase": "research",
                "contract_version": 1,
                "artifact_path": PATH,
                "artifact_hash": DIGEST,
                "summary": FULL,
                "open_questions": FULL,
                "confidence": "low",
                "promote_to": "docs/cause.md",
                "recommended_next_phase": "architecture",
                "project_path": ".",
            },
            keep={"claim": "id"},
            back={
                **every(
                    "$claim",
                    "completed_phase",
                    "contract_version",
                    "artifact_path",
                    "artifact_hash",
                    "summary",
                    "open_questions",
                    "confidence",
                    "promote_to",
                    "recommended_next_phase",
                ),
            },
        ),
        Write(
            tool="reject_phase",
            by="judge",
            arguments={
                "phase": "research",
                "artifact_hash": DIGEST,
                "reason": FULL,
                "fix_instructions": FULL,
            },
            keep={"rejection": "id"},
            back=every("$rejection", "phase", "artifact_hash", "reason", "fix_instructions"),
        ),
        Write(
            tool="approve_phase",
            by="judge",
            arguments={"phase": "research", "artifact_hash": DIGEST, "reason": FULL},
            keep={"approval": "id"},
            back={
                **every("$approval", "artifact_hash", "reason"),
                "phase": whole("$issue", "findings", "id=$approval"),
            },
        ),
        Write(
            tool="create_subtask",
            by="worker",
            arguments={
                "title": LINE,
                "description": FULL,
                "priority": 1,
                "labels": ["api", "phase:ready"],
            },
            keep={"below": "identifier"},
            back={
                **every("$below", "title", "description", "priority"),
                "labels": whole("$issue", "subtasks", "identifier=$below"),
            },
        ),
        Write(
            tool="create_issue",
            arguments={"title": "Mover", "labels": ["phase:research"]},
            keep={"mover": "identifier"},
        ),
        Act(do=other_project),
        Write(
            tool="move_issue",
            by="planner",
            arguments={"target_project_id": "elsewhere", "reason": FULL},
            back={
                "target_project_id": whole("$mover", "moved_to", "project"),
                "reason": whole("$moved", "content", is_part=True),
            },
        ),
        Write(
            tool="get_issue",
            by=READER,
            arguments={"issue_id": "$mover"},
            keep={"moved": "comments.0.id"},
        ),
        Act(do=open_branch),
        Write(
            tool="create_pr",
            by="builder",
            arguments={
                "diff": "$diff",
                "branch_name": "work",
                "base_branch": "main",
                "gate_results": [OWN],
            },
            keep={"request": "id"},
            back={
                "branch_name": whole("$request"),
                "base_branch": whole("$request"),
                "diff": whole("$request"),
                "gate_results": whole("$request", "gate_results"),
            },
        ),
        Write(
            tool="approve_pr",
            by="critic",
            arguments={"reason": FULL},
            back={"reason": whole("$request", "earlier_verdicts", "demo-v3", "reason")},
        ),
        Write(
            tool="reject_pr",
            by="critic",
            arguments={"reason": FULL, "fix_instructions": FULL},
            back=every("$request", "reason", "fix_instructions"),
        ),
        Write(
            tool="add_finding", by="builder", arguments={"category": "bug", "summary": "Taken up"}
        ),
        Write(
            tool="update_issue_status",
            by="builder",
            arguments={"status": "blocked", "reason": FULL},
            back={
                "status": Back(
                    tool="get_issue_status", arguments={"issue_id": "$other"}, by=READER
                ),
                "reason": whole("$blocker"),
            },
        ),
        Write(
            tool="get_issue",
            by="builder",
            arguments={},
            keep={"blocker": "blockers.0.id"},
        ),
    ),
)
