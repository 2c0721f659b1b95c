"""Identifiers: the prefix says what it names, the rest is chance."""

from __future__ import annotations

import re
import secrets

import pytest

from counterpoint.kernel.ids import RandomMint

ID = re.compile(r"ses_[0-9a-hjkmnp-tv-z]{26}")


def test_an_identifier_has_its_prefix_and_26_letters() -> None:
    """The letters are Crockford's: none is taken for another."""
    assert all(ID.fullmatch(RandomMint().mint("ses")) for _ in range(100))


def test_identifiers_do_not_repeat() -> None:
    """Ten thousand are ten thousand."""
    mint = RandomMint()
    assert len({mint.mint("run") for _ in range(10_000)}) == 10_000


def test_every_random_bit_reaches_the_identifier(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def bits_of(value: int) -> str:
        monkeypatch.setattr(secrets, "randbits", lambda count: asked.append(count) or value)
        return RandomMint().mint("x")

    assert len({bits_of(1 << place) for place in range(128)} | {bits_of(0)}) == 129
    assert set(asked) == {128}
