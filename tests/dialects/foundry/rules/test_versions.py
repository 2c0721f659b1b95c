"""What names a version."""

from __future__ import annotations

import pytest

from counterpoint.dialects.foundry.nodes.rules.shape import moment_of, position_of


@pytest.mark.parametrize(
    ("version", "moment"),
    [
        ("20251227T120000", "2025-12-27T12:00:00.999Z"),
        ("2025-12-27T12:00:00Z", "2025-12-27T12:00:00.999Z"),
        ("2025-12-27T12-00-00.123456", "2025-12-27T12:00:00.123Z"),
        ("2025-12-27T12:00:00.5+02:00", "2025-12-27T10:00:00.500Z"),
        ("2025-02-30T12:00:00Z", None),
        ("9999-12-31T23:59:59-12:00", None),
        ("2025-12-27", None),
        ("2025-12-27T12:00:00 or so", None),
        ("demo-2026-01-02-001", None),
    ],
)
def test_a_time_is_its_last_moment(version: str, moment: str | None):
    """As far as it was said."""
    assert moment_of(version) == moment


def test_a_position_is_a_number():
    """In digits that everybody writes."""
    assert position_of("12") == 12
    assert position_of("١٢") is None
    assert position_of("-1") is None
