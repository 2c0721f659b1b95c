"""The tools `start_task` and `complete_task`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from builders import Agent, Workshop, commit, git, open_repository
from fakes.flows import Flow

OUTCOME = {"summary": "Done"}


def test_a_task_begins_with_every_field_of_the_contract(
    lead: Agent, workshop: Workshop, flow: Flow
) -> None:
    """The snapshot is the commit that the tree stands on."""
    asked = {
        "workflow_id": flow.workflow,
        "phase_id": flow.phase,
        "name": "Draw",
        "goal": "A picture",
    }
    answer = lead.does("start_task", **asked, caller_type="subagent", agent_name="designer")
    assert lead.last_entry.action == "task.started"
    assert answer == {
        "task_id": answer["task_id"],
        "workflow_id": flow.workflow,
        "phase_id": flow.phase,
        "phase_number": 1,
        "phase_name": "Design",
        "caller_type": "SUBAGENT",
        "agent_name": "designer",
        "snapshot_id": git(workshop.root, "rev-parse", "HEAD"),
        "snapshot_type": "git",
        "started_at": lead.last_entry.time,
    }
    item = lead.core.items.get(answer["task_id"])
    assert (item.title, item.body, item.assignee, item.status) == (
        *("Draw", "A picture"), *("designer", "active"),
    )  # fmt: skip


def test_an_orchestrator_needs_no_name(lead: Agent, flow: Flow) -> None:
    """The connection's own name stands for it; a subagent must say who it is."""
    task = flow.begin(caller_type="orchestrator", agent_name="")
    assert lead.core.items.get(task).assignee == "lead"
    assert lead.core.items.attributes(task)["caller_type"] == "ORCHESTRATOR"


@pytest.mark.parametrize("name", ["", "  "])
def test_a_subagent_must_say_who_it_is(lead: Agent, flow: Flow, name: str) -> None:
    """A name of blanks is none."""
    refusal = lead.is_refused(
        "start_task", workflow_id=flow.workflow, phase_id=flow.phase, caller_type="subagent",
        agent_name=name, name="x", goal="x",
    )  # fmt: skip
    assert refusal["code"] == "VALIDATION_ERROR"
    assert "agent_name" in refusal["message"]


def test_a_task_ends_with_every_field_of_the_contract(
    lead: Agent, workshop: Workshop, flow: Flow
) -> None:
    """What changed is measured: committed, staged, loose and new files alike."""
    (workshop.root / "old.py").write_text("1")
    task = flow.begin(areas=["src", "README.md"])
    commit(workshop.root, "src/a.py", "1")
    (workshop.root / "README.md").write_text("changed")
    (workshop.root / "stray.py").write_text("1")
    workshop.clock.pass_by(seconds=3)
    answer = lead.does(
        "complete_task",
        task_id=task,
        status="partial_success",
        outcome={
            "summary": "Half",
            "achievements": ["a"],
            "limitations": ["b"],
            "next_steps": ["c"],
            "manual_review_needed": True,
            "manual_review_reason": "why not",
        },
        metadata={"packages_added": ["left-pad"], "tests_status": "passed", "tokens_input": 1},
    )
    assert lead.last_entry.action == "task.verified"
    warnings = answer["verification"].pop("warnings")
    assert answer == {
        "task_id": task,
        "workflow_id": flow.workflow,
        "status": "PARTIAL_SUCCESS",
        "duration_seconds": 3,
        "files_changed": {
            "added": ["src/a.py", "stray.py"],
            "modified": ["README.md"],
            "deleted": [],
        },
        "verification": {"scope_match": False, "unexpected_files": ["stray.py"]},
        "phase_status": {"total": 1, "completed": 1, "failed": 0, "in_progress": 0},
    }
    assert [word for word in ("outside", "passed", "left-pad") if word in " ".join(warnings)] == [
        *("outside", "passed", "left-pad"),
    ]
    outcome = lead.core.overview.outcomes(task)[0]
    assert (outcome.summary, outcome.achievements, outcome.limitations, outcome.next_steps) == (
        *("Half", ("a",)), *(("b",), ("c",)),
    )  # fmt: skip
    words = lead.core.items.attributes(task)["words"]
    assert words["manual_review_reason"] == "why not"
    assert words["packages_added"] == ["left-pad"]


def test_a_task_ends_however_long_the_names_are(
    lead: Agent, workshop: Workshop, flow: Flow
) -> None:
    """What does not fit beside the task, or in the answer, is left out there; it is still evidence."""
    task = flow.begin(areas=[f"{number}{'ä' * 490}" for number in range(50)])
    deep = workshop.root / ("d" * 250) / ("e" * 250) / ("f" * 250)
    deep.mkdir(parents=True)
    for number in range(110):
        (deep / f"{'g' * 200}{number}").write_text("1")
    answer = flow.end(task)
    assert answer["not_shown"]["added"] + len(answer["files_changed"]["added"]) == 110
    reply = lead.call("get_context", {"workflow_id": flow.workflow, "include": ["tasks"]})
    assert len(reply.text.encode()) <= 10_000
    (line,) = reply.answer["tasks"]
    assert line["verification"]["scope_match"] is False
    assert line["verification"]["warnings"][0].startswith("110 of 110")


def test_an_empty_area_is_refused(lead: Agent, flow: Flow) -> None:
    """It would be the whole tree."""
    refusal = lead.is_refused(
        "start_task", workflow_id=flow.workflow, phase_id=flow.phase, caller_type="orchestrator",
        name="x", goal="x", areas=["src", ""],
    )  # fmt: skip
    assert "areas[1]" in refusal["message"]


@pytest.mark.parametrize(
    ("status", "told"),
    [("success", "SUCCESS"), ("partial_success", "PARTIAL_SUCCESS"), ("failed", "FAILED")],
)
def test_each_end_of_a_task_is_told(flow: Flow, status: str, told: str) -> None:
    """And counted in its phase."""
    answer = flow.end(flow.begin(), status)
    assert answer["status"] == told
    counts = answer["phase_status"]
    assert counts["failed" if status == "failed" else "completed"] == 1


def test_a_part_of_a_task_ends_before_it(lead: Agent, flow: Flow) -> None:
    """The refusal names it; both are tasks of the phase."""
    outer = flow.begin("Outer")
    inner = flow.begin("Inner", parent_task_id=outer)
    refusal = lead.is_refused("complete_task", task_id=outer, status="success", outcome=OUTCOME)
    assert "Inner" in refusal["message"]
    assert refusal["details"]["items"] == [inner]
    flow.end(inner)
    assert flow.end(outer)["phase_status"]["total"] == 2
    assert lead.core.items.get(inner).parent == outer


def test_a_task_ends_once(lead: Agent, flow: Flow) -> None:
    """The refusal says how it stands."""
    task = flow.begin()
    flow.end(task)
    refusal = lead.is_refused("complete_task", task_id=task, status="failed", outcome=OUTCOME)
    assert (refusal["code"], refusal["details"]["state"]) == ("VALIDATION_ERROR", "done")


def test_of_three_who_end_a_task_at_once_one_does(workshop: Workshop, flow: Flow) -> None:
    """The others hear that it does not run any more."""
    task = flow.begin()
    agents = [workshop.agent("lead", surface="workflow") for _ in range(3)]
    asked = {"task_id": task, "status": "success"}
    with ThreadPoolExecutor(3) as pool:
        replies = list(
            pool.map(
                lambda agent: agent.call(
                    "complete_task", asked | {"outcome": {"summary": agent.session}}
                ),
                agents,
            )
        )
    assert sorted(reply.is_error for reply in replies) == [False, True, True]
    assert len(workshop.agent("x").core.overview.outcomes(task)) == 1


def test_another_connection_of_the_same_agent_ends_a_task(
    workshop: Workshop, lead: Agent, flow: Flow
) -> None:
    """Its id is enough then; what is told of it is the agent's, whatever name the task was given."""
    again = workshop.agent("lead", surface="workflow")
    assert flow.end(flow.begin(agent_name="designer"), by=again)["status"] == "SUCCESS"
    entries = lead.core.audit.log(limit=20)
    assert {one.actor.name for one in entries if one.actor.kind == "agent"} == {"lead"}


def test_nobody_ends_the_task_of_another_agent(other: Agent, flow: Flow) -> None:
    """The id stands in the ledger for everybody to read."""
    task = flow.begin()
    refusal = other.is_refused("complete_task", task_id=task, status="success", outcome=OUTCOME)
    assert "held by lead" in refusal["message"]
    flow.end(task)


def test_a_task_whose_lease_ran_out_is_ended_by_whoever_takes_it_over(
    workshop: Workshop, other: Agent, flow: Flow
) -> None:
    """It is measured from where it began, and it is the other's from then on."""
    task = flow.begin()
    (workshop.root / "late.py").write_text("1")
    workshop.clock.pass_by(minutes=31)
    assert flow.end(task, by=other)["files_changed"]["added"] == ["late.py"]
    (outcome,) = other.core.overview.outcomes(task)
    assert outcome.agent == other.identity.name


def test_a_task_that_was_taken_over_is_no_longer_the_late_workers(
    lead: Agent, ada: Agent, workshop: Workshop, flow: Flow
) -> None:
    """Its lease ran out and somebody claimed it; the id alone is not enough then."""
    task = flow.begin()
    workshop.clock.pass_by(minutes=31)
    token = ada.does("start", id=task)["claim"]["token"]
    refusal = lead.is_refused("complete_task", task_id=task, status="success", outcome=OUTCOME)
    assert "held by ada" in refusal["message"]
    ada.does("finish", id=task, token=token, outcome="done", summary="x")


def test_a_late_worker_that_nobody_replaced_still_ends_its_task(
    workshop: Workshop, flow: Flow
) -> None:
    """A lease that ran out is good until somebody takes over."""
    task = flow.begin()
    workshop.clock.pass_by(minutes=300)
    assert flow.end(task)["duration_seconds"] == 300 * 60


def test_tasks_at_once_are_told_of_each_other(lead: Agent, flow: Flow) -> None:
    """A sequential phase warns, and so do areas that overlap; nothing is refused."""
    first = flow.begin("One", areas=["src"])
    asked = {"caller_type": "subagent", "agent_name": "b", "name": "Two", "goal": "g"}
    item = lead.core.items.get(first)
    answer = lead.does(
        "start_task", workflow_id=item.root, phase_id=item.parent, areas=["src/x"], **asked
    )
    assert any("not declared as parallel" in warning for warning in answer["warnings"])
    assert any("overlaps" in warning for warning in answer["warnings"])


def test_a_task_is_measured_in_its_own_repository(
    lead: Agent, workshop: Workshop, flow: Flow
) -> None:
    """One below the project; one outside of it is refused."""
    inner = open_repository(Path(workshop.root) / "vendor" / "lib")
    task = flow.begin(repo_path="vendor/lib")
    commit(inner, "x.py", "1")
    (workshop.root / "ports.py").write_text("1")
    assert flow.end(task)["files_changed"] == {"added": ["x.py"], "modified": [], "deleted": []}
    item = lead.core.items.get(task)
    refusal = lead.is_refused(
        "start_task", workflow_id=item.root, phase_id=item.parent, caller_type="orchestrator",
        name="x", goal="x", repo_path="../..",
    )  # fmt: skip
    assert refusal["details"]["kind"] == "path_outside"


def test_a_task_is_measured_where_it_began(lead: Agent, workshop: Workshop, flow: Flow) -> None:
    """In a linked worktree, though it is ended over a connection that is bound to the main tree."""
    git(workshop.root, "worktree", "add", "-q", "-b", "side", "../side")
    side = Path(workshop.root).parent / "side"
    agent = workshop.agent("lead", surface="workflow", app=workshop.beside(side))
    task = flow.begin(by=agent)
    commit(side, "there.py", "1")
    (workshop.root / "here.py").write_text("1")
    assert flow.end(task)["files_changed"]["added"] == ["there.py"]
    again = flow.begin(by=agent)
    git(workshop.root, "worktree", "remove", "--force", "../side")
    answer = flow.end(again)
    assert answer["files_changed"]["added"] == []
    assert "the working tree is gone" in answer["verification"]["warnings"][0]


def test_long_lists_of_files_are_cut_to_a_page(workshop: Workshop, flow: Flow) -> None:
    """What is not shown is counted."""
    task = flow.begin()
    for number in range(700):
        (workshop.root / f"{number:03}-{'x' * 40}.py").write_text("1")
    answer = flow.end(task)
    shown = answer["files_changed"]["added"]
    assert len(shown) + answer["not_shown"]["added"] == 700


@pytest.mark.parametrize(
    "wrong",
    [
        {"workflow_id": "demo-999"},
        {"phase_id": "demo-999"},
        {"parent_task_id": "demo-999"},
    ],
)
def test_parts_that_are_not_there_are_not_found(
    lead: Agent, flow: Flow, wrong: dict[str, str]
) -> None:
    """Whichever of them."""
    asked = {
        "workflow_id": flow.workflow,
        "phase_id": flow.phase,
        "caller_type": "orchestrator",
        "name": "x",
        "goal": "x",
    }
    assert lead.is_refused("start_task", **(asked | wrong))["code"] == "NOT_FOUND"


def test_parts_that_do_not_belong_together_are_refused(lead: Agent, flow: Flow) -> None:
    """A phase of another workflow, a task of another phase, a task or phase that has ended."""
    else_ = lead.does("start_workflow", name="B", objective="x")["workflow_id"]
    second = lead.does("start_phase", workflow_id=flow.workflow, number=2, name="B")["phase_id"]
    task = flow.begin()
    asked = {"caller_type": "orchestrator", "name": "x", "goal": "x"}
    for parts in (
        {"workflow_id": else_, "phase_id": flow.phase},
        {"workflow_id": flow.workflow, "phase_id": second, "parent_task_id": task},
    ):
        refusal = lead.is_refused("start_task", **asked, **parts)
        assert refusal["code"] == "VALIDATION_ERROR"
    flow.end(task)
    ended = {"workflow_id": flow.workflow, "phase_id": flow.phase, "parent_task_id": task}
    assert "has ended" in lead.is_refused("start_task", **asked, **ended)["message"]
    lead.does("complete_phase", phase_id=second, status="completed")
    ended = {"workflow_id": flow.workflow, "phase_id": second}
    assert "has ended" in lead.is_refused("start_task", **asked, **ended)["message"]


def test_a_retry_under_its_key_begins_no_second_task(lead: Agent, flow: Flow) -> None:
    """Nor ends one twice."""
    task = flow.begin(idempotency_key="k")
    size = lead.ledger_size
    assert flow.begin(idempotency_key="k") == task
    assert lead.ledger_size == size
    asked = {"task_id": task, "status": "success", "outcome": OUTCOME, "idempotency_key": "e"}
    assert lead.does("complete_task", **asked) == lead.does("complete_task", **asked)
