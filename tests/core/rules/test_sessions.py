"""Sessions: who may write in one, and its history from entries alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from counterpoint.core.model.access import Actor, Principal
from counterpoint.core.model.rows import REDACTED, Prose, columns
from counterpoint.core.model.sessions import Handoff, HistoryEntry, Session
from counterpoint.core.rules.sessions import history, may_write
from counterpoint.kernel.clock import Timestamp

SESSION = Session(
    project="demo", id="ses_a", agent="ada", profile="", client="", status="active",
    continues="", started_at=Timestamp("2026-01-02T03:00:00.000Z"), ended_at="", item="",
    details=Prose(""), purpose="work", writer="", principal="cn_ada", capability="c1",
    active_at=Timestamp("2026-01-02T03:00:00.000Z"), entered=0,
)  # fmt: skip


def entry(sequence: int, *rows: Any, session: str = "ses_a", **parts: Any) -> HistoryEntry:
    """Answer an entry that was written in a session."""
    given = {"action": "note.taken", "subject": "demo-1", "agent": "ada"} | parts
    return HistoryEntry(sequence=sequence, time=f"t{sequence}", session=session, rows=rows, **given)


def agent(name: str, principal: str = "") -> Actor:
    """Answer an agent, attested by a principal if there is one."""
    attested = Principal(strength="connection", id=principal) if principal else None
    return Actor(kind="agent", name=name, session="", principal=attested)


def test_in_a_session_writes_the_principal_that_it_belongs_to_and_no_name() -> None:
    """A person and the system may write in any."""
    assert may_write(SESSION, agent("whoever", "cn_ada"))
    assert not may_write(SESSION, agent("ada", "cn_bob"))
    assert may_write(replace(SESSION, principal="cn_bob"), agent("ada", "cn_bob"))
    assert may_write(SESSION, Actor(kind="human", name="eve", session=""))


def test_who_is_not_attested_brings_the_capability_of_the_session() -> None:
    """His name proves nothing; who is attested may bring it too, and then was started again."""
    own = replace(SESSION, principal="?ada")
    assert may_write(own, agent("ada"), "c1")
    assert not may_write(own, agent("ada"))
    assert not may_write(own, agent("ada"), "c2")
    assert may_write(SESSION, agent("ada", "cn_bob"), "c1")
    bare = replace(own, capability="")
    assert may_write(bare, agent("ada"))
    assert not may_write(bare, agent("bob"))
    assert not may_write(bare, agent("ada"), "c1")


def test_those_who_share_a_credential_have_sessions_of_their_own() -> None:
    """As clients over HTTP with one token: the capability tells them apart."""
    principal = Principal(strength="credential", id="cn_ada")
    shared = Actor(kind="agent", name="ada", session="", principal=principal)
    assert may_write(SESSION, shared, "c1")
    assert not may_write(SESSION, shared, "c2")
    assert may_write(replace(SESSION, capability=""), shared)


def test_a_history_is_folded_from_entries_alone() -> None:
    """A record is an activity of its kind; an entry without one is an action; others' are neither."""
    record = {"kind": "log", "session": "ses_a", "item": "demo-1", "body": "did", "details": ""}
    found = history(
        "ses_a",
        [
            entry(3, ("sessions", {"id": "ses_a"}, {"status": "active", "details": '{"n":1}'})),
            entry(4, ("records", {"id": "demo-r1"}, record)),
            entry(
                5, ("records", {"id": "demo-r2"}, record | {"session": "ses_b"}), session="ses_b"
            ),
            entry(6, ("sessions", {"id": "ses_a"}, {"status": "paused"}), action="session.paused"),
        ],
        str,
    )
    told = [(one.sequence, one.type, one.message) for one in found.activities]
    assert told == [(3, "action", "note.taken"), (4, "log", "did"), (6, "action", "session.paused")]
    assert [one.sequence for one in found.log] == [4]
    assert (found.session, found.details, found.sequence) == ({"status": "paused"}, {"n": 1}, 6)


def test_every_text_of_a_handoff_is_read_and_every_list_of_texts_is_a_list() -> None:
    """Whatever the noun says is kept as text; what was redacted stays its mark."""
    texts = {column.name: column.sort for column in columns(Handoff) if column.is_prose}
    row = {**dict.fromkeys(texts, "kept"), "session": "ses_a", "action": "pause", "id": "demo-h1"}
    image = ("handoffs", {"id": "demo-h1"}, row)
    found = history("ses_a", [entry(3, image)], lambda _: '["a"]').handoff
    assert {name: found[name] for name in texts} == {
        name: ["a"] if sort == "proses" else '["a"]' for name, sort in texts.items()
    }
    gone = history("ses_a", [entry(3, image)], lambda _: REDACTED).handoff
    assert {gone[name] for name in texts} == {REDACTED}
