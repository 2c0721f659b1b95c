"""The nine session tools."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from builders import Agent, Workshop


def test_a_session_starts_as_the_contract_says(opus: Agent, plan: str) -> None:
    """Its id is `ses_` and 128 random bits; without naming it, its connection's calls mean it."""
    answer = opus.does("session_start", plan_slug=plan, agent_type="opus", context={"a": 1})
    told = answer["session"]
    assert answer["success"] is True
    assert re.fullmatch(r"ses_[0-9a-z]{26}", told["session_id"])
    assert (told["agent_type"], told["plan"], told["status"]) == ("opus", plan, "active")
    assert opus.does("session_log", message="began")["logged"] == "began"
    assert opus.does("session_replay", session_id=told["session_id"])["replay_context"][
        "context_summary"
    ] == {"a": 1}


def test_each_start_is_a_session_of_its_own(opus: Agent) -> None:
    """What is not named is the last one of a connection."""
    first = opus.does("session_start", agent_type="anything else")["session"]["session_id"]
    second = opus.does("session_start", agent_type="haiku")["session"]["session_id"]
    assert first != second
    opus.does("session_log", message="here")
    found = opus.does("session_replay", session_id=second)["replay_context"]
    assert found["progress_summary"]["completed_steps"] == 1


def test_without_a_session_nothing_is_logged(opus: Agent, plan: str) -> None:
    assert opus.is_refused("session_log", message="x")["code"] == "validation_error"
    refusal = opus.is_refused("session_start", agent_type="opus", plan_slug="nothing")
    assert refusal["code"] == "not_found"
    refusal = opus.is_refused("session_log", session_id="ses_nothing", message="x")
    assert refusal["code"] == "not_found"


@pytest.mark.parametrize(
    "sort", ["info", "progress", "warning", "error", "success", "decision", "checkpoint"]
)
def test_every_type_is_logged(opus: Agent, session: str, sort: str) -> None:
    """With data, and told again by the replay."""
    opus.does("session_log", session_id=session, message="m", type=sort, data={"n": [1]})
    recent = opus.does("session_replay", session_id=session)["replay_context"]["recent_actions"]
    assert (recent[0]["type"], recent[0]["message"], recent[0]["data"]) == (sort, "m", {"n": [1]})


def test_a_replay_tells_the_whole_story(
    opus: Agent, workshop: Workshop, plan: str, session: str
) -> None:
    """Summary, last checkpoint, decisions, errors, artifacts by action, recent actions."""
    opus.does("session_log", message="one", type="checkpoint")
    opus.does("session_log", message="use x", type="decision")
    opus.does("session_log", message="it broke", type="error")
    opus.does("session_artifact", path="src/a.py", action="created", metadata={"lines": 3})
    opus.does("session_artifact", path="src/b.py", action="modified", description="mended")
    opus.does("phase_add_checkpoint", plan_slug=plan, phase_order=1, note="two")
    workshop.clock.pass_by(minutes=65)
    opus.does("task_update", plan_slug=plan, phase_order=1, task_identifier=0, status="completed")
    found = opus.does("session_replay", session_id=session)["replay_context"]
    assert found["progress_summary"] == {
        "completed_steps": 4,
        "checkpoint_count": 2,
        "error_count": 1,
        "last_action": "two",
        "last_action_at": found["last_checkpoint"]["timestamp"],
        "summary": "4 logged, 2 checkpoints, 1 error",
    }
    assert found["last_checkpoint"]["message"] == "two"
    assert [one["message"] for one in found["decisions"]] == ["use x"]
    assert [one["message"] for one in found["errors"]] == ["it broke"]
    assert found["artifacts_by_action"] == {
        "created": ["src/a.py"],
        "modified": ["src/b.py"],
        "deleted": [],
    }
    assert found["artifacts"][1]["metadata"] == {"description": "mended"}
    assert found["recent_actions"][0]["message"] == "task.moved"
    assert found["duration"] == "1h 5m"
    assert found["plan"] == {"slug": plan, "title": "Login"}
    assert found["status"] == "active"


def test_a_replay_goes_back_in_time(opus: Agent, session: str) -> None:
    """Up to an entry of the ledger; one from before the session is none of it."""
    begun = opus.ledger_size
    for number in range(3):
        opus.does("session_log", message=f"m{number}")
    opus.does("session_end", status="completed", summary="all")
    then = opus.does("session_replay", session_id=session, at=begun)["replay_context"]
    assert (then["status"], then["progress_summary"]["last_action"]) == ("active", "m0")
    now = opus.does("session_replay", session_id=session)["replay_context"]
    assert (now["status"], now["final_summary"]) == ("completed", "all")
    empty = opus.does("session_replay", session_id=session, at=begun - 1)["replay_context"]
    assert empty["progress_summary"]["summary"] == "No work recorded"
    assert opus.is_refused("session_replay", session_id=session, at=10**6)["code"] == (
        "validation_error"
    )


def test_a_long_replay_comes_in_pages(opus: Agent, session: str) -> None:
    """Every decision is told once."""
    for number in range(40):
        opus.does("session_log", message=f"{number} " + "x" * 500, type="decision")
    asked: dict[str, Any] = {"session_id": session}
    found: list[str] = []
    for _ in range(30):
        reply = opus.call("session_replay", asked)
        assert len(reply.text.encode()) <= 10_000
        found += [
            one["message"].split()[0] for one in reply.answer["replay_context"].get("decisions", [])
        ]
        if "next_cursor" not in reply.answer:
            break
        asked["cursor"] = reply.answer["next_cursor"]
    assert found == [str(number) for number in range(40)]


def test_an_artifact_lies_in_the_project(opus: Agent, session: str) -> None:
    """A path that leads outside is refused."""
    refusal = opus.is_refused("session_artifact", path="../x", action="created")
    assert refusal["code"] == "validation_error"
    assert opus.does("session_artifact", path="./src//a.py", action="reviewed")["artifact"][
        "path"
    ] == ("src/a.py")


def test_a_session_is_handed_over(opus: Agent, haiku: Agent, session: str) -> None:
    """Whoever resumes it has the notes; the first one loses it."""
    opus.does("session_log", message="half")
    left = opus.does(
        "session_handoff",
        summary="half way",
        next_steps=["go on"],
        blockers=["a key"],
        context_for_next={"branch": "x"},
    )
    assert left["session"]["status"] == "paused"
    notes = {
        "summary": "half way",
        "next_steps": ["go on"],
        "blockers": ["a key"],
        "context_for_next": {"branch": "x"},
    }
    assert left["handoff_context"] == notes
    assert opus.is_refused("session_log", session_id=session, message="x")["code"] == (
        "validation_error"
    )
    taken = haiku.does("session_resume", session_id=session)
    assert taken["handoff_context"] == notes
    assert (taken["session"]["status"], taken["session"]["agent"]) == ("active", "haiku")
    assert taken["recent_actions"][1]["message"] == "session.paused"
    haiku.does("session_log", session_id=session, message="on")
    refusal = opus.is_refused("session_log", session_id=session, message="x")
    assert refusal["code"] == "permission_denied"


def test_work_goes_on_after_a_handoff(opus: Agent, plan: str, session: str) -> None:
    """The connection writes in the next session of its own; a paused one is not woken by that."""
    opus.does("session_handoff", summary="s")
    opus.does("task_update", plan_slug=plan, phase_order=1, task_identifier=0, status="completed")
    assert opus.last_entry.actor.session != session
    assert opus.does("session_list", status="paused")["sessions"][0]["session_id"] == session
    again = opus.does("session_start", agent_type="opus")["session"]["session_id"]
    assert again == opus.last_entry.actor.session
    opus.does("session_end", status="completed")
    opus.does("task_update", plan_slug=plan, phase_order=1, task_identifier=1, status="completed")


def test_a_session_is_resumed_once(workshop: Workshop, opus: Agent, session: str) -> None:
    """Of eight who try one has it."""
    opus.does("session_handoff", summary="s")
    agents = [workshop.agent(f"a{number}", surface="agentic") for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        replies = list(
            pool.map(lambda agent: agent.call("session_resume", {"session_id": session}), agents)
        )
    assert sum(not reply.is_error for reply in replies) == 1
    refused = next(reply for reply in replies if reply.is_error)
    assert refused.answer["code"] == "validation_error"


@pytest.mark.parametrize("status", ["completed", "failed", "handed_off"])
def test_an_ended_session_refuses_everything(opus: Agent, session: str, status: str) -> None:
    """Log, artifact, handoff, resume and end are validation errors; it can be followed."""
    ended = opus.does("session_end", session_id=session, status=status, summary="so")
    assert ended["session"]["status"] == status
    asked: dict[str, dict[str, Any]] = {
        "session_log": {"message": "x"},
        "session_artifact": {"path": "a", "action": "created"},
        "session_handoff": {"summary": "x"},
        "session_resume": {},
        "session_end": {"status": "completed"},
    }
    for tool, more in asked.items():
        refusal = opus.is_refused(tool, session_id=session, **more)
        assert refusal["code"] == "validation_error", tool
    assert opus.does("session_continue", session_id=session)["previous_agent"] == "opus"


def test_a_session_can_end_as_paused(opus: Agent, haiku: Agent, session: str) -> None:
    """Which is what others resume."""
    assert opus.does("session_end", status="paused", summary="x")["session"]["status"] == "paused"
    assert haiku.does("session_resume", session_id=session)["handoff_context"]["summary"] == "x"


def test_a_session_is_continued(opus: Agent, haiku: Agent, session: str) -> None:
    """The new one knows what the old one knew, and the old one is over."""
    opus.does("session_handoff", summary="s", next_steps=["n"])
    answer = haiku.does("session_continue", previous_session_id=session, agent_type="haiku")
    told = answer["session"]
    assert told["session_id"] != session
    assert (told["continues"], told["agent_type"], told["plan"]) == (session, "haiku", "login")
    assert answer["continued_from"] == session
    assert answer["previous_agent"] == "opus"
    assert answer["inherited_context"] == {"goal": "go"}
    assert answer["handoff_context"]["next_steps"] == ["n"]
    old = opus.does("session_list", status="handed_off")["sessions"]
    assert [one["session_id"] for one in old] == [session]
    replay = haiku.does("session_replay", session_id=told["session_id"])["replay_context"]
    assert replay["context_summary"]["continued_from"] == session


def test_sessions_are_listed_by_every_filter(
    opus: Agent, haiku: Agent, workshop: Workshop, plan: str
) -> None:
    """By plan, status, type of agent; the latest first; with a cursor."""
    ids = []
    for number in range(4):
        workshop.clock.pass_by(seconds=1)
        more = {"plan_slug": plan} if number % 2 else {}
        started = haiku.does("session_start", agent_type=f"t{number}", **more)
        ids.append(started["session"]["session_id"])
    haiku.does("session_end", session_id=ids[3], status="failed")

    def listed(**asked: Any) -> list[str]:
        return [one["session_id"] for one in opus.does("session_list", **asked)["sessions"]]

    assert listed() == ids[::-1]
    assert listed(plan_slug=plan) == [ids[3], ids[1]]
    assert listed(status="failed") == [ids[3]]
    assert listed(agent_type="t2") == [ids[2]]
    first = opus.does("session_list", limit=3)
    assert first["count"] == 3
    assert listed(limit=3, cursor=first["next_cursor"]) == [ids[0]]


def test_a_session_that_nobody_ended_fails_after_a_day(
    opus: Agent, haiku: Agent, workshop: Workshop, session: str
) -> None:
    """It is told as stale, and ended when the next one starts; one that logs is not."""
    other = haiku.does("session_start", agent_type="haiku")["session"]["session_id"]
    workshop.clock.pass_by(minutes=23 * 60)
    haiku.does("session_log", message="still here")
    workshop.clock.pass_by(minutes=61)
    listed = opus.does("session_list", status="active")["sessions"]
    assert {one["session_id"]: one.get("stale", False) for one in listed} == {
        session: True,
        other: False,
    }
    haiku.does("session_start", agent_type="haiku")
    ended = opus.does("session_list", status="failed")["sessions"]
    assert [one["session_id"] for one in ended] == [session]
    final = opus.does("session_replay", session_id=session)["replay_context"]["final_summary"]
    assert final == "nothing came from it for a day"


def test_a_session_that_is_resumed_after_a_day_does_not_fail(
    opus: Agent, haiku: Agent, session: str, workshop: Workshop
) -> None:
    """To take it up is to be at it."""
    opus.does("session_handoff", summary="half")
    workshop.clock.pass_by(minutes=25 * 60)
    taken = haiku.does("session_resume", session_id=session)["session"]
    assert "stale" not in taken
    assert taken["last_active_at"] == workshop.clock.now()
    opus.does("session_start", agent_type="opus")
    assert haiku.does("session_log", session_id=session, message="on")["logged"] == "on"


def test_updates_and_state_count_as_activity(
    opus: Agent, haiku: Agent, plan: str, session: str, workshop: Workshop
) -> None:
    """A session in which nothing is logged is told as active, and not ended, all the same."""
    task = {"plan_slug": plan, "phase_order": 1, "task_identifier": 0}
    for tool, asked in (
        ("task_update", {**task, "notes": "n"}),
        ("state_set", {"plan_slug": plan, "key": "k", "value": 1}),
        ("phase_update_status", {"plan_slug": plan, "phase_order": 1, "status": "in_progress"}),
    ):
        workshop.clock.pass_by(minutes=23 * 60)
        opus.does(tool, **asked)
        haiku.does("session_start", agent_type="haiku")
        listed = opus.does("session_list", agent_type="opus")["sessions"][0]
        assert (listed["session_id"], listed["status"]) == (session, "active"), tool
        assert listed["last_active_at"] == workshop.clock.now(), tool


@pytest.mark.parametrize("tool", ["session_resume", "session_continue"])
@pytest.mark.parametrize("begun", ["nothing", "state", "session"])
def test_after_a_session_is_taken_up_every_tool_means_it(
    opus: Agent, haiku: Agent, plan: str, session: str, tool: str, begun: str
) -> None:
    """Whatever this connection wrote in before; and that again, once it has ended."""
    opus.does("session_handoff", summary="half")
    if begun == "state":
        haiku.does("state_set", plan_slug=plan, key="k", value=1)
    if begun == "session":
        haiku.does("session_start", agent_type="haiku")
    meant = haiku.does(tool, session_id=session)["session"]["session_id"]
    task = {"plan_slug": plan, "phase_order": 1, "task_identifier": 0}
    for called, asked in (
        ("session_log", {"message": "m"}),
        ("session_artifact", {"path": "a.py", "action": "created"}),
        ("state_set", {"plan_slug": plan, "key": "k", "value": 2}),
        ("task_update", {**task, "status": "in_progress"}),
        ("phase_add_checkpoint", {"plan_slug": plan, "phase_order": 1, "note": "here"}),
        ("plan_archive", {"slug": plan}),
    ):
        haiku.does(called, **asked)
        assert haiku.last_entry.actor.session == meant, called
    assert haiku.does("session_end", status="completed")["session"]["session_id"] == meant
    haiku.does("plan_update_status", slug=plan, status="active")
    assert haiku.last_entry.actor.session != meant


def test_what_a_handoff_was_given_comes_back_exactly(
    opus: Agent, haiku: Agent, session: str
) -> None:
    """When it is handed over, resumed, replayed and continued; an empty object is no missing one."""
    given: dict[str, Any] = {
        "summary": "half",
        "next_steps": ["go on", ""],
        "blockers": [],
        "context_for_next": {"b": 1.0, "a": [1, None, {}], "long": "x" * 4_000},
    }
    assert opus.does("session_handoff", **given)["handoff_context"] == given
    assert haiku.does("session_resume", session_id=session)["handoff_context"] == given
    replayed = haiku.does("session_replay", session_id=session)["replay_context"]
    assert set(replayed["handoff_notes"]) == {*given, "whole"}
    name = replayed["handoff_notes"]["whole"]
    whole = haiku.does("plan_get", slug=name)
    assert (whole["summary"], whole["next_steps"]) == ("half", ["go on", ""])
    given["context_for_next"] = {}
    haiku.does("session_handoff", session_id=session, **given)
    replayed = haiku.does("session_replay", session_id=session)["replay_context"]
    assert replayed["handoff_notes"] == given
    assert opus.does("session_continue", session_id=session)["handoff_context"] == given


def test_what_an_ending_was_given_comes_back_exactly(opus: Agent, session: str) -> None:
    """At once, replayed, and to whoever continues it."""
    said = 'all "done"\n\u00e9 ' * 20
    assert opus.does("session_end", status="completed", summary=said)["summary"] == said
    replayed = opus.does("session_replay", session_id=session)["replay_context"]
    assert replayed["final_summary"] == said
    assert opus.does("session_continue", session_id=session)["handoff_context"]["summary"] == said


def test_a_handoff_that_is_too_long_for_an_answer_says_where_it_is_whole(
    opus: Agent, session: str
) -> None:
    """Each part is cut, and a page has its limit."""
    reply = opus.call(
        "session_handoff",
        {"summary": "s" * 9_000, "next_steps": ["n" * 1_900] * 3, "session_id": session},
    )
    assert len(reply.text.encode()) <= 10_000
    left = reply.answer["handoff_context"]
    assert left["summary"].endswith("…")
    first = opus.does("plan_get", slug=left["whole"])
    rest = opus.does("plan_get", slug=left["whole"], cursor=first["next_cursor"])
    assert first["summary"] + rest["summary"] == "s" * 9_000


def test_words_that_only_look_like_an_object_are_handed_over(
    opus: Agent, workshop: Workshop
) -> None:
    ada = workshop.agent("ada")
    ada.does("handoff", action="pause", summary="s", context="{not JSON")
    taken = opus.does("session_resume", session_id=ada.session)
    assert taken["handoff_context"]["context_for_next"] == "{not JSON"


def test_a_long_path_is_an_artifact(opus: Agent, session: str) -> None:
    """As long as a system takes it; a replay has them all, in pages."""
    paths = [f"{number}/{'a/' * 1_900}x.py" for number in range(4)]
    for path in paths:
        answer = opus.does("session_artifact", path=path, action="created")
        assert answer["artifact"]["path"] == path
    found: list[str] = []
    asked: dict[str, Any] = {"session_id": session}
    for _ in range(12):
        reply = opus.call("session_replay", asked)
        assert len(reply.text.encode()) <= 10_000
        found += [one["path"] for one in reply.answer["replay_context"].get("artifacts", [])]
        if "next_cursor" not in reply.answer:
            break
        asked["cursor"] = reply.answer["next_cursor"]
    assert found == paths


def test_each_entry_of_a_session_is_read_whole_by_its_id(opus: Agent, haiku: Agent) -> None:
    """The successor reads every decision as it was, however long it is."""
    session = opus.does("session_start", agent_type="opus")["session"]["session_id"]
    decision = "We keep both, since " + "the old readers need the first. " * 300
    data = {"why": ["a" * 3_000, {"b": 1}]}
    opus.does("session_log", message=decision, type="decision", data=data)
    opus.does("session_artifact", path="a.txt", action="created", metadata=data)
    replayed = opus.does("session_replay", session_id=session)["replay_context"]
    opus.does("session_handoff", summary="Over to you")
    recent = haiku.does("session_resume", session_id=session)["recent_actions"]
    shown = [replayed["decisions"][0], next(one for one in recent if one["type"] == "decision")]
    for entry in shown:
        assert entry["message"].endswith("…")
        whole, cursor = "", ""
        while cursor is not None:
            page = haiku.does(
                "plan_get", slug=entry["id"], **({"cursor": cursor} if cursor else {})
            )
            whole += page.get("message", "")
            cursor = page.get("next_cursor")
        assert whole == decision
    artifact = haiku.does("plan_get", slug=replayed["artifacts"][0]["id"])
    assert artifact["files"] == ["a.txt"]
