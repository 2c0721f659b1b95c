"""What the core says of items, in the ids and states of a dialect."""

from __future__ import annotations

import pytest

from counterpoint.dialects.rewording import Rewording, ids_in
from counterpoint.kernel.errors import CounterpointError, IllegalMove, NotReady

WORDS = Rewording(
    prefix="demo",
    names={"demo-1": "task-1", "demo-12": "task-12"},
    states={"open": "pending", "active": "in_progress", "done": "completed"},
    phrases={"there is no item": "there is no node"},
)


@pytest.mark.parametrize(
    ("core", "here"),
    [
        ("demo-1 is held by ada; demo-12 too", "task-1 is held by ada; task-12 too"),
        ("demo-1 is done", "task-1 is completed"),
        ("demo-1 is done already", "task-1 is completed already"),
        ("demo-1 is open, not done", "task-1 is pending, not completed"),
        ("demo-1 is not ready: it is done", "task-1 is not ready: it is completed"),
        ("waits for demo-12 (open): The door", "waits for task-12 (pending): The door"),
        ("demo-1 becomes done only with a reason", "task-1 becomes completed only with a reason"),
        ("there is no item 'demo-1'", "there is no node 'demo-1'"),
        # What somebody wrote, and what is another thing: a path, a branch, an id of more parts.
        ("demo-1: The door is open", "task-1: The door is open"),
        (
            "`git log demo-1` and src/demo-1 or demo-1-2",
            "`git log demo-1` and src/demo-1 or demo-1-2",
        ),
        ("demo-1.txt, demo-12.", "demo-1.txt, task-12."),
        ("demo-3 is open", "demo-3 is pending"),
        ("undone, reopen", "undone, reopen"),
    ],
)
def test_a_text_of_the_core_is_said_in_the_words_of_the_dialect(core: str, here: str) -> None:
    """Ids and states where they are such, and nothing else."""
    assert WORDS.text(core) == here


def test_every_part_of_a_refusal_is_said_so() -> None:
    """Its message, its hint, and all that lies in its facts; its kind stays."""
    refusal = NotReady(
        "demo-1 is done",
        hint="Leave demo-12.",
        items=["demo-1"],
        tokens={"demo-12": 3},
        state="open",
        deep={"why": ("demo-1", 2)},
    )
    said = WORDS.refusal(refusal)
    assert type(said) is NotReady
    assert (said.message, said.steps) == ("task-1 is completed", "Leave task-12.")
    assert said.facts == {
        "items": ["task-1"],
        "tokens": {"task-12": 3},
        "state": "pending",
        "deep": {"why": ["task-1", 2]},
    }


def test_moves_that_there_are_not_name_the_states_of_the_dialect() -> None:
    """Each once, in the message, the hint and the facts."""
    refusal = IllegalMove(
        "demo-1 cannot go from 'open' to 'done'",
        hint="From 'open' it may become: active, done, parked.",
        moves=["active", "done", "parked"],
    )
    said = WORDS.refusal(refusal)
    assert said.message == "task-1 cannot go from pending to completed"
    assert said.steps == "From pending it may become: in_progress, completed, parked."
    assert said.facts["moves"] == ["in_progress", "completed", "parked"]


def test_a_refusal_tells_which_ids_it_names() -> None:
    """Those of its message first, each once, wherever they stand."""
    refusal = CounterpointError("demo-2 and demo-1", hint="See demo-2.", why=[{"demo-5": "demo-1"}])
    assert ids_in(refusal, "demo") == ["demo-2", "demo-1", "demo-5"]
    assert ids_in(refusal, "other") == []
