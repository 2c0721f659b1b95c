"""Situations of a working tree, each measured by us and independently by git's plumbing."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pytest

from fakes.long_forms import share
from fakes.repositories import Repo

COMMIT = "git add -A && git commit -qm work"


@dataclass(frozen=True, kw_only=True)
class Situation:
    """What stood before the task began, and what the task did, as shell."""

    before: str = ":"
    task: str
    folder: str = ""


CLEAN = {
    "nothing happens": Situation(task=":"),
    "a new file is left untracked": Situation(task="seq 5 > new.txt"),
    "a file is edited": Situation(task="echo more >> a.txt"),
    "a file is edited and staged": Situation(task="echo more >> a.txt; git add a.txt"),
    "a file is edited, staged and edited again": Situation(
        task="echo more >> a.txt; git add a.txt; echo yet more >> a.txt"
    ),
    "a file is edited and committed": Situation(task=f"echo more >> a.txt; {COMMIT}"),
    "a file is committed, another staged, a third untracked": Situation(
        task=f"echo 1 >> a.txt; {COMMIT}; echo 2 >> b.txt; git add b.txt; echo 3 > third"
    ),
    "a file is deleted": Situation(task="rm a.txt"),
    "a file is deleted with git": Situation(task="git rm -q a.txt"),
    "a file is deleted and committed": Situation(task=f"git rm -q dir/c.txt; {COMMIT}"),
    "a file is renamed with git": Situation(task="git mv a.txt renamed.txt"),
    "a file is renamed without git": Situation(task="mv a.txt dir/moved.txt"),
    "a file is renamed, edited and committed": Situation(
        task=f"git mv a.txt z.txt; echo more >> z.txt; {COMMIT}"
    ),
    "two files change names": Situation(task="mv a.txt x; mv b.txt a.txt; mv x b.txt"),
    "a folder is renamed": Situation(task="git mv dir folder"),
    "names are not ASCII": Situation(task="seq 9 > 'größe ☃.txt'; mv b.txt 'ñandú.txt'"),
    "names have spaces, tabs, quotes and newlines": Situation(
        task="seq 3 > ' a b'; printf x > \"$(printf 't\\tq\\\"n\\nl')\"; printf y > ':colon'"
    ),
    "a name is made of wild cards": Situation(task="echo 1 > '*.txt'; echo 2 > '[ab].txt'"),
    "a file becomes a link": Situation(task="rm b.txt; ln -s a.txt b.txt"),
    "a link points elsewhere": Situation(task="ln -sfn b.txt link"),
    "a file becomes executable": Situation(task="chmod +x a.txt"),
    "a file becomes a folder": Situation(task="rm a.txt; mkdir a.txt; seq 4 > a.txt/inside"),
    "a folder becomes a file": Situation(task="rm -r dir; echo flat > dir"),
    "a folder becomes a link": Situation(task="mv dir other; ln -s other dir"),
    "binary content changes": Situation(task="printf 'x\\0y' > blob.bin"),
    "ignored files do not count": Situation(task="echo x > debug.log; echo y > dir/e.log"),
    "a file is committed and restored by another commit": Situation(
        task=f"echo x >> a.txt; {COMMIT}; git revert --no-edit HEAD"
    ),
    "a file is added, committed, deleted, committed": Situation(
        task=f"echo x > n; {COMMIT}; git rm -q n; {COMMIT}"
    ),
    "a branch is merged": Situation(
        task=f"git checkout -qb side; echo s > s.txt; {COMMIT}; git checkout -q main;"
        f"echo m > m.txt; {COMMIT}; git merge -q --no-edit side"
    ),
    "a merge stops with a conflict": Situation(
        task=f"git checkout -qb side; echo s > a.txt; {COMMIT}; git checkout -q main;"
        f"echo m > a.txt; {COMMIT}; git merge -q side || true"
    ),
    "a conflict deletes on one side": Situation(
        task=f"git checkout -qb side; git rm -q a.txt; {COMMIT}; git checkout -q main;"
        f"echo m > a.txt; {COMMIT}; git merge -q side || true"
    ),
    "the start commit is amended": Situation(
        task="echo x >> a.txt; git commit -qa --amend -m amended"
    ),
    "the work is rebased": Situation(
        task=f"git checkout -qb side; echo s > s.txt; {COMMIT}; git checkout -q main;"
        f"echo m > m.txt; {COMMIT}; git checkout -q side; git rebase -q main"
    ),
    "HEAD is detached": Situation(task=f"git checkout -q --detach; echo x > x; {COMMIT}"),
    "another branch is checked out": Situation(
        before=f"git branch other; echo x > x; {COMMIT}", task="git checkout -q other"
    ),
    "an orphan branch is begun": Situation(task="git checkout -q --orphan fresh; echo x > x"),
    "the root is a folder of the repository": Situation(
        task="echo 1 >> a.txt; echo 2 >> dir/c.txt; echo 3 > dir/n; git mv b.txt dir/b.txt",
        folder="dir",
    ),
    "our own folder never counts": Situation(
        task=f"mkdir .counterpoint; echo 1 > .counterpoint/db; git add -Af; {COMMIT};"
        "mv .counterpoint/db away; echo 2 > .counterpoint/key"
    ),
    "a change of equal size falls in the same second": Situation(
        before="echo 111 > a.txt; git commit -qam same", task="echo 222 > a.txt"
    ),
    "a change leaves size and time as they were": Situation(
        before="git config core.trustctime false; echo 111 > a.txt; touch -d @1700000000 a.txt;"
        "git commit -qam same; touch -d @1700000000 .git/index",
        task="echo 222 > a.txt; touch -d @1700000000 a.txt",
    ),
    "line ends are rewritten by attributes": Situation(
        before="echo '*.txt text eol=lf' > .gitattributes; " + COMMIT,
        task="printf 'one\\r\\ntwo\\r\\n' > crlf.txt; sed -i 's/$/\\r/' a.txt",
    ),
    "the index is split in two files": Situation(
        before="git update-index --split-index", task="echo x >> a.txt; echo y > y"
    ),
    "a name is not UTF-8": Situation(task="printf 'x\\ny\\n' > \"$(printf 'caf\\351')\""),
}

DIRTY = {
    "dirt stays as it was": Situation(
        before="echo d >> a.txt; echo u > u; rm b.txt; git rm -q dir/d.txt", task="echo t > t"
    ),
    "dirt is edited further": Situation(
        before="echo d >> a.txt; echo u > u", task="echo e >> a.txt; echo e >> u"
    ),
    "dirt comes back to what is committed": Situation(
        before="echo d >> a.txt; rm b.txt", task="git checkout -q a.txt b.txt"
    ),
    "dirt is committed as it was": Situation(
        before="echo d >> a.txt; echo u > u; git rm -q b.txt", task=COMMIT
    ),
    "dirt is edited and committed": Situation(
        before="echo d >> a.txt; echo u > u", task=f"echo e >> a.txt; echo e >> u; {COMMIT}"
    ),
    "dirt is only staged": Situation(before="echo d >> a.txt; echo u > u", task="git add -A"),
    "staged dirt is only unstaged": Situation(
        before="echo d >> a.txt; echo u > u; git add -A", task="git reset -q"
    ),
    "an untracked file is deleted": Situation(before="echo u > u", task="rm u"),
    "an untracked file is renamed": Situation(before="seq 7 > u", task="mkdir s; mv u s/v"),
    "a dirty file is renamed": Situation(before="echo d >> a.txt", task="git mv a.txt e.txt"),
    "a deleted file is made again": Situation(before="rm a.txt", task="echo other > a.txt"),
    "an old copy does not steal a rename": Situation(
        before="cp a.txt aa.txt", task="mv a.txt zz.txt"
    ),
    "an old deletion does not steal a rename": Situation(
        before="cp a.txt twin.txt; " + COMMIT + "; rm twin.txt", task="mv a.txt moved.txt"
    ),
    "a commit is undone on disk": Situation(
        task=f"echo x >> a.txt; {COMMIT}; git checkout -q HEAD~1 -- a.txt; git reset -q"
    ),
    "a committed addition is deleted on disk": Situation(task=f"echo x > n; {COMMIT}; rm n"),
    "a dirty link is turned": Situation(before="ln -sfn b.txt link", task="ln -sfn blob.bin link"),
    "dirt in a folder that becomes a link": Situation(
        before="echo d >> dir/c.txt", task="mv dir real; ln -s real dir"
    ),
}


def expected(repo: Any, start_tree: str, start_head: str, *, renames: bool) -> dict[str, Any]:
    """Answer git's word: the net difference on disk, and what commits carry besides.

    A path that is committed as it lay on disk at the start is not among them.
    """
    net = repo.diff(start_tree, repo.tree(), renames=renames)
    seen = set(net) | {change.previous for change in net.values()}
    carried = repo.diff(start_head, repo.head(), renames=False)
    others = repo.diff(start_tree, repo.head(), renames=False)
    orphan = not repo.sh("git rev-parse -q --verify HEAD || true")
    return net | {
        path: carried[path]
        for path in carried
        if path not in seen and path in others and not orphan
    }


def measure(repo: Any, situation: Situation) -> tuple[Any, str, str]:
    """Run one situation; answer the comparison, the tree and the commit at the start."""
    repo.sh(situation.before)
    repo.folder = situation.folder
    root = repo.root / situation.folder
    start_tree, start_head = repo.tree(), repo.head()
    start = repo.evidence.snapshot(root)
    repo.sh(situation.task)
    return repo.evidence.compare(root, start), start_tree, start_head


def kinds(changes: Any) -> dict[str, tuple[str, str]]:
    """Answer path → kind and previous name, names shown as Unicode."""
    return {
        change.path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"): (
            change.kind,
            change.previous,
        )
        for change in changes
    }


@pytest.mark.e2e
@pytest.mark.parametrize("name", [*CLEAN, *DIRTY])
def test_each_situation_is_seen_as_git_sees_it(repo: Repo, name: str) -> None:
    """Paths, kinds and renames equal those of a diff between the two full trees.

    From a clean start the lines do too; commits are those that git lists.
    """
    found, start_tree, start_head = measure(repo, (CLEAN | DIRTY)[name])
    wanted = expected(repo, start_tree, start_head, renames=True)
    assert kinds(found.changes) == kinds(wanted.values())
    if repo.head() not in (start_head, ""):
        commits = repo.sh(f"git rev-list --reverse --topo-order {start_head}..HEAD || true")
        assert list(found.commits) == commits.split()
    counts = repo.counts(start_tree, repo.tree())
    for change in found.changes:
        if name in CLEAN and change.kind != "renamed" and change.path in counts:
            assert (change.insertions, change.deletions) == counts[change.path], change


_STEPS = (
    "echo {n} >> {f}",
    "echo {n} > {f}",
    "rm -f {f}",
    "git add -A {f} 2>/dev/null || true",
    "git rm -q --cached {f} 2>/dev/null || true",
    "git commit -qm step || true",
    "git commit -qam step || true",
    "mv {f} {g} 2>/dev/null || true",
    "git checkout -q -- {f} 2>/dev/null || true",
    "git stash -q 2>/dev/null || true",
    "git reset -q",
)
_FILES = ("a.txt", "b.txt", "dir/c.txt", "dir/n", "n", "m")


def walk(chance: random.Random, length: int) -> str:
    """Answer a script of random steps on few files."""
    return "\n".join(
        chance.choice(_STEPS).format(
            n=chance.randrange(3), f=chance.choice(_FILES), g=chance.choice(_FILES)
        )
        for _ in range(length)
    )


@pytest.mark.e2e
@pytest.mark.faults
@pytest.mark.parametrize("seed", range(share(12)))
def test_any_walk_from_any_dirt_is_seen_as_git_sees_it(repo: Repo, seed: int) -> None:
    """Random work on random dirt gives the paths and kinds that git's full trees give."""
    chance = random.Random(seed)  # noqa: S311 - a repeatable walk, no secret
    situation = Situation(before=walk(chance, 6), task=walk(chance, 8))
    found, start_tree, start_head = measure(repo, situation)
    flat: dict[str, tuple[str, str]] = {}
    for change in found.changes:
        if change.kind == "renamed":
            flat[change.previous] = ("deleted", "")
        flat[change.path] = ("added" if change.kind == "renamed" else change.kind, "")
    wanted = expected(repo, start_tree, start_head, renames=False)
    assert flat == kinds(wanted.values()), situation
