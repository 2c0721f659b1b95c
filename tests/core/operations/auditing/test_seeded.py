"""Five hundred seeded changes to a live database: each is found, or the page says why it cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakes.seeded import IMPOSSIBLE, KINDS, Field, laid_out, tried

pytestmark = pytest.mark.no_cover
"""Each line of the look is measured in the tests beside this one; here it is run too often for that."""

PARTS = 10
EACH = 50
PAGE = Path(__file__).parents[4] / "docs" / "proofs.md"


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Field:
    """Give databases of all kinds of work, made once and copied for each change."""
    return laid_out(tmp_path_factory.mktemp("field"))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_each_seeded_change_is_found(field: Field, part: int) -> None:
    """With a witness all of them, without one all but those that the page declares impossible."""
    assert field.faults(field.last, field.note) == []
    seeds = range(part * EACH, (part + 1) * EACH)
    assert [one.escaped for one in tried(field, seeds) if one.escaped] == []


def test_what_cannot_be_found_alone_stands_on_the_page() -> None:
    """By the names that the changes have; and each kind of change is one of those that are drawn."""
    page = PAGE.read_text("utf-8")
    assert [name for name in IMPOSSIBLE if f"| {name} |" not in page] == []
    assert set(KINDS) >= IMPOSSIBLE
