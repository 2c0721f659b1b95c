"""What a remembered value was before, out of the ledger."""

from __future__ import annotations

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.journal import StateEntry
from counterpoint.dialects.agentic.verbs.plans import Planning


def test_earlier_values_come_last_first(studio, ada, bob, person):
    """Of one name in one scope; what was only described anew has no value of its own."""
    plan = ada.use(Planning).open(Draft(kind="plan", title="P"), "p").item.id
    for number in range(120):
        ada.memory.put(plan, "k", number)
    bob.memory.put(plan, "other", 1)
    ada.memory.put(plan, "k", 119, description="said")
    found = ada.memory.history(plan, "k", 200)
    assert [(one.version, one.value) for one in found][:3] == [
        (121, None),
        (120, "119"),
        (119, "118"),
    ]
    assert len(found) == 121
    assert found[0].agent == "ada"
    assert found[0].at == studio.last().time
    assert found[0].sequence == studio.last().sequence
    assert len(ada.memory.history(plan, "k", 5)) == 5
    person.erasing.of_row(StateEntry, plan, "k", reason="asked")
    assert ada.memory.history(plan, "k", 2)[1].value == "[redacted]"
    assert ada.memory.history("project", "k", 5) == []
