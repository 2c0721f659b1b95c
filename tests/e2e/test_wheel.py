"""The wheel of the product: it brings what its surfaces list."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
import zipfile
from collections.abc import Callable
from email.parser import Parser
from pathlib import Path
from typing import Any

import pytest

from counterpoint.cli.grouping import cli, walk
from counterpoint.cli.server.listings import listing_of
from counterpoint.dialects.registry import names

ROOT = Path(__file__).parents[2]
BUILD = "import sys, hatchling.build; getattr(hatchling.build, sys.argv[1])(sys.argv[2])"

pytestmark = pytest.mark.e2e


def build(made: Path, kind: str = "build_wheel", **environ: str) -> tuple[Path, str]:
    """Return the wheel that the build backend makes of the source, and what it said."""
    made.mkdir()
    ran = subprocess.run(
        [sys.executable, "-c", BUILD, kind, str(made)],
        cwd=ROOT, env={**os.environ, **environ}, check=True, capture_output=True, text=True,
    )  # fmt: skip
    (wheel,) = made.glob("*.whl")
    return wheel, ran.stdout + ran.stderr


def packed(wheel: Path) -> dict[str, bytes]:
    """Return the lists in a wheel by the names of their surfaces."""
    with zipfile.ZipFile(wheel) as files:
        return {
            Path(name).stem: files.read(name)
            for name in files.namelist()
            if name.startswith("counterpoint/listings/")
        }


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the wheel as it is released."""
    return build(tmp_path_factory.mktemp("build") / "made")[0]


@pytest.mark.long
def test_a_wheel_brings_what_each_surface_lists(wheel: Path) -> None:
    """It is what a server of this source answers, and the source is left as it was."""
    lists = {name: json.loads(text) for name, text in packed(wheel).items()}
    assert all(listing.pop("packages") for listing in lists.values())
    assert lists == {name: json.loads(json.dumps(listing_of(name))) for name in names()}
    assert not (ROOT / "src/counterpoint/listings").exists()


def test_a_wheel_has_every_extra_that_refusals_name(wheel: Path) -> None:
    """Whoever does what they say gets the libraries: pypdf reads PDFs."""
    named = {
        found
        for path in (ROOT / "src").rglob("*.py")
        for found in re.findall(r"install_hint\([\"'](\w+)[\"']\)", path.read_text())
    }
    with zipfile.ZipFile(wheel) as files:
        (name,) = (one for one in files.namelist() if one.endswith(".dist-info/METADATA"))
        said = Parser().parsestr(files.read(name).decode())
    wanted = {
        extra: one.partition(";")[0].strip()
        for one in said.get_all("Requires-Dist", [])
        for extra in re.findall(r"extra == '(\w+)'", one)
    }
    assert set(wanted) == set(said.get_all("Provides-Extra", [])) == named
    assert wanted["documents"].startswith("pypdf>=")
    locked = (ROOT / "requirements/dev.txt").read_text()
    for library in wanted.values():
        assert re.search(
            rf"^{re.split(r'[><=;[]', library)[0]}==\S+ \\\n    --hash=", locked, re.MULTILINE
        )


def test_a_wheel_brings_a_man_page_for_each_command(wheel: Path) -> None:
    """They are installed where `man` looks below an environment."""
    with zipfile.ZipFile(wheel) as files:
        found = {Path(name).name for name in files.namelist() if "/data/share/man/man1/" in name}
    assert found == {"counterpoint.1"} | {
        f"counterpoint-{words.replace(' ', '-')}.1" for words, _ in walk(cli)
    }


def test_a_wheel_that_lacks_or_tells_too_much_is_not_released(wheel: Path, tmp_path: Path) -> None:
    """What `make release-check` looks for in it: whole as it is built, refused with the name of what is wrong."""
    release = runpy.run_path(str(ROOT / "scripts" / "release.py"))
    assert release["check_contents"](wheel).endswith(" files")
    for change, told in (("py.typed", "py.typed"), ("leaky.py", "leaky.py")):
        changed = tmp_path / f"{change}.whl"
        with zipfile.ZipFile(wheel) as before, zipfile.ZipFile(changed, "w") as after:
            for name in before.namelist():
                if not name.endswith(change):
                    after.writestr(name, before.read(name))
            if change == "leaky.py":
                after.writestr("counterpoint/leaky.py", str(Path("/") / "home" / "ann" / "x" / "y"))
        with pytest.raises(release["Unfit"], match=told):
            release["check_contents"](changed)


def test_a_wheel_is_whole_where_the_path_is_cleared(tmp_path: Path) -> None:
    """As pip does it in an environment that the checkout is installed in: it takes that one's folders off."""
    clears = tmp_path / "clears"
    clears.mkdir()
    (clears / "sitecustomize.py").write_text(
        "import sys\nsys.path[:] = [one for one in sys.path if not one.endswith('/src')]\n"
    )
    made, said = build(tmp_path / "made", PYTHONPATH=str(clears))
    assert set(packed(made)) == set(names())
    assert "lists of tools" not in said


def test_an_editable_wheel_brings_none(tmp_path: Path) -> None:
    """Its source changes under it."""
    made, said = build(tmp_path / "made", "build_editable")
    assert packed(made) == {}
    assert "lists of tools" not in said


def test_a_wheel_is_built_where_the_product_cannot_run(tmp_path: Path) -> None:
    """It brings no lists then, and the build says so."""
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "click.py").write_text("raise ModuleNotFoundError(\"No module named 'click'\")\n")
    made, said = build(tmp_path / "made", PYTHONPATH=str(broken))
    assert packed(made) == {}
    assert "This wheel has no lists of tools, for here is No module named 'click'" in said


def test_tools_are_listed_from_the_wheel(
    wheel: Path, folder: Path, tmp_path: Path, connect: Callable[..., Any]
) -> None:
    """Nothing is written into the user's cache; with other packages, lists are worked out there."""
    site, cache = tmp_path / "site", tmp_path / "cache"
    with zipfile.ZipFile(wheel) as files:
        files.extractall(site)
    # A mark shows that it is this list which answers.
    path = site / "counterpoint/listings/workflow.json"
    listing = json.loads(path.read_text())
    for answers in listing["answers"].values():
        answers["tools/list"]["tools"][0]["name"] = "packed"
    path.write_text(json.dumps(listing))
    environ = {**os.environ, "PYTHONPATH": str(site), "XDG_CACHE_HOME": str(cache)}

    def listed() -> list[str]:
        client = connect(folder, "--surface", "workflow", environ=environ)
        tools = client.ask("tools/list")["tools"]
        assert client.close() == 0
        return [tool["name"] for tool in tools]

    first, *others = listed()
    assert first == "packed"
    assert not cache.exists()
    path.write_text(json.dumps(listing | {"packages": ["mcp-0.dist-info"]}))
    again, *rest = listed()
    assert (again != "packed", rest) == (True, others)
    assert [file.name for file in cache.glob("counterpoint/*/*.json")] == ["workflow.json"]
