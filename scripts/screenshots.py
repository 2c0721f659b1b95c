"""Write a picture of every page of the board with work in it, at three widths, light and dark.

    python scripts/screenshots.py [FOLDER] [PATH …]

Into build/screenshots without a folder; with paths (`/board`) only of those. `make screenshots`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

ROOT: Final = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "board" / "browser")]

import stage  # noqa: E402 -- lies beside the tests
from playwright.sync_api import sync_playwright  # noqa: E402

from counterpoint.board.routes import ROUTES  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Page

TARGET: Final = ROOT / "build" / "screenshots"
HEIGHT: Final = 900


def list_paths(opened: stage.Stage) -> list[str]:
    """Return the paths of the pages, of those with several forms each of them."""
    ids = opened.ids
    session = opened.core("bob").audit.log(subject=ids["count"], limit=1)[0].actor.session
    pages = [f"/{name}" for name in ROUTES if name not in {"items", "edit"}]
    pages += [f"/items/{ids[name]}" for name in ("gate", "agree", "lock")]
    pages += [
        f"/review/{ids['chains']}",
        f"/sessions/{session}",
        "/search?q=gate",
        "/proof?check=1",
    ]
    return [*pages, *(f"/board?lanes={name}" for name in ("phase", "agent", "label"))]


def take_pictures(page: Page, paths: list[str], folder: Path) -> None:
    """Write the pictures of some pages."""
    folder.mkdir(parents=True, exist_ok=True)
    address = page.url.rstrip("/")
    for path in paths:
        page.goto(address + path)
        page.locator('body[data-live="live"], body:not([data-seq])').wait_for()
        for width in stage.WIDTHS:
            page.set_viewport_size({"width": width, "height": HEIGHT})
            for scheme in stage.SCHEMES:
                page.emulate_media(color_scheme=scheme)
                name = quote(path.strip("/") or "now", safe="").replace("%", "_")
                page.screenshot(path=folder / f"{name}-{width}-{scheme}.png", full_page=True)


def main(words: list[str]) -> int:
    """Play a week of work, and take the pictures."""
    folder = Path(words[0]) if words else TARGET
    with tempfile.TemporaryDirectory() as root, stage.own_account(Path(root)):
        opened = stage.open_stage(Path(root), stage.work)
        try:
            with sync_playwright() as playwright:
                if not stage.find_chromium(playwright):
                    print(
                        "There is no Chromium on the PATH: install one, or name it: CHROMIUM=/path",
                        file=sys.stderr,
                    )
                    return 1
                with stage.open_chromium(playwright) as browser:
                    context = browser.new_context(reduced_motion="reduce")
                    take_pictures(opened.log_in(context), words[1:] or list_paths(opened), folder)
        finally:
            opened.close()
    print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
