"""Parts of a whole brought to stand as a word says."""

from __future__ import annotations

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.answers import MovedPart, Standing
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.evidence import Comparison, Snapshot
from counterpoint.core.model.filters import Report
from counterpoint.core.model.work import Item
from counterpoint.core.operations.closing.part_status import bring, part_status
from counterpoint.core.operations.gates import PassedChecks
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.operations.tasks import FinishBasis


class Moving:
    """Verbs that bring parts to stand so."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def bring(self, item: str, to: Standing, keeps: str = "") -> MovedPart:
        """Bring an item to stand so."""
        with recording(self._context, "part.moved") as change:
            change.open_session()
            moved = bring(change, change.get(Item, item), to, "why", keeps=keeps)
            assert part_status(change, moved.item) == to
            return moved


@pytest.fixture
def task(ada: Core) -> str:
    """Answer the id of the one task of a plan."""
    tree = Draft(kind="plan", title="Plan", children=(Draft(kind="task", title="A task"),))
    return ada.plans.create(tree).items[1].id


@pytest.mark.parametrize(("keeps", "kept"), [("", {}), ("reason", {"reason": "why"})])
def test_why_a_part_was_left_out_is_kept_if_it_is_asked_for(
    ada: Core, task: str, keeps: str, kept: dict[str, str]
) -> None:
    """Under the name that is told."""
    moved = ada.use(Moving).bring(task, "skipped", keeps)
    assert (moved.standing, moved.item.status) == ("skipped", "skipped")
    assert ada.items.attributes(task) == kept


def test_a_tree_that_was_looked_at_already_is_not_looked_at_again(ada: Core, task: str) -> None:
    """Neither for a start, nor for an end."""
    seen = Snapshot(method="git", commit="c" * 40)
    started = ada.claims.start(task, snapshot=seen)
    assert started.snapshot.commit == "c" * 40
    report = Report(outcome="done", summary="Written")
    checks = PassedChecks(areas=(), receipts=())
    looked = FinishBasis(comparison=Comparison(start=seen, end=seen), since="", passed=checks)
    finished = ada.tasks.finish(task, started.claim.token, report, looked=looked)
    assert finished.measured is not None
    assert (finished.measured.start_commit, finished.measured.file_count) == ("c" * 40, 0)
