"""Every parameter of the colibri tools is read back by another tool, whole, on a server started anew."""

from __future__ import annotations

from typing import Any

from readback import FULL, LINE, Back, Table, Write

FIELDS = ("title", "description", "project_id", "priority", "assignee")
LONGEST = {
    **dict.fromkeys(FIELDS, LINE),
    "project_id": FULL,
    "priority": FULL,
    "description": "D\n",
}
"""The longest of each, but for the description, which one page does not hold."""


def field(name: str, parameter: str, **more: Any) -> Back:
    """Return where a field of a task is read."""
    return Back(tool="task_get", arguments={"id": name}, path=("data", parameter), **more)


def thought(parameter: str, **more: Any) -> Back:
    """Return where a thought is read whole."""
    asked = {"session_id": "our-session"}
    return Back(
        tool="thought_record_list",
        arguments=asked,
        path=("data", "thoughts", "id=$thought", parameter),
        **more,
    )


TABLE = Table(
    dialect="colibri",
    nothing={
        ("task_get", "id"): "reads",
        ("task_get", "history"): "reads",
        **{("task_list", name): "reads" for name in ("status", "project_id", "include_deleted")},
        ("task_list", "offset"): "narrows an answer",
        ("task_next_actions", "project_id"): "reads",
        **{("thought_record_list", name): "reads" for name in ("task_id", "session_id", "type")},
        **{("audit_verify_chain", name): "reads" for name in ("task_id", "session_id")},
        ("merkle_root", "session_id"): "reads",
        **{("skill_list", name): "reads" for name in ("search", "capability", "greek_letter")},
        ("task_update", "id"): "names what is changed",
        ("task_update", "expected_status"): "refuses a change, and keeps nothing",
        ("task_update", "expected_version"): "refuses a change, and keeps nothing",
    },
    steps=(
        Write(
            tool="task_create",
            arguments=LONGEST,
            keep={"made": "data.id"},
            back={name: field("$made", name) for name in FIELDS if name != "description"},
        ),
        Write(
            tool="task_create",
            arguments={"title": "T", "description": FULL},
            keep={"told": "data.id"},
            back={
                "description": Back(
                    tool="thought_record_list",
                    arguments={"task_id": "$told/"},
                    path=("data", "description"),
                )
            },
        ),
        Write(tool="task_create", arguments={"title": "T"}, keep={"flat": "data.id"}),
        Write(
            tool="task_update",
            arguments={"id": "$flat", **LONGEST},
            back={name: field("$flat", name) for name in FIELDS},
        ),
        Write(
            tool="task_update",
            arguments={"id": "$flat", "status": "CANCELLED", "reason": FULL},
            back={
                "status": field("$flat", "status"),
                "reason": Back(
                    tool="task_get",
                    arguments={"id": "$flat", "history": True},
                    path=("data", "transitions", "-1", "reason"),
                ),
            },
        ),
        Write(tool="task_create", arguments={"title": "T"}, keep={"patched": "data.id"}),
        Write(
            tool="task_update",
            arguments={"id": "$patched", "patch": LONGEST},
            back={f"patch.{name}": field("$patched", name) for name in FIELDS},
        ),
        Write(tool="task_create", arguments={"title": "T"}, keep={"hidden": "data.id"}),
        Write(
            tool="task_update",
            arguments={"id": "$hidden", "patch": {"deleted": True}},
            keep={"when": "data.deleted_at"},
            back={
                "patch.deleted": Back(
                    tool="task_list",
                    arguments={"include_deleted": True},
                    path=("data", "tasks", "id=$hidden", "deleted_at"),
                    value="$when",
                ),
            },
        ),
        Write(tool="task_create", arguments={"title": "T"}, keep={"gone": "data.id"}),
        Write(
            tool="task_update",
            arguments={"id": "$gone", "patch": {"status": "CANCELLED", "reason": FULL}},
            back={
                "patch.status": field("$gone", "status"),
                "patch.reason": Back(
                    tool="task_get",
                    arguments={"id": "$gone", "history": True},
                    path=("data", "transitions", "-1", "reason"),
                ),
            },
        ),
        Write(
            tool="audit_session_start",
            arguments={"intent": FULL, "task_id": "$made", "session_id": "our-session"},
            back={
                "intent": Back(
                    tool="thought_record_list",
                    arguments={"task_id": "our-session/"},
                    path=("data", "intent"),
                ),
                "task_id": Back(
                    tool="thought_record_list",
                    arguments={"task_id": "our-session/"},
                    path=("data", "task_id"),
                ),
                "session_id": Back(
                    tool="merkle_root",
                    arguments={"session_id": "our-session"},
                    path=("data", "session_id"),
                ),
            },
        ),
        Write(
            tool="thought_record",
            arguments={
                "type": "analysis",
                "task_id": "$made",
                "agent_id": LINE,
                "content": "short",
                "session_id": "our-session",
            },
            keep={"thought": "data.id"},
            back={
                "type": thought("type"),
                "task_id": thought("task_id"),
                "agent_id": thought("agent_id"),
                "session_id": Back(
                    tool="merkle_root",
                    arguments={"session_id": "our-session"},
                    path=("data", "record_count"),
                    value=2,
                ),
            },
        ),
        Write(
            tool="thought_record",
            arguments={
                "type": "plan",
                "task_id": "$made",
                "agent_id": "ada",
                "content": FULL,
                "session_id": "our-session",
            },
            keep={"long": "data.id"},
            back={
                "content": Back(
                    tool="thought_record_list",
                    arguments={"task_id": "$long"},
                    path=("data", "content"),
                )
            },
        ),
        Write(
            tool="merkle_finalize",
            arguments={"session_id": "our-session"},
            back={
                "session_id": Back(
                    tool="merkle_root",
                    arguments={"session_id": "our-session"},
                    path=("data", "session_id"),
                )
            },
        ),
    ),
)
