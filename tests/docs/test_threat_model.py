"""The pages about threats and reliability name tests that there are."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
DOCS = TESTS.parent / "docs"
PAGES = {"threat-model.md": 30, "reliability.md": 15}
"""And how many each names at least."""


def test_each_test_that_a_page_names_exists() -> None:
    """A line that nothing shows any more is seen at once."""
    written = "\n".join(path.read_text() for path in TESTS.rglob("test_*.py"))
    known = set(re.findall(r"^ *(?:async )?def (test_\w+)", written, re.MULTILINE))
    for page, least in PAGES.items():
        named = set(re.findall(r"`(test_\w+)`", (DOCS / page).read_text()))
        assert len(named) > least
        assert named - known == set()
