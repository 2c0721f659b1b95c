"""Who may have what belongs to somebody else: every line of the table, and what none of them allows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from counterpoint.core.model.access import Actor, Principal, Strength
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.sessions import Session
from counterpoint.core.rules.trust.succession import Asker, Holder, succession
from counterpoint.kernel.clock import Timestamp

NOW = Timestamp("2026-01-02T03:04:05.000Z")
LATER = Timestamp("2026-01-02T03:30:00.000Z")
GRACE = 60.0
SESSION = Session(
    project="demo", id="ses_a", agent="raw", profile="", client="", status="active", continues="",
    started_at=NOW, ended_at="", item="", details=Prose(""), purpose="work", writer="",
    principal="cn_ada", capability="c1", active_at=NOW, entered=0,
)  # fmt: skip
LIVE = Holder(session=SESSION, is_here=True, absence=None, lapses_at=LATER)
AWAY = replace(LIVE, is_here=False)
"""Nobody can tell whether it is there, as after the server was started again."""
PAUSED = replace(LIVE, session=replace(SESSION, status="paused"))


def asker(principal: str = "cn_bob", strength: Strength = "connection", **more: Any) -> Asker:
    """Answer an agent who asks under the same name; attested unless the principal is empty."""
    attested = Principal(strength=strength, id=principal) if principal else None
    return Asker(actor=Actor(kind="agent", name="raw", principal=attested), **more)


def gone(seconds: float) -> Holder:
    """Answer a holder whose connection ended so long ago."""
    return replace(AWAY, absence=seconds)


OWN = asker("cn_ada")
CASES = [
    ("person", Asker(actor=Actor(kind="human", name="pat"), authority="person"), LIVE),
    ("maintainer", asker(authority="maintainer"), LIVE),
    ("capability", asker(capability="c1"), LIVE),
    ("principal", OWN, gone(0)),
    ("principal", replace(OWN, is_naming=True), AWAY),
    ("principal", asker("cn_ada", "credential", is_naming=True), AWAY),
    ("handed_over", asker(is_naming=True), PAUSED),
    ("gone", asker(), gone(GRACE)),
    ("lapsed", asker(), replace(LIVE, lapses_at=NOW)),
    (None, asker(), LIVE),
    (None, Asker(actor=Actor(kind="human", name="an agent's shell")), LIVE),
    (None, asker(), AWAY),
    (None, asker(), gone(GRACE - 0.1)),
    (None, asker(""), AWAY),
    (None, asker(capability="c2"), LIVE),
    (None, asker(is_naming=True), LIVE),
    (None, asker(), PAUSED),
    (None, OWN, LIVE),
    (None, OWN, AWAY),
    (None, replace(OWN, is_naming=True), LIVE),
]


@pytest.mark.parametrize(("reason", "who", "holder"), CASES)
def test_the_first_line_that_holds_is_the_reason(
    reason: str | None, who: Asker, holder: Holder
) -> None:
    """Names are asked for by none of them."""
    assert succession(who, holder, NOW, GRACE) == reason


def test_a_session_without_a_capability_is_nobodys_who_brings_none() -> None:
    """Two empty texts prove nothing."""
    bare = replace(LIVE, session=replace(SESSION, capability=""))
    assert succession(asker(), bare, NOW, GRACE) is None


def test_without_grace_a_connection_that_has_ended_waits_for_nobody() -> None:
    """The setting may be 0; who is still there is left alone all the same."""
    assert succession(asker(), gone(0), NOW, 0) == "gone"
    assert succession(asker(), LIVE, NOW, 0) is None
