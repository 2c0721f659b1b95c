"""What every parameter of every tool takes is read back by another tool, whole, on a server started anew."""

from __future__ import annotations

from pathlib import Path

import pytest
import readback
from readback import agentic, colibri, foundry, native, symphony, workflow

from counterpoint.dialects import registry

TABLES = {
    table.dialect: table
    for table in (
        agentic.TABLE,
        colibri.TABLE,
        foundry.TABLE,
        native.TABLE,
        symphony.TABLE,
        workflow.TABLE,
    )
}
SHORT = {"colibri", "native"}
"""Dialects whose tables are played in each run of the tests."""


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    "dialect",
    [
        pytest.param(dialect, marks=() if dialect in SHORT else pytest.mark.long)
        for dialect in TABLES
    ],
)
def test_what_was_written_is_read_by_another_tool(dialect: str, tmp_path: Path) -> None:
    """Each value comes back whole, under its name."""
    values = readback.play(TABLES[dialect], tmp_path / "demo")
    different = {
        row.name: {"written": written, "read": read}
        for row, (written, read) in values.items()
        if read != written
    }
    assert different == {}


@pytest.mark.parametrize("dialect", registry.names())
def test_every_parameter_has_a_row_or_a_reason(dialect: str) -> None:
    assert readback.parameters_without_row(TABLES[dialect]) == []
    assert readback.stale_reasons(TABLES[dialect]) == []
