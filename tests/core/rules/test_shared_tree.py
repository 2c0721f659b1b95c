"""Whose a commit is in a working tree that several agents share, and how what lies apart is told."""

from __future__ import annotations

import json

import pytest

from counterpoint.core.model.evidence import Apart, CommitFiles, Comparison, FileChange, Snapshot
from counterpoint.core.rules.shared_tree import (
    Hold,
    apart_json,
    apart_remarks,
    foreign_commits,
    foreign_paths,
    own_commits,
    parse_calls,
    set_apart,
)

BOB = Hold(agent="bob", areas=("src/pear",))
COMMIT = CommitFiles(id="1a2b3c4d" * 5, author="Team", message="Write it", paths=("src/pear/b.py",))


def bash(answer: str, command: str = "git commit -m x") -> str:
    """Return what a hook reports of a line of shell."""
    report = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_response": answer}
    return json.dumps(report)


@pytest.mark.parametrize(
    ("payload", "author", "message", "is_own"),
    [
        (bash("[main 1a2b3c4] Write it\n 1 file changed"), "Team", "Write it", True),
        (bash("[main (root-commit) 1a2b3c4] Write it"), "Team", "Write it", True),
        (bash("[main 9999999] Write it"), "Team", "Write it", False),
        (bash("1a2b3c4 Write it", "git log --oneline"), "Team", "Write it", False),
        (bash(""), "ADA", "Write it", True),
        (bash(""), "bob", "Write it", False),
        (bash(""), "Team", "demo-2: write it", True),
        (bash(""), "Team", "demo-20: write it", False),
        ("[]", "Team", "Write it", False),
        ("{", "Team", "Write it", False),
    ],
)
def test_a_commit_is_own_by_what_git_said_by_its_author_or_by_its_message(
    payload, author, message, is_own
):
    """A list of commits that a tool read makes none of them its own."""
    commit = CommitFiles(id=COMMIT.id, author=author, message=message, paths=COMMIT.paths)
    assert bool(own_commits([commit], parse_calls([payload]), "demo-2", "ada")) == is_own
    # Two of one name cannot be told apart by it.
    if author == "ADA":
        assert own_commits([commit], (), "demo-2", "") == []


@pytest.mark.parametrize(
    ("paths", "is_foreign"),
    [
        (("src/pear/b.py",), True),
        (("src/pear/b.py", "src/walnut/a.py"), False),
        (("src/pear/b.py", "README"), False),
        ((), False),
    ],
)
def test_a_commit_lies_apart_if_all_its_files_lie_in_areas_of_others(paths, is_foreign):
    commit = CommitFiles(id=COMMIT.id, author="", message="", paths=paths)
    expected = {commit.id: "bob"} if is_foreign else {}
    assert foreign_commits([commit], (), ["src/walnut"], [BOB]) == expected
    assert foreign_commits([commit], [commit], ["src/walnut"], [BOB]) == {}


def test_an_area_that_both_have_is_the_agents_own():
    """Whoever holds an area answers for it, whoever else does."""
    assert foreign_paths(["src/pear/b.py"], ["src"], [BOB]) == {}
    assert foreign_paths(["src/pear/b.py", "README"], [], [BOB]) == {"src/pear/b.py": "bob"}


def test_what_lies_apart_is_told_by_agent_with_one_advice():
    """Files and commits by number; of what was left before a take-over no worktree would have helped."""
    start = Snapshot(method="git")
    changes = tuple(FileChange(path=path, kind="added") for path in ("a", "b", "c"))
    comparison = Comparison(start=start, end=start, changes=changes, commits=("1", "2"))
    own, apart = set_apart(comparison, {"b": "bob", "c": "cy"}, {"2": "bob"})
    assert ([change.path for change in own.changes], own.commits) == (["a"], ("1",))
    left = Apart(by="dan", reason="left_before", paths=("d", "e"))
    assert apart_remarks(apart_json((*apart, left))) == [
        "1 file and 1 commit in bob's areas, held meanwhile: b",
        "1 file in cy's areas, held meanwhile: c",
        "2 files left from dan, before the take-over: d, e",
        "a worktree for each agent keeps their evidence apart",
    ]
    assert apart_remarks(apart_json((left,))) == [
        "2 files left from dan, before the take-over: d, e"
    ]
