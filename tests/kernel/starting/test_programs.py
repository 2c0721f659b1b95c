"""Programs are found outside of the tree, and no other way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from counterpoint.kernel.starting.programs import find_program, find_trees, is_in_tree, search_path


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Answer a repository with a folder, in which this process stands; home is beside it."""
    (tmp_path / "home").mkdir()
    tree = tmp_path / "tree"
    (tree / ".git").mkdir(parents=True)
    (tree / "below").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tree / "below")
    return tree


def put(folder: Path, name: str) -> Path:
    """Put a program into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)
    return folder / name


def test_a_program_of_the_tree_gives_way_to_the_next_of_its_name(
    tree: Path, tmp_path: Path
) -> None:
    """However the PATH comes to it: whole, relative, empty, by a link, from a folder below."""
    outside = put(tmp_path / "bin", "git")
    for place in (tree, tree / "below", tree / "node_modules/.bin"):
        put(place, "git")
    (tmp_path / "link").symlink_to(tree)
    (tmp_path / "links").mkdir()
    (tmp_path / "links/git").symlink_to(tree / "git")
    hostile = [str(tree), f"{tree}/", ".", "", "..", "node_modules/.bin", f"{tree}/node_modules/.bin",
               str(tmp_path / "link"), str(tmp_path / "bin/../tree")]  # fmt: skip
    path = os.pathsep.join([*hostile, str(tmp_path / "links"), str(outside.parent)])
    assert find_program("git", path) == str(outside)
    assert search_path(path) == os.pathsep.join([str(tmp_path / "links"), str(outside.parent)])
    assert find_program("git", os.pathsep.join(hostile)) is None
    assert not Path(search_path(os.pathsep.join(hostile))).exists()
    assert find_program("./git", path) is None
    # Whoever writes the whole path has chosen it.
    assert find_program(str(tree / "git"), path) == str(tree / "git")
    assert is_in_tree(str(tmp_path / "links/git"))
    assert not is_in_tree(str(outside))


def test_a_linked_tree_and_a_ledger_above_are_the_agents_too(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worktree of git names its main tree; the outermost of nested ones counts."""
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / ".git").write_text(f"gitdir: {tree}/.git/worktrees/linked\n")
    monkeypatch.chdir(linked)
    assert {str(linked), str(tree)} <= find_trees()
    put(tree / "bin", "less")
    assert find_program("less", str(tree / "bin")) is None
    above = tmp_path / "project"
    (above / ".counterpoint").mkdir(parents=True)
    (above / "inner/.git").mkdir(parents=True)
    put(above / "bin", "less")
    assert find_program("less", str(above / "bin"), str(above / "inner")) is None


def test_programs_of_the_account_are_none_of_a_tree(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the home folder is a repository; in it `.` is left out as everywhere."""
    home = tmp_path / "home"
    own = put(home / ".local/bin", "less")
    (home / ".git").mkdir()
    (tmp_path / ".git").mkdir()
    (home / "work/.git").mkdir(parents=True)
    for folder in (home / "work", home):
        monkeypatch.chdir(folder)
        assert find_program("less", f".:{own.parent}") == str(own)
        put(folder, "less")
        assert find_program("less", f".:{folder}:{own.parent}") == str(own)


def test_a_folder_that_was_removed_holds_no_tree(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs outside are found as before."""
    program = put(tmp_path / "bin", "tool")
    gone = tree / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert find_trees() == frozenset()
    assert search_path(f"{program.parent}:.") == str(program.parent)
    assert find_program("tool", f".:{program.parent}") == str(program)
