"""The ranking of learnings: words, fields, shares, filters."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.rules.fitting import asked_words, fold, nearness
from counterpoint.dialects.symphony.rules.quality import (
    PLACES,
    Candidate,
    Match,
    fields_with,
    order,
    rank,
)
from counterpoint.kernel.errors import InvalidInput

candidates = st.lists(
    st.builds(
        Candidate,
        key=st.text(min_size=1, max_size=4),
        relevance=st.floats(0, 50),
        fields=st.lists(st.sampled_from([*PLACES, "other"]), unique=True).map(tuple),
        quality=st.integers(0, 100),
        is_verified=st.booleans(),
    ),
    max_size=12,
)


def found(key, relevance, fields, quality, verified=False):
    """Answer a candidate."""
    return Candidate(
        key=key, relevance=relevance, fields=fields, quality=quality, is_verified=verified
    )


def test_the_score_is_the_stated_mixture():
    """Half relevance, three tenths place, two tenths quality, each of the best in the set."""
    ranked = rank(
        [
            found("a", 10.0, ("context",), 25),
            found("b", 5.0, ("pattern", "type"), 100),
            found("c", 8.0, (), 0),
        ]
    )
    assert [(one.key, one.relevance, one.place, one.quality, one.score) for one in ranked] == [
        ("b", 0.5, 1.0, 1.0, 0.75),
        ("a", 1.0, 0.5, 0.25, 0.7),
        ("c", 0.8, 0.0, 0.0, 0.4),
    ]


@given(found_=candidates, least=st.integers(0, 100))
def test_parts_are_shares_and_the_order_is_that_of_the_scores(found_, least):
    """Every part from 0 to 1; some candidate has the whole of each part that any has."""
    ranked = rank(found_, min_quality=least)
    assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)
    for one in ranked:
        assert all(0 <= part <= 1 for part in (one.score, one.relevance, one.place, one.quality))
        mixed = 0.5 * one.relevance + 0.3 * one.place + 0.2 * one.quality
        assert one.score == pytest.approx(mixed, abs=2e-4)
    for part in ("relevance", "place", "quality"):
        assert max((getattr(one, part) for one in ranked), default=0) in {0, 1}


@given(found_=candidates, least=st.integers(0, 100), limit=st.integers(1, 12))
def test_low_quality_is_left_out_unless_it_is_verified(found_, least, limit):
    """The filter keeps exactly these, and the limit the first of them."""
    ranked = rank(found_, min_quality=least)
    kept = [one.key for one in found_ if one.is_verified or one.quality >= least]
    assert sorted(one.key for one in ranked) == sorted(kept)
    assert rank(found_, min_quality=least, limit=limit) == ranked[:limit]


@given(found_=candidates.filter(len), gain=st.floats(0.001, 100))
def test_a_better_learning_never_falls(found_, gain):
    """More relevance, with all else the same, brings a learning up or leaves it."""
    named = [replace(one, key=str(place)) for place, one in enumerate(found_)]
    better = [replace(named[0], relevance=named[0].relevance + gain), *named[1:]]

    def place(ranked):
        return [one.key for one in ranked].index("0")

    best = max(one.relevance for one in named)
    if better[0].relevance <= best:
        assert place(rank(better)) <= place(rank(named))


def test_equal_scores_keep_the_order_of_relevance_and_then_the_given_one():
    """Nothing is left to chance."""
    same = [found(key, 1.0, ("type",), 50) for key in "bca"]
    assert [one.key for one in rank(same)] == ["b", "c", "a"]
    low = found("low", 4.0, ("pattern",), 0)
    high = found("high", 10.0, (), 0)
    assert [one.score for one in rank([low, high])] == [0.5, 0.5]
    assert [one.key for one in rank([low, high])] == ["high", "low"]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("auto*", ["auto"]), ("auto-import", ["auto", "import"]), ("  Foo FOO foo_bar", ["foo", "bar"]),
        ('"exact" OR (NEAR) title:x ^y -z', ["exact", "or", "near", "title", "x", "y", "z"]),
        ("café naïve", ["cafe", "naive"]), ("☃ v8", ["v8"]), ("日本", ["日本"]),
    ],
)  # fmt: skip
def test_a_query_is_words_and_nothing_else(query, words):
    """No sign in it is syntax."""
    assert asked_words(query) == words


def test_a_query_without_words_is_refused_and_a_long_one_is_cut():
    for query in ("", "  ", '"*"', "-- ;"):
        with pytest.raises(InvalidInput):
            asked_words(query)
    assert len(asked_words(" ".join(f"w{n}" for n in range(99)))) == 32


@given(query=st.text())
def test_any_query_gives_folded_words_or_a_refusal(query):
    try:
        words = asked_words(query)
    except InvalidInput:
        return
    assert words
    assert all(word and word.isalnum() for word in words)


@given(text=st.text())
def test_folding_does_away_with_case_and_accents(text):
    """Once is enough."""
    once = fold(text)
    assert fold(once) == once
    assert not any(map(unicodedata.combining, unicodedata.normalize("NFD", once)))
    assert fold("ÀÉÎ ÕÜ") == "aei ou"


def crude(word):
    """Answer a stem crude enough to see through."""
    return {"dying": "die", "died": "die"}.get(word, word.removesuffix("ing").removesuffix("s"))


@pytest.mark.parametrize(
    ("query", "fields", "expected"),
    [
        ("tests", {"pattern": "Testing it", "context": "no"}, ("pattern",)),
        ("test", {"context": "many tests", "pattern": "tested"}, ("pattern", "context")),
        ("auto*", {"type": "gotcha", "applies_to": "app/automatic/x.py"}, ("applies_to",)),
        ("go", {"pattern": "a goal", "context": "we go"}, ("context",)),
        ("got", {"type": "gotcha", "pattern": "nothing"}, ("type",)),
        ("Café", {"pattern": "CAFÉS", "other": "cafe"}, ("pattern", "other")),
        ("zebra", {"pattern": "zeal", "context": ""}, ()),
        ("died", {"pattern": "they are dying"}, ("pattern",)),
        ("dis", {"pattern": "dyslexia"}, ()),
    ],
)
def test_a_field_has_a_word_by_its_stem_or_its_beginning(query, fields, expected):
    """Best place first; short words are no beginnings."""
    asked = asked_words(query)
    near = nearness(crude(word) for word in asked)
    words = {name: near.findall(fold(text)) for name, text in fields.items()}
    every = {*asked, *(word for found in words.values() for word in found)}
    assert fields_with(words, asked, {word: crude(word) for word in every}) == expected


def test_found_learnings_are_put_in_order():
    """Words are looked for in every field of those that pass, with the stems they are given."""
    asked_for = []

    def stems(words):
        asked_for.append(list(words))
        return [crude(word) for word in words]

    def match(key, relevance, quality, verified=False, **texts):
        return Match(
            key=key, relevance=relevance, texts=texts, quality=quality, is_verified=verified
        )

    ranked = order(
        asked_words("auto tests"),
        [
            match("place", 3.0, 50, pattern="Testing is automatic", context="here"),
            match("relevant", 4.0, 50, pattern="nothing", type="auto"),
            match("low", 9.0, 10, pattern="tests"),
            match("sure", 1.0, 10, verified=True, context="all tests"),
        ],
        stems,
        min_quality=20,
        limit=3,
    )
    assert [(one.key, one.fields) for one in ranked] == [
        ("place", ("pattern",)),
        ("relevant", ("type",)),
        ("sure", ("context",)),
    ]
    assert asked_for == [["auto", "tests"], ["auto", "automatic", "testing", "tests"]]
    assert order(["x"], [], stems) == []
