"""Verdicts of people on their own work, whichever dialect the work was planned in: they say so, and all who verify count them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest
from anyio.from_thread import start_blocking_portal

from builders import Agent, attested_as
from counterpoint.app import App, Identity
from counterpoint.core.model.filters import ItemFilter
from fakes.terminal import Open, add_key, sign

VERIFIER = Path(__file__).parents[3] / "docs" / "verifier" / "verify.py"

Made = Callable[[str], Agent]


@pytest.fixture
def working(app: App) -> Iterator[Made]:
    """Answer what gives an agent of a dialect in the copy."""
    with ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal())

        def make(surface: str) -> Agent:
            session = app.ports.mint.mint("ses")
            who = Identity(kind="agent", name="eve", session=session, attested=attested_as("eve"))
            return Agent(
                app=app, identity=who, surface=surface, era="2026-07-28", portal=portal, stack=stack
            )

        yield make


def native(agent: Agent) -> str:
    """Plan a task; answer its id."""
    return agent.does("plan", markdown="# Caulk\n- [ ] Caulk it")["items"][-1]["id"]


def symphony(agent: Agent) -> str:
    """Plan a task; answer its id."""
    return agent.does("create_issue", title="Caulk it")["id"]


def agentic(agent: Agent) -> str:
    """Plan a task; answer its id."""
    phases = [{"name": "Hull", "tasks": [{"name": "Caulk it"}]}]
    slug = agent.does("plan_create", title="Caulk", phases=phases)["plan"]["slug"]
    agent.does("plan_update_status", slug=slug, status="active")
    return _caulking(agent)


def workflow(agent: Agent) -> str:
    """Plan a task; answer its id."""
    started = agent.does("start_workflow", name="Caulk", objective="Dry")["workflow_id"]
    phase = agent.does("start_phase", workflow_id=started, number=1, name="Hull")["phase_id"]
    task = agent.does(
        "start_task",
        workflow_id=started,
        phase_id=phase,
        caller_type="orchestrator",
        name="Caulk it",
        goal="Dry",
    )
    return task["task_id"]


def colibri(agent: Agent) -> str:
    """Plan a task; answer its id."""
    return agent.does("task_create", title="Caulk it")["data"]["native_id"]


def foundry(agent: Agent) -> str:
    """Plan a task; answer its id."""
    plan = agent.does("plan", action="create", name="Caulk")["data"]["plan_path"]
    about = {"name": "Caulk", "plan_path": plan, "plan_review_path": plan}
    spec = agent.does("authoring", action="spec-create", **about)["data"]["spec_id"]
    agent.does(
        "authoring",
        action="phase-add-bulk",
        spec_id=spec,
        phase={"title": "Hull"},
        tasks=[{"title": "Caulk it", "description": "Dry.", "type": "task"}],
    )
    return _caulking(agent)


def _caulking(agent: Agent) -> str:
    items = agent.core.overview.items(ItemFilter(), 0, 1_000)
    return [item.id for item in items if item.title == "Caulk it"][-1]


PLANS: Final = (native, symphony, agentic, workflow, colibri, foundry)


def test_each_verdict_on_own_work_is_counted_whatever_dialect_planned_it(
    at: Open, call: Any, working: Made, tmp_path: Path
) -> None:
    """By `audit verify` and `verify`, in words and as JSON, and by the second verifier alike; others' verdicts are not."""
    add_key(at)
    assert sign(at("policy", "--reviews", "self")) == 0
    for count, plan in enumerate(PLANS, start=1):
        id_ = plan(working(plan.__name__))
        if call("show", id_, "--json").json["item"]["status"] == "backlog":
            assert call("edit", id_, "--status", "open").code == 0
        assert call("start", id_, "--reason", "I know how").code == 0
        assert call("submit", id_, "-m", "dry").code == 0
        decide = ("approve",) if count % 2 else ("reject", "--reason", "wet")
        decided = call(decide[0], id_, *decide[1:])
        assert (decided.code, ", self)" in decided.out) == (0, True), (plan, decided)
    assert call("audit", "verify", "--json").json["self_judged"] == len(PLANS)
    bundle = tmp_path / "all.bundle"
    assert call("audit", "export", str(bundle)).code == 0
    assert call("verify", str(bundle), "--json").json["self_judged"] == len(PLANS)
    told = f"{len(PLANS)} verdicts are of people on their own work"
    checked = subprocess.run([sys.executable, VERIFIER, bundle], capture_output=True, check=True)
    texts = (call("audit", "verify").out, call("verify", str(bundle)).out, checked.stdout.decode())
    assert [told in text for text in texts] == [True, True, True]
