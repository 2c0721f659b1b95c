"""The code is counted by its rules, and a worse figure fails."""

from __future__ import annotations

import importlib
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "scripts"
MODULE = '''"""A module."""

import os
from sys import (
    argv,
)

# A remark.
X = """two

# lines"""
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
TREE = {
    "__init__.py": '"""A package."""\n',
    "top.py": '''
        """The top."""
        from counterpoint.floor import open_floor, walls
        from counterpoint.floor.walls import build

        def start(self, given):
            # Doors need walls.
            result = build(given)
            for one in result:
                open_floor(one)
        ''',
    "side.py": '''
        """The side."""
        def look():
            import counterpoint.floor
            return counterpoint.floor
        ''',
    "floor/__init__.py": '"""A floor."""\n\ndef open_floor(item): ...\n',
    "floor/walls.py": '"""Walls."""\n\ndef build(item): ...\n',
    "floor/doors.py": '"""Doors (start-up)."""\n\nwidth = 1\n',
    "floor/rooms.py": '"""Rooms."""\n\nfrom counterpoint.floor import doors\n',
    "dialects/foundry/tools.py": '"""Tools."""\n\ncount = 1\n',
    "board/pages.py": '"""Pages."""\n\nimport counterpoint.floor.rooms\n\none = 1\nrows = 2\n',
}


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Give the program that counts."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    yield importlib.import_module("sizes")
    for name in ("sizes", "source_files"):
        sys.modules.pop(name, None)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Give a small tree with the layout of this repository."""
    for name, text in TREE.items():
        path = tmp_path / "src" / "counterpoint" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), "utf-8")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_top.py").write_text('"""Tests."""\n\nx = 1\n', "utf-8")
    return tmp_path


def counted(sizes: ModuleType, root: Path) -> dict[str, float]:
    """Count the figures of a tree, by their keys."""
    return {figure.key: figure.number for figure in sizes.count_tree(root)}


def limits_of(figures: dict[str, float]) -> dict[str, dict[str, float]]:
    """Return limits that exactly allow these figures."""
    most = {key: number for key, number in figures.items() if key != "comments"}
    return {"most": most, "least": {"comments": figures["comments"]}}


def test_blanks_comments_docstrings_and_imports_are_no_code(sizes: ModuleType) -> None:
    source = sizes.parse_file(MODULE)
    assert len(source.code_lines) == 9
    assert len(source.comment_lines) == 1
    assert len(source.import_lines) == 4


def test_each_figure_is_counted_by_its_rule(sizes: ModuleType, tree: Path) -> None:
    assert counted(sizes, tree) == {
        "code": 10,
        "imports": 4,
        "physical": 29,
        "files": 8,
        "folders": 3,
        # Walls and doors; the floor has two importers, and rooms only the board.
        "one_importer": 2,
        "small": 1,
        # Names: self, given, result, one, item twice, width, count.
        "empty_names": 25.0,
        "vague_names": 12.5,
        "comments": 3.45,
        "foundry": 1,
        "tests": 3,
        "board": 2,
        "orchestrator": 0,
    }


def test_a_worse_figure_fails_with_its_limit_and_what_to_do(sizes: ModuleType, tree: Path) -> None:
    limits = limits_of(counted(sizes, tree))
    assert sizes.worse_figures(sizes.count_tree(tree), limits) == []
    top = tree / "src" / "counterpoint" / "top.py"
    top.write_text(top.read_text("utf-8") + "\n\nfound = 1\n", "utf-8")
    faults = {fault.split(": ")[1]: fault for fault in sizes.worse_figures(sizes.count_tree(tree), limits)}  # fmt: skip
    assert faults.keys() == {"code lines", "physical lines", "empty names", "comments"}
    assert "33.33 %, at most 25.0: name what the variable holds" in faults["empty names"]
    assert "11, at most 10: take out what nobody calls" in faults["code lines"]
    assert "3.12 %, at least 3.45: say why" in faults["comments"]


def test_a_part_with_a_ceiling_of_its_own_stops_at_it(sizes: ModuleType, tree: Path) -> None:
    limits = limits_of(counted(sizes, tree))
    pages = tree / "src" / "counterpoint" / "board" / "pages.py"
    pages.write_text(pages.read_text("utf-8") + "found = 1\n", "utf-8")
    (fault,) = sizes.worse_figures(sizes.count_tree(tree), limits)
    assert "`board/`, code lines: 3, at most 2" in fault


def test_a_small_module_needs_a_reason_or_a_second_importer(sizes: ModuleType, tree: Path) -> None:
    walls = tree / "src" / "counterpoint" / "floor" / "walls.py"
    text = walls.read_text("utf-8")
    walls.write_text(text.replace("Walls.", "Walls (seam)."), "utf-8")
    assert counted(sizes, tree)["small"] == 0
    walls.write_text(text + "\n" * 96, "utf-8")
    assert counted(sizes, tree)["small"] == 1
    walls.write_text(text + "\n" * 97, "utf-8")
    assert counted(sizes, tree)["small"] == 0


def test_no_figure_is_without_a_limit_and_no_limit_without_a_figure(
    sizes: ModuleType, tree: Path
) -> None:
    figures = sizes.count_tree(tree)
    limits = limits_of(counted(sizes, tree))
    del limits["most"]["files"]
    limits["most"]["median"] = 8
    without, unknown = sizes.worse_figures(figures, limits)
    assert "source files: 8, without a limit" in without
    assert "`median` is no figure" in unknown


def test_the_program_fails_where_a_figure_of_a_tree_is_worse(
    sizes: ModuleType, tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sizes.main(["--check", "--root", str(tree)]) == 1
    assert "empty names: 25.00 %, at most" in capsys.readouterr().out
    assert sizes.main(["--root", str(tree)]) == 0
    assert re.search(r"^empty names +25\.00 % +limit \d", capsys.readouterr().out, re.MULTILINE)


def test_the_empty_names_of_a_module_are_listed_by_line(
    sizes: ModuleType, tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    top = tree / "src" / "counterpoint" / "top.py"
    walls = tree / "src" / "counterpoint" / "floor" / "walls.py"
    assert sizes.main(["--root", str(tree), str(top), str(walls)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{top}:5: given",
        f"{top}:7: result",
        f"{top}:8: one",
        f"{walls}: imported only by top.py",
    ]
