"""Acts that land as one, or are only tried."""

from __future__ import annotations

import pytest

from builders import Agent
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording, transaction
from counterpoint.dialects.foundry.nodes.writing import perform
from counterpoint.kernel.errors import Conflict


class Writers:
    """Verbs that write, or only try to."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def twice(self, *, dry_run: bool, fails: bool = False) -> str:
        """Write two entries."""

        def act(context: Context) -> str:
            for name in ("first", "second"):
                with recording(context, "test.written") as change:
                    change.add_facts(name=name)
            if fails:
                raise Conflict("not so")
            return "written"

        return perform(self._context, act, dry_run=dry_run)

    def after_a_try(self) -> None:
        """Try to write, then write, in one transaction."""
        with transaction(self._context) as unit:
            assert self.twice(dry_run=True) == "written"
            assert self._context.unit is unit
            self.twice(dry_run=False)


@pytest.fixture
def writers(ada: Agent) -> Writers:
    """Answer verbs that write."""
    return ada.core.use(Writers)


def test_an_act_lands_whole_or_is_only_tried(writers: Writers, ada: Agent) -> None:
    """One that fails leaves nothing, tried or not."""
    size = ada.ledger_size
    assert writers.twice(dry_run=True) == "written"
    for is_tried in (True, False):
        with pytest.raises(Conflict):
            writers.twice(dry_run=is_tried, fails=True)
    assert ada.ledger_size == size
    assert writers.twice(dry_run=False) == "written"
    assert ada.ledger_size == size + 2


def test_what_comes_after_a_try_lands(writers: Writers, ada: Agent) -> None:
    """In the transaction that the call had begun."""
    size = ada.ledger_size
    writers.after_a_try()
    assert ada.ledger_size == size + 2
