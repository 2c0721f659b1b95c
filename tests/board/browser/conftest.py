"""What the tests in a real Chromium share; without one they are skipped, unless BROWSER=required."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

HERE = Path(__file__).parent
AXE = HERE.parents[2] / ".node" / "board" / "browser" / "node_modules" / "axe-core" / "axe.min.js"
PATIENCE_MS = 15_000


def load(name: str) -> ModuleType:
    """Return a module of this folder, which is no package."""
    known = sys.modules.get(f"board_{name}")
    if known is not None:
        return known
    spec = importlib.util.spec_from_file_location(f"board_{name}", HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[f"board_{name}"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Give a browser without a window."""
    # Where nothing drives a browser, no test comes as far as this.
    from playwright.sync_api import sync_playwright

    stage_module = load("stage")
    with sync_playwright() as playwright:
        if not stage_module.find_chromium(playwright):
            assert os.environ.get("BROWSER") != "required", "there is no Chromium"
            pytest.skip("there is no Chromium on the PATH, and none was installed")
        with stage_module.open_chromium(playwright) as browser:
            yield browser


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, chromium: Browser) -> Iterator[Any]:
    """Give a project after a week of work, with the server of its board."""
    root, stage_module = tmp_path_factory.mktemp("stage"), load("stage")
    with stage_module.own_account(root):
        opened = stage_module.open_stage(root, stage_module.work)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def entrance(chromium: Browser, stage: Any) -> tuple[str, Any]:
    """Give the address of the board, and the state of a browser that is logged in there."""
    context = chromium.new_context()
    page = stage.log_in(context)
    address, state = page.url.rstrip("/"), context.storage_state()
    context.close()
    return address, state


@pytest.fixture
def context(chromium: Browser, entrance: tuple[str, Any]) -> Iterator[BrowserContext]:
    """Give a browser's profile that is logged in; whatever its pages report as wrong fails the test."""
    opened = chromium.new_context(
        reduced_motion="reduce", storage_state=entrance[1], base_url=entrance[0]
    )
    opened.set_default_timeout(PATIENCE_MS)
    faults: list[str] = []
    opened.on("weberror", lambda error: faults.append(str(error.error)))
    opened.on("console", lambda line: faults.append(line.text) if line.type == "error" else None)
    yield opened
    opened.close()
    # What a page could not load is for the tests that have it so to judge.
    assert not [fault for fault in faults if "Failed to load resource" not in fault]


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """Give a page that is logged in."""
    page = context.new_page()
    page.goto("/")
    return page


@pytest.fixture
def open_page(page: Page) -> Callable[[str], Page]:
    """Open a path, and wait until it is kept up to date."""

    def open_(path: str) -> Page:
        page.goto(path)
        page.locator('body[data-live="live"], body:not([data-seq])').wait_for()
        return page

    return open_


@pytest.fixture(scope="session")
def axe() -> str:
    """Give the text of axe-core."""
    if not AXE.exists():
        assert os.environ.get("BROWSER") != "required", (
            "`.ci/programs board/browser` fetches axe-core"
        )
        pytest.skip("axe-core is not installed: `make browser` fetches it")
    return AXE.read_text()
