"""A ledger that came with a repository is nobody's word."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders import git
from counterpoint.app import open_app
from counterpoint.evidence.git.tracked import refuse_tracked
from counterpoint.kernel.errors import Unavailable


@pytest.fixture
def cloned(repository: Path) -> Path:
    """Answer a repository that carries a ledger which others prepared."""
    made = open_app(repository, {})
    _ = made.ports
    made.close()
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
    assert "git rm -r --cached" in caught.value.hint
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
