"""Branches of a repository and their difference from where they left their base."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from builders import commit, git
from counterpoint.dialects.symphony.rules.diffs import parse
from counterpoint.evidence.local import LocalEvidence
from counterpoint.kernel.clock import SystemClock
from counterpoint.kernel.errors import InvalidInput, NotFound

LIMIT = 100_000


@pytest.fixture
def evidence() -> LocalEvidence:
    """Answer what measures this machine's disk."""
    return LocalEvidence(clock=SystemClock(), environ={"PATH": os.environ["PATH"]})


def test_a_branch_is_told_with_its_difference(evidence: LocalEvidence, repository: Path) -> None:
    """From where it left the base, whatever came there since; what is not committed is named."""
    start = git(repository, "rev-parse", "HEAD")
    git(repository, "switch", "-q", "-c", "work")
    commit(repository, "a b.py", "one\n")
    head = commit(repository, "c.py", "two\n")
    git(repository, "switch", "-q", "main")
    commit(repository, "later.py", "three\n")
    git(repository, "switch", "-q", "work")
    (repository / "dirty.py").write_text("x")
    found = evidence.branch(repository, "", "", LIMIT)
    assert (found.name, found.base, found.head, found.base_commit) == ("work", "main", head, start)
    assert [line.split(" ", 1)[1] for line in found.commits] == ["write a b.py", "write c.py"]
    assert found.dirty == ("dirty.py",)
    assert parse(found.diff).paths == ("a b.py", "c.py")


def test_a_branch_is_found_from_another_tree(evidence: LocalEvidence, repository: Path) -> None:
    """All trees of a repository share its branches; what lies in this one is not the other's."""
    git(repository, "switch", "-q", "-c", "work")
    head = commit(repository, "a.py", "one\n")
    git(repository, "switch", "-q", "main")
    (repository / "dirty.py").write_text("x")
    found = evidence.branch(repository, "work", "main", LIMIT)
    assert (found.head, found.dirty) == (head, ())
    assert evidence.head(repository, "work") == head


def test_an_older_name_of_the_base_is_found_too(evidence: LocalEvidence, repository: Path) -> None:
    git(repository, "branch", "-m", "main", "master")
    git(repository, "switch", "-q", "-c", "work")
    commit(repository, "a.py", "one\n")
    assert evidence.branch(repository, "", "", LIMIT).base == "master"
    with pytest.raises(NotFound):
        evidence.branch(repository, "", "main", LIMIT)


@pytest.mark.parametrize("name", ["none", "--all", "HEAD~1", "-h"])
def test_a_branch_that_is_not_there_is_told(
    evidence: LocalEvidence, repository: Path, name: str
) -> None:
    """A name is a name: neither an option nor an expression."""
    with pytest.raises(NotFound):
        evidence.branch(repository, name, "main", LIMIT)
    with pytest.raises(NotFound):
        evidence.head(repository, name)


def test_branches_without_a_common_commit_have_no_difference(
    evidence: LocalEvidence, repository: Path
) -> None:
    """There is nothing to begin from."""
    git(repository, "switch", "-q", "--orphan", "alone")
    with pytest.raises(NotFound):
        evidence.branch(repository, "alone", "main", LIMIT)
    commit(repository, "x.py", "x\n")
    with pytest.raises(NotFound, match="in common"):
        evidence.branch(repository, "alone", "main", LIMIT)


def test_a_difference_that_is_too_long_is_refused(
    evidence: LocalEvidence, repository: Path
) -> None:
    git(repository, "switch", "-q", "-c", "work")
    commit(repository, "a.py", "line\n" * 100)
    with pytest.raises(InvalidInput, match="100 is the most"):
        evidence.branch(repository, "", "", 100)


def test_a_folder_without_a_repository_has_no_branch(
    evidence: LocalEvidence, tmp_path: Path
) -> None:
    with pytest.raises(NotFound):
        evidence.branch(tmp_path, "", "", LIMIT)
    git(tmp_path, "init", "-q")
    with pytest.raises(NotFound):
        evidence.branch(tmp_path, "", "", LIMIT)


def test_the_settings_of_a_repository_do_not_change_the_difference(
    evidence: LocalEvidence, repository: Path
) -> None:
    """No colours, no other prefixes, no program of its own."""
    for name, value in (
        ("diff.noprefix", "true"),
        ("diff.external", "false"),
        ("color.diff", "always"),
        ("diff.mnemonicPrefix", "true"),
    ):
        git(repository, "config", name, value)
    git(repository, "switch", "-q", "-c", "work")
    git(repository, "mv", "README.md", "READ.md")
    git(repository, "commit", "-q", "-m", "move")
    (file,) = parse(evidence.branch(repository, "", "", LIMIT).diff).files
    assert (file.kind, file.path, file.previous) == ("renamed", "READ.md", "README.md")


def test_a_file_is_read_and_written_below_a_root(evidence: LocalEvidence, tmp_path: Path) -> None:
    """Through the same door as all evidence."""
    evidence.save(tmp_path, "a.md", b"x")
    assert evidence.load(tmp_path, "a.md", 10) == b"x"


def test_the_files_of_commits_are_those_below_the_root(
    evidence: LocalEvidence, repository: Path
) -> None:
    """In the order that was asked for, with author and message; a commit that is gone empties the answer."""
    (repository / "part").mkdir()
    first = commit(repository, "part/é b.py", "one\n")
    second = commit(repository, "top.py", "two\n")
    answer = evidence.commit_files(repository / "part", [second, first])
    assert [(one.id, one.paths) for one in answer] == [(second, ()), (first, ("é b.py",))]
    whole = evidence.commit_files(repository, [first])
    assert [one.paths for one in whole] == [("part/é b.py",)]
    assert whole[0].message.strip() == "write part/é b.py"
    assert whole[0].author == git(repository, "log", "-1", "--format=%an")
    assert evidence.commit_files(repository, ["0" * 40]) == []
