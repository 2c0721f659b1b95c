"""Workflows in the core: what the tools cannot reach, and what others find of them."""

from __future__ import annotations

import pytest

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit, ItemFilter, Report
from counterpoint.core.model.journal import Outcome, Record
from counterpoint.core.model.work import Attribute
from counterpoint.dialects.workflow.nouns import TaskWords
from counterpoint.dialects.workflow.verbs.queries import WorkflowQueries, phase_number
from counterpoint.dialects.workflow.verbs.workflows import Workflows
from counterpoint.kernel.errors import Conflict, NotFound

DONE = Report(outcome="done", summary="it works")


@pytest.fixture
def begun(ada):
    """Answer the ids of a workflow, its phase and a task that runs."""
    workflow = ada.use(Workflows).open("W", "objective", {}).id
    phase = ada.use(Workflows).open_phase(workflow, 1, Draft(kind="phase", title="P")).phase.id
    task = (
        ada.use(Workflows)
        .begin_task(workflow, phase, Draft(kind="task", title="T", body="g"))
        .started.item.id
    )
    return workflow, phase, task


def test_only_what_lies_below_a_workflow_is_part_of_one(studio, ada, begun):
    """A phase of a plan and a task at the top are not found."""
    plan = ada.plans.create(Draft(kind="plan", title="A", children=(
        Draft(kind="phase", title="P", children=(Draft(kind="task", title="T"),)),
    )))  # fmt: skip
    phase, task = plan.items[1].id, plan.items[2].id
    studio.refuses(NotFound, lambda: ada.use(Workflows).close_phase(phase, "done", ""))
    studio.refuses(NotFound, lambda: ada.use(Workflows).end_task(task, DONE, TaskWords()))
    studio.refuses(NotFound, lambda: ada.use(WorkflowQueries).head(plan.root.id))
    assert ada.use(WorkflowQueries).head(begun[0])[1] == 1
    studio.check()


def test_a_phase_that_nobody_numbered_has_the_number_of_its_place(studio, ada):
    """Made natively below a workflow; without phases there is no current one."""
    workflow = ada.use(Workflows).open("W", "o", {}).id
    assert ada.use(WorkflowQueries).head(workflow)[1] == 0
    ada.plans.create(Draft(kind="phase", title="P"), workflow)
    ada.plans.create(Draft(kind="phase", title="Q"), workflow)
    assert [
        phase_number(line) for line in ada.use(WorkflowQueries).phases(ItemFilter(root=workflow))
    ] == [
        1,
        2,
    ]
    assert ada.use(WorkflowQueries).head(workflow)[1] == 1
    phase = ada.overview.children(workflow)[1].id
    begun = ada.use(Workflows).begin_task(workflow, phase, Draft(kind="task", title="T", body="g"))
    assert begun.warnings == ()
    again = ada.use(Workflows).begin_task(workflow, phase, Draft(kind="task", title="U", body="g"))
    assert len(again.warnings) == 1


def test_a_task_straight_below_the_workflow_counts_too(studio, ada):
    """It is of no phase; its evidence is in the numbers, as far as it was kept."""
    workflow = ada.use(Workflows).open("W", "o", {}).id
    task = ada.plans.create(Draft(kind="task", title="T"), workflow).root.id
    token = ada.claims.start(task).claim.token
    studio.tree.write("a.py", "1")
    ada.tasks.finish(task, token, DONE)
    note = ada.journal.append(_note(task))
    lines = ada.use(WorkflowQueries).tasks(ItemFilter(root=workflow))
    assert [(line.view.item.id, line.phase) for line in lines] == [(task, workflow)]
    found = ada.use(WorkflowQueries).log("decision", ItemFilter(root=workflow))
    assert [(record.id, about.id) for record, about in found] == [(note.id, task)]
    assert ada.use(Workflows).close(workflow, "done", {}).metrics["files_changed"] == 1


def test_redacted_evidence_counts_for_nothing(studio, ada, begun):
    """What is gone is not guessed at, and neither is a record's task."""
    workflow, _, task = begun
    studio.tree.write("a.py", "1")
    ada.use(Workflows).end_task(task, DONE, TaskWords())
    decision = ada.use(Workflows).log(_note(task))
    studio.system.erasing.of_row(Outcome, task, 1, reason="private")
    studio.system.erasing.of_row(Record, decision.id, reason="private")
    found = ada.use(WorkflowQueries).log("decision", ItemFilter(root=workflow))
    assert [about.id for _, about in found] == [task]
    assert ada.use(Workflows).close(workflow, "done", {}).metrics["files_changed"] == 0


def test_redacted_words_count_for_nothing(studio, ada, begun):
    """The workflow ends without them; with its own words gone, nobody can say the same again."""
    workflow, _, task = begun
    ada.use(Workflows).end_task(task, DONE, TaskWords(details={"tokens_input": 7}))
    studio.system.erasing.of_row(Attribute, task, "words", reason="private")
    assert ada.use(Workflows).close(workflow, "done", {}).metrics["total_tokens"] == 0
    studio.system.erasing.of_row(Attribute, workflow, "outcome", reason="private")
    studio.refuses(Conflict, lambda: ada.use(Workflows).close(workflow, "done", {}))


def test_a_record_of_something_else_is_no_part_of_the_context(studio, ada, begun):
    """Of another workflow, of nothing at all, with a task that is no name."""
    workflow = begun[0]
    ada.journal.append(_note(""))
    ada.journal.append(_note("", details={"task": 7}))
    ada.journal.append(_note("", details={"task": "demo-99"}))
    other = ada.use(Workflows).open("V", "o", {}).id
    ada.journal.append(_note(other))
    assert ada.use(WorkflowQueries).log("decision", ItemFilter(root=workflow)) == []
    assert ada.use(WorkflowQueries).count_log("decision", ItemFilter(root=workflow)) == 0
    assert len(ada.use(WorkflowQueries).log("decision", ItemFilter(root=other))) == 1


def test_more_than_a_handful_of_running_tasks_are_counted(studio, ada, begun):
    """The warning names five."""
    workflow, phase, _ = begun
    for number in range(6):
        ada.use(Workflows).begin_task(
            workflow, phase, Draft(kind="task", title=f"T{number}", body="g")
        )
    warnings = ada.use(Workflows).close_phase(phase, "done", "").warnings
    assert warnings[0].endswith("and 2 more")


def test_pages_of_tasks_and_logs_hold_more_than_a_chunk(studio, ada, begun):
    """Nothing is left out between two looks into the store."""
    workflow, phase, task = begun
    draft = Draft(kind="phase", title="Many", children=tuple(
        Draft(kind="task", title=f"T{number}") for number in range(450)
    ))  # fmt: skip
    ada.plans.create(draft, workflow)
    for number in range(410):
        ada.use(Workflows).log(_note(task, title=f"D{number}"))
    assert ada.use(WorkflowQueries).count_tasks(ItemFilter(root=workflow)) == 451
    assert ada.use(WorkflowQueries).count_tasks(ItemFilter(root=workflow, parent=phase)) == 1
    assert len(ada.use(WorkflowQueries).tasks(ItemFilter(root=workflow), limit=500)) == 451
    lines = ada.use(WorkflowQueries).log(
        "decision", ItemFilter(root=workflow, parent=phase), limit=500
    )
    assert [record.title for record, _ in lines] == [f"D{n}" for n in reversed(range(410))]
    assert (
        ada.use(WorkflowQueries).count_log("decision", ItemFilter(root=workflow, assignee="nobody"))
        == 0
    )
    later = ada.use(WorkflowQueries).log(
        "decision", ItemFilter(root=workflow), lines[5][0].number, 2
    )
    assert [record.title for record, _ in later] == ["D403", "D402"]


def test_a_reopened_workflow_goes_on(studio, ada, begun):
    """On purpose, with the native verb, it takes up work again and ends anew."""
    workflow, phase, task = begun
    ada.use(Workflows).end_task(task, DONE, TaskWords())
    ada.use(Workflows).close_phase(phase, "done", "")
    ada.use(Workflows).close(workflow, "partial", {"summary": "x"})
    ada.items.edit(workflow, Edit(status="active"))
    ada.use(Workflows).open_phase(workflow, 2, Draft(kind="phase", title="Q"))
    assert ada.use(WorkflowQueries).head(workflow)[1] == 2
    assert ada.use(Workflows).close(workflow, "done", {"summary": "y"}).item.status == "done"
    studio.check()


def _note(item, *, title="", details=None):
    from counterpoint.core.model.filters import Note

    return Note(kind="decision", item=item, body="chosen", title=title, details=details or {})


def test_a_taken_over_task_is_ended_by_who_holds_it(studio, ada, begun):
    """In this dialect too, if the id comes from the one who took it over."""
    studio.clock.pass_by(minutes=60)
    bob = studio.core("bob")
    bob.claims.start(begun[2])
    ended = bob.use(Workflows).end_task(begun[2], DONE, TaskWords())
    assert ended.finished.outcome.agent == "bob"
    assert ada.overview.find(Record, "demo-r1") is None
