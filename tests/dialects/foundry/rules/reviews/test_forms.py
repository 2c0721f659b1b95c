"""What is taken for the form of a review, and what is not."""

from __future__ import annotations

import json

import pytest

from counterpoint.dialects.foundry.reviews.rules.material import FIDELITY, read

GOOD = {"verdict": "fail", "summary": "s", "deviations": [], "recommendations": []}
WHOLE = json.dumps(GOOD)


@pytest.mark.parametrize("said", [WHOLE, f"```json\n{WHOLE}\n```"])
def test_an_answer_of_its_form_is_read(said: str) -> None:
    """A fence around all of it is no part of it."""
    assert read(said, FIDELITY) == (GOOD, [])


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        (WHOLE[:-1] + ', "verdict": "pass"}', "verdict is there twice"),
        ('{"a": ' * 990 + "1" + "}" * 990, "something is there twice"),
        (f'{{"a": {"1" * 5_000}}}', "it is not one JSON object"),
    ],
)
def test_a_word_that_is_there_twice_is_none(said: str, fault: str) -> None:
    """Which of two verdicts counts is not left to the reader of JSON."""
    found, faults = read(said, FIDELITY)
    assert not found
    assert fault in faults[0]
