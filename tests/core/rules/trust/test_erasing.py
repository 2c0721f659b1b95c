"""Which texts say what is to go, and what is left of a value that repeats it."""

from __future__ import annotations

from counterpoint.core.model.rows import REDACTED
from counterpoint.core.rules.trust.erasing import blot_words, has_any

WORD = "the walnut is rotten"


def test_every_part_of_a_value_loses_the_words() -> None:
    """Names of members too; what is no text stays."""
    value = {WORD: [f"so {WORD}.", 1, None, {"a": True}]}
    assert blot_words(value, {WORD}) == {REDACTED: [f"so {REDACTED}.", 1, None, {"a": True}]}


def test_a_piece_that_is_long_enough_goes_whole() -> None:
    """What was cut off at its end still tells; a short piece may be anybody's."""
    assert blot_words("the walnut is rot…", {WORD}) == REDACTED
    assert blot_words("the walnut is…", {WORD}) == "the walnut is…"
    assert has_any(f"so {WORD}", {WORD}, 4)
    assert not has_any("so", {"so"}, 4)
