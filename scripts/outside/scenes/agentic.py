"""The agentic surface: plans, sessions through three hands, state, templates and briefs."""

from __future__ import annotations

from drill import drill, listed
from stage import Agent, Stage

PHASES = [
    {"name": "Design", "description": "Draw it", "tasks": ["TemplatePart", "Review"]},
    {"name": "Build", "tasks": ["Code", "Test", "Ship"], "dependencies": [1]},
    {"name": "Sell", "tasks": [{"name": "Call"}], "completion_criteria": ["sold"]},
]
STATES = ("pending", "in_progress", "completed", "blocked", "skipped")
TEMPLATE = """name: Small thing
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
      - Do it {{ how }}
"""


def play(stage: Stage) -> None:
    """Play the whole scene."""
    opus, haiku = stage.agent("opus"), stage.agent("haiku")
    tools = listed(opus)
    _plans(opus)
    session = _session(opus)
    _phases(opus)
    _hands(opus, haiku, session)
    _state(opus)
    stage.write(".counterpoint/templates/small.yaml", TEMPLATE)
    _templates(opus)
    _content(opus)
    drill(stage.agent("eve"), tools)


def _plans(opus: Agent) -> None:
    opus.call("plan_create", title="Login", slug="login", phases=PHASES, context={"k": 1})
    opus.call("plan_create", title="Login", slug="login")
    opus.call("plan_create", title="Login")
    opus.call("plan_create", title="Wrong", phases=[{"tasks": [1]}, {"dependencies": [9]}])
    short = {"description": "Short", "phases": [{"tasks": ["One"]}]}
    made = opus.call("plan_create", title="Second thing", **short)
    second = made.get("plan", {}).get("slug", "none")
    for slug in ("login", "nothing"):
        opus.call("plan_get", slug=slug)
        opus.call("plan_update_status", slug=slug, status="active")
    opus.call("plan_list")
    opus.call("plan_list", status="draft", limit=1)
    opus.call("plan_archive", slug=second, reason="not now")
    opus.call("plan_archive", slug=second)
    opus.call("plan_update_status", slug=second, status="active")
    opus.call("plan_update_status", slug=second, status="completed")
    opus.call("plan_update_status", slug=second, status="draft")


def _session(opus: Agent) -> str:
    started = opus.call("session_start", agent_type="opus", plan_slug="login", context={"g": 1})
    opus.call("session_start", agent_type="opus", plan_slug="nothing")
    for sort in ("info", "progress", "warning", "error", "success", "decision", "checkpoint"):
        opus.call("session_log", message=f"a {sort}", type=sort, data={"n": 1})
    opus.call("session_artifact", path="readme.txt", action="modified", metadata={"lines": 1})
    opus.call("session_artifact", path="../readme.txt", action="modified")
    return str(started.get("session", {}).get("session_id", "none"))


def _phases(opus: Agent) -> None:
    task = {"plan_slug": "login", "phase_order": 1}
    for state in STATES:
        opus.call("task_update", **task, task_identifier="TemplatePart", status=state, notes=state)
    opus.call("task_update", **task, task_identifier=7, status="completed")
    opus.call(
        "task_update", plan_slug="login", phase_order=2, task_identifier=0, status="completed"
    )
    for place in (0, "Review", "Nothing"):
        opus.call("task_toggle", **task, task_identifier=place)
    opus.call("task_toggle", **task, task_identifier=1)
    opus.call("phase_get", **task)
    opus.call("phase_get", plan_slug="login", phase_order="Build")
    opus.call("phase_get", plan_slug="login", phase_order=9)
    opus.call("phase_add_checkpoint", **task, note="drawn", context={"k": [1]})
    opus.call("phase_update_status", plan_slug="login", phase_order=2, status="in_progress")
    opus.call("phase_update_status", **task, status="blocked", reason="no pen")
    for state in STATES:
        opus.call("phase_update_status", **task, status=state)
    opus.call("phase_update_status", **task, status="completed", criteria_met=[5])
    opus.call("phase_update_status", plan_slug="login", phase_order=2, status="completed")
    opus.call(
        "phase_update_status",
        plan_slug="login",
        phase_order=3,
        status="completed",
        criteria_met=["sold"],
    )
    opus.call("plan_get", slug="login")


def _hands(opus: Agent, haiku: Agent, session: str) -> None:
    opus.call("session_replay", session_id=session)
    haiku.call("session_resume", session_id=session)
    left = {"summary": "drawn", "next_steps": ["Build"], "blockers": ["none"]}
    opus.call("session_handoff", session_id=session, **left, context_for_next={"at": 1})
    opus.call("session_log", session_id=session, message="while paused")
    haiku.call("session_list", status="paused")
    haiku.call("session_resume", session_id=session)
    haiku.call("session_resume", session_id="ses_none")
    haiku.call("session_log", session_id=session, message="mine now", type="decision")
    followed = opus.call("session_continue", session_id=session, agent_type="sonnet")
    haiku.call("session_log", session_id=session, message="late")
    then = followed.get("session", {}).get("session_id", "none")
    opus.call("session_replay", session_id=session)
    opus.call("session_replay", session_id=session, at=12)
    opus.call("session_end", session_id=then, status="completed", summary="all")
    opus.call("session_end", session_id=then, status="failed")
    opus.call("session_handoff", session_id=then, summary="late")
    opus.call("session_list")
    opus.call("session_list", plan_slug="login", agent_type="opus", limit=1)


def _state(opus: Agent) -> None:
    at = {"plan_slug": "login", "key": "colour"}
    opus.call("state_set", **at, value={"a": [1, None]}, category="looks", description="It")
    opus.call("state_set", **at, value="red", expected_version=1)
    opus.call("state_set", **at, value="blue", expected_version=1)
    opus.call("state_set", plan_slug="login", key="long", value="x" * 15_000)
    opus.call("state_get", **at, history=5)
    opus.call("state_get", plan_slug="login", key="long")
    opus.call("state_get", plan_slug="login", key="nothing")
    opus.call("state_list", plan_slug="login")
    opus.call("state_list", plan_slug="login", category="looks")


def _templates(opus: Agent) -> None:
    opus.call("template_list")
    opus.call("template_list", category="small")
    for values in ({"what": "a login"}, {}, {"what": "X"}, {"what": "x", "more": "y"}):
        opus.call("template_preview", slug="small", variables=values)
        asked = {"template_slug": "small", "variables": values}
        opus.call("template_create_plan", **asked, dry_run=True)
        opus.call("template_create_plan", **asked, activate=True)
    opus.call("template_create_plan", template_slug="small", variables={"what": "x"}, title="T")
    opus.call("template_preview", slug="../keys/project")


def _content(opus: Agent) -> None:
    brief = {"title": "How to log in", "content_type": "help_article"}
    opus.call(
        "content_brief_create",
        **brief,
        keywords=["login"],
        plan_slug="login",
        difficulty="beginner",
        scheduled_for="2026-03-04T05:06:07Z",
        variables={"a": 1},
    )
    opus.call("content_brief_create", **brief, target_word_count=1)
    opus.call("content_brief_get", id="how-to-log-in")
    opus.call("content_brief_list", status="pending", service="none")
    opus.call("content_brief_list")
    opus.call("content_status")
    opus.call("content_status", batch_id="b")
    opus.call("content_generate", prompt="x", provider="claude", config={"temperature": 1})
    opus.call("content_batch_generate", batch_id="b", dry_run=True)
    opus.call("content_usage_stats")
    for slug in ("login", "nothing"):
        opus.call("content_from_plan", plan_slug=slug)
