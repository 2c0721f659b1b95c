"""Which price is that of a model, and which addresses are of this machine."""

from __future__ import annotations

import pytest

from counterpoint.core.model.models import Price
from counterpoint.core.rules.models.providers import is_here, price_of


@pytest.mark.parametrize(
    ("address", "here"),
    [
        ("http://localhost:11434/v1", True),
        ("http://127.0.0.2/v1", True),
        ("http://[::1]:8080", True),
        ("https://api.example.com", False),
        ("http://10.0.0.1", False),
        ("http://localhost.example.com", False),
        ("", False),
    ],
)
def test_an_address_is_here_only_if_it_leads_nowhere_else(address: str, *, here: bool) -> None:
    """By its host alone; a name is not looked up."""
    assert is_here(address) is here


def test_the_longest_name_that_fits_says_the_price() -> None:
    """A day behind a name is the same model; a star stands for all that begins so; the first table goes first."""
    short, long, star = (
        Price(model=name, input=number, cached=0, output=0)
        for number, name in enumerate(("swift", "swift-large", "swift-tiny*"))
    )
    tables = [short, long, star]
    assert price_of("swift-2026-01-02", tables) is short
    assert price_of("swift-large-latest", tables) is long
    assert price_of("swift-tiny-v3-turbo", tables) is star
    assert price_of("swift-other", tables) is None
    assert price_of("swift", [star], tables) is short
