"""What a plan that is not made could start is what is ready once it is made."""

from __future__ import annotations

import pytest

from builders import Workshop
from counterpoint.core.rules.planning.beginning import list_startable

PLANS = {
    "phases follow each other": "# P\n## A\n- [ ] a\n- [ ] b\n## B\n- [ ] c\n",
    "tasks wait": "# P\n- [ ] a {#a}\n- [ ] b\n  - after: a\n",
    "sub-tasks come first": "# P\n- [ ] a\n  - [ ] b\n  - [ ] c\n",
    "what is done lets others begin": "# P\n## A\n- [x] a {#a}\n- [ ] b\n  - after: a\n",
    "all is done": "# P\n## A\n- [x] a\n## B\n- [ ] c\n",
    "approval holds": "# P\n## A\n- approval: yes\n- [ ] a\n## B\n- after: none\n- [ ] c\n",
}


@pytest.mark.parametrize("text", PLANS.values(), ids=PLANS)
def test_a_look_says_what_making_it_says(text: str, workshop: Workshop) -> None:
    core = workshop.agent("ada").core
    draft = core.plans.read(text)
    planned, _ = core.plans.look(draft)
    told = [planned[place].draft.title for place in list_startable(planned)]
    made = core.plans.create(draft)
    assert told == [core.items.get(item).title for item in made.ready]


def test_what_lies_outside_counts_as_open_unless_it_is_done(workshop: Workshop) -> None:
    core = workshop.agent("ada").core
    first = core.plans.create(core.plans.read("# P\n- [ ] a\n")).items[1].id
    planned, _ = core.plans.look(core.plans.read(f"# Q\n- [ ] b\n  - after: {first}\n"))
    assert list_startable(planned) == ()
    assert list_startable(planned, {first}) == (1,)
