"""The workflow surface: an orchestrator, a subagent, and what the server measures of their tasks."""

from __future__ import annotations

from typing import Any

from drill import drill, listed
from stage import Agent, Stage

PARTS = ["phase_summary", "tasks", "decisions", "milestones", "blockers"]
ISSUES = ("documentation_gap", "bug_encountered", "dependency_conflict", "unclear_requirement")


def play(stage: Stage) -> None:
    """Play the whole scene."""
    lead, part = stage.agent("lead"), stage.agent("part")
    tools = listed(lead)
    begun = lead.call(
        "start_workflow", name="Login", objective="People can log in", profile="simple"
    )
    flow = begun.get("workflow_id", "none")
    lead.call("start_workflow", name="Login", objective="Again", profile="huge")
    asked = {"workflow_id": flow, "number": 1, "name": "Design"}
    phase = lead.call("start_phase", **asked, is_parallel=True).get("phase_id", "none")
    lead.call("start_phase", **asked)
    lead.call("start_phase", workflow_id="none", number=1, name="Design")
    begin = {"workflow_id": flow, "phase_id": phase, "goal": "A picture"}
    _tasks(stage, lead, part, begin)
    _ends(stage, lead, flow, phase)
    drill(stage.agent("eve"), tools)


def _tasks(stage: Stage, lead: Agent, part: Agent, begin: dict[str, Any]) -> None:
    sub = {"caller_type": "subagent", "agent_name": "designer"}
    task = part.call("start_task", **begin, **sub, name="Draw", areas=["src"])
    name = task.get("task_id", "none")
    part.call("start_task", **begin, **sub, name="Draw too", areas=["src/a.txt"])
    part.call("start_task", **begin, caller_type="subagent", name="No name")
    part.call("start_task", **begin, **sub, name="Away", repo_path="../elsewhere")
    part.call("start_task", **begin, **sub, name="Nowhere", parent_task_id="none")
    own = lead.call("start_task", **begin, caller_type="orchestrator", name="Look on")
    stage.commit("src/a.txt", "a\n")
    stage.write("notes.txt", "outside of the areas\n")
    _logs(part, name)
    outcome = {"summary": "Done", "achievements": ["a"], "limitations": [], "files_changed": 1}
    lead.call("complete_task", task_id=name, status="success", outcome={"summary": "not mine"})
    part.call("complete_task", task_id=name, status="success", outcome={})
    part.call("complete_task", task_id=name, status="success", outcome=outcome)
    plain = {"summary": "Done"}
    used = {"tokens_used": 10, "tools_used": ["git"]}
    part.call("complete_task", task_id=name, status="success", outcome=plain, metadata=used)
    part.call("complete_task", task_id=name, status="success", outcome=plain)
    part.call("complete_task", task_id="none", status="success", outcome=plain)
    failed = own.get("task_id", "none")
    lead.call("complete_task", task_id=failed, status="partial_success", outcome=plain)


def _logs(part: Agent, task: str) -> None:
    said = {"task_id": task, "question": "Which?", "chosen": "This", "reasoning": "It is better"}
    for category in ("architecture", "library_choice", "trade_off", "workaround", "other"):
        part.call("log_decision", **said, category=category, options_considered=["a", "b"])
    part.call("log_decision", **said | {"task_id": "none"}, category="other")
    told = {"task_id": task, "description": "It breaks", "resolution": "Mended"}
    for kind in ISSUES:
        part.call("log_issue", **told, type=kind)
    blocked = part.call("log_issue", **told, type="other", requires_human_review=True)
    blocker = blocked.get("issue_id", "none")
    part.call("log_issue", **told, type="other", resolves="none")
    part.call("log_issue", **told, type="other", resolves=blocker)
    part.call("log_milestone", task_id=task, message="half", progress=50, metadata={"k": 1})
    part.call("log_milestone", task_id=task, message="more", progress=101)


def _ends(stage: Stage, lead: Agent, flow: str, phase: str) -> None:
    for include in (PARTS, *([one] for one in PARTS)):
        lead.call("get_context", workflow_id=flow, include=include)
    lead.call("get_context", workflow_id=flow, include=["tasks"], limit=1)
    lead.call("get_context", workflow_id=flow, include=["tasks"], filter={"status": ["failed"]})
    lead.call("get_context", workflow_id=flow, include=["tasks"], filter={"no": 1})
    lead.call("get_context", workflow_id="none", include=["tasks"])
    lead.call("complete_phase", phase_id=phase, status="completed")
    native = stage.agent("nat", "--surface", "native")
    for row in native.call("list", status="active", kind="task").get("items", []):
        outcome = {"summary": "Ended for it"}
        for agent in (lead, native):
            asked = {"task_id": row["id"], "status": "failed", "outcome": outcome}
            agent.call("complete_task", **asked)
    lead.call("complete_phase", phase_id=phase, status="completed", summary="Drawn")
    lead.call("complete_phase", phase_id="none", status="completed")
    done = {"workflow_id": flow, "status": "completed", "summary": "People log in"}
    lead.call("complete_workflow", **done, achievements=["in"], limitations=["out"])
    lead.call("complete_workflow", **done)
    lead.call("start_phase", workflow_id=flow, number=2, name="Too late")
    native.call("show", id=flow, include=["children", "records", "outcomes"])
