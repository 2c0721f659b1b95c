"""Places: where the folder of specs lies, and that nothing leads out of the project."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders import Agent
from counterpoint.dialects.foundry.places import SpecsPlaces, specs_dir
from counterpoint.kernel.errors import PathOutside
from counterpoint.settings import load_settings


def test_the_folder_of_specs_is_that_of_the_main_worktree(tmp_path: Path) -> None:
    """Or the one that was set, in the project."""
    assert specs_dir(tmp_path) == tmp_path / "specs"
    assert specs_dir(tmp_path, "docs/specs") == tmp_path / "docs/specs"
    assert specs_dir(tmp_path, str(tmp_path / "other")) == tmp_path / "other"


@pytest.mark.parametrize("said", ["..", "../specs", "/", "~", "a/../../b"])
def test_a_folder_outside_of_the_project_is_refused(tmp_path: Path, said: str) -> None:
    """However it is written."""
    home = tmp_path / "home"
    home.mkdir()
    with pytest.raises(PathOutside, match="folder of specs"):
        specs_dir(home, said)


def test_a_link_that_leads_away_is_refused(tmp_path: Path) -> None:
    """It may have come with the repository."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "specs").symlink_to(tmp_path)
    with pytest.raises(PathOutside):
        specs_dir(home)


def test_what_a_caller_names_lies_in_a_tree_of_the_project(tmp_path: Path) -> None:
    """The worktree it works in, or the main one."""
    tree, home = tmp_path / "tree", tmp_path / "home"
    for folder in (tree / "sub", home):
        folder.mkdir(parents=True)
    places = SpecsPlaces(tree=tree, home=home, state=home / ".counterpoint")
    assert places.specs == home / "specs"
    assert places.within("sub/../sub") == tree / "sub"
    assert places.within(str(home)) == home
    for path in ("..", "/etc", str(tmp_path), "~"):
        with pytest.raises(PathOutside):
            places.within(path)


def test_a_home_that_lies_in_the_project_may_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`~` means the same wherever a folder is named."""
    monkeypatch.setenv("HOME", str(tmp_path / "own"))
    assert specs_dir(tmp_path, "~/specs") == tmp_path / "own/specs"
    places = SpecsPlaces(tree=tmp_path, home=tmp_path, state=tmp_path / ".counterpoint")
    assert places.within("~/sub") == tmp_path / "own/sub"


def test_the_variable_of_foundry_sets_the_folder() -> None:
    """Our own goes first; an empty one says nothing."""
    assert load_settings({"FOUNDRY_MCP_SPECS_DIR": "a"}).specs_dir == "a"
    both = {"FOUNDRY_MCP_SPECS_DIR": "a", "COUNTERPOINT_SPECS_DIR": "b"}
    assert load_settings(both).specs_dir == "b"
    assert load_settings({"FOUNDRY_MCP_SPECS_DIR": ""}).specs_dir == ""


CALLS = (
    ("spec", {"action": "stats"}),
    ("task", {"action": "next"}),
    ("task", {"action": "start", "task_id": "task-1-1"}),
    ("authoring", {"action": "constraint-list"}),
    ("authoring", {"action": "constraint-add", "text": "It is fast"}),
    ("lifecycle", {"action": "activate"}),
    ("journal", {"action": "add", "title": "A", "content": "B"}),
    ("verification", {"action": "add", "verify_id": "verify-3-1", "result": "PASSED"}),
    ("verification", {"action": "execute", "verify_id": "verify-3-1"}),
)
"""Calls about a spec that name the folder of the project, too."""


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize(("tool", "given"), CALLS)
@pytest.mark.parametrize("name", ["workspace", "path"])
def test_the_folder_of_a_call_is_one_of_the_project(
    repository: Path, tmp_path: Path, foundry: Agent, tool: str, given: dict[str, str], name: str
) -> None:
    """By either name; another one is refused before anything is done, also through a link."""
    (repository / "away").symlink_to(tmp_path)
    call = {**given, "spec_id": "export-2026-01-02-001"}
    if tool == "verification":
        foundry.does(
            "authoring", action="phase-add", spec_id=call["spec_id"], title="Checked", position=0
        )
    for path, why in (
        *((path, "outside the project") for path in ("..", "/etc", "away", "~", "~root", "./~")),
        ("~there-is-nobody-of-this-name", "a user that there is not"),
        ("a\0b", "NUL"),
    ):
        refusal = foundry.is_refused(tool, **call, **{name: path})
        assert refusal["data"]["error_code"] == "VALIDATION_ERROR"
        assert why in refusal["error"]
    foundry.does(tool, **call, **{name: str(repository) if tool == "verification" else "."})
    assert foundry.is_refused(tool, **call, **{name: ""})["data"]["error_code"] == "INVALID_FORMAT"
