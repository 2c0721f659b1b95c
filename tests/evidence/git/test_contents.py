"""Odd trees, each measured by us and independently by the contents that git would take in.

The reference lists what git holds to be in the tree, takes the blob git would make of each file, before
and after, and compares the two lists; what only commits changed comes from the lists of their trees.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from counterpoint.evidence.marks import shown
from fakes.repositories import Repo

COMMIT = "git add -A && git commit -qm work"
_SUBMODULE = """
git -c protocol.file.allow=always clone -q . ../inner
git -c protocol.file.allow=always submodule --quiet add ../inner sub; git commit -qm sub; """


@dataclass(frozen=True, kw_only=True)
class Situation:
    """What stood before the task and what it did, as shell; where we look; what we must say.

    renames: present → previous names. silent: whether there must be no warning at all.
    """

    before: str = ":"
    task: str
    folder: str = ""
    says: tuple[str, ...] = ()
    renames: tuple[tuple[str, str], ...] = ()
    silent: bool = True


NAMES = {
    "names begin with dashes": Situation(task="echo 1 > ./-x; echo 2 > ./--help; git add -- -x"),
    "names end with blanks": Situation(task="echo 1 > 'end '; echo 2 > 'tab\t'; echo 3 > ' '"),
    "names have every quote": Situation(
        task="echo 1 > \"a'b\"; echo 2 > 'c\"d'; echo 3 > 'e`f'; echo 4 > 'g\\h'"
    ),
    "names have newlines and returns": Situation(
        task="n=$(printf 'l1\\nl2\\nX'); echo 1 > \"${n%X}\"; echo 2 > \"$(printf 'r\\rr')\""
    ),
    "a tracked odd name is edited and renamed": Situation(
        before="n=$(printf 'ü\\n\"q'); seq 9 > \"$n\"; echo 1 > '-k '; " + COMMIT,
        task="n=$(printf 'ü\\n\"q'); mv \"$n\" './-k2'; echo 2 >> './-k '",
        renames=(("-k2", 'ü\n"q'),),
    ),
    "a name looks like the shown form of another": Situation(
        before="echo 1 > 'x\\xe9'; printf 2 > \"$(printf 'x\\351')\"", task="echo 3 >> 'x\\xe9'"
    ),
    "both are there, and the other one changes": Situation(
        before="echo 1 > 'x\\xe9'; printf 2 > \"$(printf 'x\\351')\"",
        task="rm \"$(printf 'x\\351')\"",
    ),
    "names look like magic pathspecs": Situation(
        task="mkdir ':(top)'; echo 1 > ':(top)/f'; echo 2 > ':!x'; echo 3 > ':^y'; " + COMMIT
    ),
    "a name differs in case only": Situation(
        task="git mv a.txt A.TXT; " + COMMIT, renames=(("A.TXT", "a.txt"),)
    ),
    "a name differs in case only, on disk": Situation(
        task="mv a.txt A.txt", renames=(("A.txt", "a.txt"),)
    ),
    "two names differ in the form of Unicode": Situation(
        task="echo 1 > \"$(printf 'e\\314\\201')\"; echo 2 > \"$(printf '\\303\\251')\""
    ),
    "a long path": Situation(
        task='p=$(printf "%0200d" 0); mkdir -p "$p/$p/$p"; echo 1 > "$p/$p/$p/$p"; ' + COMMIT
    ),
    "a folder looks like ours but lies deeper": Situation(
        task="mkdir -p dir/.counterpoint; echo 1 > dir/.counterpoint/x; echo 2 > .counterpoints"
    ),
}

KINDS = {
    "a file is copied": Situation(task="cp a.txt copy.txt; cp b.txt dir/b.txt; git add copy.txt"),
    "a file is copied and committed": Situation(task="cp a.txt copy.txt; " + COMMIT),
    "a dirty file becomes a link": Situation(
        before="echo d >> a.txt", task="rm a.txt; ln -s b.txt a.txt; " + COMMIT
    ),
    "a link becomes a file of the same text": Situation(task="rm link; printf a.txt > link"),
    "a link becomes a file of what it led to": Situation(task="cp --remove-destination a.txt link"),
    "a mode changes and is committed": Situation(task="chmod +x a.txt b.txt; git commit -qam mode"),
    "modes do not count where git was told so": Situation(
        before="git config core.fileMode false", task="chmod +x a.txt"
    ),
    "a mode changes and comes back": Situation(task="chmod +x a.txt; chmod -x a.txt"),
    "an empty folder appears": Situation(task="mkdir -p empty/deeper"),
    "a folder is emptied": Situation(task="rm dir/*"),
    "an empty file appears and one is emptied": Situation(task=": > empty; : > a.txt"),
    "a pipe and a socket are no files": Situation(task="mkfifo pipe"),
    "a file becomes a pipe": Situation(task="rm a.txt; mkfifo a.txt; echo x >> b.txt"),
    "an untracked file becomes a pipe": Situation(before="echo u > u", task="rm u; mkfifo u"),
    "a staged file becomes a pipe": Situation(
        task="echo u > u; git add u; rm u; mkfifo u", silent=False
    ),
    "a link leads out of the tree, another nowhere": Situation(
        task="ln -s /etc out; ln -s nowhere lost; ln -s self self"
    ),
    "a file is touched": Situation(task="touch -d 2001-01-01 a.txt; touch b.txt"),
}

INDEX = {
    "a file is only intended to be added": Situation(task="echo 1 > later; git add -N later"),
    "an intended file is edited": Situation(
        before="echo 1 > later; git add -N later", task="echo 2 >> later"
    ),
    "an intended file is committed": Situation(
        before="echo 1 > later; git add -N later", task=COMMIT, says=("was already so",)
    ),
    "an intended file is deleted": Situation(
        before="echo 1 > later; git add -N later", task="rm later"
    ),
    "a file is added and then removed": Situation(task="echo 1 > n; git add n; rm n", silent=False),
    "a file is added and removed with git": Situation(task="echo 1 > n; git add n; git rm -qf n"),
    "a conflict stands before and is resolved": Situation(
        before=f"git checkout -qb side; echo s > a.txt; {COMMIT}; git checkout -q main;"
        f"echo m > a.txt; {COMMIT}; git merge -q side || true",
        task="echo both > a.txt; git add a.txt; git commit -qm merged",
        silent=False,
    ),
    "a conflict stands before and stays": Situation(
        before=f"git checkout -qb side; echo s > a.txt; {COMMIT}; git checkout -q main;"
        f"echo m > a.txt; {COMMIT}; git merge -q side || true",
        task="echo other > b.txt",
    ),
    "a merge is given up": Situation(
        before=f"git checkout -qb side; echo s > a.txt; {COMMIT}; git checkout -q main;"
        f"echo m > a.txt; {COMMIT}; git merge -q side || true",
        task="git merge --abort",
    ),
    "both sides add a file": Situation(
        before=f"git checkout -qb side; echo s > n; {COMMIT}; git checkout -q main",
        task=f"echo m > n; {COMMIT}; git merge -q side || true",
    ),
    "both sides rename a file": Situation(
        before=f"git checkout -qb side; git mv a.txt s.txt; {COMMIT}; git checkout -q main",
        task=f"git mv a.txt m.txt; {COMMIT}; git merge -q side || true",
        renames=(("m.txt", "a.txt"),),
        silent=False,
    ),
    "a stash takes the work away": Situation(task="echo x >> a.txt; git stash -q"),
    "a stash brings work back": Situation(
        before="echo x >> a.txt; git stash -q", task="git stash pop -q"
    ),
    "a tracked file is ignored and edited": Situation(
        task="echo a.txt >> .gitignore; echo x >> a.txt"
    ),
    "an ignored file is added by force": Situation(
        before="echo 1 > x.log", task="git add -f x.log; git commit -qm force"
    ),
    "an ignored folder fills": Situation(
        before="echo build/ >> .gitignore; " + COMMIT, task="mkdir build; echo 1 > build/x"
    ),
    "a file of the tree is taken out of the index": Situation(
        task="git rm -q --cached a.txt", silent=False
    ),
    "a file that the index hides is edited": Situation(
        before="git update-index --assume-unchanged a.txt; git update-index --skip-worktree b.txt",
        task="echo x >> a.txt; echo y >> b.txt",
    ),
    "a file is edited and then hidden": Situation(
        task="echo x >> a.txt; git update-index --assume-unchanged a.txt; echo y >> b.txt;"
        "git update-index --skip-worktree b.txt; echo z > -n"
    ),
    "a hidden file was edited before": Situation(
        before="echo x >> a.txt; git update-index --assume-unchanged a.txt", task="echo y >> b.txt"
    ),
    "a hidden file is shown again": Situation(
        before="echo x >> a.txt; git update-index --assume-unchanged a.txt dir/c.txt",
        task="git update-index --no-assume-unchanged a.txt dir/c.txt; echo z >> dir/c.txt",
    ),
    "a hidden file is edited in a folder we look at": Situation(
        before="git update-index --assume-unchanged a.txt dir/c.txt",
        task="echo x >> dir/c.txt; echo y >> a.txt",
        folder="dir",
    ),
    "a hidden file is edited in a tree that only seems sparse": Situation(
        before="git update-index --skip-worktree b.txt; mkdir -p .git/info;"
        "echo '/*' > .git/info/sparse-checkout",
        task="echo y >> b.txt",
    ),
    "a file outside of a sparse tree is made": Situation(
        before=f"mkdir other; echo 1 > other/x; {COMMIT}; git sparse-checkout set dir;"
        "git config sparse.expectFilesOutsideOfPatterns true",
        task="mkdir -p other; echo 2 > other/x",
    ),
    "a file is taken out of the index by a commit": Situation(
        task="git rm -q --cached a.txt; git commit -qm out", silent=False
    ),
}

HISTORY = {
    "a merge brings what others did": Situation(
        before=f"git checkout -qb side; echo s > s.txt; {COMMIT}; git checkout -q main",
        task=f"echo m > m.txt; {COMMIT}; git merge -q --no-edit side; echo after >> s.txt",
    ),
    "a merge goes forward fast": Situation(
        before=f"git checkout -qb side; echo s > s.txt; {COMMIT}; git checkout -q main",
        task="git merge -q --ff-only side",
    ),
    "work is rebased onto a moved branch": Situation(
        before=f"git checkout -qb side; echo s > s.txt; {COMMIT}; git checkout -q main;"
        f"echo m > m.txt; {COMMIT}; git checkout -q side",
        task="git rebase -q main",
        says=("does not descend",),
    ),
    "a rebase stops in the middle": Situation(
        before=f"git checkout -qb side; echo s > a.txt; {COMMIT}; git checkout -q main;"
        f"echo m > a.txt; {COMMIT}; git checkout -q side",
        task="git rebase -q main || true",
        says=("does not descend",),
    ),
    "the start commit is amended": Situation(
        task="echo x >> a.txt; git commit -qa --amend -m other", says=("does not descend",)
    ),
    "another branch is checked out": Situation(
        before=f"git branch other; echo x > x; {COMMIT}",
        task="git checkout -q other",
        says=("does not descend",),
    ),
    "a branch is checked out and back again": Situation(
        before=f"git checkout -qb other; echo x > x; {COMMIT}; git checkout -q main",
        task="git checkout -q other; git checkout -q main",
    ),
    "HEAD is detached and moves back": Situation(
        before=f"echo x > x; {COMMIT}", task="git checkout -q HEAD~1", says=("does not descend",)
    ),
    "a commit is reset, its work kept": Situation(
        before=f"echo x >> a.txt; {COMMIT}",
        task="git reset -q HEAD~1",
        says=("does not descend",),
        silent=False,
    ),
    "a commit is picked": Situation(
        before=f"git checkout -qb side; echo s > s.txt; {COMMIT}; git checkout -q main",
        task="git cherry-pick side",
    ),
    "the refs are packed": Situation(
        task=f"echo x >> a.txt; {COMMIT}; git pack-refs --all; git gc -q"
    ),
    "a commit is replaced": Situation(
        before=f"echo x >> a.txt; {COMMIT}; echo y >> b.txt; {COMMIT}",
        task="git replace HEAD HEAD~1; echo z > z",
        silent=False,
    ),
}

KINDS_OF_TREE = {
    "a submodule moves to another commit": Situation(
        before=_SUBMODULE, task=f"cd sub; echo 1 > n; {COMMIT}"
    ),
    "a submodule moves and the move is committed": Situation(
        before=_SUBMODULE, task=f"(cd sub; echo 1 > n; {COMMIT}); git commit -qam moved"
    ),
    "a submodule is dirty inside": Situation(
        before=_SUBMODULE,
        task="echo 1 > sub/n; echo 2 >> sub/a.txt",
        says=("`sub`: is a submodule with changes that are not committed in it",),
    ),
    "a submodule is added": Situation(task=_SUBMODULE),
    "a submodule is removed": Situation(
        before=_SUBMODULE, task="git rm -qf sub; git commit -qm no"
    ),
    "a submodule was moved before": Situation(
        before=_SUBMODULE + f"(cd sub; echo 1 > n; {COMMIT})", task="echo 1 > x"
    ),
    "a submodule is not checked out": Situation(
        before=_SUBMODULE + "git submodule --quiet deinit -f sub", task="echo 1 > x"
    ),
    "a submodule is checked out": Situation(
        before=_SUBMODULE + "git submodule --quiet deinit -f sub",
        task="git -c protocol.file.allow=always submodule --quiet update --init",
    ),
    "part of the tree is checked out": Situation(
        before="git sparse-checkout set --cone dir", task="echo 1 >> dir/c.txt; echo 2 > dir/n"
    ),
    "more of a sparse tree is checked out": Situation(
        before=f"mkdir other; echo 1 > other/x; {COMMIT}; git sparse-checkout set dir",
        task="git sparse-checkout add other; echo 2 >> other/x",
    ),
    "a sparse tree has a sparse index": Situation(
        before=f"mkdir -p other/deep; echo 1 > other/deep/x; {COMMIT};"
        " git sparse-checkout set --cone --sparse-index dir",
        task="echo 1 >> dir/c.txt; git mv dir/d.txt dir/e.txt; echo 2 > dir/n; git commit -qm w",
        renames=(("dir/e.txt", "dir/d.txt"),),
    ),
    "a nested repository appears": Situation(
        task="git init -q --template= nest; cd nest; echo 1 > x; git add x; git commit -qm 1",
        says=("`nest`: is a repository of its own",),
    ),
    "a nested repository was there": Situation(
        before="git init -q --template= nest; cd nest; echo 1 > x; git add x; git commit -qm 1",
        task="echo 2 >> nest/x; echo 3 > y",
    ),
    "we look at a folder of the repository": Situation(
        before="mkdir -p 'dir/ü b'; echo 1 > 'dir/ü b/x'",
        task="echo 2 >> 'dir/ü b/x'; echo 3 >> a.txt; git mv dir/d.txt dir/e.txt; echo 4 > dir/-n",
        folder="dir",
        renames=(("e.txt", "d.txt"),),
    ),
    "a file leaves the folder we look at": Situation(
        task="git mv dir/c.txt c.txt; git mv a.txt dir/a.txt; git commit -qm moved", folder="dir"
    ),
    "the folder has a name of wild cards": Situation(
        before="mkdir '[d]*'; echo 1 > '[d]*/x'; " + COMMIT,
        task="echo 2 >> '[d]*/x'; echo 3 >> dir/c.txt; echo 4 > '[d]*/n'",
        folder="[d]*",
    ),
}

FILTERS = {
    "only the line ends change, and git turns them": Situation(
        before="git config core.autocrlf true", task="sed -i 's/$/\\r/' a.txt"
    ),
    "a file with other line ends is added": Situation(
        before="git config core.autocrlf input", task="printf 'x\\r\\ny\\r\\n' > n; " + COMMIT
    ),
    "line ends change where nobody turns them": Situation(task="sed -i 's/$/\\r/' a.txt"),
    "line ends are checked out as CRLF": Situation(
        before="echo '*.txt text eol=crlf' > .gitattributes; " + COMMIT + "; rm a.txt b.txt;"
        "git checkout -q a.txt b.txt",
        task="printf 'more\\r\\n' >> a.txt; touch b.txt",
    ),
    "filters clean and smudge": Situation(
        # As whoever needs them sets them up: a repository names no program.
        before="git config --global filter.up.clean 'tr a-z A-Z';"
        "git config --global filter.up.smudge 'tr A-Z a-z';"
        "echo '*.up filter=up' > .gitattributes; echo abc > x.up; echo def > y.up; " + COMMIT,
        task="echo ABC > x.up; echo ghi >> y.up; echo jkl > z.up",
    ),
    "a filter is missing": Situation(
        before="echo '*.up filter=none' > .gitattributes; echo abc > x.up; " + COMMIT,
        task="echo x >> x.up",
    ),
    "keywords are expanded": Situation(
        before="echo '*.id ident' > .gitattributes; echo '$Id$' > x.id; " + COMMIT,
        task="rm x.id; git checkout -q x.id; echo '$Id: mine $' > y.id; git add y.id",
    ),
    "a file is written in another encoding": Situation(
        before="echo '*.u16 working-tree-encoding=UTF-16LE' > .gitattributes;"
        "printf 'a\\0\\n\\0' > x.u16; " + COMMIT,
        task="printf 'b\\0\\n\\0' >> x.u16",
    ),
}

SITUATIONS = NAMES | KINDS | INDEX | HISTORY | KINDS_OF_TREE | FILTERS


def contents(repo: Any, folder: str) -> dict[str, tuple[str, str]]:
    """Answer path → mode and blob, as git would take in what lies in the tree now."""
    found: dict[str, tuple[str, str]] = {}
    entries = [
        entry.split("\t", 1) for entry in repo.sh("git ls-files -z -t --stage").split("\0")[:-1]
    ]
    listed = {name: facts.split(" ") for facts, name in entries}
    others = repo.sh("git ls-files -z --others --exclude-standard").split("\0")[:-1]
    for name in (*listed, *(name for name in others if not name.endswith("/"))):
        tag, mode, blob, _ = listed.get(name, ("?", "", "", ""))
        path = repo.root / name
        if any((repo.root / above).is_symlink() for above in Path(name).parents):
            continue
        if mode == "160000" and path.is_dir():
            inside = repo.sh('git -C "$P" rev-parse HEAD', P=name).strip()
            found[name] = mode, inside if (path / ".git").exists() else blob
        elif path.is_symlink():
            found[name] = (
                "120000",
                repo.sh('readlink -n "$P" | git hash-object --stdin', P=name).strip(),
            )
        elif path.is_file():
            found[name] = (
                _mode(repo, path, mode),
                repo.sh('git hash-object --path "./$P" -- "$P"', P=name).strip(),
            )
        elif tag == "S":
            found[name] = mode, blob
    return below(found, folder)


def _mode(repo: Any, path: Path, before: str) -> str:
    if repo.sh("git config core.fileMode || true").strip() == "false":
        return before or "100644"
    return "100755" if path.stat().st_mode & 0o100 else "100644"


def committed(repo: Any, folder: str, commit: str) -> dict[str, tuple[str, str]]:
    """Answer path → mode and id of everything in a commit."""
    found: dict[str, tuple[str, str]] = {}
    if commit:
        for line in repo.sh(f"git --no-replace-objects ls-tree -rz {commit}").split("\0")[:-1]:
            facts, name = line.split("\t", 1)
            mode, _, blob = facts.split(" ")
            found[name] = mode, blob
    return below(found, folder)


def below(found: dict[str, Any], folder: str) -> dict[str, Any]:
    """Answer what lies below a folder, relative to it, without our own folder."""
    start = f"{folder}/" if folder else ""
    near = {name[len(start) :]: one for name, one in found.items() if name.startswith(start)}
    return {name: one for name, one in near.items() if name.split("/")[0] != ".counterpoint"}


def differing(before: dict[str, Any], after: dict[str, Any]) -> dict[str, str]:
    """Answer path → kind, for two lists of a tree."""
    found: dict[str, str] = {}
    for name in before.keys() | after.keys():
        if name not in before:
            found[name] = "added"
        elif name not in after:
            found[name] = "deleted"
        elif before[name] != after[name]:
            found[name] = "modified"
    return found


def flat(changes: Any) -> dict[str, str]:
    """Answer path → kind of our answer, a rename as what it is made of."""
    found: dict[str, str] = {}
    for change in changes:
        if change.kind == "renamed":
            found[change.previous] = "deleted"
        found[change.path] = "added" if change.kind == "renamed" else change.kind
    return found


def head(repo: Any) -> str:
    """Answer the commit of HEAD, or nothing."""
    return repo.sh("git rev-parse -q --verify HEAD || true").strip()


@pytest.mark.e2e
@pytest.mark.parametrize("name", SITUATIONS)
def test_each_odd_tree_is_seen_as_its_contents_are(repo: Repo, name: str) -> None:
    """Changed is what git would take in otherwise than before, and what commits carry besides."""
    situation = SITUATIONS[name]
    repo.sh(situation.before)
    root = repo.root / situation.folder
    disk, commit = contents(repo, situation.folder), head(repo)
    start = repo.evidence.snapshot(root)
    repo.sh(situation.task)
    found = repo.evidence.compare(root, start)
    wanted = differing(disk, contents(repo, situation.folder))
    now = committed(repo, situation.folder, head(repo))
    others = differing(disk, now)
    for path, kind in differing(committed(repo, situation.folder, commit), now).items():
        if path in others:
            wanted.setdefault(path, kind)
    wanted = {shown(path): kind for path, kind in wanted.items()}
    assert flat(found.changes) == wanted
    renames = {(c.path, c.previous) for c in found.changes if c.kind == "renamed"}
    assert renames == set(situation.renames)
    for words in situation.says:
        assert any(words in line for line in found.warnings), found.warnings
    if situation.silent and not situation.says:
        assert found.warnings == ()
    # Looking again from what was seen last finds nothing more.
    assert repo.evidence.compare(root, found.end).changes == ()
