"""Counts of files, phases and progress; what came from elsewhere; what stays when a workflow ends."""

from __future__ import annotations

from builders import Agent, Workshop, git
from fakes.flows import Flow

ENDED = {"status": "success", "outcome": {"summary": "done"}}


def test_files_are_counted_beyond_those_kept_by_name(
    lead: Agent, flow: Flow, workshop: Workshop
) -> None:
    """Each once, whichever tasks changed it; a renamed file by both names, as its task told it."""
    folder = workshop.root / "many"
    folder.mkdir()
    first = flow.begin()
    for number in range(620):
        (folder / f"f{number:03}.txt").write_text(f"{number}\n" * 9)
    told = lead.does("complete_task", task_id=first, **ENDED)
    git(workshop.root, "add", ".")
    git(workshop.root, "commit", "-qm", "many")
    second = flow.begin()
    git(workshop.root, "mv", "many/f619.txt", "many/g.txt")
    (folder / "f600.txt").write_text("other\n")
    ended = lead.does("complete_task", task_id=second, **ENDED)
    assert ended["files_changed"] == {
        "added": ["many/g.txt"], "modified": ["many/f600.txt"], "deleted": ["many/f619.txt"],
    }  # fmt: skip
    assert len(told["files_changed"]["added"]) + told.get("not_shown", {}).get("added", 0) == 620
    done = lead.does(
        "complete_workflow", workflow_id=flow.workflow, status="completed", summary="s"
    )
    assert done["metrics"]["files_changed"] == 621


def test_progress_may_be_a_fraction(lead: Agent, flow: Flow) -> None:
    """And a whole number stays one."""
    task = flow.begin()
    for progress in (62.5, 80):
        lead.does("log_milestone", task_id=task, message="m", progress=progress)
    listed = lead.does("get_context", workflow_id=flow.workflow, include=["milestones"])
    assert [one["progress"] for one in listed["milestones"]] == [80, 62.5]
    assert isinstance(listed["milestones"][0]["progress"], int)


def test_of_a_phase_that_is_not_there_nothing_is_counted(lead: Agent, flow: Flow) -> None:
    flow.begin()
    include = ["tasks", "decisions", "milestones", "blockers", "phase_summary"]
    answer = lead.does(
        "get_context", workflow_id=flow.workflow, include=include, filter={"phase": 9}
    )
    assert "no phase 9" in answer["warning"]
    counts = {name: answer[name] for name in answer if name.endswith("_count")}
    assert counts == dict.fromkeys(
        ("tasks_count", "decisions_count", "milestones_count", "blockers_count"), 0
    )
    assert answer["has_blockers"] is False


def test_a_phase_above_the_total_is_told_and_counted(lead: Agent, flow: Flow) -> None:
    asked = {"workflow_id": flow.workflow, "name": "Late"}
    assert "warnings" not in lead.does("start_phase", **asked, number=2)
    told = lead.does("start_phase", **asked, number=5)
    assert told["warnings"] == ["3 phases were expected, and this is number 5"]
    answer = lead.does("get_context", workflow_id=flow.workflow, include=["phase_summary"])
    assert answer["total_phases"] == 5


def test_native_records_are_shown_with_their_text(
    lead: Agent, flow: Flow, workshop: Workshop
) -> None:
    """In the fields of this dialect."""
    task, ada = flow.begin(), workshop.agent("ada")
    ada.does("note", kind="decision", id=task, title="Which hash?", text="Argon2, for it is slow")
    ada.does("note", kind="blocker", id=task, text="No key")
    ada.does("note", kind="milestone", id=task, text="Half")
    include = ["decisions", "blockers", "milestones"]
    found = lead.does("get_context", workflow_id=flow.workflow, include=include)
    (decision,), (blocker,), (milestone,) = (found[name] for name in include)
    assert (decision["question"], decision["chosen"], decision["category"]) == (
        "Which hash?", "Argon2, for it is slow", "OTHER",
    )  # fmt: skip
    assert (blocker["description"], blocker["type"]) == ("No key", "OTHER")
    assert milestone["message"] == "Half"


def test_the_end_of_a_workflow_names_and_keeps_the_open_tasks_of_others(
    lead: Agent, flow: Flow, workshop: Workshop
) -> None:
    """Those that nobody holds and those that somebody does, whatever dialect made them; taking one up reopens nothing."""
    ada = workshop.agent("ada")
    running = flow.begin()
    tree = {"kind": "phase", "title": "N", "items": [{"kind": "task", "title": "Deep"}]}
    phase = ada.does("plan", tree=tree, parent=flow.workflow)["root"]
    waiting = ada.does("plan", tree={"kind": "task", "title": "Open"}, parent=flow.phase)["root"]
    held = ada.does("plan", tree={"kind": "task", "title": "Held"}, parent=phase)["root"]
    ada.does("start", id=held)
    done = lead.does(
        "complete_workflow", workflow_id=flow.workflow, status="completed", summary="s"
    )
    told = "\n".join(done["warnings"])
    for name in (running, waiting, held, "(Deep)"):
        assert name in told
    assert ada.does("show", id=waiting)["status"] == "open"
    assert ada.does("show", id=held)["status"] == "active"
    ada.does("start", id=waiting)
    for name in (flow.workflow, flow.phase, phase):
        assert ada.does("show", id=name)["status"] == "done"
    refusal = lead.is_refused(
        "start_phase", workflow_id=flow.workflow, number=3, name="After the end"
    )
    assert refusal["code"] == "VALIDATION_ERROR"
