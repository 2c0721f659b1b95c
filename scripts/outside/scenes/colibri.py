"""The colibri surface: tasks in eight states, chained thoughts, seals, proofs, skills and modes."""

from __future__ import annotations

from typing import Any

from drill import drill, listed
from stage import Agent, Stage

STATES = ("GATHER", "ANALYZE", "PLAN", "APPLY", "VERIFY")
SORTS = ("plan", "analysis", "decision", "reflection")
SKILL = (
    "---\nname: mend\ndescription: Mends locks\nversion: 1.10\n"
    "capabilities: [read]\ngreekLetter: β\n---\nTake the key.\n"
)


def play(stage: Stage) -> None:
    """Play the whole scene."""
    stage.agent("plain").ask("tools/list")
    ada = stage.agent("ada", "--colibri-proofs")
    tools = listed(ada)
    ada.call("server_ping")
    ada.call("server_health")
    task = _data(ada.call("task_create", title="Mend the lock", priority="high")).get("id", "none")
    ada.call("task_create", title="Second", project_id="p", description="d", assignee="ada")
    session = _tasks(ada, task)
    _proofs(ada, session)
    _skills(stage, ada)
    for mode in ("READONLY", "TEST", "MINIMAL", "NONE"):
        other = stage.agent(mode.lower(), "--mode", mode)
        for name, arguments in (
            ("server_ping", {}),
            ("server_health", {}),
            ("task_list", {}),
            ("task_create", {"title": "y"}),
        ):
            other.call(name, **arguments)
    ada.call("audit_actions")
    drill(stage.agent("eve", "--colibri-proofs"), tools)


def _data(answer: Any) -> dict[str, Any]:
    told = answer.get("data") if isinstance(answer, dict) else None
    return told if isinstance(told, dict) else {}


def _tasks(ada: Agent, task: str) -> str:
    started = ada.call("audit_session_start", intent="Mend it", task_id=task)
    session = _data(started).get("session_id", "none")
    ada.call("audit_session_start", intent="Again", session_id=session)
    ada.call("audit_session_start", intent="Mine", session_id="s-1")
    said = {"task_id": task, "agent_id": "ada", "session_id": session}
    for sort in SORTS[:3]:
        ada.call("thought_record", type=sort, content=f"A {sort}.", **said)
    ada.call("task_update", id=task, status="DONE")
    ada.call("task_update", id=task, patch={"status": "GATHER"}, status="PLAN")
    for state in STATES:
        ada.call("task_update", id=task, patch={"status": state}, reason="next")
    ada.call("task_update", id=task, patch={"status": "DONE"})
    ada.call("thought_record", type="reflection", content="It turns.", **said)
    ada.call("task_update", id=task, status="DONE", expected_version=1)
    ada.call("task_update", id=task, status="DONE", expected_status="INIT")
    ada.call("task_update", id=task, status="DONE", expected_status="VERIFY")
    ada.call("task_update", id=task, status="INIT")
    ada.call("task_get", id=task, history=True)
    ada.call("task_get", id="none")
    ada.call("task_list", status="DONE")
    ada.call("task_list", limit=1)
    ada.call("task_list", project_id="p", include_deleted=True, offset=0)
    ada.call("task_next_actions")
    ada.call("thought_record_list", task_id=task, type="plan")
    ada.call("thought_record_list", session_id=session, limit=2)
    for where in ({}, {"task_id": task}, {"session_id": session}, {"task_id": "none"}):
        ada.call("audit_verify_chain", **where)
    return str(session)


def _proofs(ada: Agent, session: str) -> None:
    thoughts = _data(ada.call("thought_record_list", session_id=session)).get("thoughts", [])
    record = thoughts[0]["id"] if thoughts else "none"
    ada.call("merkle_root", session_id=session)
    ada.call("merkle_proof", record_id=record)
    ada.call("merkle_finalize", session_id="s-1")
    ada.call("merkle_finalize", session_id=session)
    ada.call("merkle_finalize", session_id=session)
    ada.call("merkle_root", session_id=session)
    ada.call("merkle_root", session_id="none")
    ada.call("merkle_proof", record_id=record)
    ada.call("merkle_proof", record_id="none")
    ada.call("merkle_consistency", session_id=session, first_size=2)
    ada.call("merkle_consistency", session_id=session, first_size=2, second_size=99)
    ada.call("merkle_verify", session_id=session)
    ada.call("audit_session_abandon", session_id=session, reason="lost")
    ada.call("audit_session_abandon", session_id="s-1", reason="lost")
    ada.call("audit_sessions")
    ada.call("audit_sessions", status="failed", limit=1)


def _skills(stage: Stage, ada: Agent) -> None:
    ada.call("skill_list")
    stage.write(".agents/skills/mend/SKILL.md", SKILL)
    stage.write(".agents/skills/bad/SKILL.md", "---\nname: other\n---\n")
    ada.call("skill_list", search="LOCKS", capability="read", greek_letter="β")
    ada.call("skill_list")
    ada.call("skill_list", greek_letter="x")
    ada.call("skill_get", name="mend")
    ada.call("skill_get", name="bad")
    ada.call("server_health")
