"""The relay finds the database and its meeting point where the product does."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from builders import git
from counterpoint.app import open_app
from counterpoint.kernel.errors import Unavailable
from counterpoint.protocol.rendezvous import find_rendezvous
from counterpoint.relay.place import Refused, find_database, find_prefix


def repository(folder: Path) -> Path:
    """Make a repository with one commit."""
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def below(folder: Path) -> Path:
    """Make a folder deep below another."""
    made = folder / "deep" / "below"
    made.mkdir(parents=True)
    return made


def in_worktree(folder: Path) -> Path:
    """Make a linked worktree outside of its repository, and stand below it."""
    git(repository(folder / "main"), "worktree", "add", "-q", str(folder / "linked"))
    return below(folder / "linked")


def in_submodule(folder: Path) -> Path:
    """Make a repository with another one in it."""
    inner, outer = repository(folder / "inner"), repository(folder / "outer")
    allowed = ("-c", "protocol.file.allow=always")
    git(outer, *allowed, "submodule", "add", "-q", str(inner), "part")
    return outer / "part"


def with_ledger_above(folder: Path) -> Path:
    """Stand below a folder that has a ledger and no repository."""
    (folder / ".counterpoint").mkdir()
    return below(folder)


def behind_link(folder: Path) -> Path:
    """Stand in a repository that was reached through a link."""
    (folder / "link").symlink_to(below(repository(folder / "real")))
    return folder / "link"


def torn_link(folder: Path) -> Path:
    """Stand in a tree whose `.git` names what is not there."""
    (folder / ".git").write_text("gitdir: /nowhere/at/all\n")
    return folder


SITUATIONS: list[Callable[[Path], Path]] = [
    lambda folder: folder,
    lambda folder: repository(folder / "main"),
    lambda folder: below(repository(folder / "main")),
    in_worktree,
    in_submodule,
    with_ledger_above,
    behind_link,
    torn_link,
]


@pytest.mark.parametrize("situation", range(len(SITUATIONS)))
def test_relay_and_product_find_one_database(tmp_path, monkeypatch, situation):
    """Wherever one stands: a folder, below it, a linked worktree, a submodule, no repository."""
    place = SITUATIONS[situation](tmp_path)
    monkeypatch.chdir(place)
    found = find_database(str(Path.cwd()), "")
    assert found == str(open_app(Path.cwd(), {}).database)
    assert find_prefix(found) == str(find_rendezvous(Path(found)).prefix)


@pytest.mark.parametrize("db", ["here.db", "../there.db", "~/mine.db", "/far/away.db"])
def test_relay_and_product_understand_a_path_alike(tmp_path, monkeypatch, db):
    """A path may be relative, or begin with the home folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert find_database(str(Path.cwd()), db) == str(open_app(Path.cwd(), {}, db=db).database)


@pytest.mark.parametrize("given", [True, False])
def test_a_folder_that_cannot_be_written_has_its_meeting_point_elsewhere(
    tmp_path, monkeypatch, given
):
    """It lies in a folder of the user's own, with a name made from the database's path."""
    own = tmp_path / "own"
    own.mkdir()
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(own))
    if given:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(own))
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    found = find_prefix("/far/away.db")
    assert found == str(find_rendezvous(Path("/far/away.db")).prefix)
    assert found.startswith(str(own))
    assert Path(found).parent.stat().st_mode & 0o777 == 0o700


def test_somebody_elses_folder_is_no_meeting_point(tmp_path, monkeypatch):
    """A link that another user laid there is refused by both sides."""
    (tmp_path / "counterpoint").symlink_to("/")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(Refused, match="somebody else"):
        find_prefix("/far/away.db")
    with pytest.raises(Unavailable, match="somebody else"):
        find_rendezvous(Path("/far/away.db"))
