"""What happens in workflows, as events: each once, in order, also for other dialects' work."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Agent, Workshop
from counterpoint.core.model.filters import Edit, Note
from counterpoint.core.model.journal import Outcome, Record
from counterpoint.core.model.work import Attribute, Item
from counterpoint.dialects.call import Call
from counterpoint.dialects.workflow.events import tell


@pytest.fixture
def lead(workshop: Workshop) -> Agent:
    """Give an orchestrator."""
    return workshop.agent("lead", surface="workflow")


@pytest.fixture
def hear(workshop: Workshop) -> Any:
    """Give what hears the events since it was last asked."""
    call = Call(core=workshop.agent("ear").core, secret=bytes)
    place, _ = tell(call, None, 100, 0)

    def parse() -> list[Any]:
        nonlocal place
        place, events = tell(call, place, 1000, 0)
        return events

    return parse


@pytest.fixture
def flow(lead: Agent) -> dict[str, str]:
    """Give a workflow with a phase; answer the ids."""
    workflow = lead.does("start_workflow", name="Ship", objective="It floats")["workflow_id"]
    phase = lead.does("start_phase", workflow_id=workflow, number=1, name="Hull")["phase_id"]
    return {"workflow_id": workflow, "phase_id": phase}


def begin(agent: Any, flow: dict[str, str], **more: Any) -> str:
    """Start a task and answer its id."""
    words = {"caller_type": "subagent", "agent_name": "ada", "name": "Caulk", "goal": "Dry"}
    return agent.does("start_task", **flow, **{**words, **more})["task_id"]


def end(agent: Any, task: str, status: str = "success") -> dict[str, Any]:
    """Complete a task."""
    return agent.does(
        "complete_task", task_id=task, status=status, outcome={"summary": "It is dry"}
    )


def names(events: list[Any]) -> list[str]:
    """Answer the names of events."""
    return [event.name for event in events]


def test_every_call_of_the_two_protocols_is_told_as_the_seed_says(lead, hear):
    """Each event once, in the order of the calls; what is only asked for tells nothing."""
    told: list[tuple[str, list[str]]] = []

    def did(tool: str, **arguments: Any) -> dict[str, Any]:
        answer = lead.does(tool, **arguments)
        told.append((tool, names(hear())))
        return answer

    workflow = did("start_workflow", name="Ship", objective="It floats")["workflow_id"]
    opening = {"workflow_id": workflow, "number": 1, "name": "Hull"}
    phase = did("start_phase", **opening)["phase_id"]
    did("start_phase", **opening)
    words = {"caller_type": "subagent", "agent_name": "ada", "name": "Caulk", "goal": "Dry"}
    task = did("start_task", workflow_id=workflow, phase_id=phase, **words)["task_id"]
    chosen = {"question": "What?", "chosen": "Tar", "reasoning": "Dry"}
    did("log_decision", task_id=task, category="trade_off", **chosen)
    did("log_issue", task_id=task, type="other", description="Cold", resolution="Wait")
    did("log_milestone", task_id=task, message="Half", progress=50)
    did("get_context", workflow_id=workflow, include=["tasks"])
    did("complete_task", task_id=task, status="success", outcome={"summary": "Dry"})
    did("complete_phase", phase_id=phase, status="completed")
    did("complete_workflow", workflow_id=workflow, status="completed", summary="It floats")
    did("complete_workflow", workflow_id=workflow, status="completed", summary="It floats")
    assert told == [
        ("start_workflow", ["workflow:created"]),
        ("start_phase", ["phase:created", "workflow:updated"]),
        ("start_phase", []),
        ("start_task", ["task:created"]),
        ("log_decision", ["decision:created"]),
        ("log_issue", ["issue:created"]),
        ("log_milestone", ["milestone:created"]),
        ("get_context", []),
        ("complete_task", ["task:updated"]),
        ("complete_phase", ["phase:updated", "workflow:updated"]),
        ("complete_workflow", ["workflow:updated"]),
        ("complete_workflow", []),
    ]


def test_a_workflow_is_told_in_the_words_of_the_seed(lead, flow, hear):
    """While it goes on, and with what it ended with."""
    hear()
    lead.does("start_phase", workflow_id=flow["workflow_id"], number=2, name="Mast")
    _, event = hear()
    told = event.data["workflow"]
    assert event.data["workflow_id"] == told["workflow_id"] == flow["workflow_id"]
    assert told | {"created_at": ""} == {
        "workflow_id": flow["workflow_id"], "name": "Ship", "objective": "It floats",
        "status": "IN_PROGRESS", "profile": "STANDARD", "total_phases": 3, "current_phase": 1,
        "created_at": "", "completed_at": None,
    }  # fmt: skip
    words = {"summary": "Sunk", "achievements": ["Wet"], "limitations": ["No mast"]}
    lead.does("complete_workflow", workflow_id=flow["workflow_id"], status="partial", **words)
    told = next(event for event in hear() if "workflow" in event.data).data["workflow"]
    assert told["status"] == "PARTIAL"
    assert told["completed_at"]
    assert {name: told[name] for name in words} == words
    assert told["metrics"]["total_phases"] == 2


def test_phases_and_tasks_are_told_as_get_context_lists_them(lead, flow, hear):
    """So that whoever shows them needs one way to read them."""
    task = begin(lead, flow)
    end(lead, task)
    ended = hear()[-1]
    lead.does("complete_phase", phase_id=flow["phase_id"], status="failed")
    phase = hear()[0]
    listed = lead.does(
        "get_context", workflow_id=flow["workflow_id"], include=["tasks", "phase_summary"]
    )
    assert ended.data == {**flow, "task_id": task, "task": listed["tasks"][0]}
    assert ended.data["task"]["summary"] == "It is dry"
    assert ended.data["task"]["verification"]["scope_match"] is True
    assert phase.data == {**flow, "phase": listed["phase_summary"][0]}


def test_an_event_tells_the_state_that_it_left_also_when_it_is_heard_late(
    workshop, lead, flow, hear
):
    """A begin that is heard after the end is a begin all the same."""
    hear()
    task = begin(lead, flow)
    workshop.clock.pass_by(minutes=2)
    end(lead, task, "failed")
    begun, ended = hear()
    assert (begun.name, begun.data["task"]["status"]) == ("task:created", "IN_PROGRESS")
    assert begun.data["task"]["agent_name"] == "ada"
    assert begun.data["task"]["duration_seconds"] is None
    assert "summary" not in begun.data["task"]
    assert (ended.data["task"]["status"], ended.data["task"]["duration_seconds"]) == ("FAILED", 120)


def test_what_is_logged_is_told_whole(lead, flow, hear):
    """As its list shows it, an issue with its text and whether a person must look."""
    task = begin(lead, flow)
    hear()
    chosen = {"question": "What?", "chosen": "Tar", "reasoning": "Dry"}
    made = lead.does("log_decision", task_id=task, category="trade_off", **chosen)
    lead.does("log_milestone", task_id=task, message="Half", progress=50)
    words = {"type": "bug_encountered", "description": "A hole", "resolution": "Plug it"}
    lead.does("log_issue", task_id=task, **words)
    lead.does("log_issue", task_id=task, **words, requires_human_review=True)
    decision, milestone, issue, blocker = hear()
    place = {**flow, "task_id": task}
    assert {name: decision.data[name] for name in place} == place
    assert decision.data["decision"]["id"] == made["decision_id"]
    assert decision.data["decision"]["category"] == "TRADE_OFF"
    assert (milestone.data["milestone"]["message"], milestone.data["milestone"]["progress"]) == (
        "Half", 50,
    )  # fmt: skip
    for event, is_blocker in ((issue, False), (blocker, True)):
        told = event.data["issue"]
        assert (told["type"], told["description"], told["resolution"]) == (
            "BUG",
            "A hole",
            "Plug it",
        )
        assert told["requires_human_review"] is is_blocker


def test_a_blocker_that_is_resolved_is_news_of_its_workflow(workshop, lead, flow, hear):
    """By whomever, in whatever dialect."""
    task = begin(lead, flow)
    words = {"type": "other", "description": "A hole", "resolution": "Plug it"}
    blocker = lead.does("log_issue", task_id=task, **words, requires_human_review=True)["issue_id"]
    hear()
    workshop.agent("pat").core.journal.resolve(blocker, "Plugged")
    (event,) = hear()
    assert (event.name, event.data["resolved_issue_id"]) == ("workflow:updated", blocker)


def test_a_blocker_of_a_task_that_has_ended_is_about_that_task(lead, flow, hear):
    """It stands in the way of the phase, and is found by the ids of both."""
    task = begin(lead, flow)
    end(lead, task)
    hear()
    words = {"type": "other", "description": "A hole", "resolution": "Plug it"}
    lead.does("log_issue", task_id=task, **words, requires_human_review=True)
    (event,) = hear()
    assert event.data["task_id"] == event.data["issue"]["task_id"] == task
    assert set(event.subjects) == {*flow.values(), task}


def test_an_entry_that_names_no_task_there_is_is_about_what_it_hangs_on(lead, flow, hear):
    """Whoever wrote it, in whatever dialect."""
    hear()
    details = {"task": "demo-99", "question": "What?"}
    item = flow["phase_id"]
    lead.core.journal.append(Note(kind="decision", body="Tar", item=item, details=details))
    (event,) = hear()
    assert event.subjects == tuple(flow.values())
    assert event.data["decision"]["question"] == "What?"
    assert "task_id" not in event.data


def test_an_event_is_found_by_its_workflow_its_phase_and_every_task_above(lead, flow, hear):
    """And by no other id."""
    outer = begin(lead, flow)
    inner = begin(lead, flow, parent_task_id=outer)
    other = lead.does("start_workflow", name="Raft", objective="It floats")["workflow_id"]
    *_, nested, last = hear()
    assert nested.subjects == (*flow.values(), outer, inner)
    assert nested.data["task"]["parent_task_id"] == outer
    assert last.subjects == (other,)


def test_work_of_other_dialects_below_a_workflow_is_told_too(workshop, lead, flow, hear):
    """Planned, claimed, edited and finished by a native agent."""
    bob = workshop.agent("bob")
    hear()
    made = bob.does("plan", markdown="# More\n## Mast\n- [ ] Step it", parent=flow["workflow_id"])
    task = next(item["id"] for item in made["items"] if item["title"] == "Step it")
    assert sorted(names(hear())) == ["phase:created", "task:created", "workflow:updated"]
    token = bob.does("start", id=task)["claim"]["token"]
    begun = hear()
    assert names(begun) == ["task:updated", "phase:updated", "workflow:updated"]
    assert begun[0].data["task"]["agent_name"] == "bob"
    bob.does("note", kind="finding", title="Wood", text="It is oak", id=task, token=token)
    (found,) = hear()
    assert (found.name, found.data["issue"]["description"]) == ("issue:created", "It is oak")
    bob.does("finish", id=task, token=token, outcome="done", summary="It stands")
    ended = hear()
    assert names(ended) == ["task:updated", "phase:updated", "workflow:updated"]
    assert ended[0].data["task"]["status"] == "SUCCESS"
    assert ended[1].data["phase"]["status"] == "COMPLETED"


def test_work_that_is_no_workflow_is_not_told(workshop, lead, flow, hear):
    """Nor what has no place in one."""
    bob = workshop.agent("bob")
    hear()
    made = bob.does("plan", markdown="# Plan\n## Phase\n- [ ] Task")
    bob.does("note", kind="decision", title="Tar", text="Tar", id=made["items"][0]["id"])
    bob.does("note", kind="decision", title="Tar", text="Tar")
    assert hear() == []


def test_accounts_of_the_core_are_no_news(lead, flow, hear, workshop):
    """A comment, a renewed lease, a priority."""
    task = begin(lead, flow)
    hear()
    lead.core.journal.append(Note(kind="comment", body="Ahoy", item=task))
    lead.core.items.edit(task, Edit(priority=1))
    assert hear() == []
    lead.core.items.edit(task, Edit(title="Tar"))
    (event,) = hear()
    assert (event.name, event.data["task"]["name"]) == ("task:updated", "Tar")


def test_what_was_redacted_is_passed_over_in_silence(workshop, lead, flow, hear):
    """The events are still there, each in its place, without the words; nobody is held up by them."""
    task = begin(lead, flow)
    chosen = {"question": "What?", "chosen": "Tar", "reasoning": "Dry"}
    made = lead.does("log_decision", task_id=task, category="trade_off", **chosen)
    end(lead, task)
    lead.does("complete_workflow", workflow_id=flow["workflow_id"], status="failed", summary="No")
    redact = workshop.app.person().erasing.of_row
    with workshop.app.store.reading(workshop.app.project) as view:
        rows = [row for noun in (Attribute, Record, Item, Outcome) for row in view.select(noun)]
    for row in rows:
        redact(type(row), *(getattr(row, name) for name in row.key[1:]), reason="wrong")
    events = hear()
    assert names(events) == [
        "task:created", "decision:created", "task:updated", "workflow:updated", "phase:updated",
    ]  # fmt: skip
    assert events[1].data["decision"]["id"] == made["decision_id"]
    assert "Tar" not in repr(events)
    assert events[2].data["task"]["summary"] == "[redacted]"


def test_events_that_are_resumed_tell_what_was_true_then(workshop: Workshop, lead: Agent) -> None:
    """Whoever was away hears the same as whoever listened: counts, phases, states and blockers of that time."""
    call = Call(core=workshop.agent("ear").core, secret=bytes)
    begun, _ = tell(call, None, 100, 0)
    place, live = begun, list[Any]()
    made: dict[str, str] = {}

    def step(tool: str, by: Agent = lead, **asked: Any) -> dict[str, Any]:
        nonlocal place
        workshop.clock.pass_by(seconds=1)
        answer = by.does(tool, **asked)
        place, heard = tell(call, place, 1000, 0)
        live.extend(heard)
        return answer

    made["workflow_id"] = step("start_workflow", name="Ship", objective="It floats")["workflow_id"]
    flow = {**made}
    flow["phase_id"] = step("start_phase", **made, number=1, name="Hull")["phase_id"]
    words = {"caller_type": "subagent", "agent_name": "ada", "goal": "Dry"}
    tasks = [step("start_task", **flow, **words, name=f"T{n}")["task_id"] for n in range(3)]
    blocker = step(
        "log_issue", task_id=tasks[0], type="other", description="No key", resolution="ask",
        requires_human_review=True,
    )["issue_id"]  # fmt: skip
    step("complete_task", task_id=tasks[1], status="failed", outcome={"summary": "no"})
    step(
        "log_issue", workshop.agent("pat", surface="workflow"), task_id=tasks[0], type="other",
        description="Key", resolution="found", resolves=blocker,
    )  # fmt: skip
    step("complete_task", task_id=tasks[0], status="success", outcome={"summary": "yes"})
    step("complete_phase", phase_id=flow["phase_id"], status="completed")
    step("start_phase", **made, number=4, name="Late")
    step("complete_workflow", **made, status="partial", summary="s")
    _, again = tell(call, begun, 1000, 0)
    assert [one.data for one in again] == [one.data for one in live]
    assert [one.name for one in again] == [one.name for one in live]
    ended = [one.data["phase"]["tasks"] for one in again if one.name == "phase:updated"]
    assert ended[0] == {"total": 3, "completed": 1, "failed": 1, "in_progress": 1}
