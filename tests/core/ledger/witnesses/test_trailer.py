"""Heads in messages of commits: written, read again, and what is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.ledger.checkpoint import Checkpoint, seal, verify
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.ledger.witnesses.trailer import KEY, parse_trailer, render_trailer
from fakes.studio import FixedKey

MINE = FixedKey()
LOG = VerifierKey(name="counterpoint/demo", public_key=MINE.public_key)


@given(
    size=st.integers(0, 10**18),
    root=st.binary(min_size=32, max_size=32),
    epoch=st.integers(1, 10**9 - 1),
)
def test_a_head_is_the_same_after_it_was_in_a_commit(size: int, root: bytes, epoch: int) -> None:
    """Epoch and signature too, in lines that no checker of messages finds too long."""
    lines = (f"epoch {epoch}",) if epoch > 1 else ()
    note = seal(Checkpoint(origin=LOG.name, size=size, root=root, extensions=lines), MINE.sign, LOG)
    trailer = render_trailer(note + "— witness.example/w1 AAAAAAAA\n", "led_demo")
    assert max(map(len, trailer.split("\n"))) <= 100
    value = trailer.removeprefix(f"{KEY}: ")
    assert parse_trailer(value, "led_demo") == (size, note)
    assert verify(note, LOG).size == size
    assert parse_trailer(value, "led_other") is None


@pytest.mark.parametrize(
    "value", ["", "led_demo", "a led_demo x 1 y z", "a led_demo 1 1 AA== AA=="]
)
def test_what_has_other_words_is_no_head(value: str) -> None:
    """Whatever somebody writes under that name."""
    assert parse_trailer(value, "led_demo") is None
