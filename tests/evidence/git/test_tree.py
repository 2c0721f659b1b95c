"""What a snapshot holds, what a comparison warns of, and what git may not do for a stranger."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from counterpoint.core.model.evidence import Comparison, Snapshot
from counterpoint.evidence import marks
from counterpoint.evidence.git import tree
from counterpoint.evidence.git.call import GitCall
from counterpoint.evidence.local import LocalEvidence
from counterpoint.kernel.clock import SystemClock
from counterpoint.kernel.errors import Unavailable
from fakes.repositories import Repo

COMMIT = "git add -A && git commit -qm work"


def sha(text: str | bytes) -> str:
    """Answer the SHA-256 of a content."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def kinds(comparison: Comparison) -> dict[str, str]:
    """Answer path → kind."""
    return {change.path: change.kind for change in comparison.changes}


def said(comparison: Comparison, words: str) -> bool:
    """Answer whether a warning has the words."""
    return any(words in warning for warning in comparison.warnings)


def test_a_snapshot_holds_head_branch_and_the_marks_of_dirt(repo: Repo) -> None:
    """Staged, unstaged, deleted, linked and untracked paths are all there, nothing else."""
    repo.sh(
        "printf s > a.txt; git add a.txt; printf w > b.txt; rm dir/c.txt; ln -sfn blob.bin link;"
        "printf u > 'ü n'; printf no > no.log; mkdir .counterpoint; echo k > .counterpoint/k"
    )
    found = repo.evidence.snapshot(repo.root)
    assert (found.method, found.commit, found.branch) == ("git", repo.head(), "main")
    assert found.files == {
        "a.txt": sha("s"),
        "b.txt": sha("w"),
        "dir/c.txt": "",
        "link": sha("blob.bin"),
        "ü n": sha("u"),
    }
    assert found.warnings == ()


def test_a_detached_head_has_no_branch(repo: Repo) -> None:
    """The commit is still told."""
    repo.sh("git checkout -q --detach")
    found = repo.evidence.snapshot(repo.root)
    assert (found.branch, found.commit) == ("", repo.head())


def test_a_repository_without_a_commit_is_measured_from_nothing(bare_folder: Repo) -> None:
    """What was there before stays out, the first commits count."""
    bare_folder.sh("git init -q -b trunk .; echo old > old; echo both > both")
    start = bare_folder.evidence.snapshot(bare_folder.root)
    assert (start.commit, start.branch, set(start.files)) == ("", "trunk", {"old", "both"})
    bare_folder.sh("echo 2 > fresh; echo more >> both; git add fresh both; git commit -qm 1")
    found = bare_folder.evidence.compare(bare_folder.root, start)
    assert kinds(found) == {"fresh": "added", "both": "modified"}
    assert found.commits == (bare_folder.head(),)
    assert found.warnings == ()


def test_a_repository_that_stays_without_a_commit_is_compared(bare_folder: Repo) -> None:
    """No commit at the end either: only files tell."""
    bare_folder.sh("git init -q .; echo old > old")
    start = bare_folder.evidence.snapshot(bare_folder.root)
    bare_folder.sh("echo 2 > fresh; git add fresh; rm old")
    found = bare_folder.evidence.compare(bare_folder.root, start)
    assert kinds(found) == {"fresh": "added", "old": "deleted"}
    assert found.commits == ()


def test_a_repository_with_sha256_ids_is_measured(bare_folder: Repo) -> None:
    """The empty tree and the ids are those of its object format."""
    bare_folder.sh("git init -q --object-format=sha256 .")
    start = bare_folder.evidence.snapshot(bare_folder.root)
    bare_folder.sh(f"echo 1 > a; {COMMIT}; echo 2 > b")
    found = bare_folder.evidence.compare(bare_folder.root, start)
    assert kinds(found) == {"a": "added", "b": "added"}
    assert len(found.commits[0]) == 64


def test_a_vanished_start_commit_is_a_warning(repo: Repo) -> None:
    """After amend and garbage collection, what is on disk is still told."""
    start = repo.evidence.snapshot(repo.root)
    repo.sh(
        "echo x >> a.txt; git commit -qa --amend -m other; git reflog expire --expire=now --all;"
        "git gc -q --prune=now; echo y > fresh"
    )
    found = repo.evidence.compare(repo.root, start)
    assert said(found, "no longer in the repository")
    assert kinds(found) == {"fresh": "added"}
    assert found.commits == ()


def test_an_amended_start_commit_is_a_warning(repo: Repo) -> None:
    """HEAD moved sideways: the diff of the trees is right, and it is said."""
    start = repo.evidence.snapshot(repo.root)
    repo.sh("echo x >> a.txt; git commit -qa --amend -m other")
    found = repo.evidence.compare(repo.root, start)
    assert said(found, "does not descend")
    assert kinds(found) == {"a.txt": "modified"}
    assert found.commits == (repo.head(),)


def test_dirt_that_was_committed_as_it_was_is_no_change(repo: Repo) -> None:
    """It is older than the task, which a warning says; whoever committed it has the commit listed."""
    repo.sh("echo d >> a.txt; echo u > u; rm b.txt")
    start = repo.evidence.snapshot(repo.root)
    repo.sh(f"echo mine > mine; {COMMIT}")
    found = repo.evidence.compare(repo.root, start)
    assert kinds(found) == {"mine": "added"}
    assert said(found, "`a.txt`, `b.txt`, `u`: was already so when the task began")
    assert found.commits == (repo.head(),)


def test_dirt_that_was_committed_otherwise_than_it_was_counts(repo: Repo) -> None:
    """The disk is as at the start, but the commit carries what it was not."""
    repo.sh("echo d >> a.txt")
    start = repo.evidence.snapshot(repo.root)
    repo.sh("cp a.txt kept.log; echo other > a.txt; git commit -qam other; cp kept.log a.txt")
    found = repo.evidence.compare(repo.root, start)
    assert kinds(found) == {"a.txt": "modified"}
    assert said(found, "`a.txt`: was changed in commits, but lies on disk as at the start")


def test_a_commit_undone_on_disk_is_told_apart(repo: Repo) -> None:
    start = repo.evidence.snapshot(repo.root)
    repo.sh("echo d >> a.txt; git commit -qam work; git checkout -q HEAD~1 -- a.txt")
    found = repo.evidence.compare(repo.root, start)
    assert kinds(found) == {"a.txt": "modified"}
    assert said(found, "lies on disk as at the start")


def test_what_is_only_staged_is_a_warning(repo: Repo) -> None:
    """Content that lies in the index alone is no change, but the next commit would carry it."""
    start = repo.evidence.snapshot(repo.root)
    repo.sh("echo x > a.txt; git add a.txt; git show HEAD:a.txt > a.txt")
    found = repo.evidence.compare(repo.root, start)
    assert found.changes == ()
    assert said(found, "`a.txt`: is staged with other content")


def test_a_file_taken_from_the_index_alone_is_a_warning(repo: Repo) -> None:
    """It lies on disk as before, but the next commit would delete it."""
    start = repo.evidence.snapshot(repo.root)
    repo.sh("git rm -q --cached a.txt")
    found = repo.evidence.compare(repo.root, start)
    assert found.changes == ()
    assert said(found, "`a.txt`: is staged with other content")


def test_an_untracked_file_that_is_ignored_later_did_not_change(repo: Repo) -> None:
    repo.sh("echo u > u.tmp")
    start = repo.evidence.snapshot(repo.root)
    repo.sh("echo '*.tmp' >> .gitignore")
    assert kinds(repo.evidence.compare(repo.root, start)) == {".gitignore": "modified"}


def test_a_linked_worktree_is_measured_on_its_own(repo: Repo, tmp_path: Path) -> None:
    """Work in the main tree does not show in the linked one."""
    repo.sh("git worktree add -q -b side ../linked")
    linked = tmp_path / "linked"
    start = repo.evidence.snapshot(linked)
    repo.sh(f"echo main >> a.txt; {COMMIT}; cd ../linked; echo side > s; {COMMIT}; echo t > t")
    found = repo.evidence.compare(linked, start)
    assert (start.branch, kinds(found)) == ("side", {"s": "added", "t": "added"})
    assert len(found.commits) == 1


def test_a_shallow_clone_says_that_commits_may_be_missing(repo: Repo, tmp_path: Path) -> None:
    """The difference is right all the same."""
    repo.sh(f"echo 2 >> a.txt; {COMMIT}; git clone -q --depth 1 file://$PWD ../shallow")
    root = tmp_path / "shallow"
    start = repo.evidence.snapshot(root)
    repo.sh(f"cd ../shallow; echo 3 >> b.txt; {COMMIT}")
    found = repo.evidence.compare(root, start)
    assert kinds(found) == {"b.txt": "modified"}
    assert said(found, "shallow")


def test_a_submodule_counts_by_its_commit(repo: Repo) -> None:
    repo.sh(
        "git -c protocol.file.allow=always clone -q . ../inner;"
        "git -c protocol.file.allow=always submodule --quiet add ../inner sub;"
        "git commit -qm sub"
    )
    start = repo.evidence.snapshot(repo.root)
    repo.sh("echo dirt > sub/dirt")
    assert repo.evidence.compare(repo.root, start).changes == ()
    repo.sh(f"cd sub; {COMMIT}")
    found = repo.evidence.compare(repo.root, start)
    assert kinds(found) == {"sub": "modified"}
    assert found.end.files == {"sub": repo.sh("git -C sub rev-parse HEAD").strip()}


def test_a_repository_inside_is_named_and_left_alone(repo: Repo) -> None:
    """A worktree of somebody else inside the tree is not this task's work."""
    start = repo.evidence.snapshot(repo.root)
    repo.sh("git worktree add -q -b side trees/side; echo x > trees/side/x; echo y > trees/y")
    found = repo.evidence.compare(repo.root, start)
    assert kinds(found) == {"trees/y": "added"}
    assert said(found, "`trees/side`: is a repository of its own")


def test_an_ignored_folder_is_measured_by_hashes(repo: Repo) -> None:
    repo.sh("mkdir -p out.log/p; echo 1 > out.log/p/f")
    root = repo.root / "out.log" / "p"
    start = repo.evidence.snapshot(root)
    assert (start.method, set(start.files)) == ("hash", {"f"})


@pytest.mark.parametrize("lock", [":", "touch .git/index.lock"])
def test_the_repository_is_not_written(repo: Repo, lock: str) -> None:
    """Neither the index nor any other file of git changes, nor need its lock be free."""
    repo.sh(f"touch -d '2020-01-01' a.txt; echo x > fresh; echo y >> b.txt; {lock}")
    start = Snapshot(method="git", commit=repo.head(), branch="main")
    before = repo.sh("find .git -type f -printf '%p %T@ %s\\n' | sort")
    found = repo.evidence.compare(repo.root, start)
    assert kinds(found) == {"fresh": "added", "b.txt": "modified"}
    assert repo.sh("find .git -type f -printf '%p %T@ %s\\n' | sort") == before


def test_a_stranger_s_programs_are_not_run(repo: Repo, tmp_path: Path) -> None:
    """Monitor, hooks, external diffs, text conversions and pagers of a repository stay silent."""
    trap = tmp_path / "trap"
    trap.write_text(f'#!/bin/sh\necho "$0 $*" >> {tmp_path}/sprung\ncat\n')
    trap.chmod(0o755)
    repo.sh(
        f"mkdir -p .git/info .git/hooks; echo '*.txt diff=trap' > .git/info/attributes; cp {trap} .git/hooks/post-index-change;"
        f"for key in core.fsmonitor diff.external diff.trap.command diff.trap.textconv core.pager"
        f" core.editor; do git config $key {trap}; done"
    )
    (tmp_path / "sprung").unlink(missing_ok=True)
    start = repo.evidence.snapshot(repo.root)
    (repo.root / "a.txt").write_text("x")
    (repo.root / "fresh.txt").write_text("y")
    assert kinds(repo.evidence.compare(repo.root, start)) == {
        "a.txt": "modified",
        "fresh.txt": "added",
    }
    assert not (tmp_path / "sprung").exists()


def test_the_repository_s_taste_does_not_change_the_answer(repo: Repo) -> None:
    """Settings for people (prefixes, relative names, colours, order) do not reach us."""
    repo.sh(
        "git config diff.noprefix true; git config diff.relative true; git config color.ui always;"
        "git config diff.renames copies; git config status.showUntrackedFiles no;"
        "git config status.relativePaths true; git config diff.ignoreSubmodules all;"
        "git config diff.orderFile /nonexistent; git config core.quotePath true"
    )
    start = repo.evidence.snapshot(repo.root / "dir")
    repo.sh("echo x > dir/ünt; cp dir/c.txt dir/copy; git mv dir/d.txt dir/e.txt")
    found = repo.evidence.compare(repo.root / "dir", start)
    assert kinds(found) == {"copy": "added", "ünt": "added", "e.txt": "renamed"}


@pytest.mark.parametrize("name", ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"])
def test_variables_of_a_calling_git_do_not_mislead(repo: Repo, tmp_path: Path, name: str) -> None:
    """A server started from a hook still looks at the repository it was told."""
    environ = repo.environ | {name: str(tmp_path / "elsewhere"), "GIT_TRACE": str(tmp_path / "t")}
    evidence = LocalEvidence(clock=SystemClock(), environ=environ)
    assert evidence.snapshot(repo.root).commit == repo.head()
    assert not (tmp_path / "t").exists()


def test_a_repository_that_git_refuses_is_measured_by_hashes(repo: Repo) -> None:
    """The warning gives git's reason; a comparison with a snapshot of git says it knows nothing."""
    before = repo.evidence.snapshot(repo.root)
    (repo.root / ".git" / "config").write_text("[broken\n")
    found = repo.evidence.snapshot(repo.root)
    assert found.method == "hash"
    assert "git refuses the repository" in found.warnings[0]
    assert said(repo.evidence.compare(repo.root, before), "is not known: git refuses")


def test_a_damaged_repository_is_unavailable(repo: Repo) -> None:
    """What git says is passed on, with the way to mend it."""
    start = repo.evidence.snapshot(repo.root)
    (repo.root / ".git" / "index").write_bytes(b"not an index")
    with pytest.raises(Unavailable, match="cannot read the repository"):
        repo.evidence.compare(repo.root, start)
    with pytest.raises(Unavailable, match="index file"):
        repo.evidence.snapshot(repo.root)


def test_a_lost_repository_is_a_warning(repo: Repo) -> None:
    """Without .git there is nothing to measure from."""
    start = repo.evidence.snapshot(repo.root)
    repo.sh("rm -rf .git")
    assert said(repo.evidence.compare(repo.root, start), "no longer there")


def test_without_git_the_hashes_speak(repo: Repo, tmp_path: Path) -> None:
    """A machine without git still gives evidence, and says why it is another kind."""
    evidence = LocalEvidence(clock=SystemClock(), environ={"PATH": str(tmp_path)})
    found = evidence.snapshot(repo.root)
    assert found.method == "hash"
    assert found.warnings == ("there is a repository, but git is not installed",)
    assert "a.txt" in found.files


def test_a_large_untracked_file_is_not_read(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is compared by size and time, with a warning, and counted without lines."""
    monkeypatch.setattr(marks, "LARGEST", 1000)
    start = repo.evidence.snapshot(repo.root)
    repo.sh("seq 1000 > large")
    found = repo.evidence.compare(repo.root, start)
    assert [(change.path, change.kind, change.insertions) for change in found.changes] == [
        ("large", "added", 0)
    ]
    assert said(found, "`large` is over 64 MB")
    assert repo.evidence.compare(repo.root, found.end).changes == ()


def test_git_that_does_not_answer_is_ended(repo: Repo, tmp_path: Path) -> None:
    """A filter that hangs is killed with its whole group at the limit."""
    repo.sh(
        "echo '*.txt filter=slow' > .gitattributes; git config --global filter.slow.clean 'sleep 60'"
    )
    call = GitCall(folder=repo.root, environ=repo.environ, limit_seconds=0.3)
    with pytest.raises(Unavailable, match="did not answer"):
        call.ask("hash-object", "--path=a.txt", "a.txt")


def test_an_orphan_branch_is_a_warning(repo: Repo) -> None:
    """HEAD had a commit and has none now: no commits are listed, the files are compared."""
    start = repo.evidence.snapshot(repo.root)
    repo.sh("git checkout -q --orphan fresh; echo x >> a.txt")
    found = repo.evidence.compare(repo.root, start)
    assert said(found, "now has none")
    assert (kinds(found), found.commits) == ({"a.txt": "modified"}, ())


def test_a_file_that_became_an_empty_repository_is_deleted(repo: Repo) -> None:
    """What stands there now is no part of this tree, and has no commit to be known by."""
    repo.sh("echo u > inner")
    start = repo.evidence.snapshot(repo.root)
    repo.sh("rm inner; git init -q inner")
    assert kinds(repo.evidence.compare(repo.root, start)) == {"inner": "deleted"}


def test_a_bare_repository_is_measured_by_hashes(bare_folder: Repo) -> None:
    """It has no working tree of which git could speak."""
    bare_folder.sh("git init -q --bare .")
    assert bare_folder.evidence.snapshot(bare_folder.root).method == "hash"


def test_only_the_last_thousand_commits_are_listed(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oldest are left out, with a warning."""
    monkeypatch.setattr(tree, "_MOST_COMMITS", 2)
    start = repo.evidence.snapshot(repo.root)
    repo.sh("for n in 1 2 3; do git commit -q --allow-empty -m $n; done")
    found = repo.evidence.compare(repo.root, start)
    assert list(found.commits) == repo.sh("git rev-list --reverse -2 HEAD").split()
    assert said(found, "only the last 2 commits")


def test_a_root_below_another_counts_only_itself(repo: Repo) -> None:
    """The snapshot and the comparison of a folder know nothing of what lies beside it."""
    repo.sh(
        "echo x >> a.txt; echo y >> dir/c.txt; mkdir dir/.counterpoint; echo z > dir/.counterpoint/z"
    )
    start = repo.evidence.snapshot(repo.root / "dir")
    assert set(start.files) == {"c.txt"}
    repo.sh("echo x >> b.txt; git mv a.txt dir/from-above")
    found = repo.evidence.compare(repo.root / "dir", start)
    assert kinds(found) == {"from-above": "added"}


def test_the_port_contains_and_digests(repo: Repo) -> None:
    """Both stand behind the same door as the rest."""
    assert repo.evidence.contain(repo.root, "./dir/c.txt") == "dir/c.txt"
    assert repo.evidence.digest(repo.root, "dir/d.txt") == (sha("one\n"), 4)
