"""Every page, read from either database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from builders import git
from counterpoint.app import App, open_app
from counterpoint.board.pages import PAGES
from counterpoint.cli.work.changes import read_changes
from counterpoint.core.coordinator import Core
from fakes.harbour import fill


@pytest.fixture
def app(tmp_path: Path, where: str, request: pytest.FixtureRequest) -> Iterator[App]:
    """Give a ledger with work in a repository."""
    is_remote = where == "postgresql"
    variables = (
        {"COUNTERPOINT_DB": request.getfixturevalue("databases").empty()} if is_remote else {}
    )
    folder = tmp_path / "harbour"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    fill(open_app(folder, variables))
    opened = open_app(folder, variables)
    yield opened
    opened.close()


@pytest.mark.both_databases
def test_every_page_is_read_from_either_database(app: App, visit: Callable[..., Any]) -> None:
    def core() -> Core:
        return app.person(by_git_name=False)

    browser = visit(core, lambda core, item: read_changes(app, core, item))
    pages = [f"{name}/harbour-3" if name == "items" else name for name in PAGES]
    for page in (*pages, "review/harbour-3", "board?below=harbour-2", "proof?check=1"):
        answer = browser.get(f"/{page}")
        assert (answer.status_code, "Harbour" in answer.text or "harbour" in answer.text) == (
            200,
            True,
        )
    assert "Lay the keel" in browser.get("/board").text
    assert "entries sound" in browser.get("/proof").text
    assert "No file changed" in browser.get("/review/harbour-4").text
