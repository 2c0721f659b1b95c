"""A ledger that came with a repository is nobody's word."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from builders import git
from counterpoint.app import open_app
from counterpoint.core.model.filters import Note
from counterpoint.evidence.git.tracked import refuse_tracked
from counterpoint.kernel.errors import Unavailable


@pytest.fixture
def cloned(repository: Path) -> Path:
    """Answer a repository that carries a ledger which others prepared."""
    made = open_app(repository, {})
    _ = made.ports
    made.close()
    # Another file than the one that this account has made.
    shutil.copy(repository / ".counterpoint/ledger.db", repository.parent / "copy")
    (repository.parent / "copy").replace(repository / ".counterpoint/ledger.db")
    git(repository, "add", "--force", ".counterpoint/ledger.db")
    git(repository, "commit", "-qm", "with a ledger")
    return repository


@pytest.mark.parametrize("version", ["2", "4"])
def test_a_ledger_that_git_tracks_is_not_opened(cloned: Path, version: str) -> None:
    """Whatever form the index has; what it trusts would be run here. The answer says what to do, and that helps."""
    git(cloned, "update-index", "--index-version", version)
    app = open_app(cloned, {})
    with pytest.raises(Unavailable, match="came with the repository") as caught:
        _ = app.store
    assert (
        f"git rm -r --cached {cloned}/.counterpoint/ledger.db`, and take that" in caught.value.hint
    )
    git(cloned, "rm", "-rq", "--cached", ".counterpoint")
    with app.store.reading(app.project) as view:
        assert view.head().size
    app.close()


def test_what_people_share_is_no_ledger(cloned: Path) -> None:
    """Templates and phases are tracked, so is what stands beside a database of another name."""
    git(cloned, "rm", "-rq", "--cached", ".counterpoint")
    (cloned / ".counterpoint" / "templates").mkdir()
    (cloned / ".counterpoint" / "templates" / "a.yaml").touch()
    (cloned / "kept").mkdir()
    (cloned / "kept" / "other.db").touch()
    git(cloned, "add", "--force", ".counterpoint/templates", ".counterpoint/.gitignore", "kept")
    for name in (".counterpoint/ledger.db", "kept/ledger.db", "none/ledger.db"):
        refuse_tracked(cloned / name, {})
    with pytest.raises(Unavailable):
        refuse_tracked(cloned / "kept" / "other.db", {})


def test_an_own_ledger_that_was_committed_is_only_taken_out_of_git(repository: Path) -> None:
    """Nothing else of the project is named, and the ledger is as it was."""
    app = open_app(repository, {}, db=str(repository / "test"))
    app.person().journal.append(Note(kind="comment", body="kept"))
    last = app.person().feed.last()
    app.close()
    (repository / "tests").mkdir()
    for name in ("tests/test_a.py", "test_a.py", "test-utils.py", "test.toml"):
        (repository / name).touch()
    git(repository, "add", "tests", "test_a.py", "test-utils.py", "test.toml")
    refuse_tracked(repository / "test", {})
    git(repository, "add", "--force", "test", "test-queue")
    with pytest.raises(Unavailable, match="would write over this ledger of yours") as caught:
        refuse_tracked(repository / "test", {})
    command = caught.value.hint.split("`")[1]
    assert command == f"git rm -r --cached {repository}/test {repository}/test-queue"
    git(repository, *command.split()[1:])
    app = open_app(repository, {}, db=str(repository / "test"))
    assert app.person().feed.last() == last
    app.close()
    git(repository, "add", "--force", "test")
    # What another account has in a place is not known here.
    other = repository.rename(repository.with_name("other"))
    with pytest.raises(Unavailable, match="came with the repository"):
        refuse_tracked(other / "test", {})


def test_a_folder_of_state_that_is_a_link_is_refused_and_never_followed(repository: Path) -> None:
    """Nor is a file in it that leads nowhere yet: somebody else has said what would be written."""
    victim = repository.parent / "victim"
    (repository / ".counterpoint").symlink_to(victim)
    with pytest.raises(Unavailable, match="is a link"):
        _ = open_app(repository, {}).store
    (repository / ".counterpoint").unlink()
    (repository / ".counterpoint").mkdir(0o700)
    (repository / ".counterpoint" / ".gitignore").symlink_to(victim)
    app = open_app(repository, {})
    _ = app.store
    app.close()
    assert not victim.exists()


def test_a_ledger_that_came_as_a_submodule_is_not_opened(cloned: Path, tmp_path: Path) -> None:
    """Its own repository has the names, and the outer index has but the folder."""
    inner, outer, clone = tmp_path / "inner", tmp_path / "outer", tmp_path / "clone"
    allow = ("-c", "protocol.file.allow=always")
    for folder in (inner, outer):
        folder.mkdir()
        git(folder, "init", "-q")
    shutil.copy(cloned / ".counterpoint/ledger.db", inner)
    git(inner, "add", ".")
    git(inner, "commit", "-qm", "ledger")
    git(outer, *allow, "submodule", "add", "-q", str(inner), ".counterpoint")
    git(outer, "commit", "-qm", "outer")
    git(outer, *allow, "clone", "-q", "--recurse-submodules", str(outer), str(clone))
    database = clone / ".counterpoint/ledger.db"
    assert database.exists()
    with pytest.raises(Unavailable, match="repository of its own") as caught:
        refuse_tracked(database, {})
    assert "git rm --cached" in caught.value.hint
    (clone / ".counterpoint/.git").unlink()
    with pytest.raises(Unavailable, match="git tracks"):
        refuse_tracked(database, {})
    git(clone, "rm", "-q", "--cached", ".counterpoint")
    refuse_tracked(database, {})
    # A database of another name in a repository of its own is asked for there.
    with pytest.raises(Unavailable, match="git tracks"):
        refuse_tracked(inner / "ledger.db", {})


@pytest.mark.parametrize("damage", ["HEAD", "config", "index"])
def test_where_git_does_not_answer_what_it_may_track_is_refused(cloned: Path, damage: str) -> None:
    """Without an index that can name it there is nothing to refuse."""
    database = cloned / ".counterpoint/ledger.db"
    (cloned / ".git" / damage).write_text("[broken")
    with pytest.raises(Unavailable, match="does not say") as caught:
        refuse_tracked(database, {})
    assert f"git -C {cloned} ls-files" in caught.value.hint
    (cloned / ".git/index").write_bytes(b"")
    refuse_tracked(database, {})
    (cloned / ".git/index").unlink()
    refuse_tracked(database, {})


def test_a_name_that_differs_by_case_alone_is_the_same(cloned: Path) -> None:
    """On some file systems it leads to the ledger."""
    content = git(cloned, "rev-parse", ":.counterpoint/ledger.db").strip()
    git(cloned, "rm", "-rq", "--cached", ".counterpoint")
    entry = f"100644,{content},.CounterPoint/ledger.db"
    git(cloned, "update-index", "--add", "--cacheinfo", entry)
    with pytest.raises(Unavailable, match="git tracks"):
        refuse_tracked(cloned / ".counterpoint/ledger.db", {})
