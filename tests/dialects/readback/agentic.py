"""Every parameter of the agentic tools is read back by another tool, whole, on a server started anew."""

from __future__ import annotations

from typing import Any

from readback import FULL, LINE, Back, Table, Write

OBJECT = {"deep": [1, None, {"a/b~": "\u4e16"}], "long": "x" * 3_000}
AT = {"plan_slug": "login", "phase_order": 1}


def whole(name: str, *path: str, **more: Any) -> Back:
    """Return where something of an id, or of a place in a plan, is read whole."""
    return Back(tool="plan_get", arguments={"slug": name}, path=path, **more)


def plan(*path: str, **more: Any) -> Back:
    """Return where something stands in the plan."""
    return Back(tool="plan_get", arguments={"slug": "login"}, path=("plan", *path), **more)


def phase(*path: str, order: int = 1, **more: Any) -> Back:
    """Return where something stands in a phase."""
    asked = {"plan_slug": "login", "phase_order": order}
    return Back(tool="phase_get", arguments=asked, path=("phase", *path), **more)


def session(name: str, *path: str, **more: Any) -> Back:
    """Return where something stands in the list of sessions."""
    return Back(tool="session_list", path=("sessions", f"session_id={name}", *path), **more)


def replay(*path: str, **more: Any) -> Back:
    """Return where something stands in the replay of the session."""
    asked = {"session_id": "$session"}
    return Back(tool="session_replay", arguments=asked, path=("replay_context", *path), **more)


def state(parameter: str, **more: Any) -> Back:
    """Return where a value that was kept is read."""
    asked = {"plan_slug": "login", "key": "k"}
    return Back(tool="state_get", arguments=asked, path=(parameter,), **more)


def brief(parameter: str, **more: Any) -> Back:
    """Return where a brief is read."""
    asked = {"id": "$brief"}
    return Back(tool="content_brief_get", arguments=asked, path=("brief", parameter), **more)


MODELS = "needs a provider of models, of which a server as it is installed has none"
NAMED = "names what is worked on"
TABLE = Table(
    dialect="agentic",
    nothing={
        ("plan_get", "slug"): "reads",
        ("plan_list", "status"): "reads",
        ("plan_update_status", "slug"): NAMED,
        ("plan_archive", "slug"): NAMED,
        ("phase_get", "plan_slug"): "reads",
        ("phase_get", "phase_order"): "reads",
        **{
            (tool, name): NAMED
            for tool in (
                "phase_update_status",
                "phase_add_checkpoint",
                "task_update",
                "task_toggle",
            )
            for name in ("plan_slug", "phase_order")
        },
        **{(tool, "task_identifier"): NAMED for tool in ("task_update", "task_toggle")},
        **{
            (f"session_{tool}", "session_id"): NAMED
            for tool in ("end", "log", "handoff", "resume", "replay", "artifact")
        },
        ("session_replay", "at"): "reads",
        **{("session_list", name): "reads" for name in ("plan_slug", "status", "agent_type")},
        ("state_set", "plan_slug"): NAMED,
        ("state_set", "expected_version"): "refuses a change, and keeps nothing",
        **{("state_get", name): "reads" for name in ("plan_slug", "key", "history")},
        **{("state_list", name): "reads" for name in ("plan_slug", "category")},
        ("template_list", "category"): "reads",
        ("template_preview", "slug"): "reads",
        ("template_preview", "variables"): "reads",
        ("template_create_plan", "dry_run"): "writes nothing",
        **{
            ("content_generate", name): MODELS
            for name in ("prompt", "provider", "config.temperature", "config.max_tokens")
        },
        ("content_generate", "config.model"): MODELS,
        **{
            ("content_batch_generate", name): MODELS for name in ("batch_id", "provider", "dry_run")
        },
        ("content_from_plan", "plan_slug"): MODELS,
        ("content_brief_get", "id"): "reads",
        ("content_brief_get", "output"): "reads",
        **{("content_brief_list", name): "reads" for name in ("status", "content_type", "service")},
        ("content_status", "batch_id"): "reads",
        ("content_usage_stats", "period"): "reads",
    },
    steps=(
        Write(
            tool="plan_create",
            arguments={
                "title": LINE,
                "slug": "login",
                "description": FULL,
                "context": OBJECT,
                "phases": [
                    {
                        "name": "One",
                        "description": FULL,
                        "tasks": [{"name": "Code", "description": "D\n" * 9}, "Test"],
                        "completion_criteria": ["It stands", "It \u4e16 holds"],
                    },
                    {"name": "Two", "tasks": ["X"], "dependencies": [1]},
                    {"name": "Three"},
                ],
            },
            back={
                "title": plan("title"),
                "slug": plan("slug"),
                "description": whole("login/", "description"),
                "context": whole("login/", "context"),
                "phases": phase("name", value="One"),
            },
        ),
        Write(
            tool="plan_create",
            arguments={
                "title": "Deep",
                "slug": "deep",
                "phases": [{"name": "P", "description": FULL}],
            },
            keep={"deep": "plan.slug"},
        ),
        Write(tool="plan_create", arguments={"title": "Off", "slug": "off"}),
        Write(tool="plan_create", arguments={"title": "Over", "slug": "over"}),
        Write(
            tool="plan_update_status",
            arguments={"slug": "over", "status": "completed"},
            back={
                "status": Back(
                    tool="plan_list",
                    arguments={"status": "completed"},
                    path=("plans", "slug=over", "status"),
                )
            },
        ),
        Write(
            tool="plan_archive",
            arguments={"slug": "off", "reason": FULL},
            back={"reason": whole("off/", "archived", "reason")},
        ),
        Write(tool="plan_update_status", arguments={"slug": "login", "status": "active"}),
        Write(
            tool="phase_add_checkpoint",
            arguments={**AT, "note": FULL, "context": OBJECT},
            keep={"point": "checkpoint.id"},
            back={
                "note": whole("$point", "text"),
                "context": whole("$point", "context"),
            },
        ),
        Write(
            tool="session_start",
            arguments={"agent_type": FULL, "plan_slug": "login", "context": OBJECT},
            keep={"session": "session.session_id"},
            back={
                "agent_type": session("$session", "agent_type"),
                "plan_slug": session("$session", "plan", value="login"),
                "context": whole("$session", "context"),
            },
        ),
        Write(
            tool="session_log",
            arguments={
                "session_id": "$session",
                "message": FULL,
                "type": "decision",
                "data": OBJECT,
            },
            keep={"line": "entry.id"},
            back={
                "message": whole("$line", "message"),
                "type": replay("decisions", "id=$line", "type"),
                "data": whole("$line", "data"),
            },
        ),
        Write(
            tool="session_artifact",
            arguments={
                "session_id": "$session",
                "path": "a/\u4e16 b.py",
                "action": "modified",
                "metadata": OBJECT,
            },
            keep={"artifact": "artifact.id"},
            back={
                "path": replay("artifacts", "id=$artifact", "path"),
                "action": replay("artifacts", "id=$artifact", "action"),
                "metadata": whole("$artifact", "metadata"),
            },
        ),
        Write(
            tool="state_set",
            arguments={
                "plan_slug": "login",
                "key": "k",
                "value": {"list": [1, None], "text": "y" * 5_000},
                "category": FULL,
                "description": FULL,
            },
            back={
                "key": state("key"),
                "value": state("value"),
                "category": state("category"),
                "description": state("description"),
            },
        ),
        Write(
            tool="task_update",
            arguments={**AT, "task_identifier": 0, "status": "completed", "notes": FULL},
            back={
                "status": phase("tasks", "index=0", "status"),
                "notes": whole("login/1/0", "notes"),
            },
        ),
        Write(
            tool="task_toggle",
            arguments={**AT, "task_identifier": 1},
        ),
        Write(
            tool="phase_update_status",
            arguments={
                "plan_slug": "login",
                "phase_order": 3,
                "status": "skipped",
                "reason": FULL,
            },
            back={
                "status": phase("status", order=3),
                "reason": whole("login/3", "reason"),
            },
        ),
        Write(
            tool="phase_update_status",
            arguments={**AT, "status": "in_progress", "criteria_met": [1, "It stands"]},
            back={"criteria_met": phase("completion_criteria", "1", "met", value=True)},
        ),
        Write(
            tool="session_handoff",
            arguments={
                "session_id": "$session",
                "summary": FULL,
                "next_steps": ["one\ntwo", "z" * 1_900],
                "blockers": ["a", "b" * 1_900],
                "context_for_next": OBJECT,
            },
            keep={"handoff": "handoff_context.whole"},
            back={
                "summary": whole("$handoff", "summary"),
                "next_steps": whole("$handoff", "next_steps"),
                "blockers": whole("$handoff", "blockers"),
                "context_for_next": whole("$handoff", "context_for_next"),
            },
        ),
        Write(
            tool="session_continue",
            by="another",
            arguments={"session_id": "$session", "agent_type": FULL},
            keep={"next": "session.session_id"},
            back={
                "session_id": session("$next", "continues", value="$session"),
                "agent_type": session("$next", "agent_type"),
            },
        ),
        Write(
            tool="session_end",
            by="another",
            arguments={"session_id": "$next", "status": "failed", "summary": FULL},
            back={
                "status": session("$next", "status"),
                "summary": whole("$next", "summary"),
            },
        ),
        Write(
            tool="template_create_plan",
            arguments={
                "template_slug": "bug-fix",
                "variables": {"BUG": "It 世 breaks"},
                "title": LINE,
                "activate": True,
            },
            keep={"templated": "plan.slug"},
            back={
                "template_slug": whole("$templated/", "template", "slug"),
                "variables.BUG": whole("$templated/", "template", "variables", "BUG"),
                "title": Back(
                    tool="plan_get", arguments={"slug": "$templated"}, path=("plan", "title")
                ),
                "activate": Back(
                    tool="plan_get",
                    arguments={"slug": "$templated"},
                    path=("plan", "status"),
                    value="active",
                ),
            },
        ),
        Write(
            tool="content_brief_create",
            arguments={
                "title": LINE,
                "content_type": "blog_post",
                "description": FULL,
                "service": "S",
                "keywords": ["a", "世"],
                "category": "C",
                "difficulty": "beginner",
                "target_word_count": 900,
                "slug": "our-brief",
                "variables": OBJECT,
                "priority": 7,
                "scheduled_for": "2030-01-02T03:04:05Z",
                "plan_slug": "login",
                "batch_id": "batch-1",
            },
            keep={"brief": "brief.id"},
            back={
                name: brief(name)
                for name in (
                    "title",
                    "content_type",
                    "description",
                    "service",
                    "keywords",
                    "category",
                    "difficulty",
                    "target_word_count",
                    "slug",
                    "priority",
                )
            }
            | {
                "variables": whole("$brief", "variables"),
                "scheduled_for": brief("scheduled_for", value="2030-01-02T03:04:05.000Z"),
                "plan_slug": brief("plan", value="login"),
                "batch_id": Back(
                    tool="content_status",
                    arguments={"batch_id": "batch-1"},
                    path=("batch_id",),
                ),
            },
        ),
    ),
)
