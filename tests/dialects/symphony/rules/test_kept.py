"""Objects that are kept as texts."""

from __future__ import annotations

import pytest

from counterpoint.core.model.rows import REDACTED
from counterpoint.dialects.symphony.rules.kept import kept_object


@pytest.mark.parametrize(
    ("text", "expected"), [('{"a":1}', {"a": 1}), ("", {}), (REDACTED, {}), ("[1]", {})]
)
def test_what_is_no_object_is_an_empty_one(text, expected):
    """Nothing, a redacted text, a list."""
    assert kept_object(text) == expected
