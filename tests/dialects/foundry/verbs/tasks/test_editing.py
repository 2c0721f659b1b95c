"""What is kept with nodes, changed for one and for many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from builders import Agent
from counterpoint.core.model.filters import Edit
from counterpoint.dialects.foundry.models.specs import Node
from counterpoint.dialects.foundry.models.tasks import NodeDraft
from counterpoint.dialects.foundry.tasks.editing import Editing, NodeFilter, Shaping
from counterpoint.dialects.foundry.tasks.moving import Moving
from counterpoint.kernel.errors import InvalidInput, NotFound

SPEC = "export-2026-01-02-001"
Look = Callable[[str], Node]


@pytest.fixture
def editing(ada: Agent, node: Look) -> Editing:
    """Answer the verbs, for a spec that is there."""
    assert node("task-1-1").status == "pending"
    return ada.core.use(Editing)


def test_every_value_of_a_node_is_kept_and_read_back(
    editing: Editing, node: Look, ada: Agent
) -> None:
    """What was before is answered; what is so already is not; other areas of the item stay."""
    item = node("task-1-1").item.id
    ada.core.items.edit(item, Edit(areas=("src/task-1-1.py", "tests")))
    given: dict[str, Any] = {
        "title": "Anew",
        "description": "Another",
        "file_path": "src/new.py",
        "acceptance_criteria": ["part 1 is there", "and more"],
        "task_category": "refactoring",
        "actual_hours": 2.5,
        "status_note": "soon",
        "custom": {"deep": [1]},
    }
    before = editing.edit(SPEC, "task-1-1", given, dry_run=True).before
    assert before == {
        "title": "Write part 1 of 1",
        "description": "Part 1",
        "file_path": "src/task-1-1.py",
        "acceptance_criteria": ["part 1 is there"],
        "task_category": "implementation",
        "actual_hours": None,
        "status_note": None,
        "custom": None,
    }
    assert editing.edit(SPEC, "task-1-1", given).after == given
    seen = node("task-1-1")
    assert {**seen.metadata, "title": seen.item.title} == given
    assert set(ada.core.overview.facets(item).areas) == {"src/new.py", "tests"}
    assert editing.edit(SPEC, "task-1-1", given).after == {}
    assert editing.edit(SPEC, "task-1-1", {"custom": None}).after == {"custom": None}
    assert "custom" not in node("task-1-1").metadata


@pytest.mark.parametrize(
    "wrong",
    [
        {"status": "completed"},
        {"task_category": "cooking"},
        {"actual_hours": -1},
        {"title": " "},
        {"description": 3},
        {"acceptance_criteria": ["a", 3]},
        {"acceptance_criteria": "a"},
        {"": 1},
        {f"k{n}": n for n in range(101)},
        {},
    ],
)
def test_what_cannot_be_kept_is_refused(editing: Editing, wrong: dict[str, Any]) -> None:
    """Whatever is worked out, is of a wrong type, or is nothing."""
    with pytest.raises(InvalidInput):
        editing.edit(SPEC, "task-1-1", wrong)


def test_an_estimate_tells_what_was_before(editing: Editing) -> None:
    """Hours, complexity, or both."""
    editing.estimate(SPEC, "task-1-1", 3, None)
    told = editing.estimate(SPEC, "task-1-1", 4.5, "high")
    assert told.before == {"estimated_hours": 3, "complexity": None}
    with pytest.raises(InvalidInput):
        editing.estimate(SPEC, "task-1-1", None, None)


def test_a_task_has_up_to_fifty_requirements(editing: Editing, node: Look) -> None:
    """Each with the next number; a phase has none, and a dry run gives none."""
    assert editing.require(SPEC, "task-1-1", "technical", "fast", dry_run=True)[1]["id"] == "req-1"
    for number in range(1, 51):
        told, made = editing.require(SPEC, "task-1-1", "acceptance", f"one {number}")
        assert (made["id"], len(told.after["requirements"])) == (f"req-{number}", number)
    assert len(node("task-1-1").metadata["requirements"]) == 50
    with pytest.raises(InvalidInput, match="the most"):
        editing.require(SPEC, "task-1-1", "constraint", "one more")
    with pytest.raises(InvalidInput, match="a phase has no requirements"):
        editing.require(SPEC, "phase-1", "constraint", "one")


def test_many_nodes_are_changed_by_what_they_have_in_common(
    editing: Editing, node: Look, ada: Agent
) -> None:
    """Status, parent, or a pattern; what has the values already is passed over."""
    ada.core.use(Moving).complete(SPEC, "task-1-1", "done")
    given: dict[str, Any] = {"category": "io", "owners": ["ada"], "labels": {"a": "b"}}
    seen = editing.edit_many(SPEC, NodeFilter(parent="phase-1"), given, dry_run=True)
    assert (seen.matched, len(seen.changed)) == (2, 2)
    assert "category" not in node("task-1-2").metadata
    told = editing.edit_many(SPEC, NodeFilter(status="pending", parent="phase-1"), given)
    assert [one.id for one in told.changed] == ["task-1-2"]
    again = editing.edit_many(SPEC, NodeFilter(pattern="-2$|part 1 of 2"), given)
    assert (again.matched, [one.id for one in again.changed]) == (3, ["task-2-1", "task-2-2"])
    assert node("task-2-1").metadata["labels"] == {"a": "b"}


def test_a_pattern_that_cannot_be_read_or_a_parent_that_is_not_there_is_refused(
    editing: Editing,
) -> None:
    """A hostile one is of no harm: it takes a time that grows with the text alone."""
    for pattern in ("(", "a)(b", "x" * 600, "(a{1000}){1000}"):
        with pytest.raises(InvalidInput) as refusal:
            editing.edit_many(SPEC, NodeFilter(pattern=pattern), {"category": "io"})
        assert refusal.value.facts["error_code"] == "INVALID_REGEX_PATTERN"
    assert editing.edit_many(SPEC, NodeFilter(pattern="(a+)+$"), {"category": "io"}).matched == 0
    with pytest.raises(NotFound):
        editing.edit_many(SPEC, NodeFilter(parent="phase-9"), {"category": "io"})


def test_verifications_get_a_type_that_there_is(editing: Editing, node: Look, ada: Agent) -> None:
    """Tests are run where none is said, and people look where another is."""
    shaping = ada.core.use(Shaping)
    for kept in ({}, {"verification_type": "guess"}, {"verification_type": "fidelity"}):
        new = NodeDraft(parent="phase-1", title="Verify", type="verify", kept=kept)
        shaping.add(SPEC, new)
    for dry_run in (True, False):
        told = editing.mend_verification(SPEC, dry_run=dry_run)
        assert [(one.id, one.after["verification_type"]) for one in told.changed] == [
            ("verify-1-1", "run-tests"),
            ("verify-1-2", "manual"),
        ]
    assert editing.mend_verification(SPEC).matched == 0
    assert node("verify-1-2").metadata["verification_type"] == "manual"
