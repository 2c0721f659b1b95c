"""Trees that do not hold still or do not let themselves be read: the rest is measured all the same."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from counterpoint.core.model.evidence import Comparison
from counterpoint.evidence.local import LocalEvidence
from counterpoint.kernel.clock import SystemClock
from counterpoint.kernel.errors import Unavailable
from fakes.repositories import Repo

_NOBODY = 65534


def kinds(comparison: Comparison) -> dict[str, str]:
    """Answer path → kind."""
    return {change.path: change.kind for change in comparison.changes}


@pytest.fixture
def barred(repo: Repo) -> Iterator[Any]:
    """The repository in a folder of its own, as somebody to whom a file can be closed."""
    # A first look imports what may lie where somebody else cannot read.
    repo.evidence.snapshot(repo.root)
    place = Path(tempfile.mkdtemp(prefix="counterpoint-barred-"))
    shutil.move(repo.root, place / "repo")
    repo.root = place / "repo"
    # Git refuses to work for somebody who cannot read his own settings.
    repo.environ["GIT_CONFIG_GLOBAL"] = str(
        shutil.move(repo.environ["GIT_CONFIG_GLOBAL"], place / "own.gitconfig")
    )
    is_root = os.geteuid() == 0
    if is_root:
        for path in (place, *place.rglob("*")):
            os.chown(path, _NOBODY, _NOBODY, follow_symlinks=False)
        # A shell takes back what it was started without; git in it must not mind the owner.
        repo.environ |= {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
        }
        os.seteuid(_NOBODY)
    try:
        yield repo
    finally:
        if is_root:
            os.seteuid(0)
        repo.sh("chmod -R u+rwx .")
        shutil.rmtree(place)


def test_a_tracked_file_that_cannot_be_read_fails_nothing(barred: Any) -> None:
    """It counts as modified by its size and time; git is not made to read it."""
    start = barred.evidence.snapshot(barred.root)
    barred.sh("echo x >> a.txt; chmod 000 a.txt; echo y >> b.txt; echo z > n")
    found = barred.evidence.compare(barred.root, start)
    assert kinds(found) == {"a.txt": "modified", "b.txt": "modified", "n": "added"}
    assert found.warnings == ("`a.txt` cannot be read (Permission denied)",)
    assert [c.insertions for c in found.changes if c.path == "b.txt"] == [1]
    assert barred.evidence.compare(barred.root, found.end).changes == ()


def test_an_untracked_file_that_cannot_be_read_fails_nothing(barred: Any) -> None:
    """It counts as added once, and not again while it stays as it is."""
    start = barred.evidence.snapshot(barred.root)
    barred.sh("echo x > n; chmod 000 n; git mv a.txt moved.txt")
    found = barred.evidence.compare(barred.root, start)
    assert kinds(found) == {"n": "added", "moved.txt": "renamed"}
    again = barred.evidence.compare(barred.root, found.end)
    assert (again.changes, again.warnings) == ((), ())


def test_a_staged_file_that_cannot_be_read_keeps_its_kind(barred: Any) -> None:
    """New in the index is added, taken from the index but on disk is modified."""
    start = barred.evidence.snapshot(barred.root)
    barred.sh(
        "echo x > n; git add n; echo y >> n; chmod 000 n;"
        "git rm -q --cached a.txt; echo z >> a.txt; chmod 000 a.txt"
    )
    found = barred.evidence.compare(barred.root, start)
    assert kinds(found) == {"a.txt": "modified", "n": "added"}


def test_a_folder_that_cannot_be_listed_is_a_warning(barred: Any) -> None:
    """What git does not see in it is not passed over in silence."""
    barred.sh("mkdir closed; echo 1 > closed/x")
    start = barred.evidence.snapshot(barred.root)
    barred.sh("chmod 000 closed; echo y >> b.txt")
    found = barred.evidence.compare(barred.root, start)
    assert kinds(found)["b.txt"] == "modified"
    assert "`closed/` cannot be listed (Permission denied)" in found.warnings


@pytest.mark.parametrize(
    ("mode", "warning"),
    [
        ("000", "`closed/` cannot be listed (Permission denied)"),
        ("444", "`closed/.gitignore` cannot be read (Permission denied)"),
    ],
)
def test_a_closed_folder_is_a_warning_without_git_too(barred: Any, mode: str, warning: str) -> None:
    """What it holds is not known; the rest is measured."""
    barred.sh("rm -rf .git; mkdir closed; echo 1 > closed/x; echo '*.o' > closed/.gitignore")
    start = barred.evidence.snapshot(barred.root)
    assert start.method == "hash"
    barred.sh(f"chmod {mode} closed; echo y >> b.txt")
    found = barred.evidence.compare(barred.root, start)
    assert kinds(found)["b.txt"] == "modified"
    assert warning in found.warnings


@pytest.fixture
def meddled(repo: Repo, tmp_path: Path) -> Any:
    """Answer evidence whose git runs a script before each diff."""
    real = shutil.which("git")
    programs = tmp_path / "programs"
    programs.mkdir()

    def meddle(script: str) -> LocalEvidence:
        program = programs / "git"
        program.write_text(
            f'#!/bin/sh\ncase " $* " in *" diff "*) {script};; esac\nexec "{real}" "$@"\n'
        )
        program.chmod(0o755)
        path = f"{programs}{os.pathsep}{repo.environ['PATH']}"
        return LocalEvidence(clock=SystemClock(), environ=repo.environ | {"PATH": path})

    return meddle


def test_git_that_fails_once_is_asked_again(repo: Repo, meddled: Any, tmp_path: Path) -> None:
    """A file that was cut while git read it is no reason to give up."""
    start = repo.evidence.snapshot(repo.root)
    repo.sh("echo x >> a.txt")
    once = meddled(f"if [ ! -e {tmp_path}/one ]; then : > {tmp_path}/one; exit 128; fi")
    found = once.compare(repo.root, start)
    assert [(c.path, c.insertions) for c in found.changes] == [("a.txt", 1)]
    assert found.warnings == ()


def test_git_that_cannot_count_lines_tells_the_files(repo: Repo, meddled: Any) -> None:
    """Then it need not read them, and a warning says what is not known."""
    start = repo.evidence.snapshot(repo.root)
    repo.sh("echo x >> a.txt; git commit -qam w; echo y >> a.txt; git mv b.txt c.txt; echo z > n")
    counting = meddled('case " $* " in *numstat*) kill -BUS $$;; esac')
    found = counting.compare(repo.root, start)
    assert kinds(found) == {"a.txt": "modified", "b.txt": "deleted", "c.txt": "added", "n": "added"}
    assert len(found.warnings) == 1
    assert "lines are not counted" in found.warnings[0]


def test_git_that_always_fails_is_unavailable(repo: Repo, meddled: Any) -> None:
    """What it said is passed on."""
    start = repo.evidence.snapshot(repo.root)
    repo.sh("echo x >> a.txt")
    with pytest.raises(Unavailable, match="short read"):
        meddled("echo 'short read' >&2; exit 128").compare(repo.root, start)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("rm -f n", {"b.txt": "modified"}),
        ("rm -f b.txt", {"b.txt": "deleted", "n": "added"}),
        ("echo more >> n", {"b.txt": "modified", "n": "added"}),
        (": > b.txt", {"b.txt": "modified", "n": "added"}),
        ("rm -f n; mkdir -p n; echo 1 > n/x", {"b.txt": "modified"}),
        ("echo late > late", {"b.txt": "modified", "n": "added"}),
    ],
)
def test_files_that_change_while_git_looks_are_told_sensibly(
    repo: Repo, meddled: Any, script: str, expected: dict[str, str]
) -> None:
    """Whatever moment the answer is of, it fails nothing, and the next one tells what came later."""
    start = repo.evidence.snapshot(repo.root)
    repo.sh("echo x >> b.txt; echo u > n")
    found = meddled(script).compare(repo.root, start)
    assert kinds(found) == expected
    last = kinds(repo.evidence.compare(repo.root, start))
    between = kinds(repo.evidence.compare(repo.root, found.end))
    told = kinds(found) | between
    assert set(last) <= set(told)


def test_a_log_that_never_stops_growing_fails_nothing(repo: Repo) -> None:
    """A file that is written and cut all the time is named, with what else changed."""
    start = repo.evidence.snapshot(repo.root)
    repo.sh("echo x >> b.txt; echo 0 > out.txt")
    done = threading.Event()

    def write() -> None:
        line = b"x" * 5000 + b"\n"
        while not done.is_set():
            with (repo.root / "out.txt").open("ab") as file:
                for _ in range(50):
                    file.write(line)
            os.truncate(repo.root / "out.txt", 1)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(10):
            found = kinds(repo.evidence.compare(repo.root, start))
            assert found == {"b.txt": "modified", "out.txt": "added"}
    finally:
        done.set()
        writer.join(10)


def test_a_repository_that_git_refuses_is_told_at_the_end_too(repo: Repo) -> None:
    """Evidence is weaker than git's: start and finish say why, in git's words with its cure."""
    # As with an owner that git does not trust, which only root could set up.
    repo.sh("git config core.repositoryformatversion 99")
    start = repo.evidence.snapshot(repo.root)
    repo.sh("echo more >> a.txt")
    found = repo.evidence.compare(repo.root, start)
    assert (start.method, kinds(found)) == ("hash", {"a.txt": "modified"})
    for warnings in (start.warnings, found.warnings):
        assert warnings[0].startswith("git refuses the repository: ")
        assert "repo version" in warnings[0]
