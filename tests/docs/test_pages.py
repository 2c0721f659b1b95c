"""The pages that the product writes about itself are fresh, and can be seen to go stale."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def pages() -> ModuleType:
    """Give the program that writes them."""
    spec = importlib.util.spec_from_file_location("pages_program", ROOT / "scripts" / "pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_a_page_that_went_stale_is_named_and_mended(pages, tmp_path, monkeypatch, capsys):
    """A check only tells; without it the page is written."""
    monkeypatch.setattr(pages, "TARGET", tmp_path)
    assert pages.main([]) == 0
    page = tmp_path / "docs" / "lifecycles.md"
    page.write_text(page.read_text("utf-8").replace("cancelled", "gone"), "utf-8")
    capsys.readouterr()
    assert pages.main(["--check"]) == 1
    assert "docs/lifecycles.md is not fresh" in capsys.readouterr().out
    assert "gone" in page.read_text("utf-8")
    assert pages.main([]) == 0
    assert pages.main(["--check"]) == 0


def test_the_page_of_lifecycles_draws_every_move(pages):
    """Each edge of each table is an arrow, and each state has a row."""
    text = pages.lifecycles_page()
    for table in pages.LIFECYCLES.values():
        for state, moves in table.moves.items():
            assert f"| `{state}` | {table.categories[state]} |" in text
            assert all(f"    {state} --> {end}" in text for end in moves)


def test_the_page_of_a_surface_tells_every_parameter(pages):
    """Each tool has a heading, and each of its parameters a row."""
    text = pages.tools_page("native")
    for tool in pages.registry.surface("native").tools:
        part = text.partition(f"\n## {tool.name}\n")[2].partition("\n## ")[0]
        names = tool.listed()["inputSchema"]["properties"]
        assert [name for name in names if f"| `{name}` |" not in part] == []
