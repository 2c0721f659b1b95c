"""Pipes and the like where git reads files: nobody waits for them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from counterpoint.evidence.git import call, waiting
from counterpoint.evidence.git.call import GitCall
from counterpoint.evidence.git.tracked import refuse_tracked
from counterpoint.evidence.local import LocalEvidence
from counterpoint.kernel.clock import SystemClock
from counterpoint.kernel.errors import Unavailable
from fakes.repositories import Repo

_FIRST = (
    ".gitignore",
    ".gitattributes",
    ".gitmodules",
    ".git/HEAD",
    ".git/config",
    ".git/index",
    ".git/info/exclude",
    ".git/info/attributes",
    ".git/commondir",
    ".git",
)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let no test here wait as long as a user would, nor leave what it learned."""
    monkeypatch.setattr(waiting, "PATIENCE", 0.05)
    yield
    waiting.FOUND.clear()
    waiting.LATE.clear()


def _pipe(repo: Repo, place: str) -> Path:
    path = repo.root / place
    path.parent.mkdir(exist_ok=True)
    if path.is_dir():
        path.rename(repo.root / "was")
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    return path


@pytest.mark.parametrize("place", _FIRST)
def test_git_is_not_started_where_it_would_wait_for_a_pipe(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """The refusal names it."""
    path = _pipe(repo, place)
    monkeypatch.setattr(call, "_start", None)
    with pytest.raises(Unavailable, match=f"{path} is a pipe"):
        repo.evidence.snapshot(repo.root)


def test_a_pipe_in_a_folder_below_is_found_by_the_first_who_waits(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks next does not wait at all; once it is gone, all is as before."""
    before = repo.evidence.snapshot(repo.root)
    repo.sh("mkdir dir/deep; echo 1 > dir/deep/x")
    path = _pipe(repo, "dir/deep/.gitignore")
    with pytest.raises(Unavailable, match=f"{path} is a pipe"):
        repo.evidence.snapshot(repo.root)
    with monkeypatch.context() as patched:
        patched.setattr(call, "_start", None)
        with pytest.raises(Unavailable, match=f"{path} is a pipe"):
            repo.evidence.compare(repo.root, before)
    path.unlink()
    found = repo.evidence.compare(repo.root, before)
    assert [change.path for change in found.changes] == ["dir/deep/x"]


def test_a_file_that_a_repository_names_is_looked_at_too(repo: Repo) -> None:
    """One that lists what is ignored may lie anywhere."""
    path = _pipe(repo, "../elsewhere")
    repo.sh(f"git config core.excludesFile {path}")
    with pytest.raises(Unavailable, match="elsewhere is a pipe"):
        repo.evidence.snapshot(repo.root)
    repo.sh("git config core.excludesFile /dev/zero")
    with pytest.raises(Unavailable, match="/dev/zero is a device"):
        repo.evidence.snapshot(repo.root)


def test_the_null_device_hides_a_file_and_keeps_nobody(repo: Repo) -> None:
    """As sandboxes lay it over files."""
    (repo.root / ".git/info").mkdir(exist_ok=True)
    (repo.root / ".git/info/exclude").unlink(missing_ok=True)
    (repo.root / ".git/info/exclude").symlink_to(os.devnull)
    assert repo.evidence.snapshot(repo.root).method == "git"


def test_a_pipe_in_the_place_of_the_index_keeps_no_ledger_from_being_looked_for(repo: Repo) -> None:
    """It is refused as elsewhere."""
    _pipe(repo, ".git/index")
    repo.sh("mkdir .counterpoint; echo x > .counterpoint/ledger.db")
    with pytest.raises(Unavailable, match="index is a pipe"):
        refuse_tracked(repo.root / ".counterpoint/ledger.db", repo.environ)


def test_a_git_that_did_not_answer_gets_less_time_for_a_while(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "slow"
    slow.mkdir()
    (slow / "git").write_text("#!/bin/sh\nexec sleep 60\n")
    (slow / "git").chmod(0o755)
    environ = {**repo.environ, "PATH": f"{slow}:{repo.environ['PATH']}"}
    evidence = LocalEvidence(clock=SystemClock(), environ=environ)
    monkeypatch.setattr(call, "LIMIT_SECONDS", 0.1)
    with pytest.raises(Unavailable, match="did not answer"):
        GitCall(folder=repo.root, environ=environ, limit_seconds=0.1).line("status")
    assert waiting.limit(repo.root, 120) == waiting.AGAIN
    monkeypatch.setattr(waiting, "AGAIN", 0.1)
    with pytest.raises(Unavailable, match=r"did not answer .* in 0\.1 seconds"):
        evidence.snapshot(repo.root)
    monkeypatch.setattr(waiting, "AGAIN", 5.0)
    assert repo.evidence.snapshot(repo.root).method == "git"
    assert waiting.limit(repo.root, 120) == 120
