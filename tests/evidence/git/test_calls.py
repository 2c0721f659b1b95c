"""How often git is started: once a look where nothing changed, never where there is no repository."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from counterpoint.evidence.git import diff
from counterpoint.evidence.git.call import GitCall
from counterpoint.evidence.local import LocalEvidence
from counterpoint.kernel.clock import SystemClock
from fakes.repositories import Repo


@pytest.fixture
def counted(repo: Repo, tmp_path: Path) -> Any:
    """The repository, with a git that writes down each of its runs."""
    real = shutil.which("git")
    programs = tmp_path / "programs"
    programs.mkdir()
    runs = tmp_path / "runs"
    program = programs / "git"
    program.write_text(f'#!/bin/sh\necho "$@" >> "{runs}"\nexec "{real}" "$@"\n')
    program.chmod(0o755)
    environ = repo.environ | {"PATH": f"{programs}{os.pathsep}{repo.environ['PATH']}"}
    return LocalEvidence(clock=SystemClock(), environ=environ), runs


def settled(repo: Repo) -> None:
    """Wait until the times of the files of settings lie behind those that files are given now.

    What was written a moment before it was read is read again, which would be a run more.
    """
    linked = repo.root.parent / "linked" / ".git"
    files = [repo.root / ".git" / "config", *([linked] if linked.exists() else [])]
    last = max(file.stat().st_ctime_ns for file in files)
    for number in range(10_000):
        fresh = repo.root.parent / f"tick-{number % 2}"
        fresh.write_text("")
        if fresh.stat().st_ctime_ns - last > 30_000_000:
            return
    raise AssertionError("the clock of files stands still")


def _times(runs: Path) -> int:
    many = len(runs.read_text().splitlines()) if runs.exists() else 0
    runs.unlink(missing_ok=True)
    return many


def test_a_tree_where_nothing_changed_costs_one_run_a_look(repo: Repo, counted: Any) -> None:
    """What git says of the repository itself and its settings is remembered, and a clean status says it all."""
    evidence, runs = counted
    settled(repo)
    start = evidence.snapshot(repo.root)
    assert _times(runs) == 4
    assert evidence.compare(repo.root, start).changes == ()
    assert evidence.snapshot(repo.root) == start
    assert _times(runs) == 2


def test_a_linked_worktree_costs_as_little(repo: Repo, counted: Any) -> None:
    """Where agents work side by side, each in a tree of its own, the same is remembered."""
    evidence, runs = counted
    repo.sh("git worktree add -q -b side ../linked")
    linked = repo.root.parent / "linked"
    settled(repo)
    start = evidence.snapshot(linked)
    _times(runs)
    assert evidence.compare(linked, start).changes == ()
    assert _times(runs) == 1
    repo.sh("git -C ../linked config extensions.worktreeConfig true")
    settled(repo)
    assert evidence.compare(linked, start).changes == ()
    assert _times(runs) == 3


def test_a_folder_below_the_top_is_asked_of_each_time_but_not_its_whole_index(
    repo: Repo, counted: Any
) -> None:
    """Whether it is ignored may change; what the index hides is remembered all the same."""
    evidence, runs = counted
    settled(repo)
    start = evidence.snapshot(repo.root / "dir")
    assert _times(runs) == 5
    assert evidence.compare(repo.root / "dir", start).changes == ()
    assert _times(runs) == 3


def test_a_file_that_was_untracked_all_along_costs_no_further_run(repo: Repo, counted: Any) -> None:
    """Only what is untracked and another than before has to be looked into."""
    evidence, runs = counted
    repo.sh("echo 1 > stray")
    settled(repo)
    start = evidence.snapshot(repo.root)
    _times(runs)
    assert evidence.compare(repo.root, start).changes == ()
    assert _times(runs) == 1
    repo.sh("echo 2 > stray")
    assert [change.path for change in evidence.compare(repo.root, start).changes] == ["stray"]


def test_what_the_index_hides_is_asked_again_only_when_it_was_written(
    repo: Repo, counted: Any
) -> None:
    """One more run after the index is another; none while it stays."""
    evidence, runs = counted
    settled(repo)
    evidence.snapshot(repo.root)
    repo.sh("git update-index --assume-unchanged a.txt")
    _times(runs)
    start = evidence.snapshot(repo.root)
    assert _times(runs) == 2
    assert set(start.files) == {"a.txt"}
    assert evidence.compare(repo.root, start).changes == ()
    assert _times(runs) == 1


@pytest.mark.parametrize(
    ("script", "most"),
    [
        ("echo 1 >> a.txt", 2),
        ("echo 1 >> a.txt; echo 2 > fresh", 3),
        ("git mv a.txt moved", 3),
        ("echo 1 >> a.txt; git commit -qam w", 4),
        ("rm a.txt; seq 90 99 > fresh", 3),
    ],
)
def test_a_comparison_of_work_costs_few_runs(
    repo: Repo, counted: Any, script: str, most: int
) -> None:
    """A status, what a new index hides, new files entered, a diff, one more for renames; commits."""
    evidence, runs = counted
    settled(repo)
    start = evidence.snapshot(repo.root)
    repo.sh(script)
    _times(runs)
    assert evidence.compare(repo.root, start).changes
    assert _times(runs) == most


def test_with_very_many_changes_git_looks_at_all_with_the_same_answer(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names are passed on only as long as they are few."""
    start = repo.evidence.snapshot(repo.root)
    repo.sh("echo 1 >> a.txt; git commit -qam w; git mv b.txt '[b]*'; echo 2 > :x; rm -r dir")
    found = repo.evidence.compare(repo.root, start)
    monkeypatch.setattr(diff, "_MOST_NAMED", 0)
    assert repo.evidence.compare(repo.root, start) == found
    assert len(found.changes) == 5


def test_a_folder_outside_of_any_repository_asks_git_nothing(
    bare_folder: Repo, counted: Any
) -> None:
    """There is no `.git` from here upward, so its answer is known."""
    evidence, runs = counted
    (bare_folder.root / "a").write_text("1")
    assert evidence.snapshot(bare_folder.root).method == "hash"
    assert _times(runs) == 0


@pytest.mark.parametrize("script", ["rm -rf .git", "git config core.bare true"])
def test_a_repository_that_became_another_is_asked_anew(repo: Repo, script: str) -> None:
    """What is remembered ends with the folder or the configuration it was read from."""
    assert repo.evidence.snapshot(repo.root).method == "git"
    repo.sh(script)
    assert repo.evidence.snapshot(repo.root).method == "hash"


def test_a_clone_that_became_shallow_is_told(repo: Repo) -> None:
    """The warning does not wait for a restart."""
    start = repo.evidence.snapshot(repo.root)
    repo.sh("git commit -q --allow-empty -m two; git rev-parse HEAD > .git/shallow")
    warnings = repo.evidence.compare(repo.root, start).warnings
    assert any("shallow" in line for line in warnings)


def test_an_emptied_branch_without_commits_shows_what_is_gone(repo: Repo) -> None:
    """With HEAD gone a status of nothing does not mean that nothing differs from the start."""
    start = repo.evidence.snapshot(repo.root)
    repo.sh("git checkout -q --orphan other; git rm -q -r -f .")
    changes = repo.evidence.compare(repo.root, start).changes
    assert {change.kind for change in changes} == {"deleted"}
    assert "a.txt" in {change.path for change in changes}


def test_git_s_end_is_waited_for_where_the_kernel_does_not_tell_it(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Systems without process descriptors give the same answer."""
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    call = GitCall(folder=repo.root, environ=repo.environ)
    assert call.line("rev-parse", "--is-inside-work-tree") == "true"
    assert replace(call, limit_seconds=5).agrees("cat-file", "-e", "HEAD")
