"""Five hundred seeded changes to live databases: each is found, or the page says why it cannot be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fakes.long_forms import share
from fakes.seeding import sqlite
from fakes.seeding.kinds import IMPOSSIBLE, OF_COPIES, OF_FILES, OF_ROWS, UNSEEN
from fakes.seeding.rounds import Field, tried
from fakes.seeding.sqlite import Files

pytestmark = pytest.mark.no_cover
"""Each line of the look is measured in the tests beside this one; here it is run too often for that."""

CHANGES = 500
PARTS = 10
ON_POSTGRES = share(50)
PAGE = Path(__file__).parents[4] / "docs" / "proofs.md"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Give databases of all kinds of work, made once and copied for each change."""
    return sqlite.laid_out(tmp_path_factory.mktemp("field"))


@pytest.fixture
def served(files: Files, databases: Any) -> Iterator[Field]:
    """Give a live database of the same work on a PostgreSQL server, with a store connected to it."""
    pytest.importorskip("psycopg")
    from fakes.seeding import postgres

    with closing(postgres.laid_out(files, databases.made())) as field:
        yield field


@pytest.mark.faults
@pytest.mark.slow
@pytest.mark.parametrize("part", range(share(PARTS)))
def test_each_seeded_change_is_found(files: Files, part: int) -> None:
    """With a witness all of them, without one all but those that the page declares impossible."""
    assert files.untouched() == []
    seeds = range(part, CHANGES, PARTS)
    assert [one.escaped for one in tried(files, seeds) if one.escaped] == []


@pytest.mark.faults
@pytest.mark.slow
def test_each_seeded_change_of_a_served_database_is_found(served: Field) -> None:
    """On PostgreSQL, while the server that looks was connected all the time."""
    assert served.untouched() == []
    seeds = range(ON_POSTGRES)
    assert [one.escaped for one in tried(served, seeds) if one.escaped] == []
    assert served.untouched() == []


def test_what_cannot_be_found_alone_stands_on_the_page() -> None:
    """What is sound in itself, and what nobody looks at: each by its name, and with its reason."""
    page = " ".join(PAGE.read_text("utf-8").split())
    assert [one for one in IMPOSSIBLE.items() if "| {} | {} |".format(*one) not in page] == []
    assert [one for one in UNSEEN.items() if "| `{}` | {} |".format(*one) not in page] == []
    assert set(OF_ROWS + OF_COPIES + OF_FILES) >= IMPOSSIBLE.keys()
