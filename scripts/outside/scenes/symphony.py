"""The symphony surface: a board with every type of agent, contracts, verdicts and documents."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from drill import drill, listed
from stage import Agent, Stage

TYPES = ("worker", "researcher", "judge", "scanner", "architect", "planner", "intake")
SECTIONS = ("Problem", "Current State", "Findings", "Risks", "Recommendation")
RESEARCH = "# Research\n\n" + "\n\n".join(
    f"## {name}\n\nWhat is so, and how it was seen." for name in SECTIONS
)
GUIDE = "# Retry\n\nUse exponential backoff when you retry.\n\n# Cache\n\nThe cache is small.\n"
PATTERN = "Nuxt auto-imports whatever lies in app/utils, so explicit imports fail there"
GATE = {"command": "git --version", "label": "Git", "required": True}
BLOCK = {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}
EVENTS = (
    {"type": "system", "subtype": "init", "session_id": "s"},
    {"type": "assistant", "message": {"content": [{"type": "text", "text": "hello"}]}},
    {"type": "assistant", "message": {"content": [BLOCK]}},
    {"type": "result", "subtype": "success", "is_error": False, "total_cost_usd": 0.5},
)


def play(stage: Stage) -> None:
    """Play the whole scene."""
    person, native = stage.agent("person"), stage.agent("nat", "--surface", "native")
    tools = listed(person)
    _project(person)
    stage.let_run()
    _issues(stage, person, native)
    _phase(stage, native)
    _change(stage, native)
    _knowledge(stage)
    _runs(stage)
    _move(stage)
    for name in (f"demo-{number}" for number in range(1, 8)):
        native.call("show", id=name, include=["children", "records", "log"])
    for name in (*_handed_in(stage), "demo-p9", "demo-s9"):
        native.call("show", id=name)
    native.call("brief")
    _types(stage, tools)
    drill(stage.agent("eve", "--agent-type", "", "--issue-id", "DEMO-003"), tools)


def _seat(stage: Stage, name: str, type_: str, issue: str, *more: str) -> Agent:
    return stage.agent(name, "--agent-type", type_, "--issue-id", issue, "--run-id", "r1", *more)


def _project(person: Agent) -> None:
    person.call("configure_project", gates=[GATE], worker_instructions="Be kind")
    person.call(
        "configure_project",
        sensitive_paths=[".env*", "src/*"],
        risk_thresholds={"lowLines": 10, "highFiles": 20},
        judge_instructions="Be strict",
    )
    for wrong in ({"risk_thresholds": {"lines": 1}}, {"gates": [{"command": "a | b"}]}):
        person.call("configure_project", **wrong)


def _issues(stage: Stage, person: Agent, native: Agent) -> None:
    for number, phase in enumerate(("research", "ready", "grooming", "architecture"), 1):
        labels = [f"phase:{phase}", "ui"]
        person.call("create_issue", title=f"Issue {number}", description="# How", labels=labels)
        native.call("edit", id=f"demo-{number}", status="open")
    person.call("create_issue", title="Needs", priority=1, depends_on=["DEMO-001"])
    person.call("create_issue", title="x", depends_on=["DEMO-077"])
    person.call("create_issue", title="x", labels=["phase:ready", "phase:research"])
    person.call("list_issues")
    person.call("list_issues", status="backlog", labels="ui", limit=1)
    will = _seat(stage, "will", "worker", "DEMO-004")
    will.call("get_issue_status")
    finding = {"category": "test_result", "summary": "42 passed", "files": ["readme.txt"]}
    will.call("add_finding", **finding, details="All of them")
    will.call("add_finding", category="bug", summary="x", files=["../x"])
    context = "It shows whenever a file below app/utils is imported by its path. " * 2
    said = {"pattern": PATTERN, "context": context, "applies_to": ["app/"]}
    will.call("add_learning", **said, learning_type="gotcha")
    will.call("add_learning", pattern=PATTERN.upper() + "!!")
    will.call("add_learning", pattern="too short")
    for query in ("auto-import", '"', "nothing"):
        will.call("search_learnings", query=query, min_quality_score=10)
    will.call("search_learnings", query="nuxt", cross_project=True)
    will.call("add_comment", content="Wet feet")
    will.call("add_comment", content="  \n")
    will.call("record_test_health", test_count=100, execution_time_ms=500)
    will.call("record_test_health", test_count=110, tests_added=12, tests_removed=2)
    will.call("approve_pr")
    will.call("get_issue")
    for status, reason in (("blocked", "Which colour?"), ("review", "It floats"), ("todo", "x")):
        will.call("update_issue_status", status=status, reason=reason)
    _others(stage, person)


def _others(stage: Stage, person: Agent) -> None:
    wes = _seat(stage, "wes", "worker", "DEMO-005")
    wes.call("update_issue_status", status="review", reason="Done")
    wes.call("update_issue_status", status="done")
    person.call("get_issue_status", issue_id="DEMO-005")
    person.call("get_issue")
    person.call("get_issue", issue_id="DEMO-099")
    pat = _seat(stage, "pat", "planner", "DEMO-004")
    pat.call("create_subtask", title="Caulk", priority=2)
    pat.call("get_issue")
    scan = stage.agent("sid", "--agent-type", "scanner")
    seen = {"file_path": "readme.txt", "concept": "error_handling"}
    scan.call("record_coverage", **seen, status="covered", notes="fine")
    scan.call("record_coverage", **seen, status="has_issues", ticket_id="DEMO-001")
    scan.call("record_coverage", **seen, status="has_issues")
    scan.call("add_finding", category="bug", summary="no issue")


def _phase(stage: Stage, native: Agent) -> None:
    rita = _seat(stage, "rita", "researcher", "DEMO-001")
    judge = _seat(stage, "jo", "judge", "DEMO-001")
    rita.call("verify_workspace")
    stage.say("workspace", "open", "DEMO-001")
    rita.call("verify_workspace")
    path = "docs/tickets/DEMO-001/research.md"
    stage.write(path, RESEARCH)
    sha = hashlib.sha256(RESEARCH.encode()).hexdigest()
    claim: dict[str, Any] = {
        "completed_phase": "research",
        "contract_version": 1,
        "artifact_path": path,
        "artifact_hash": sha,
        "summary": "The cause is known",
        "recommended_next_phase": "architecture",
        "project_path": "/somewhere/else",
    }
    word = {"phase": "research", "artifact_hash": sha}
    judge.call("approve_phase", **word)
    for wrong in (
        {"artifact_hash": "0" * 64},
        {"contract_version": 7},
        {"artifact_path": "readme.txt"},
        {"artifact_path": "../secret.md"},
        {"recommended_next_phase": "ready"},
        {"completed_phase": "architecture"},
        {"promote_to": "readme.txt"},
    ):
        rita.call("complete_phase", **claim | wrong)
    asked = claim | {"open_questions": ["Which database?"], "confidence": "high"}
    rita.call("complete_phase", **asked)
    rita.call("complete_phase", **asked)
    judge.call("reject_phase", **word)
    judge.call("approve_phase", phase="research", artifact_hash="1" * 64)
    judge.call("reject_phase", **word, reason="No rollback", fix_instructions="Say how")
    stage.say("phases", "advance", "--json")
    judge.call("get_issue_status")
    rita.call("complete_phase", **claim, promote_to="docs/research/cause.md")
    own = _seat(stage, "rita", "judge", "DEMO-001")
    own.call("approve_phase", **word)
    judge.call("approve_phase", **word, reason="Sound")
    stage.say("phases", "advance", "--json")
    judge.call("get_issue")
    native.call("show", id="demo-1", include=["records", "log"])


def _change(stage: Stage, native: Agent) -> None:
    stage.git("switch", "-q", "-c", "symphony/DEMO-002")
    stage.say("workspace", "open", "DEMO-002")
    will = _seat(stage, "willa", "worker", "DEMO-002")
    ready = {"completed_phase": "ready", "summary": "Built", "project_path": "."}
    will.call("complete_phase", **ready)
    stage.git("add", "docs")
    stage.commit("src/a.py", "a = 1\nb = 2\n")
    asked = {
        "diff": stage.git("diff", "main", "HEAD"),
        "branch_name": "symphony/DEMO-002",
        "base_branch": "main",
    }
    judge = _seat(stage, "joe", "judge", "DEMO-002")
    judge.call("approve_pr")
    will.call("create_pr", **asked | {"branch_name": "main"})
    will.call("create_pr", **asked | {"base_branch": "trunk"})
    claimed = {"command": "npx vitest", "label": "Tests", "exit_code": 0, "output": "ok"}
    will.call("create_pr", **asked, gate_results=[claimed])
    _seat(stage, "willa", "judge", "DEMO-002").call("approve_pr")
    judge.call("reject_pr", reason="No test", fix_instructions="Add one")
    judge.call("reject_pr")
    stage.commit("src/b.py", "b = 3\n")
    will.call("create_pr", **asked)
    judge.call("approve_pr", reason="All there")
    judge.call("get_issue")
    stage.say("phases", "advance", "--json")
    will.call("complete_phase", **ready)
    native.call("show", id="demo-2", include=["records", "log"])


def _handed_in(stage: Stage) -> list[str]:
    """Return the ids of what was handed in and of the verdicts on it, as the log names them."""
    entries = stage.say("log", "--limit", "1000", "--json")["entries"]
    told = [one.get("facts", {}) for one in reversed(entries)]
    names = [
        facts.get(key) for facts in told for key in ("submission", "claim", "request", "verdict")
    ]
    return list(dict.fromkeys(name for name in names if name))


def _knowledge(stage: Stage) -> None:
    worker = _seat(stage, "wanda", "worker", "DEMO-003", "--project-slug", "shop")
    stage.write("docs/guide.md", GUIDE)
    worker.call("vault_update", path="docs/guide.md")
    worker.call("vault_update", path="docs/guide.md")
    worker.call("vault_update", path="../x")
    worker.call("vault_update", path="none.md")
    worker.call("vault_retrieve", query="retry with exponential backoff")
    worker.call("vault_retrieve", query="?!")
    worker.call("search_knowledge", query="retry")
    stage.say("vault", "on")
    stage.say("vault", "add", "--own", "docs/guide.md")
    stage.say("vault", "list", "--own", "--json")
    worker.call("search_knowledge", query="retry", min_score=0.2)
    worker.call("vault_delete", path="docs/guide.md")
    worker.call("vault_delete", path="docs/guide.md")
    memory = {"scope": "project", "filename": "notes.md"}
    worker.call("update_memory", **memory, content="# Use WAL")
    worker.call("update_memory", scope="global", filename="all.md", content="everywhere")
    worker.call("update_memory", **memory | {"filename": "../x.md"}, content="x")
    worker.call("update_memory", **memory, content="")
    worker.call("update_issue_status", status="todo", reason="somebody else's")
    later = stage.agent("later", "--surface", "native", "--profile", "worker")
    later.call("brief")
    later.ask("resources/read", uri="counterpoint://memory")


def _runs(stage: Stage) -> None:
    stage.write("events.jsonl", "".join(json.dumps(event) + "\n" for event in EVENTS))
    stage.say("runs", "ingest", "--help")
    stage.say("runs", "ingest", "events.jsonl", "--run", "r7", "--issue", "DEMO-003")
    judge = _seat(stage, "june", "judge", "DEMO-003")
    judge.call("query_run_events", run_id="r7")
    judge.call("query_run_events", issue_id="DEMO-003", event_type="assistant", limit=1)
    judge.call("query_run_events", run_id="r7", event_subtype="tool_use")
    judge.call("query_run_events")
    judge.call("query_run_events", run_id="none")
    judge.call("get_issue_status")


def _move(stage: Stage) -> None:
    stage.write("docs/tickets/DEMO-003/research.md", "# Of docs/tickets/DEMO-003/research.md")
    api = stage.agent("abe", "--project", "api")
    api.call("create_issue", title="There")
    planner = _seat(stage, "peg", "planner", "DEMO-003")
    words = {"target_project_id": "api", "reason": "It belongs there"}
    planner.call("move_issue", **words | {"target_project_id": "demo"})
    planner.call("move_issue", **words | {"target_project_id": "nope"})
    planner.call("move_issue", **words)
    planner.call("move_issue", **words)
    planner.call("get_issue")
    api.call("list_issues")


def _types(stage: Stage, tools: list[dict[str, Any]]) -> None:
    """Say what each type of agent is offered, and what it hears of every tool there is."""
    for type_ in TYPES:
        agent = stage.agent(f"a-{type_}", "--agent-type", type_)
        agent.ask("tools/list")
        for tool in tools:
            agent.call(tool["name"])
        agent.close()
    stage.write("tools.json", '["get_issue_status", "update_issue_status"]')
    narrowed = stage.agent("narrow", "--agent-type", "judge", "--tool-scope-file", "tools.json")
    narrowed.ask("tools/list")
    narrowed.call("add_finding", category="bug", summary="x")
    for type_, scope in (("worker", "none.json"), ("nobody", "tools.json")):
        words = ("--surface", "symphony", "--agent-type", type_, "--tool-scope-file", scope)
        stage.say("mcp", *words)
