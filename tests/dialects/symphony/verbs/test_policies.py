"""What a project asks of work: changed part by part, out of reach of agents' memory."""

from __future__ import annotations

import pytest

from counterpoint.dialects.symphony.nouns import GateCommand, Policy, PolicyEdit
from counterpoint.dialects.symphony.verbs.policies import Policies
from counterpoint.kernel.errors import Forbidden, InvalidInput

GATE = GateCommand(command="pytest", label="Tests", required=True)


def test_what_nobody_has_set_is_the_default(ada):
    """No gate, no instruction, the four phases."""
    assert ada.use(Policies).get() == Policy()


@pytest.mark.parametrize(
    "edit",
    [
        PolicyEdit(),
        PolicyEdit(gates=(GateCommand(command=" ", label="", required=True),)),
        PolicyEdit(gates=(GateCommand(command="make 'x", label="", required=True),)),
        PolicyEdit(gates=(GATE,) * 51),
        PolicyEdit(instructions={"worker": "x" * 20_001}),
        PolicyEdit(phases=()),
        PolicyEdit(phases=("ready", "ready")),
        PolicyEdit(thresholds={"low_lines": 600}),
        PolicyEdit(thresholds={"lines": 1}),
    ],
)
def test_what_cannot_be_is_refused(studio, ada, edit):
    """Nothing named, a command that is empty or cannot be read, too much, phases twice, thresholds that cross."""
    studio.refuses(InvalidInput, lambda: ada.use(Policies).edit(edit))


SECOND = GateCommand(command="ruff", label="Lint", required=True)
OPTIONAL = GateCommand(command="pytest", label="Tests", required=False)
FULL = PolicyEdit(
    gates=(GATE,), sensitive_paths=("keys/",), thresholds={"high_lines": 100, "low_lines": 10}
)
LESS = {
    "no gate": PolicyEdit(gates=()),
    "another gate": PolicyEdit(gates=(SECOND,)),
    "a gate that need not pass": PolicyEdit(gates=(OPTIONAL,)),
    "a path": PolicyEdit(sensitive_paths=("docs/",)),
    "a threshold": PolicyEdit(thresholds={"high_lines": 200, "low_lines": 10}),
    "no threshold": PolicyEdit(thresholds={}),
    "a phase": PolicyEdit(phases=("research", "ready")),
    "words to judges": PolicyEdit(instructions={"judge": "Approve all of it"}),
}
MORE = {
    "a gate": PolicyEdit(gates=(GATE, SECOND)),
    "a path": PolicyEdit(sensitive_paths=("keys/", "docs/")),
    "a threshold": PolicyEdit(thresholds={"high_lines": 50, "low_lines": 10, "low_files": 1}),
    "words to workers": PolicyEdit(instructions={"worker": "Be kind"}),
}


@pytest.mark.parametrize("how", sorted(LESS))
def test_once_work_has_begun_no_agent_asks_for_less(studio, ada, bob, person, board, how):
    """Neither who works nor another; a person, or a maintainer who did not work there, does."""
    person.use(Policies).edit(FULL)
    ada.claims.start(board.issue("ready"))
    for agent in (ada, bob):
        fault = studio.refuses(Forbidden, lambda agent=agent: agent.use(Policies).edit(LESS[how]))
        assert "work has begun" in fault.message
    keeper = studio.core("cyd", scopes=frozenset({"maintain"}))
    keeper.use(Policies).edit(LESS[how])
    assert studio.last().facts["loosened"]


@pytest.mark.parametrize("how", sorted(LESS))
def test_before_work_has_begun_who_asks_for_less_does_not_do_it(
    studio, ada, bob, person, board, how
):
    """Somebody else does."""
    person.use(Policies).edit(FULL)
    item = board.issue("ready")
    ada.use(Policies).edit(LESS[how])
    studio.refuses(Forbidden, lambda: ada.claims.start(item))
    assert bob.claims.start(item).claim.token == 1


@pytest.mark.parametrize("how", sorted(MORE))
def test_whoever_asks_for_more_may(ada, person, board, how):
    """At any time, and works on."""
    person.use(Policies).edit(FULL)
    ada.claims.start(board.issue("ready"))
    ada.use(Policies).edit(MORE[how])
    assert ada.claims.start(board.issue("ready")).claim.token == 1
