"""Audited sittings: opened by word, sealed or given up."""

from __future__ import annotations

from typing import Any

import pytest

from counterpoint.core.model.drafts import Draft
from counterpoint.dialects.colibri.verbs.seals import Seals
from counterpoint.dialects.colibri.verbs.sessions import AuditSessions, unsealed
from counterpoint.dialects.colibri.verbs.thoughts import Thoughts
from counterpoint.kernel.errors import Conflict, InvalidInput, NotFound, SessionEnded


def test_a_sitting_opens_with_an_intent(ada: Any) -> None:
    """It may be about an item, or about a word that is none."""
    item = ada.plans.create(Draft(kind="task", title="x")).root.id
    opened = ada.use(AuditSessions).open("Mend it", task="nothing", session="mine")
    assert (opened.id, opened.item, opened.status) == ("mine", "", "active")
    assert ada.use(AuditSessions).get("mine") == opened
    assert ada.use(AuditSessions).open("Mend it", task=item).item == item
    assert ada.use(AuditSessions).open("Mend it").item == ""


@pytest.mark.parametrize(("intent", "session"), [(" ", ""), ("x", "s" * 201)])
def test_a_sitting_that_is_not_valid_is_refused(ada: Any, intent: str, session: str) -> None:
    """Without an intent, or with a name that is too long."""
    with pytest.raises(InvalidInput):
        ada.use(AuditSessions).open(intent, session=session)


def test_a_name_is_taken_once(ada: Any) -> None:
    """Also the id of a session that nobody opened by word."""
    ada.use(AuditSessions).open("x", session="mine")
    with pytest.raises(Conflict):
        ada.use(AuditSessions).open("y", session="mine")
    with pytest.raises(NotFound):
        ada.use(AuditSessions).get("none")


def test_sittings_are_listed_from_where_one_was(ada: Any) -> None:
    """The oldest first, or only those in one state."""
    for name in "abc":
        ada.use(AuditSessions).open("x", session=name)
    ada.use(AuditSessions).abandon("b", "lost")
    first = ada.use(AuditSessions).list(limit=1)[0]
    rest = ada.use(AuditSessions).list(after=(first.started_at, first.id))
    assert [first.id, *(one.id for one in rest)] == ["a", "b", "c"]
    assert [one.id for one in ada.use(AuditSessions).list(status="failed")] == ["b"]


def test_an_abandoned_sitting_accepts_no_more_and_holds_nothing(studio: Any, ada: Any) -> None:
    """What it had claimed is free again; only a reason ends it."""
    item = ada.plans.create(Draft(kind="task", title="x")).root.id
    ada.use(AuditSessions).open("x", session="mine")
    inside = ada.speaking("mine")
    inside.claims.start(item)
    with pytest.raises(InvalidInput):
        ada.use(AuditSessions).abandon("mine", " ")
    assert ada.use(AuditSessions).abandon("mine", "lost").status == "failed"
    assert ada.items.get(item).status == "open"
    with pytest.raises(SessionEnded):
        inside.use(Thoughts).think("plan", "x", task=item)
    with pytest.raises(SessionEnded):
        ada.use(AuditSessions).abandon("mine", "again")


def test_only_sittings_that_are_open_wait_for_a_seal(studio: Any, ada: Any) -> None:
    """A session that a write opened by itself is none."""
    item = ada.plans.create(Draft(kind="task", title="x")).root.id
    for name in "ab":
        ada.use(AuditSessions).open("x", session=name)
        ada.speaking(name).use(Thoughts).think("plan", "x", task=item)
    ada.use(Seals).seal("a")
    with studio.view() as view:
        assert [one.id for one in unsealed(view)] == ["b"]
    assert ada.use(Thoughts).verify_session("b").size == 1
    with pytest.raises(NotFound):
        ada.use(Thoughts).verify_session("none")
