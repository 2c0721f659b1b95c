"""Audit sessions: opened with an intent, sealed or given up."""

from __future__ import annotations

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.drafts import Draft
from counterpoint.dialects.colibri.verbs.actions import Health
from counterpoint.dialects.colibri.verbs.seals import AuditSessions, Seals
from counterpoint.dialects.colibri.verbs.thoughts import Thoughts
from counterpoint.kernel.errors import InvalidInput, NotFound


def test_an_audit_session_opens_with_an_intent(ada: Core) -> None:
    """It may be about an item, or about a word that is none."""
    item = ada.plans.create(Draft(kind="task", title="x")).root.id
    opened = ada.use(AuditSessions).open("Mend it", task="nothing", session="mine")
    assert (opened.id, opened.item, opened.status) == ("mine", "", "active")
    assert ada.sessions.get("mine").session == opened
    assert ada.use(AuditSessions).open("Mend it", task=item).item == item
    assert ada.use(AuditSessions).open("Mend it").item == ""


@pytest.mark.parametrize(("intent", "session"), [(" ", ""), ("x", "s" * 201)])
def test_an_audit_session_that_is_not_valid_is_refused(
    ada: Core, intent: str, session: str
) -> None:
    """Without an intent, or with a name that is too long."""
    with pytest.raises(InvalidInput):
        ada.use(AuditSessions).open(intent, session=session)


def test_only_audit_sessions_that_are_open_wait_for_a_seal(ada: Core) -> None:
    item = ada.plans.create(Draft(kind="task", title="x")).root.id
    for name in "abc":
        ada.use(AuditSessions).open("x", session=name)
        ada.in_session(name).use(Thoughts).think("plan", "x", task=item)
    ada.use(Seals).seal("a")
    ada.sessions.abandon("c", "lost")
    assert ada.use(Health).look().unsealed == 1
    assert ada.use(Thoughts).verify_session("b").size == 1
    with pytest.raises(NotFound):
        ada.use(Thoughts).verify_session("none")
