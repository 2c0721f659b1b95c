"""What is no part of the work is kept out of git."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from builders import git
from counterpoint.evidence.git.excluding import keep_out
from counterpoint.kernel.errors import Conflict

MARKER = ".symphony-worktree"


def test_a_marker_is_passed_over_in_every_tree_and_folder(repository: Path, tmp_path: Path) -> None:
    """Once for all worktrees, and no other file of that name."""
    tree, below = tmp_path / "tree", repository / "app"
    git(repository, "worktree", "add", "-q", "-b", "topic", str(tree))
    below.mkdir()
    listed = repository / ".git/info/exclude"
    listed.parent.mkdir(exist_ok=True)
    listed.write_text("*.log")
    for folder in (tree, repository, below, below):
        (folder / MARKER).write_text("{}")
        keep_out(folder, [MARKER], os.environ)
    assert listed.read_text() == f"*.log\n/{MARKER}\n/app/{MARKER}\n"
    assert git(repository, "status", "--porcelain") == ""
    assert git(tree, "status", "--porcelain") == ""
    keep_out(tmp_path, [MARKER], os.environ)


def test_a_list_that_cannot_be_written_is_told(repository: Path, tmp_path: Path) -> None:
    """A link is not followed: who made it could have anything written."""
    listed = repository / ".git/info/exclude"
    listed.parent.mkdir(exist_ok=True)
    listed.unlink(missing_ok=True)
    listed.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Conflict) as caught:
        keep_out(repository, [MARKER], os.environ)
    assert ".gitignore" in caught.value.hint
    assert not (tmp_path / "elsewhere").exists()
