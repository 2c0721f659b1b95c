"""How well passages fit a question."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.rules.fitting import Excerpt, drop_common_words, score_excerpts


def same(words: Sequence[str]) -> list[str]:
    """Answer words as their own stems."""
    return list(words)


def test_every_asked_word_is_at_least_a_half() -> None:
    """The most relevant one of those is a whole."""
    found = [
        Excerpt(text="retry with backoff", relevance=4),
        Excerpt(text="backoff retry", relevance=1),
    ]
    assert score_excerpts(["retry", "backoff"], found, same) == [1.0, 0.625]


def test_a_part_of_the_words_is_at_most_that_part() -> None:
    """However relevant the search holds it."""
    found = [Excerpt(text="retry", relevance=9), Excerpt(text="nothing", relevance=3)]
    assert score_excerpts(["retry", "backoff", "jitter"], found, same) == [0.3333, 0.0]


def test_a_word_is_met_by_its_beginning_if_it_is_long_enough() -> None:
    """Two letters say too little."""
    found = [Excerpt(text="retrying inside", relevance=1)]
    assert score_excerpts(["retry"], found, same) == [1.0]
    assert score_excerpts(["in"], found, same) == [0.0]


def test_nothing_found_has_no_scores() -> None:
    """And what has no relevance is no fault."""
    assert score_excerpts(["a"], [], same) == []
    assert score_excerpts(["word"], [Excerpt(text="word", relevance=0)], same) == [0.5]


def test_words_of_every_text_are_not_asked_for() -> None:
    """Unless there are no others."""
    assert drop_common_words(["how", "to", "retry"]) == ["retry"]
    assert drop_common_words(["how", "to"]) == ["how", "to"]


@given(st.lists(st.tuples(st.text(), st.floats(0, 1e6)), max_size=5))
def test_scores_are_from_0_to_1(found: list[tuple[str, float]]) -> None:
    made = score_excerpts(["ab", "word"], [Excerpt(text=t, relevance=r) for t, r in found], same)
    assert all(0 <= score <= 1 for score in made)
