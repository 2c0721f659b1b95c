"""Measuring: what a row keeps of a snapshot and a comparison, and what it says of an outcome."""

from __future__ import annotations

import pytest

from counterpoint.core.model.evidence import Comparison, FileChange, Snapshot
from counterpoint.core.model.journal import StartPoint
from counterpoint.core.model.rows import REDACTED, Prose
from counterpoint.core.rules.evidence import (
    evidence_text,
    files_text,
    make_evidence,
    remarks_on,
    says_tests_pass,
    snapshot_of,
)
from counterpoint.kernel import canonical
from counterpoint.kernel.clock import Timestamp


def point(files, method="git"):
    """Answer a start point that keeps some text for its files."""
    return StartPoint(
        project="p", item="p-1", token=1, method=method, commit="c", branch="main",
        files=Prose(files), taken_at=Timestamp("2026-01-02T03:04:05.000Z"),
    )  # fmt: skip


def compared(*paths, method="git", dirty=(), warnings=()):
    """Answer a comparison in which some paths were changed."""
    changes = tuple(
        FileChange(path=path, kind="modified", insertions=2, deletions=1) for path in paths
    )
    return Comparison(
        start=Snapshot(method=method, commit="a"),
        end=Snapshot(method=method, commit="b", files=dict.fromkeys(dirty, "0" * 64)),
        changes=changes, commits=("b",), warnings=warnings,
    )  # fmt: skip


def test_a_snapshot_comes_back_from_its_row():
    """Files with deleted ones, none at all, and one whose text was redacted."""
    snapshot = Snapshot(method="git", commit="c", files={"b": "1" * 64, "a": ""})
    assert snapshot_of(point(files_text(snapshot))) == snapshot
    assert snapshot_of(point("", "hash")) == Snapshot(method="hash", commit="c")
    assert snapshot_of(point(REDACTED)).warnings == ("the start snapshot was redacted",)


def test_a_comparison_is_kept_with_its_sums():
    """By name up to a limit; the count is always whole."""
    paths = [f"f{n:03d}" for n in range(501)]
    found = make_evidence(compared(*paths))
    assert (found.file_count, len(found.files)) == (501, 500)
    assert (found.insertions, found.deletions) == (1002, 501)
    assert (found.start_commit, found.end_commit, found.commits) == ("a", "b", ("b",))
    assert canonical.load(evidence_text(found))["file_count"] == 501


def test_a_rename_keeps_its_old_name():
    change = FileChange(path="new", kind="renamed", previous="old")
    found = make_evidence(Comparison(start=Snapshot(method="git"), end=Snapshot(method="git"),
                                changes=(change,)))  # fmt: skip
    assert canonical.load(evidence_text(found))["files"] == [
        {"path": "new", "kind": "renamed", "previous": "old", "insertions": 0, "deletions": 0}
    ]


def test_good_evidence_needs_no_remark():
    """Inside the areas, committed, everything met."""
    assert remarks_on(compared("src/a"), areas=["src"], unmet=[], unproved=[]) == []


def test_each_doubt_is_one_remark():
    """Warnings first, then files, then words; long lists are cut."""
    paths = [f"x/{n}" for n in range(7)]
    found = remarks_on(
        compared(*paths, dirty=["x/0", "other"], warnings=("w",)),
        areas=["src"], unmet=["one", "two"], unproved=["claimed"],
    )  # fmt: skip
    assert found == [
        "w",
        "7 of 7 changed files lie outside the areas: x/0, x/1, x/2, x/3, x/4 and 2 more",
        "1 changed file is not committed: x/0",
        "acceptance not marked as met: one, two",
        "claimed",
    ]
    assert remarks_on(compared(), areas=[], unmet=[], unproved=[]) == [
        "no file changed since the start"
    ]
    found = remarks_on(compared("a", method="hash", dirty=["a"]), areas=[], unmet=[], unproved=[])
    assert found == []
    assert remarks_on(compared("a", dirty=["b"]), areas=[], unmet=[], unproved=[]) == []


def test_very_many_files_that_are_not_committed_are_remarked_on_before_the_test_ends():
    """None is looked for among all the others, which would take many minutes."""
    paths = [f"src/{number:06d}" for number in range(60_000)]
    found = remarks_on(compared(*paths, dirty=paths), areas=["src"], unmet=(), unproved=())
    assert [line.partition(":")[0] for line in found] == ["60,000 changed files are not committed"]


@pytest.mark.parametrize(
    "text",
    [
        "All tests pass.",
        "tests are green",
        "The test suite succeeds on both databases",
        "pytest: 214 passed in 3 s",
        "CI is green",
        "It passes the unit tests.",
        "0 failed",
        "no test failures",
        "Green checks everywhere",
        "Build ok",
        "Alle Tests laufen durch",
        "Les tests passent",
        "Las pruebas pasan",
        "os testes passaram",
        "所有测试都通过",
        "テストが成功した",
    ],
)
def test_it_is_heard_that_tests_pass(text: str) -> None:
    """In the words that people and agents use for it."""
    assert says_tests_pass(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The tests do not pass yet",
        "Write tests; then pass the date on",
        "Two tests fail, the others were not tried",
        "Must pass the tests",
        "I read the tests",
        "The order was passed to the builder",
        "Les tests ne passent pas",
    ],
)
def test_what_denies_it_or_speaks_of_something_else_is_no_claim(text: str) -> None:
    """A remark on such words would be noise."""
    assert not says_tests_pass(text)
