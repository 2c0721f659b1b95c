"""What a project asks of work: changed part by part, out of reach of agents' memory."""

from __future__ import annotations

import pytest

from counterpoint.dialects.symphony.nouns.policy import GateCommand, Policy, PolicyEdit
from counterpoint.dialects.symphony.verbs.policies import Policies
from counterpoint.kernel.errors import InvalidInput

GATE = GateCommand(command="pytest", label="Tests", required=True)


def test_what_nobody_has_set_is_the_default(ada):
    """No gate, no instruction, the four phases."""
    assert ada.use(Policies).get() == Policy()


@pytest.mark.parametrize(
    "edit",
    [
        PolicyEdit(),
        PolicyEdit(gates=(GateCommand(command=" ", label="", required=True),)),
        PolicyEdit(gates=(GateCommand(command="make && rm x", label="", required=True),)),
        PolicyEdit(gates=(GATE,) * 51),
        PolicyEdit(instructions={"worker": "x" * 20_001}),
        PolicyEdit(phases=()),
        PolicyEdit(phases=("ready", "ready")),
        PolicyEdit(thresholds={"low_lines": 600}),
        PolicyEdit(thresholds={"lines": 1}),
    ],
)
def test_what_cannot_be_is_refused(studio, ada, edit):
    """Nothing named, a command that is empty or needs a shell, too much, phases twice, thresholds that cross."""
    studio.refuses(InvalidInput, lambda: ada.use(Policies).edit(edit))
