"""Every text that a tool takes is found again, beginning, middle and end, by tools of the same dialect."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from builders import Agent, Workshop, commit, git
from counterpoint.core.model.filters import Edit
from counterpoint.dialects.symphony.nouns import MARKER
from counterpoint.dialects.symphony.verbs.workspaces import Workspaces
from counterpoint.settings import Settings
from fakes.saying import Writer, inner, t
from fakes.saying_foundry import foundry

Script = Callable[[Workshop, Writer], None]


# ── what is written ──


def native(_workshop: Workshop, w: Writer) -> None:
    kinds = {"kind": "plan", "title": t("planXtitle"), "description": t("planXdescription")}
    below = {
        "kind": "task",
        "title": "T",
        "description": t("planXbelowXdescription"),
        "accept": [t("planXaccept")],
    }
    w.does(
        "plan",
        tree={
            **kinds,
            "items": [
                below,
                {"kind": "task", "title": "U", "verify": [["false"]]},
                {"kind": "task", "title": "V", "approval": True},
                {"kind": "task", "title": "W", "review": True},
            ],
        },
    )
    prefix = w.agent.core.items.project().prefix
    item, checked, judged, last = (f"{prefix}-{n}" for n in (2, 3, 4, 5))
    w.does(
        "edit",
        id=last,
        title=t("editXtitle"),
        description=t("editXdescription"),
        accept=[t("editXaccept"), "b"],
        reason=t("editXreason"),
    )
    w.does("edit", id=checked, waive=["check-1"], reason=t("editXwaived"))
    token = w.agent.does("start", id=item)["claim"]["token"]
    w.does("note", kind="finding", id=item, title=t("noteXtitle"), text=t("noteXtext"))
    made = w.does("note", kind="blocker", id=item, text=t("noteXblocked"))
    w.does("note", kind="blocker", text=t("noteXresolution"), resolves=made["record"]["id"])
    w.does("remember", action="set", key="k", value={"deep": [t("rememberXvalue")]})
    w.does("verify", id=item, token=token, command=["echo", t("verifyXcommand")])
    w.does("submit", id=item, token=token, summary=t("submitXsummary"))
    lists = {name: [t(f"finishX{name}")] for name in ("achievements", "limitations", "next_steps")}
    w.does("finish", id=item, token=token, outcome="done", summary=t("finishXsummary"), **lists)
    w.does(
        "review", id=judged, verdict="reject", reason=t("reviewXreason"), fixes=[t("reviewXfixes")]
    )
    lists = {name: [t(f"handoffX{name}")] for name in ("next_steps", "blockers")}
    w.does(
        "handoff",
        action="pause",
        summary=t("handoffXsummary"),
        context=t("handoffXcontext"),
        **lists,
    )


def workflow(_workshop: Workshop, w: Writer) -> None:
    flow = w.does(
        "start_workflow",
        name=t("startXname"),
        objective=t("startXobjective"),
        scope=t("startXscope"),
        constraints=t("startXconstraints"),
    )["workflow_id"]
    phase = w.does(
        "start_phase",
        workflow_id=flow,
        number=1,
        name=t("phaseXname"),
        description=t("phaseXdescription"),
    )["phase_id"]
    task = w.does(
        "start_task",
        workflow_id=flow,
        phase_id=phase,
        caller_type="orchestrator",
        name=t("taskXname"),
        goal=t("taskXgoal"),
    )["task_id"]
    w.does(
        "log_decision",
        task_id=task,
        category="other",
        **{n: t(f"decisionX{n}") for n in ("question", "chosen", "reasoning", "trade_offs")},
        options_considered=[t("decisionXoptions_considered")],
    )
    w.does(
        "log_issue",
        task_id=task,
        type="other",
        description=t("issueXdescription"),
        resolution=t("issueXresolution"),
    )
    w.does(
        "log_milestone",
        task_id=task,
        message=t("milestoneXmessage"),
        metadata={"a": [t("milestoneXmetadata")]},
    )
    outcome = {n: [t(f"outcomeX{n}")] for n in ("achievements", "limitations", "next_steps")}
    w.does(
        "complete_task",
        task_id=task,
        status="success",
        outcome={
            **outcome,
            "summary": t("outcomeXsummary"),
            "manual_review_reason": t("outcomeXmanual_review_reason"),
        },
        metadata={"commands_executed": [t("outcomeXcommands_executed")]},
    )
    w.does("complete_phase", phase_id=phase, status="completed", summary=t("completephaseXsummary"))
    w.does(
        "complete_workflow",
        workflow_id=flow,
        status="completed",
        summary=t("completeXsummary"),
        achievements=[t("completeXachievements")],
        limitations=[t("completeXlimitations")],
    )


def agentic(_workshop: Workshop, w: Writer) -> None:
    phase = {
        "name": t("planXname"),
        "description": t("phaseXdescription"),
        "tasks": [{"name": t("taskXname"), "description": t("taskXdescription")}, {"name": "U"}],
        "completion_criteria": [t("phaseXcompletion_criteria")],
    }
    w.does(
        "plan_create",
        title=t("planXtitle"),
        slug="login",
        description=t("planXdescription"),
        context={"a": [t("planXcontext")]},
        phases=[phase, {"name": "Two", "tasks": [{"name": "X"}]}],
    )
    at = {"plan_slug": "login", "phase_order": 1}
    w.does(
        "phase_add_checkpoint",
        **at,
        note=t("checkpointXnote"),
        context={"a": t("checkpointXcontext")},
    )
    session = w.does(
        "session_start", agent_type="opus", plan_slug="login", context={"a": t("sessionXcontext")}
    )["session"]["session_id"]
    w.does("session_log", session_id=session, message=t("logXmessage"), data={"a": t("logXdata")})
    w.does(
        "session_artifact",
        session_id=session,
        path="a/b.py",
        action="created",
        metadata={"a": t("artifactXmetadata")},
    )
    w.does("task_update", **at, task_identifier=1, status="blocked", notes=t("taskXblocked"))
    w.does("task_update", **at, task_identifier=0, notes=t("taskXnotes"))
    w.does(
        "state_set",
        plan_slug="login",
        key="k",
        value=t("stateXvalue"),
        description=t("stateXdescription"),
    )
    w.does(
        "phase_update_status",
        plan_slug="login",
        phase_order=2,
        status="blocked",
        reason=t("phaseXreason"),
    )
    w.does(
        "session_handoff",
        session_id=session,
        summary=t("handoffXsummary"),
        next_steps=[t("handoffXnext_steps")],
        blockers=[t("handoffXblockers")],
        context_for_next={"a": t("handoffXcontext")},
    )
    other = w.does("session_start", agent_type="opus", plan_slug="login")["session"]["session_id"]
    w.does("session_end", session_id=other, status="completed", summary=t("endXsummary"))
    w.does(
        "content_brief_create",
        title=t("briefXtitle"),
        description=t("briefXdescription"),
        content_type="blog_post",
        keywords=["a"],
        variables={"a": t("briefXvariables")},
    )
    w.does("plan_archive", slug="login", reason=t("archiveXreason"))


def colibri(_workshop: Workshop, w: Writer) -> None:
    made = w.does(
        "task_create",
        title=t("createXtitle"),
        description=t("createXdescription"),
        project_id=t("createXproject_id"),
        priority=t("createXpriority"),
        assignee=t("createXassignee"),
    )["id"]
    other = w.does("task_create", title="T")["id"]
    w.does(
        "task_update",
        id=other,
        title=t("updateXtitle"),
        description=t("updateXdescription"),
        priority=t("updateXpriority"),
    )
    w.does("task_update", id=other, status="CANCELLED", reason=t("updateXreason"))
    session = w.does("audit_session_start", intent=t("sessionXintent"), task_id=made)["session_id"]
    w.does(
        "thought_record",
        task_id=made,
        type="plan",
        agent_id="a",
        content=t("thoughtXcontent"),
        session_id=session,
    )
    w.does("audit_session_abandon", session_id=session, reason=t("abandonXreason"))


def symphony(workshop: Workshop, w: Writer) -> None:
    gates = [
        {"command": "true", "label": t("gateXlabel"), "required": True},
        {"command": "echo said", "label": "E", "required": False},
    ]
    w.does(
        "configure_project",
        gates=gates,
        worker_instructions=t("configureXworker_instructions"),
        judge_instructions=t("configureXjudge_instructions"),
    )
    made = w.does(
        "create_issue",
        title=t("issueXtitle"),
        description=t("issueXdescription"),
        labels=["phase:ready", "cross-project"],
    )
    other = w.does("create_issue", title="Research it", labels=["phase:research"])
    for one in (made, other):
        workshop.app.person().items.edit(one["id"], Edit(status="open"))

    def seat(name: str, issue: str, profile: str = "") -> Agent:
        asked = Settings(surface="symphony", item=issue, run="run-1", profile=profile)
        return workshop.agent(name, item=issue, surface="symphony", settings=asked, profile=profile)

    worker, judge = seat("will", made["identifier"]), seat("jane", made["identifier"])
    root = workshop.root
    git(root, "switch", "-q", "-c", "work")
    commit(root, "boat.txt", "afloat")
    w.does(
        "create_subtask",
        seat("sue", other["identifier"]),
        title=t("subtaskXtitle"),
        description=t("subtaskXdescription"),
    )
    w.does(
        "add_finding",
        worker,
        category="bug",
        summary=t("findingXsummary"),
        details=t("findingXdetails"),
    )
    w.does("add_learning", worker, pattern=t("learningXpattern"), context=t("learningXcontext"))
    w.does("add_comment", worker, content=t("commentXcontent"))
    w.does(
        "record_coverage",
        worker,
        file_path="a.py",
        concept="c",
        status="covered",
        notes=t("coverageXnotes"),
    )
    workshop.app.person().use(Workspaces).open(made["id"], MARKER)
    told = {"command": "x", "label": "L", "exit_code": 1, "output": t("prXoutput")}
    w.does(
        "create_pr", worker, diff="", branch_name="work", base_branch="main", gate_results=[told]
    )
    w.does(
        "reject_pr", judge, reason=t("rejectXreason"), fix_instructions=t("rejectXfix_instructions")
    )
    w.names.add(made["id"])


# ── how it is read ──


NAME = "{name}"
READS: dict[str, tuple[tuple[str, dict[str, Any]], ...]] = {
    "native": (("show", {"id": NAME}), ("show", {"id": NAME, "include": ["outcomes", "log"]})),
    "workflow": (("get_context", {"workflow_id": NAME, "include": []}),),
    "agentic": (("plan_get", {"slug": NAME}), ("session_replay", {"session_id": NAME})),
    "colibri": (
        ("task_get", {"id": NAME, "history": True}),
        *(("thought_record_list", {"task_id": f"{NAME}{end}"}) for end in ("", "/")),
    ),
    "symphony": (("get_issue", {"issue_id": NAME}),),
    "foundry": (("spec", {"action": "get", "spec_id": NAME}),),
}
"""What reads what a name means."""
SCRIPTS: dict[str, tuple[Script, tuple[tuple[str, dict[str, Any]], ...]]] = {
    "native": (native, (("remember", {"action": "get", "key": "k"}),)),
    "workflow": (workflow, ()),
    "agentic": (
        agentic,
        (
            ("state_get", {"plan_slug": "login", "key": "k"}),
            *(("plan_get", {"slug": f"login{at}"}) for at in ("", "/", "/1", "/1/0", "/1/1", "/2")),
        ),
    ),
    "colibri": (colibri, (("audit_sessions", {}),)),
    "symphony": (
        symphony,
        (("search_learnings", {"query": "so it is"}), ("get_issue", {"issue_id": "project"})),
    ),
    "foundry": (foundry, ()),
}


def heard(agent: Agent, tool: str, asked: dict[str, Any]) -> str:
    """Answer all that a reading tool says, on all of its pages, each part put together; empty if it refuses."""
    parts: dict[str, str] = {}
    waiting, seen = [""], set[str]()
    while waiting:
        cursor = waiting.pop(0)
        reply = agent.call(tool, {**asked, **({"cursor": cursor} if cursor else {})})
        answer = inner(reply.answer)
        if reply.is_error or not isinstance(answer, dict):
            break
        for name, one in answer.items():
            parts[name] = parts.get(name, "") + (one if isinstance(one, str) else json.dumps(one))
        found = [
            answer.get("next_cursor"),
            answer.get("cursor"),
            reply.answer.get("meta", {}).get("pagination", {}).get("cursor"),
            *(answer.get("more") or {}).values(),
        ]
        for one in found:
            if isinstance(one, str) and one and one not in seen:
                seen.add(one)
                waiting.append(one)
    return "\n".join(parts.values())


@pytest.mark.parametrize("surface", sorted(SCRIPTS))
def test_every_text_is_found_again_from_its_first_word_to_its_last(
    workshop: Workshop, surface: str
) -> None:
    """However long the tool takes it: by what the dialect itself reads, from the names it has told."""
    write, more = SCRIPTS[surface]
    settings = Settings(surface=surface, proofs="1" if surface == "colibri" else "")
    writer = Writer(workshop.agent("ada", surface=surface, settings=settings))
    write(workshop, writer)
    reader = workshop.agent("rea", surface=surface, settings=settings)
    shown = [heard(reader, tool, asked) for tool, asked in more]
    asked: set[str] = set()
    # What is read names more.
    while waiting := {n for n in writer.names if n not in asked}:
        asked |= waiting
        for name in sorted(waiting):
            for tool, arguments in READS[surface]:
                filled = {
                    part: one.format(name=name) if isinstance(one, str) else one
                    for part, one in arguments.items()
                }
                text = heard(reader, tool, filled)
                shown.append(text)
                writer.names |= {
                    n
                    for n in re.findall(r"[\w./@#-]{1,64}", text)
                    if re.search(r"^#\d+$|(?:^|-)[a-z]{0,2}-?\d+$|^ses_|@\d+$", n)
                }
    told = "\n".join(shown)
    lost = {
        one.label: (one.most, [m for m in one.marks if m not in told])
        for one in writer.said.values()
    }
    gone = [
        f"{label} of {most}: {', '.join(marks)}" for label, (most, marks) in lost.items() if marks
    ]
    assert not gone, "\n".join(gone)
