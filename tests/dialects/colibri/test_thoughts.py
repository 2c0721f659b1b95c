"""The tools for thoughts."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Workshop
from fakes.speaker import Speaker

ZEROS = "0" * 64


def test_a_thought_joins_the_chain_of_its_task(ada: Speaker) -> None:
    """It carries the hash of the one before; the first one carries zeros."""
    task = ada.task()
    first = ada.think(task, content="one")
    second = ada.think(task, "plan", content="two", agent_id="bob")
    assert (first["prev_hash"], first["sequence"]) == (ZEROS, 0)
    assert (second["prev_hash"], second["sequence"]) == (first["hash"], 1)
    assert len(second["content_commitment"]) == 64
    assert {name: second[name] for name in ("type", "task_id", "agent_id", "content")} == {
        "type": "plan",
        "task_id": task,
        "agent_id": "bob",
        "content": "two",
    }
    assert ada.agent.last_entry.action == "thought.chained"
    assert ada.does("thought_record_list", task_id=task)["thoughts"] == [first, second]


def test_the_change_and_the_end_of_its_call_are_one_entry(ada: Speaker) -> None:
    """What was done and that it was done are never apart."""
    task = ada.task()
    before = ada.agent.ledger_size
    ada.think(task)
    assert ada.agent.ledger_size == before + 2
    rows = [row.table for row in ada.agent.last_entry.rows]
    assert {"thoughts", "records", "actions"} <= set(rows)


def test_a_thought_in_a_session_needs_one_that_is_open(ada: Speaker) -> None:
    """Pattern A, with a code at the begin of the message."""
    task = ada.task()
    error = ada.fails(
        "thought_record", type="plan", task_id=task, agent_id="a", content="x", session_id="none"
    )
    assert error["code"] == "HANDLER_ERROR"
    assert error["message"].startswith("ERR_SESSION_NOT_FOUND: ")
    session = ada.does("audit_session_start", intent="x")["session_id"]
    assert ada.think(task, session_id=session)["session_id"] == session
    ada.does("merkle_finalize", session_id=session)
    error = ada.fails(
        "thought_record", type="plan", task_id=task, agent_id="a", content="x", session_id=session
    )
    assert error["message"].startswith("ERR_SESSION_FINALIZED: ")


@pytest.mark.parametrize(
    "change", [{"type": "gate"}, {"content": ""}, {"agent_id": ""}, {"task_id": ""}]
)
def test_a_thought_that_is_not_valid_is_refused(ada: Speaker, change: dict[str, str]) -> None:
    """Each field has its own fault."""
    said = {"type": "plan", "task_id": "t", "agent_id": "a", "content": "x"}
    error = ada.fails("thought_record", **(said | change))
    assert error["code"] == "INVALID_PARAMS"
    assert [issue["path"] for issue in error["details"]["issues"]] == [list(change)]


def test_a_thought_of_blanks_or_about_nothing_is_refused(ada: Speaker) -> None:
    """Blanks are no argument; what the rules refuse is an error of the tool."""
    said = {"type": "plan", "task_id": ada.task(), "agent_id": "a", "content": " \n"}
    assert ada.fails("thought_record", **said)["code"] == "INVALID_PARAMS"
    error = ada.fails("thought_record", **(said | {"task_id": "none", "content": "x"}))
    assert (error["code"], error["details"]["kind"]) == ("HANDLER_ERROR", "not_found")
    assert ada.ending == "error"


def test_thoughts_are_listed_by_task_session_and_sort(ada: Speaker) -> None:
    """In the order of writing, page by page."""
    one, two = ada.task(), ada.task()
    session = ada.does("audit_session_start", intent="x")["session_id"]
    made = [
        ada.think(one, "plan", session_id=session)["id"],
        ada.think(two)["id"],
        ada.think(one, "decision", session_id=session)["id"],
    ]

    def listed(**asked: Any) -> list[str]:
        found = ada.does("thought_record_list", **asked)
        return [thought["id"] for thought in found["thoughts"]]

    assert listed() == made
    assert listed(task_id=one) == [made[0], made[2]]
    assert listed(session_id=session, type="decision") == [made[2]]
    page = ada.does("thought_record_list", limit=2)
    assert listed(limit=2, cursor=page["next_cursor"]) == [made[2]]
    assert [thought["task_id"] for thought in page["thoughts"]] == [one, two]


def test_a_long_thought_is_cut_where_it_is_shown(ada: Speaker) -> None:
    """Its commitment is of the whole text."""
    task = ada.task()
    told = ada.think(task, content="x" * 20_000)
    assert told["content_cut"]
    assert len(told["content_commitment"]) == 64


def test_chains_are_verified_by_task_by_session_and_altogether(ada: Speaker) -> None:
    """Chains of several tasks are no break; a signed checkpoint comes with each answer."""
    one, two = ada.task(), ada.task()
    session = ada.does("audit_session_start", intent="x")["session_id"]
    ada.think(one)
    ada.think(two, session_id=session)
    ada.think(one, session_id=session)
    assert ada.does("audit_verify_chain")["checkpoint"] == ""
    ada.core.signing.renew()
    for asked, count in (({}, 3), ({"task_id": one}, 2), ({"session_id": session}, 2)):
        found = ada.does("audit_verify_chain", **asked)
        assert (found["valid"], found["record_count"], found["broken_count"]) == (True, count, 0)
        assert "first_broken_at" not in found
        assert "counterpoint/" in found["checkpoint"]
    seal = ada.does("merkle_finalize", session_id=session)
    assert ada.does("audit_verify_chain", session_id=session)["checkpoint"] == seal["checkpoint"]
    for asked in ({"task_id": one, "session_id": session}, {"task_id": "x"}, {"session_id": "x"}):
        assert ada.fails("audit_verify_chain", **asked)["code"] == "HANDLER_ERROR"


def test_a_thought_that_was_changed_is_found(ada: Speaker, workshop: Workshop) -> None:
    """The first broken one is named."""
    task = ada.task()
    ada.think(task)
    broken = ada.think(task)["id"]
    store = workshop.app.store
    from counterpoint.core.model.proofs import Thought

    with store.writing(ada.core.project) as writing:
        writing.change(Thought, {"record": broken}, {"agent": "mallory"})
    found = ada.does("audit_verify_chain", task_id=task)
    assert (found["valid"], found["first_broken_at"]) == (False, broken)
    assert found["broken_count"] == 1
    assert found["faults"]
