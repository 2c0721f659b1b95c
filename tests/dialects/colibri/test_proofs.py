"""The tools for audit sessions, seals and proofs."""

from __future__ import annotations

import pytest

from builders import Workshop
from counterpoint.core.ledger.merkle import verify_consistency, verify_inclusion
from counterpoint.dialects.registry import surface
from counterpoint.settings import Settings
from fakes.speaker import Speaker
from fakes.texts import kept_as


@pytest.fixture
def session(ada: Speaker) -> str:
    """Answer the id of an open session with three thoughts."""
    task = ada.task()
    session = ada.does("audit_session_start", intent="Mend the door", task_id=task)["session_id"]
    for type_ in ("plan", "analysis", "reflection"):
        ada.think(task, type_, session_id=session)
    return session


def test_a_session_starts_with_the_fields_of_the_contract(ada: Speaker) -> None:
    """The task is the caller's word; the id may be chosen."""
    told = ada.does("audit_session_start", intent="Mend", task_id="any word", session_id="s-1")
    assert told == {
        "session_id": "s-1",
        "intent": "Mend",
        "task_id": "any word",
        "started_at": ada.agent.last_entry.time,
    }
    assert ada.does("audit_session_start", intent="Mend")["task_id"] is None


def test_a_session_id_is_used_once(ada: Speaker) -> None:
    """The second one hears ERR_SESSION_EXISTS."""
    ada.does("audit_session_start", intent="x", session_id="s-1")
    error = ada.declines("audit_session_start", intent="y", session_id="s-1")
    assert (error["code"], error["session_id"]) == ("ERR_SESSION_EXISTS", "s-1")


def test_a_session_is_sealed_once_and_read_ever_after(ada: Speaker, session: str) -> None:
    """The root is that of its thoughts; a signed checkpoint comes with it."""
    assert ada.declines("merkle_root", session_id=session)["code"] == "ERR_NOT_FINALIZED"
    seal = ada.does("merkle_finalize", session_id=session)
    assert set(seal) == {"session_id", "root", "record_count", "finalized_at", "checkpoint"}
    assert seal["record_count"] == 3
    assert ada.does("merkle_root", session_id=session) == seal
    code = ada.declines("merkle_finalize", session_id=session)["code"]
    assert code == "ERR_ALREADY_FINALIZED"


def test_a_session_without_thoughts_or_that_is_not_there_cannot_be_sealed(ada: Speaker) -> None:
    """Each has its code."""
    empty = ada.does("audit_session_start", intent="x")["session_id"]
    assert ada.declines("merkle_finalize", session_id=empty)["code"] == "ERR_NO_RECORDS"
    for tool in ("merkle_finalize", "merkle_root", "merkle_verify"):
        assert ada.declines(tool, session_id="none")["code"] == "ERR_SESSION_NOT_FOUND"


def test_each_thought_of_a_sealed_session_can_be_proved(ada: Speaker, session: str) -> None:
    """By its index, the size and the root alone."""
    thoughts = ada.does("thought_record_list", session_id=session)["thoughts"]
    error = ada.declines("merkle_proof", record_id=thoughts[0]["id"])
    assert error["code"] == "ERR_NOT_FINALIZED"
    root = bytes.fromhex(ada.does("merkle_finalize", session_id=session)["root"])
    for index, thought in enumerate(thoughts):
        proof = ada.does("merkle_proof", record_id=thought["id"])
        assert (proof["leaf_index"], proof["leaf_hash"]) == (index, thought["hash"])
        path = tuple(bytes.fromhex(part) for part in proof["path"])
        verify_inclusion(index, 3, bytes.fromhex(thought["hash"]), path, root)
    assert ada.declines("merkle_proof", record_id="none")["code"] == "ERR_SESSION_NOT_FOUND"


def test_a_tree_of_one_size_begins_with_that_of_another(ada: Speaker, session: str) -> None:
    """A size that the session never had is declined."""
    seal = ada.does("merkle_finalize", session_id=session)
    proof = ada.does("merkle_consistency", session_id=session, first_size=2)
    assert (proof["first_size"], proof["tree_size"], proof["root"]) == (2, 3, seal["root"])
    path = tuple(bytes.fromhex(part) for part in proof["path"])
    first, second = bytes.fromhex(proof["first_root"]), bytes.fromhex(proof["root"])
    verify_consistency(2, 3, first, second, path)
    error = ada.declines("merkle_consistency", session_id=session, first_size=2, second_size=9)
    assert error["code"] == "ERR_INVALID_INPUT"


def test_a_sealed_session_is_verified_from_its_thoughts(ada: Speaker, session: str) -> None:
    """The root is made anew."""
    seal = ada.does("merkle_finalize", session_id=session)
    found = ada.does("merkle_verify", session_id=session)
    assert (found["valid"], found["computed_root"], found["computed_count"]) == (
        True, seal["root"], 3
    )  # fmt: skip
    assert (found["faults"], found["broken"]) == ([], [])


def test_sessions_are_listed_with_their_roots(ada: Speaker, session: str) -> None:
    """Those that were abandoned too."""
    given_up = ada.does("audit_session_start", intent="y")["session_id"]
    ended = ada.does("audit_session_abandon", session_id=given_up, reason="lost")
    assert ended["status"] == "failed"
    root = ada.does("merkle_finalize", session_id=session)["root"]
    told = {one["session_id"]: one for one in ada.does("audit_sessions")["sessions"]}
    assert told[session]["root"] == root
    assert (told[given_up]["root"], told[given_up]["status"]) == (None, "failed")
    only = ada.does("audit_sessions", status="failed")["sessions"]
    assert [one["session_id"] for one in only] == [given_up]
    page = ada.does("audit_sessions", limit=1)
    rest = ada.does("audit_sessions", cursor=page["next_cursor"])
    assert {one["session_id"] for one in page["sessions"] + rest["sessions"]} == set(told)


def test_an_ended_session_cannot_be_abandoned(ada: Speaker, session: str) -> None:
    """A seal is for good."""
    ada.does("merkle_finalize", session_id=session)
    error = ada.declines("audit_session_abandon", session_id=session, reason="x")
    assert error["code"] == "ERR_SESSION_ENDED"
    error = ada.declines("audit_session_abandon", session_id=session, reason=" ")
    assert error["code"] == "ERR_INVALID_INPUT"


def test_the_tools_for_proofs_are_offered_only_if_asked_for() -> None:
    """The contract's fourteen are there always."""
    fourteen = surface("colibri").tools
    assert len(fourteen) == 14
    more = surface("colibri", Settings(proofs="1")).tools
    assert more[:14] == fourteen
    assert [tool.name for tool in more[14:]] == [
        *("merkle_proof", "merkle_consistency", "merkle_verify", "audit_sessions"),
        *("audit_session_abandon", "audit_actions", "skill_get"),
    ]


def test_a_session_whose_words_were_taken_away_is_still_listed(
    ada: Speaker, workshop: Workshop
) -> None:
    """Its intent is gone, and nothing else of it."""
    session = ada.does("audit_session_start", intent="A secret")["session_id"]
    store, project = workshop.app.store, ada.core.project
    with store.writing(project) as writing:
        writing.forget([kept_as(writing, ada.core.sessions.get(session).session.details)])
    [told] = ada.does("audit_sessions")["sessions"]
    assert (told["session_id"], told["intent"]) == (session, None)
