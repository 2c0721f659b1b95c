"""The man pages are written from the commands, and roff reads them."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from counterpoint.cli.grouping import cli, walk

SCRIPT = Path(__file__).parents[2] / "scripts" / "manual.py"


@pytest.fixture(scope="module")
def manual() -> ModuleType:
    """The script that writes them."""
    spec = importlib.util.spec_from_file_location("manual", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_command_has_a_page_with_its_options_and_examples(manual: ModuleType) -> None:
    """Hyphens are those that can be copied, and no text is taken for a command of roff."""
    pages = dict(manual.pages())
    assert len(pages) == 1 + len(dict(walk(cli)))
    plan = pages["counterpoint-plan.1"]
    assert r"counterpoint\-plan \- Make a tree of work" in plan
    assert r"\fB\-\-dry\-run\fR" in plan
    assert "counterpoint plan PLAN.md" in plan
    assert r"\fBcounterpoint\-approve\fR(1)" in pages["counterpoint.1"]
    known = (".TH", ".SH", ".TP", ".PP", ".nf", ".fi")
    for name, text in pages.items():
        assert text.isascii(), name
        wrong = [one for one in text.splitlines() if one.startswith(".") and one[:3] not in known]
        assert wrong == [], name


@pytest.mark.skipif(shutil.which("groff") is None, reason="reads the pages as `man` does")
def test_roff_has_nothing_to_say_about_them(manual: ModuleType, tmp_path: Path) -> None:
    """With every warning that it has."""
    manual.write(tmp_path)
    words = ["groff", "-man", "-Tutf8", "-ww", "-z", *map(str, sorted(tmp_path.iterdir()))]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stderr == ""
