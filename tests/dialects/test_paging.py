"""Answers that fit: clipping, sharing and going on."""

from __future__ import annotations

import orjson
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.dialects.paging import (
    clip,
    fit_parts,
    fitting,
    part_of_list,
    part_of_text,
    size_of,
    sparse,
)

TEXTS = st.text(max_size=200)


@given(text=TEXTS, room=st.integers(min_value=10, max_value=400))
def test_a_clipped_text_fits(text: str, room: int) -> None:
    """Measured as JSON, where a control character takes six bytes."""
    clipped = clip(text, room)
    assert len(orjson.dumps(clipped)) - 2 <= room
    assert clipped == text or clipped.endswith("…")
    assert clipped.removesuffix("…") == text[: len(clipped.removesuffix("…"))]


@given(text=TEXTS, room=st.integers(min_value=0, max_value=400))
def test_no_more_of_a_text_would_fit(text: str, room: int) -> None:
    """The cut is as late as it can be."""
    count = fitting(text, room)
    assert size_of(text[:count]) - 2 <= room
    assert count == len(text) or size_of(text[: count + 1]) - 2 > room


@given(
    texts=st.lists(TEXTS, max_size=4),
    lists=st.lists(st.lists(st.text(max_size=40), max_size=20), max_size=4),
    room=st.integers(min_value=300, max_value=3_000),
)
def test_parts_share_the_room_and_lose_nothing(
    texts: list[str], lists: list[list[str]], room: int
) -> None:
    """What is shown fits, and reading on from each cut gives the whole."""
    whole = {f"t{n}": text for n, text in enumerate(texts)} | {
        f"l{n}": entries for n, entries in enumerate(lists)
    }
    parts = {
        name: part_of_text(content) if isinstance(content, str) else part_of_list(content)
        for name, content in whole.items()
    }
    shown, rest = fit_parts(parts, room)
    assert size_of(shown) <= room
    for name, content in whole.items():
        seen = shown.get(name, content[:0])
        assert content[: len(seen)] == seen
        assert rest.get(name, len(content)) == len(seen)


def test_a_small_part_leaves_its_room_to_a_large_one() -> None:
    """The room is not cut into equal pieces when one needs less."""
    parts = {"small": part_of_text("x"), "large": part_of_text("y" * 1_000)}
    shown, _ = fit_parts(parts, 600)
    assert shown["small"] == "x"
    assert len(shown["large"]) > 500


def test_only_what_says_nothing_is_left_out() -> None:
    """Zero and false are answers."""
    assert sparse(a=0, b=False, c="", d=[], e=None, f={}, g="x") == {"a": 0, "b": False, "g": "x"}
