"""Listings: the exact answer to `tools/list` without a server."""

from __future__ import annotations

import json
from types import ModuleType

from counterpoint.protocol.listing import render_listing


def test_a_listing_keeps_the_order_of_the_surface(small: ModuleType) -> None:
    """The order is fixed by the author and is the same every time."""
    first = render_listing(small.build())
    listed = [tool["name"] for tool in json.loads(first)["tools"]]
    assert listed == [tool.name for tool in small.TOOLS]
    assert render_listing(small.build()) == first


def test_a_listing_has_no_word_that_a_model_does_not_need(small: ModuleType) -> None:
    """Generated titles, references and null branches are gone from every schema."""
    text = render_listing(small.build()).decode()
    for word in ('"title":"', "$ref", "$defs", '{"type":"null"}', '"default":null'):
        assert word not in text
