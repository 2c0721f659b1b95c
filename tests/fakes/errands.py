"""Everything that agents write, in each dialect: a story in which every tool takes every text."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from builders import commit, git
from fakes import errands_foundry
from fakes.errands_foundry import foundry
from fakes.marking import NOTHING, WORD, Scribe

_SECTIONS: Final = ("Problem", "Current State", "Findings", "Risks", "Recommendation")


@dataclass(frozen=True, kw_only=True)
class Office:
    """Where a story takes place.

    join: connects an agent with more words of the command line, each from a process of its own.
    person: runs a command of a person.
    """

    scribe: Scribe
    join: Callable[..., Any]
    person: Callable[..., Any]
    folder: Path


def native(office: Office) -> None:
    """Plan, work, judge, hand over and remember."""
    ada, bob = office.join("--agent", "ada"), office.join("--agent", "bob")

    def does(tool: str, client: Any = ada, **given: Any) -> Any:
        return office.scribe.does(client, tool, **given)

    alone = dict.fromkeys(("markdown", "tree", "template", "variables", "parent"), NOTHING)
    node = {"title": "T", "review": True, "artifact": True}
    tree = {"kind": "plan", "title": "P", "items": [node, {"title": "U"}, {"title": "V"}]}
    made = does("plan", **alone | {"tree": tree})
    root, one, two, three = (item["id"] for item in made["items"])
    words = office.scribe.words("plan", ".markdown", 6)
    sheet = (
        f"# {words[0]}\n{words[1]}\n- [ ] {words[2]}\n  {words[3]}\n"
        f"  - accept: {words[4]}\n  - verify: true {words[5]}\n"
    )
    does("plan", **alone | {"markdown": sheet})
    told = office.scribe.words("plan", ".tree{}", 4)
    leaf = {"title": told[1], "accept": [told[2]], "verify": [["true", told[3]]]}
    does("plan", **alone | {"tree": {"title": told[0], "items": [leaf]}})
    (office.folder / ".counterpoint/templates").mkdir(exist_ok=True)
    (office.folder / ".counterpoint/templates/small.yaml").write_text(
        "name: Small\ndescription: D\nvariables:\n  what:\n    required: true\n"
        "phases:\n  - name: Think\n    tasks:\n      - Think of {{ what }}\n"
    )
    (value,) = office.scribe.words("plan", ".variables{}", 1)
    does("plan", **alone | {"template": "small", "variables": {"what": value}})
    edit: dict[str, Any] = dict.fromkeys(
        ("status", "assignee", "profile", "parent", "add_after", "remove_after", "waive"), NOTHING
    )
    edit |= {"remove_labels": NOTHING, "add_labels": [WORD], "areas": [WORD], "id": two}
    does("edit", bob, **edit | {"assignee": WORD, "profile": WORD})
    does("next", root=root, label=WORD)
    token = does("start", id=two)["claim"]["token"]
    said: dict[str, Any] = {"kind": "blocker", "files": [WORD], "tags": [WORD]}
    blocker = does("note", **said, id=two, resolves=NOTHING)["record"]["id"]
    none = dict.fromkeys(("title", "id", "files", "tags"), NOTHING)
    does("note", kind="blocker", resolves=blocker, **none)
    does("verify", id=two, gates=NOTHING, command=["echo", WORD], folder=NOTHING, token=token)
    does("finish", id=two, token=token, outcome="partial")
    held = does("start", id=one)["claim"]["token"]
    (office.folder / "made.txt").write_text("made\n")
    does("submit", id=one, token=held, path="made.txt")
    does("review", bob, id=one, verdict="reject", subject=NOTHING)
    does("edit", bob, **edit | {"id": three, "status": "cancelled"})
    does("remember", action="set", key=WORD)
    does("handoff", action="pause", session=NOTHING)


def workflow(office: Office) -> None:
    """A workflow of a phase with a task, and what is logged beside it."""
    ada = office.join()

    def does(tool: str, **given: Any) -> Any:
        return office.scribe.does(ada, tool, **given)

    flow = does("start_workflow")["workflow_id"]
    phase = does("start_phase", workflow_id=flow, number=1)["phase_id"]
    task = does(
        "start_task", workflow_id=flow, phase_id=phase, caller_type="orchestrator",
        parent_task_id=NOTHING, areas=[WORD], repo_path=str(office.folder),
    )["task_id"]  # fmt: skip
    does("log_decision", task_id=task, category="other")
    issue = does(
        "log_issue", task_id=task, type="other", requires_human_review=True, resolves=NOTHING
    )["issue_id"]
    # Whoever flags an issue for a person does not resolve it.
    office.scribe.does(office.join(), "log_issue", task_id=task, type="other", resolves=issue)
    does("log_milestone", task_id=task)
    does("complete_task", task_id=task, status="success")
    does("complete_phase", phase_id=phase, status="completed")
    does("complete_workflow", workflow_id=flow, status="completed")


def agentic(office: Office) -> None:
    """A plan in phases, sessions that end in each way, state, templates and briefs."""
    ada = office.join()

    def does(tool: str, **given: Any) -> Any:
        return office.scribe.does(ada, tool, **given)

    phases = [{"dependencies": NOTHING}, {"name": "Later", "dependencies": [1]}]
    does("plan_create", slug="login", phases=phases)
    slug: dict[str, Any] = {"plan_slug": "login"}
    place = slug | {"phase_order": 1}
    does("plan_create", slug=WORD, phases=NOTHING)
    does("plan_update_status", slug="login", status="active")
    first = does("session_start", agent_type=WORD, **slug)["session"]["session_id"]
    here = {"session_id": first}
    does("phase_update_status", **place, status="in_progress", criteria_met=[0])
    does("phase_update_status", **place, status="blocked", criteria_met=NOTHING)
    does("phase_add_checkpoint", **place)
    step = place | {"task_identifier": 0}
    does("task_update", **step)
    does("task_toggle", **step)
    does("session_log", **here)
    (office.folder / "made.txt").write_text("made\n")
    does("session_artifact", path="made.txt", action="created", **here)
    does("state_set", **slug, key=WORD, category=WORD)
    does("session_handoff", **here)
    does("session_resume", session_id=first)
    does("session_end", status="completed", session_id=first)
    does("session_continue", session_id=first, agent_type=WORD)
    (office.folder / ".counterpoint/templates").mkdir(exist_ok=True)
    (office.folder / ".counterpoint/templates/tiny.yaml").write_text(
        "name: Tiny\ndescription: D\nvariables:\n  what:\n    required: true\n"
        "phases:\n  - name: Think\n    tasks:\n      - Think of {{ what }}\n"
    )
    (value,) = office.scribe.words("template_create_plan", ".variables{}", 1)
    does("template_create_plan", template_slug="tiny", variables={"what": value})
    does("content_brief_create", content_type="help_article", slug=WORD, keywords=[WORD],
         scheduled_for="2026-12-01T00:00:00Z", service=WORD, category=WORD, **slug)  # fmt: skip
    for tool in ("content_generate", "content_batch_generate", "content_from_plan"):
        office.scribe.refused(ada, tool)
    does("plan_archive", slug="login")


def colibri(office: Office) -> None:
    """Tasks by their chain of thoughts, sealed sessions, and calls that were refused."""
    ada = office.join()

    def does(tool: str, **given: Any) -> Any:
        return office.scribe.does(ada, tool, **given)["data"]

    task = does("task_create", project_id=WORD, priority=WORD, assignee=WORD)["id"]
    said: dict[str, Any] = {"project_id": WORD, "priority": WORD, "assignee": WORD}
    flat = dict.fromkeys(("title", "project_id", "description", "priority", "assignee", "reason"))
    does("task_update", id=task, patch=said, **dict.fromkeys(flat, NOTHING))
    does("task_update", id=task, patch=NOTHING, **said)
    session = does("audit_session_start", task_id=task, session_id=NOTHING)["session_id"]
    does("thought_record", type="plan", task_id=task, agent_id=WORD, session_id=session)
    does("merkle_finalize", session_id=session)
    other = does("audit_session_start", task_id=task, session_id=NOTHING)["session_id"]
    does("audit_session_abandon", session_id=other)


def symphony(office: Office) -> None:
    """Issues through a phase to a change that is judged, and what is learned on the way."""
    memory = office.folder / "symphony"
    memory.mkdir()

    def seat(role: str, issue: str = "", *more: str) -> Any:
        bound = ("--issue-id", issue) if issue else ()
        return office.join("--agent-type", role, "--symphony-dir", str(memory), *bound, *more)

    def does(client: Any, tool: str, **given: Any) -> Any:
        return office.scribe.does(client, tool, **given)

    intake = seat("intake")
    made = does(intake, "create_issue", labels=["phase:ready"], depends_on=NOTHING)
    issue = made["identifier"]
    other = office.join("--project", "other", "--agent-type", "intake")
    does(other, "create_issue", labels=NOTHING, depends_on=NOTHING)
    does(intake, "create_issue", labels=[WORD], depends_on=[issue])
    does(
        office.join(), "configure_project", sensitive_paths=[WORD], gates=NOTHING,
        risk_thresholds={"lowLines": 3},
    )  # fmt: skip
    office.join("--surface", "native").call("edit", id=made["id"], status="open")
    git(office.folder, "switch", "-q", "-c", f"symphony/{issue}")
    office.person("workspace", "open", issue)
    worker = seat("worker", issue, "--run-id", "run-1")
    does(worker, "add_finding", category="bug", files=[WORD])
    does(worker, "add_learning", applies_to=[WORD])
    does(worker, "add_comment")
    does(seat("scanner", issue), "record_coverage", file_path=WORD, concept=WORD, status="covered",
         ticket_id=issue)  # fmt: skip
    does(worker, "record_test_health", test_count=3)
    does(worker, "update_memory", scope="project", filename="notes.md")
    (kept,) = office.scribe.words("vault_update", ".path", 1)
    commit(office.folder, "vault.md", f"# The harbour\n\n{kept} is deep\n")
    does(worker, "vault_update", path="vault.md")
    gate = {"command": WORD, "label": WORD, "exit_code": 0}
    change = {"branch_name": f"symphony/{issue}", "base_branch": "main", "gate_results": [gate]}
    (changed,) = office.scribe.words("create_pr", ".diff", 1)
    commit(office.folder, "changed.md", f"{changed}\n")
    change["diff"] = git(office.folder, "diff", "main", "HEAD") + "\n"
    does(worker, "create_pr", **change)
    judge = seat("judge", issue)
    does(judge, "reject_pr")
    again = seat("worker", issue, "--run-id", "run-2")
    commit(office.folder, "more.md", "more\n")
    does(again, "add_comment")
    does(again, "create_pr", **change)
    # Who judges has seen what was handed in last.
    judge.call("get_issue")
    does(judge, "approve_pr")
    does(again, "vault_delete", path="vault.md")
    _blocked(office, does, seat, intake)
    for verdict in ("approve", "reject"):
        _phase(office, does, seat, verdict)
    away = does(intake, "create_issue", labels=["phase:grooming"], depends_on=NOTHING)
    planner = seat("planner", away["identifier"])
    does(planner, "move_issue", target_project_id="other")


def _blocked(office: Office, does: Any, seat: Any, intake: Any) -> None:
    """Ask for a person, and for a part that comes first."""
    fresh = does(intake, "create_issue", labels=["phase:ready"], depends_on=NOTHING)
    office.join("--surface", "native").call("edit", id=fresh["id"], status="open")
    blocked = seat("worker", fresh["identifier"])
    does(blocked, "add_comment")
    does(blocked, "update_issue_status", status="blocked")
    does(blocked, "create_subtask", labels=[WORD])


def _phase(office: Office, does: Any, seat: Any, verdict: str) -> None:
    """Hand a phase of a fresh issue over, and have it judged."""
    made = does(seat("intake"), "create_issue", labels=["phase:research"], depends_on=NOTHING)
    issue = made["identifier"]
    office.join("--surface", "native").call("edit", id=made["id"], status="open")
    office.person("workspace", "open", issue)
    text = "# Research\n\n" + "\n\n".join(f"## {name}\n\nWhat is so." for name in _SECTIONS)
    path = f"docs/tickets/{issue}/research.md"
    commit(office.folder, path, text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    does(
        seat("researcher", issue), "complete_phase", completed_phase="research",
        contract_version=1, artifact_path=path, artifact_hash=digest, confidence="low",
        recommended_next_phase="architecture", promote_to=f"docs/{issue}.md",
    )  # fmt: skip
    does(seat("judge", issue), f"{verdict}_phase", phase="research", artifact_hash=digest)


ERRANDS: Final = {
    "native": native,
    "workflow": workflow,
    "agentic": agentic,
    "colibri": colibri,
    "symphony": symphony,
    "foundry": foundry,
}
REFERENCES: Final[dict[str, set[tuple[str, str]]]] = {
    "native": {
        *(("edit", f".{name}") for name in ("id", "parent", "status", "waive[]")),
        *(("edit", f".{name}[]") for name in ("add_after", "remove_after", "remove_labels")),
        *((tool, ".id") for tool in ("finish", "note", "review", "start", "submit", "verify")),
        *(("handoff", ".session"), ("next", ".root"), ("note", ".resolves"), ("plan", ".parent")),
        *(("plan", ".template"), ("review", ".subject"), ("submit", ".path")),
        *(("verify", ".folder"), ("verify", ".gates[]")),
    },
    "workflow": {
        *((f"log_{name}", ".task_id") for name in ("decision", "issue", "milestone")),
        *(("complete_phase", ".phase_id"), ("complete_task", ".task_id")),
        *(("complete_workflow", ".workflow_id"), ("log_issue", ".resolves")),
        *(("start_task", f".{name}") for name in ("parent_task_id", "phase_id", "repo_path")),
        *(("start_phase", ".workflow_id"), ("start_task", ".workflow_id")),
    },
    "agentic": {
        *((tool, ".slug") for tool in ("plan_archive", "plan_update_status")),
        *((f"phase_{tool}", ".plan_slug") for tool in ("add_checkpoint", "update_status")),
        *((f"phase_{tool}", ".phase_order") for tool in ("add_checkpoint", "update_status")),
        *((f"task_{tool}", ".plan_slug") for tool in ("toggle", "update")),
        *((f"task_{tool}", ".phase_order") for tool in ("toggle", "update")),
        *((f"task_{tool}", ".task_identifier") for tool in ("toggle", "update")),
        *(
            (f"session_{tool}", ".session_id")
            for tool in ("artifact", "continue", "end", "handoff")
        ),
        *((f"session_{tool}", ".session_id") for tool in ("log", "resume")),
        *(("session_artifact", ".path"), ("session_start", ".plan_slug")),
        *(("content_brief_create", ".plan_slug"), ("content_brief_create", ".scheduled_for")),
        *(("phase_update_status", ".criteria_met[]"), ("state_set", ".plan_slug")),
        *(("plan_create", ".phases[].dependencies[]"), ("template_create_plan", ".template_slug")),
    },
    "colibri": {
        *((f"audit_session_{tool}", ".session_id") for tool in ("abandon", "start")),
        *(("audit_session_start", ".task_id"), ("merkle_finalize", ".session_id")),
        *(
            ("task_update", ".id"),
            ("thought_record", ".session_id"),
            ("thought_record", ".task_id"),
        ),
    },
    "symphony": {
        *(("complete_phase", f".{name}") for name in ("artifact_path", "completed_phase")),
        *(("complete_phase", f".{name}") for name in ("promote_to", "recommended_next_phase")),
        *(("configure_project", f".gates[].{name}") for name in ("command", "label")),
        *(("create_pr", ".base_branch"), ("create_pr", ".branch_name")),
        *(("approve_phase", ".phase"), ("reject_phase", ".phase"), ("vault_delete", ".path")),
        *(("configure_project", ".risk_thresholds{}"), ("create_issue", ".depends_on[]")),
        *(("move_issue", ".target_project_id"), ("record_coverage", ".ticket_id")),
        *(("update_memory", ".filename"),),
    },
    "foundry": errands_foundry.REFERENCES,
}
"""What takes no text of anybody's but names something that is there: ids, paths, words of the program."""
NAMES: Final[dict[str, set[tuple[str, str]]]] = {
    "native": {
        *(("edit", ".add_labels[]"), ("edit", ".areas[]"), ("edit", ".assignee")),
        *(("edit", ".profile"), ("note", ".files[]"), ("note", ".tags[]"), ("remember", ".key")),
    },
    "workflow": {("start_task", ".agent_name"), ("start_task", ".areas[]")},
    "agentic": {
        *(("plan_create", ".slug"), ("template_create_plan", ".title")),
        *(("session_start", ".agent_type"), ("session_continue", ".agent_type")),
        *(("state_set", ".key"), ("state_set", ".category")),
        *(("content_brief_create", f".{name}") for name in ("category", "keywords[]")),
        *(("content_brief_create", f".{name}") for name in ("service", "slug")),
        ("content_brief_create", ".batch_id"),
    },
    "colibri": {
        *(("task_create", ".assignee"), ("task_update", ".assignee")),
        *(("task_update", ".patch.assignee"), ("thought_record", ".agent_id")),
    },
    "symphony": {
        *(("add_finding", ".files[]"), ("record_coverage", ".file_path")),
        *(("create_issue", ".labels[]"), ("create_subtask", ".labels[]")),
        ("record_coverage", ".concept"),
    },
    "foundry": errands_foundry.NAMES,
}
"""What stays in clear besides idempotency keys: names of agents, labels, files, keys, slugs (one is made from a title)."""
