"""The joined product: which project a folder goes on with."""

from __future__ import annotations

from pathlib import Path

from counterpoint.app import App, open_app


def project_of(folder: Path, **flags: str) -> str:
    """Open the product in a folder, make its project if it is not there, and answer the id."""
    app: App = open_app(folder, {}, **flags)
    try:
        return app.outside.project
    finally:
        app.close()


def test_a_repository_that_was_renamed_goes_on_with_its_project(tmp_path: Path) -> None:
    """The only project of a ledger is meant, whatever the folder is called by now."""
    (tmp_path / "harbour").mkdir()
    assert project_of(tmp_path / "harbour") == "harbour"
    (tmp_path / "harbour").rename(tmp_path / "port")
    assert project_of(tmp_path / "port") == "harbour"


def test_among_several_projects_the_folder_names_the_one(tmp_path: Path) -> None:
    """With two in a ledger the name decides again, and a name that is set always does."""
    (tmp_path / "harbour").mkdir()
    assert project_of(tmp_path / "harbour") == "harbour"
    assert project_of(tmp_path / "harbour", project="quay") == "quay"
    assert project_of(tmp_path / "harbour") == "harbour"
