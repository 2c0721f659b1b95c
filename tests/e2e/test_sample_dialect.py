"""The sample dialect: installed from its wheel, spoken over MCP, and gone again."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from counterpoint.dialects.call import DATA

EXAMPLE = Path(__file__).parents[2] / "examples/dialect"
LINES = 150

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Give the environment of a machine that has the package: what its build backend made of it."""
    made = tmp_path_factory.mktemp("wheel")
    program = "import sys, hatchling.build; hatchling.build.build_wheel(sys.argv[1])"
    subprocess.run(
        [sys.executable, "-c", program, str(made)], cwd=EXAMPLE, check=True, capture_output=True
    )
    (wheel,) = made.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(made / "site")
    return {**os.environ, "PYTHONPATH": str(made / "site"), "COUNTERPOINT_IDLE_MINUTES": "0"}


def test_the_sample_is_small() -> None:
    """Code, build file and description together."""
    files = [path for path in EXAMPLE.iterdir() if path.is_file()]
    assert sum(len(path.read_text("utf-8").splitlines()) for path in files) <= LINES


def test_a_dialect_of_somebody_else_is_spoken(
    folder: Path, connect: Callable[..., Any], installed: dict[str, str], wire: ModuleType
) -> None:
    """Its tools are listed and work, its refusals are its own, and retries are safe."""
    client = connect(folder, "--surface", "checklist", environ=installed)
    listed = client.ask("tools/list")["tools"]
    assert [tool["name"] for tool in listed] == ["add_point", "tick", "points"]
    bread = client.call("add_point", text="Buy bread", idempotency_key="1")
    assert client.call("add_point", text="Buy bread", idempotency_key="1") == bread
    assert client.call("tick", point=bread["point"])["mark"] == "ticked"
    assert client.call("points") == {
        "points": [{"point": "demo-1", "text": "Buy bread", "mark": "ticked"}],
        "note": DATA,
    }
    with pytest.raises(wire.Refused) as refused:
        client.call("tick", point="demo-9")
    assert refused.value.answer["code"] == "not_found"
    assert refused.value.answer["instead"] == "Look for the point with `points`."


@pytest.mark.long
def test_a_ledger_outlives_its_dialect(
    folder: Path,
    connect: Callable[..., Any],
    installed: dict[str, str],
    counterpoint: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    """Without the package all is verified, rebuilt and shown; only moves of its items are refused."""
    client = connect(folder, "--surface", "checklist", environ=installed)
    client.call("add_point", text="Buy bread")
    client.call("tick", point=client.call("add_point", text="Buy milk")["point"])
    assert client.close() == 0
    shown = {
        words: counterpoint(*words, cwd=folder)
        for words in (
            ("audit", "verify"),
            ("audit", "rebuild"),
            ("show", "demo-2"),
            ("list",),
            ("status",),
            ("next",),
        )
    }
    assert {words: said.stderr for words, said in shown.items() if said.returncode} == {}
    assert "ticked" in shown["show", "demo-2"].stdout
    assert "Buy bread" in shown[("list",)].stdout
    refused = counterpoint("reopen", "demo-2", cwd=folder)
    assert refused.returncode == 2
    assert "Install the dialect that brings it" in refused.stderr


def test_a_surface_that_nobody_has_is_refused_with_those_there_are(
    folder: Path, installed: dict[str, str]
) -> None:
    """What is installed is named among them."""
    ran = subprocess.run(
        [sys.executable, "-m", "counterpoint", "mcp", "--surface", "checklst"],
        cwd=folder, env=installed, capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert ran.returncode == 2
    assert "checklist" in ran.stderr
    assert "native" in ran.stderr


@pytest.mark.long
def test_an_entry_point_that_names_no_dialect_is_refused(
    folder: Path, installed: dict[str, str], tmp_path: Path
) -> None:
    """The package is at fault, and is told how to mend it."""
    made = tmp_path / "odd-1.dist-info"
    made.mkdir()
    (made / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1\n")
    (made / "entry_points.txt").write_text("[counterpoint.dialects]\nodd = json:dumps\n")
    ran = subprocess.run(
        [sys.executable, "-m", "counterpoint", "mcp", "--surface", "odd"],
        cwd=folder, env={**installed, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True,
        check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert ran.returncode == 3
    assert "is no dialect" in ran.stderr
