"""Payloads that fit, and what a run came to."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.rules.runs import PAYLOAD_LIMIT, Totals, event, fit_payload, totals

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
)


@given(payload=st.dictionaries(st.text(max_size=5), json_values, max_size=4))
def test_a_small_payload_stays_as_it_is(payload):
    """Nothing is cut that fits."""
    text, is_cut = fit_payload(payload)
    assert json.loads(text) == payload
    assert not is_cut


@given(
    lengths=st.lists(st.integers(0, 30_000), min_size=1, max_size=40),
    names=st.integers(1, 30_000),
    depth=st.integers(0, 60),
)
def test_any_payload_is_made_to_fit(lengths, names, depth):
    """Long texts, many texts, long names, deep values: still JSON, and it says if it was cut."""
    deep = "end"
    for _ in range(depth):
        deep = [deep]
    payload = {"type": "x", "texts": ["t" * n for n in lengths], "n" * names: 1, "deep": deep}
    text, is_cut = fit_payload(payload)
    assert len(text) <= PAYLOAD_LIMIT
    assert (json.loads(text) != payload) is is_cut


def test_what_was_cut_is_said():
    """In place of the text, or as a whole if there is too much of everything."""
    text, _ = fit_payload({"type": "text", "text": "a" * 30_000})
    assert json.loads(text)["text"].endswith("… (26000 more characters)")
    wide = {f"name{n}": ["x" * 30] * 100 for n in range(400)}
    text, is_cut = fit_payload({"type": "wide", "subtype": 7, **wide})
    assert json.loads(text) == {"type": "wide", "cut": json.loads(text)["cut"]}
    assert is_cut
    text, is_cut = fit_payload({"list": list(range(501))})
    assert (len(json.loads(text)["list"]), is_cut) == (500, True)
    text, is_cut = fit_payload({"d" * 30_000: 1})
    assert is_cut


def result(**told):
    """Answer the totals of a run with one result."""
    return totals([event(1, "system", "init", {}), event(2, "result", "", told)])


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (
            {
                "type": "result", "subtype": "success", "is_error": False, "duration_ms": 4086,
                "num_turns": 3, "result": "Done.", "total_cost_usd": 0.0241234567,
                "usage": {"input_tokens": 3, "cache_read_input_tokens": 9, "output_tokens": 6},
            },
            Totals(
                status="completed", cost_micros=24123, duration_ms=4086, turns=3, input_tokens=3,
                cached_tokens=9, output_tokens=6,
            ),
        ),
        (
            {"type": "turn.completed", "usage": {"input_tokens": 5, "cached_input_tokens": 4}},
            Totals(status="completed", input_tokens=5, cached_tokens=4),
        ),
        (
            {"type": "turn.failed", "error": {"message": "stream ended"}},
            Totals(status="failed", error="stream ended"),
        ),
        (
            {"type": "result", "subtype": "success", "is_error": True, "result": "Limit reached"},
            Totals(status="failed", error="Limit reached"),
        ),
        (
            {"type": "result", "subtype": "error_during_execution", "errors": ["one", "two"]},
            Totals(status="failed", error="one; two"),
        ),
        (
            {"type": "result", "subtype": "error_max_turns", "is_error": False},
            Totals(status="failed", error="error_max_turns"),
        ),
        ({"type": "result", "is_error": True}, Totals(status="failed")),
        (
            {
                "type": "result", "total_cost_usd": "much", "duration_ms": -1, "num_turns": True,
                "usage": {"input_tokens": 1e30, "output_tokens": None},
            },
            Totals(status="completed"),
        ),
        ({"type": "result", "usage": 7}, Totals(status="completed")),
    ],
)  # fmt: skip
def test_a_result_tells_what_a_run_came_to(told, expected):
    """Cost, duration, turns, tokens, status and error, as far as they are told."""
    assert result(**told) == expected


def test_the_last_result_counts_and_without_one_a_run_is_unfinished():
    first = event(1, "result", "", {"type": "result", "is_error": True})
    last = event(2, "result", "", {"type": "result", "num_turns": 2})
    after = event(3, "system", "", {"type": "late"})
    assert totals([first, last, after]) == Totals(status="completed", turns=2)
    assert totals([after]) == Totals(status="unfinished")
