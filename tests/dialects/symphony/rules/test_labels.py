"""Labels with a meaning: exactly one phase, and what a move makes of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.dialects.symphony.rules.issues import (
    PHASE,
    after_move,
    may_move,
    phase_of,
    with_phase,
)
from counterpoint.kernel.errors import InvalidInput

PHASES = ("research", "architecture", "grooming", "ready")
words = st.lists(
    st.sampled_from(
        ["ui", "api", "phase:research", "phase:ready", "skip:research", "moved-from:A-1"]
    )
)


def test_labels_without_a_phase_get_the_usual_one():
    """A phase that is named stays; nothing is doubled."""
    assert with_phase(("ui", "ui"), "research", PHASES) == ("ui", "phase:research")
    assert with_phase(("phase:ready",), "research", PHASES) == ("phase:ready",)
    assert phase_of(["ui", "phase:ready"]) == "ready"
    assert phase_of(["ui"]) == ""


@pytest.mark.parametrize(
    ("labels", "wrong"),
    [
        (("phase:ready", "phase:research"), "more than one phase"),
        (("phase:party",), "no phase of this project"),
        (("skip:research",), "set by a move"),
        (("moved-from:SYM-001",), "set by a move"),
        ((" ",), "is empty"),
    ],
)
def test_labels_that_cannot_be_are_refused(labels, wrong):
    """Two phases, a phase that is not there, what only a move sets, and nothing at all."""
    with pytest.raises(InvalidInput, match=wrong):
        with_phase(labels, "research", PHASES)


def test_a_phase_or_a_word_lets_an_issue_be_moved():
    """Nothing else does."""
    assert may_move(["phase:ready"])
    assert may_move(["cross-project"])
    assert may_move(["multi-repo", "ui"])
    assert not may_move(["ui"])


def test_a_move_keeps_the_phase_that_the_other_project_has():
    """Else its first; phases with an artifact may be skipped; the former name is told."""
    labels = ("ui", "phase:grooming", "skip:architecture", "moved-from:ZZ-001")
    assert after_move(labels, "SYM-001", PHASES, ["research"]) == (
        "ui", "moved-from:ZZ-001", "phase:grooming", "moved-from:SYM-001", "skip:research",
    )  # fmt: skip
    assert after_move(labels, "SYM-001", ("plan", "ready"), ["research"]) == (
        "ui", "moved-from:ZZ-001", "phase:plan", "moved-from:SYM-001",
    )  # fmt: skip


@given(words, st.lists(st.sampled_from(PHASES)))
def test_a_moved_issue_has_exactly_one_phase(labels, written):
    """Whatever it had before."""
    after = after_move(labels, "SYM-001", PHASES, written)
    assert sum(name.startswith(PHASE) for name in after) == 1
    assert len(set(after)) == len(after)
