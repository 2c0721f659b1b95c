"""`counterpoint plans prune` and `counterpoint sessions sweep`."""

from __future__ import annotations

import json

import pytest

from counterpoint.app import Identity
from counterpoint.core.model.drafts import Draft
from counterpoint.dialects.agentic.verbs.plans import Planning
from counterpoint.dialects.agentic.verbs.sessions import PlanSessions
from counterpoint.kernel.clock import SystemClock, later


@pytest.fixture
def shelved(app) -> str:
    """Give the id of a plan that was archived at once."""
    core = app.person()
    line = core.use(Planning).open(Draft(kind="plan", title="Old", body="words of old"), "old")
    core.use(Planning).move("old", "archived", "over")
    return line.item.id


def test_pruning_only_says_what_would_go(call, app, shelved):
    """Until it is told yes; a second time nothing is left."""
    said = call("plans", "prune", "--older-than", "0")
    assert said.code == 0
    assert said.out.splitlines()[-1] == "Would prune 1 plan archived more than 0 days ago."
    assert "--yes" in said.err
    assert app.person().items.get(shelved).body == "words of old"
    told = json.loads(call("plans", "prune", "--older-than", "0", "--yes", "--json").out)
    assert told["pruned"] is True
    assert [(one["slug"], one["id"]) for one in told["plans"]] == [("old", shelved)]
    assert app.person().items.get(shelved).body == "[redacted]"
    assert call("plans", "prune", "--older-than", "0", "--yes").out == (
        "Pruned 0 plans archived more than 0 days ago.\n"
    )
    assert call("audit", "verify").code == 0


def test_young_plans_stay(call, shelved):
    """Ninety days are the usual time."""
    assert "Would prune 0 plans archived more than 90 days" in call("plans", "prune").out
    assert call("plans", "prune", "--older-than", "-1").code == 2


def test_sessions_that_nobody_ended_are_swept(call, app, monkeypatch):
    """And named; a second time there is none."""
    agent = Identity(kind="agent", name="ada", session="ses_" + "a" * 26)
    opened = app.core(agent).use(PlanSessions).open("opus").id
    assert json.loads(call("sessions", "sweep", "--json").out) == {"ended": []}
    days_later = later(SystemClock().now(), 2 * 86_400)
    monkeypatch.setattr(SystemClock, "now", lambda _: days_later)
    said = call("sessions", "sweep").out.splitlines()
    assert said[0].startswith(f"{opened}  ada  since ")
    assert said[1] == "Ended 1 sessions."
    assert json.loads(call("sessions", "sweep", "--json").out) == {"ended": []}
