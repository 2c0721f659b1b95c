"""The page about threats names tests that there are."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "threat-model.md"


def test_each_test_that_the_page_names_exists() -> None:
    """A line that nothing shows any more is seen at once."""
    named = set(re.findall(r"`(test_\w+)`", PAGE.read_text()))
    written = "\n".join(path.read_text() for path in TESTS.rglob("test_*.py"))
    known = set(re.findall(r"^ *(?:async )?def (test_\w+)", written, re.MULTILINE))
    assert len(named) > 30
    assert named - known == set()
