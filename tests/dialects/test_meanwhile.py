"""A holder hears what others did with its work meanwhile, with what comes next, in every dialect that says what one is at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from builders import Agent, Workshop
from counterpoint.app import Identity
from counterpoint.core.model.filters import Edit

PLAN = "# Mill\n## Wheel\n- [ ] Hew the wheel\n- [ ] Look at it\n## Roof\n- [ ] Roof it"
MILL, WHEEL, ROOF, HEW, LOOK = (f"demo-{number}" for number in range(1, 6))
STAYS = "What you changed stays in the tree"


def given_up(workshop: Workshop, item: str) -> None:
    workshop.app.person().items.edit(item, Edit(status="cancelled", reason="no water"))


def cancelled_itself(workshop: Workshop) -> None:
    given_up(workshop, HEW)


def cancelled_phase(workshop: Workshop) -> None:
    given_up(workshop, WHEEL)


def cancelled_whole(workshop: Workshop) -> None:
    given_up(workshop, MILL)


def taken_over(workshop: Workshop) -> None:
    session = workshop.app.ports.mint.mint("ses")
    person = Identity(kind="human", name="Tests", session=session)
    workshop.app.core(person).claims.start(HEW, reason="it is mine")


def released(workshop: Workshop) -> None:
    workshop.app.person().claims.release(HEW)


def reworded(workshop: Workshop) -> None:
    workshop.app.person().items.edit(HEW, Edit(title="Hew two wheels", body="Of elm"))


def moved(workshop: Workshop) -> None:
    workshop.app.person().items.edit(HEW, Edit(parent=ROOF))


def made_to_wait(workshop: Workshop) -> None:
    workshop.app.person().items.edit(HEW, Edit(add_needs=(LOOK,)))


ENDED = [
    (cancelled_itself, "given_up", "Tests cancelled demo-4 at", STAYS),
    (cancelled_phase, "given_up", "Tests cancelled demo-2 at", STAYS),
    (cancelled_whole, "given_up", "Tests cancelled demo-1 at", STAYS),
    (taken_over, "taken_over", "demo-4 is now held by Tests", STAYS),
    (released, "released", "Tests released demo-4 at", "take"),
]
CHANGED = [
    (reworded, "Tests changed description, title of demo-4"),
    (moved, "Tests changed parent of demo-4"),
    (made_to_wait, "Tests changed what it waits for of demo-4"),
]


@pytest.fixture
def bob(workshop: Workshop) -> Agent:
    """Give an agent that holds a task below a phase of a plan."""
    agent = workshop.agent("bob")
    workshop.agent("ann").does("plan", markdown=PLAN)
    agent.does("start", id=HEW)
    workshop.clock.pass_by(seconds=10)
    return agent


def _is_told(entries: list[Any], what: str, text: str, hint: str) -> bool:
    return any(
        entry["what"] == what and text in entry["text"] and hint in entry["hint"]
        for entry in entries
    )


@pytest.mark.parametrize(("act", "what", "text", "hint"), ENDED)
def test_what_ended_a_claim_is_told_with_what_comes_next(
    workshop: Workshop, bob: Agent, act: Callable[[Workshop], None], what: str, text: str, hint: str
) -> None:
    """In `brief` (a release as before), in `next` and with a note; the tool of what comes next is named."""
    assert "meanwhile" not in bob.does("brief")
    assert "meanwhile" not in bob.does("next")
    act(workshop)
    brief = bob.does("brief")
    if what == "released":
        assert [entry["item"] for entry in brief["released"]] == [HEW]
    else:
        assert _is_told(brief["meanwhile"], what, text, hint)
    for answer in (bob.does("next"), bob.does("note", kind="comment", text="it creaks", id=HEW)):
        assert _is_told(answer["meanwhile"], what, text, hint)
        assert "`next`" in answer["meanwhile"][0]["hint"]
    assert "meanwhile" not in workshop.agent("ann").does("next")


@pytest.mark.parametrize(("act", "text"), CHANGED)
def test_a_holder_hears_that_its_task_is_another_now(
    workshop: Workshop, bob: Agent, act: Callable[[Workshop], None], text: str
) -> None:
    """Which parts of it, by whom and when; it goes on."""
    assert "meanwhile" not in bob.does("brief")
    act(workshop)
    (entry,) = bob.does("brief")["meanwhile"]
    assert (entry["what"], text in entry["text"]) == ("changed", True)
    assert "Read it again" in entry["hint"]
    assert bob.does("brief")["claims"][0]["item"] == HEW


def test_what_one_ended_oneself_is_no_news(workshop: Workshop, bob: Agent) -> None:
    """Neither what was given up by its holder, nor what it changed."""
    token = bob.does("brief")["claims"][0]["token"]
    bob.does("edit", id=HEW, title="Hew it")
    assert "meanwhile" not in bob.does("brief")
    bob.does("finish", id=HEW, token=token, outcome="skipped", summary="no water")
    assert "meanwhile" not in bob.does("next")


def _symphony(workshop: Workshop) -> tuple[Agent, str, Callable[[], Any]]:
    maker = workshop.agent("eve", surface="symphony")
    issue = maker.does("create_issue", title="Hew")["id"]
    maker.core.items.edit(issue, Edit(status="open"))
    agent = workshop.agent("eve", surface="symphony", item=issue)
    agent.core.claims.start(issue)
    return agent, issue, lambda: agent.does("get_issue")


def _agentic(workshop: Workshop) -> tuple[Agent, str, Callable[[], Any]]:
    agent = workshop.agent("eve", surface="agentic")
    phases = [{"name": "Wheel", "tasks": [{"name": "Hew"}]}]
    slug = agent.does("plan_create", title="Mill", phases=phases)["plan"]["slug"]
    agent.does("plan_update_status", slug=slug, status="active")
    about = {"plan_slug": slug, "phase_order": 1, "task_identifier": 0}
    agent.does("task_update", **about, status="in_progress")
    return agent, agent.core.overview.held()[0].item.id, lambda: agent.does("session_list")


def _workflow(workshop: Workshop) -> tuple[Agent, str, Callable[[], Any]]:
    agent = workshop.agent("eve", surface="workflow")
    mill = agent.does("start_workflow", name="Mill", objective="Grind")["workflow_id"]
    phase = agent.does("start_phase", workflow_id=mill, number=1, name="Wheel")["phase_id"]
    about = {"workflow_id": mill, "phase_id": phase, "caller_type": "orchestrator"}
    task = agent.does("start_task", **about, name="Hew", goal="A wheel")["task_id"]
    return agent, task, lambda: agent.does("get_context", workflow_id=mill, include=["tasks"])


def _foundry(workshop: Workshop) -> tuple[Agent, str, Callable[[], Any]]:
    agent = workshop.agent("eve", surface="foundry")
    plan = agent.does("plan", action="create", name="Mill")["data"]["plan_path"]
    about = {"name": "Mill", "plan_path": plan, "plan_review_path": plan}
    spec = agent.does("authoring", action="spec-create", **about)["data"]["spec_id"]
    tasks = [{"title": "Hew", "description": "A wheel.", "type": "task"}]
    phase = {"phase": {"title": "Wheel"}, "tasks": tasks}
    agent.does("authoring", action="phase-add-bulk", spec_id=spec, **phase)
    task = agent.does("task", action="next", spec_id=spec)["data"]["task_id"]
    agent.does("task", action="start", spec_id=spec, task_id=task)
    held = agent.core.overview.held()[0].item.id
    return agent, held, lambda: agent.does("task", action="next", spec_id=spec)["data"]


@pytest.mark.parametrize("begin", [_symphony, _agentic, _workflow, _foundry])
def test_each_dialect_tells_its_holder(workshop: Workshop, begin: Any) -> None:
    """Where it offers what the caller is at, that this is another now, and that somebody gave it up."""
    agent, item, read = begin(workshop)
    workshop.clock.pass_by(seconds=10)
    assert "meanwhile" not in read()
    person = workshop.app.person()
    person.items.edit(item, Edit(title="Hew two wheels"))
    assert _is_told(read()["meanwhile"], "changed", "Tests changed title", "Read it again")
    whole = person.items.get(item).parent or item
    person.items.edit(whole, Edit(status="cancelled", reason="no water"))
    is_held = bool(agent.core.overview.held())
    hint = "still wanted" if is_held else STAYS
    assert _is_told(read()["meanwhile"], "given_up", f"Tests cancelled {whole}", hint)


def _write(agent: Agent, begin: Any, item: str) -> Any:
    """Write a note of the dialect about the work that the agent held."""
    if begin is _symphony:
        return agent.does("add_comment", content="it creaks")
    if begin is _agentic:
        return agent.does("session_log", message="it creaks")
    if begin is _workflow:
        return agent.does("log_milestone", task_id=item, message="it creaks")
    (spec,) = agent.does("spec", action="list")["data"]["specs"]
    about = {"spec_id": spec["spec_id"], "title": "Hew", "content": "it creaks"}
    return agent.does("journal", action="add", **about)["data"]


@pytest.mark.parametrize("begin", [_symphony, _agentic, _workflow, _foundry])
def test_a_note_of_each_dialect_tells_that_its_task_was_taken(
    workshop: Workshop, begin: Any
) -> None:
    """It tells nothing while the claim is held."""
    agent, item, _ = begin(workshop)
    if begin is _agentic:
        (plan,) = agent.does("plan_list")["plans"]
        agent.does("session_start", agent_type="opus", plan_slug=plan["slug"])
    workshop.clock.pass_by(seconds=10)
    assert "meanwhile" not in _write(agent, begin, item)
    workshop.app.person().claims.release(item)
    answer = _write(agent, begin, item)
    assert _is_told(answer["meanwhile"], "released", f"Tests released {item}", "")
    assert answer["note"]


@pytest.mark.parametrize("action", ["next", "prepare"])
def test_foundry_tells_of_a_lost_task_also_where_it_offers_one(
    workshop: Workshop, action: str
) -> None:
    agent, item, _ = _foundry(workshop)
    (spec,) = agent.does("spec", action="list")["data"]["specs"]
    workshop.clock.pass_by(seconds=10)
    workshop.app.person().claims.release(item)
    answer = agent.does("task", action=action, spec_id=spec["spec_id"])["data"]
    assert answer["task_id"]
    assert _is_told(answer["meanwhile"], "released", f"Tests released {item}", "")
