"""The table of sizes is counted, and not far from what there is."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
SPARE = 50
"""Lines or files by which any number may be off, beside a sixth of it: the page is mended now and then."""
MODULE = '''"""A module."""

import os
from sys import (
    argv,
)

# A remark.
X = """two
lines"""
"""What it is."""


class A:
    """A class."""

    y: int = 1  # of it

    def z(self) -> str:
        """Return it."""
        return os.path.join(
            X,
        )
'''


@pytest.fixture
def sizes() -> ModuleType:
    """Give the program that counts."""
    spec = importlib.util.spec_from_file_location("sizes_program", ROOT / "scripts" / "sizes.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_blanks_comments_docstrings_and_imports_are_no_code(sizes: ModuleType) -> None:
    """A statement counts by all of its lines, a text that is a value too."""
    assert sizes.code_lines(MODULE) == 8


def test_the_table_of_sizes_is_not_old(sizes: ModuleType) -> None:
    """Every part has its row; `python scripts/sizes.py` prints them anew."""
    told = re.findall(r"^\| (.*) \| ([\d,· ]+) \| ([\d,· ]+) \|$", PAGE, re.MULTILINE)
    rows = [*sizes.rows()]
    assert [label for label, *_ in told] == [label for label, *_ in rows]
    for (label, *cells), (_, *counts) in zip(told, rows, strict=True):
        for cell, found in zip(cells, counts, strict=True):
            said = [int(one.replace(",", "")) for one in cell.split(" · ")]
            far = [a for a, b in zip(said, found, strict=True) if abs(a - b) > b / 6 + SPARE]
            assert not far, f"{label}: {found}; run `python scripts/sizes.py`"
