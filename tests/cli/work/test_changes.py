"""What tasks changed is shown as git shows it."""

from __future__ import annotations

import json

import pytest

from builders import git
from counterpoint.core.coordinator import Core

HULL = "harbour-6"


@pytest.fixture
def painter(agent: Core) -> Core:
    """An agent that can paint the hull."""
    agent.journal.resolve("harbour-r2", "there is paint")
    return agent


def painted(call, ledger, *, commits: bool) -> None:
    """Start, change two files, and end it; another file is committed by somebody else meanwhile."""
    assert call("start", HULL).code == 0
    (ledger / "hull.txt").write_text("oak\nred\n")
    (ledger / "new.txt").write_text("fresh\n")
    if commits:
        git(ledger, "add", ".")
        git(ledger, "commit", "-qm", "paint")
    assert call("finish", HULL, "--summary", "red").code == 0
    (ledger / "later.txt").write_text("not of it\n")
    git(ledger, "add", "later.txt")
    git(ledger, "commit", "-qm", "later")


def test_the_difference_is_that_of_the_commits_of_the_evidence(call, ledger, painter):
    """Nothing that came before or after is in it, and it can be applied."""
    painted(call, ledger, commits=True)
    said = call("diff", HULL)
    assert said.code == 0, said.err
    assert "+red" in said.out
    assert "+++ b/new.txt" in said.out
    assert "later.txt" not in said.out
    assert "done by ann" in said.err
    (ledger / "it.patch").write_text(said.out)
    git(ledger, "apply", "-R", "--check", "it.patch")


def test_what_was_not_committed_is_shown_as_it_is_now_and_said(call, ledger, painter):
    """The ledger has hashes of it and no text."""
    painted(call, ledger, commits=False)
    found = call("diff", HULL, "--json").json
    assert "+red" in found["diff"]
    assert "+fresh" in found["diff"]
    assert "later" not in found["diff"]
    assert "not committed when it ended" in found["remarks"][0]
    assert {one["path"] for one in found["files"]} == {"hull.txt", "new.txt"}


def test_of_work_that_goes_on_it_is_what_changed_until_now(call, ledger, painter):
    """In the tree that it was begun in, files that git does not know yet too; the index stays as it was."""
    call("start", HULL)
    (ledger / "hull.txt").write_text("oak\nblue\n")
    (ledger / "new.txt").write_text("fresh\n")
    said = call("diff", "paint")
    assert "+blue" in said.out
    assert "+fresh" in said.out
    assert "not ended by ann" in said.err
    assert git(ledger, "status", "--porcelain").splitlines() == ["M hull.txt", "?? new.txt"]


def test_files_alone_are_a_table(call, ledger, painter):
    """With how many lines came and went."""
    painted(call, ledger, commits=True)
    said = call("diff", HULL, "--stat")
    assert said.out.splitlines() == [
        "change    added  removed  file",
        "modified  +1     -0       hull.txt",
        "added     +1     -0       new.txt",
    ]


def test_a_plan_shows_all_that_was_begun_below_it(call, ledger, painter):
    """Each task in its order."""
    painted(call, ledger, commits=True)
    found = call("diff", "harbour-1", "--json").json
    assert [one["item"]["id"] for one in found] == ["harbour-4", HULL]


def test_what_nobody_has_begun_has_no_difference(call, ledger):
    """The answer is no; so it is for a claim that there was not, and where the commit is gone."""
    assert call("diff", "harbour-5").code == 1
    assert call("diff", "harbour-4", "--claim", "7").code == 1
    assert call("diff", "harbour-1", "--claim", "1").code == 2
    refused = json.loads(call("diff", "harbour-5", "--json").out)
    assert refused["error"] == "not_found"


def test_a_commit_that_is_gone_is_told(call, ledger, painter):
    """History was rewritten since, or another clone is asked."""
    painted(call, ledger, commits=True)
    git(ledger, "checkout", "-q", "--orphan", "other")
    git(ledger, "commit", "-qm", "anew")
    git(ledger, "branch", "-D", "main")
    git(ledger, "-c", "gc.reflogExpire=now", "reflog", "expire", "--expire=now", "--all")
    git(ledger, "gc", "-q", "--prune=now")
    said = call("diff", HULL)
    assert (said.code, "is not in this repository" in said.err) == (1, True)
    assert call("diff", HULL, "--stat").code == 0


def test_what_a_file_says_cannot_steer_the_terminal(call, ledger, painter):
    """Escape sequences of agents are shown; those that git sets for colours are not in a pipe."""
    call("start", HULL)
    (ledger / "hull.txt").write_text("\x1b]0;owned\x07\n")
    said = call("diff", HULL)
    assert "owned" in said.out
    assert "\x1b" not in said.out
