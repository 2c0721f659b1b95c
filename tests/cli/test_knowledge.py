"""`counterpoint learning`: found, and judged by a person."""

from __future__ import annotations

import pytest

from counterpoint.dialects.symphony.nouns import IssueDraft, LearningDraft
from counterpoint.dialects.symphony.verbs.issues import Issues
from counterpoint.dialects.symphony.verbs.learnings import Learnings

PATTERN = "The hull of a ship must be dry before it is painted, or the paint falls off"


@pytest.fixture
def learning(agent):
    """Give a learning; answer its id."""
    issue = agent.use(Issues).open(IssueDraft(title="Paint it")).id
    return agent.use(Learnings).keep(LearningDraft(item=issue, pattern=PATTERN)).learning.record.id


def test_a_learning_is_found_and_judged(learning, call):
    """In words, and as JSON."""
    said = call("learning", "find", "paint")
    assert learning in said.out
    assert call("learning", "judge", learning, "--verified", "--quality", "90").out == (
        f"{learning}: 90, verified\n"
    )
    (found,) = call("learning", "find", "paint", "--json").json
    assert (found["id"], found["quality"], found["verified"]) == (learning, 90, True)
    told = call("learning", "judge", learning, "--not-verified", "--json").json
    assert (told["verified"], told["pattern"]) == (False, PATTERN)


def test_a_judgment_that_says_nothing_is_wrong_usage(learning, call):
    """So is a quality beyond its ends; an unknown learning is a no."""
    assert call("learning", "judge", learning).code == 2
    assert call("learning", "judge", learning, "--quality", "101").code == 2
    assert call("learning", "judge", "nothing-r9", "--verified").code == 1
