"""Snapshots without git, and the ignore rules held against git's own."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.evidence import hashes, marks
from fakes.repositories import Repo

MARKS = st.dictionaries(st.text("ab/", min_size=1, max_size=3), st.sampled_from("123"))

IGNORES = {
    "plain names": "echo 'build\n*.pyc' > .gitignore",
    "anchored names": "echo '/top\ndir/inner' > .gitignore",
    "folders only": "echo 'build/' > .gitignore; rm -rf build; echo file > build",
    "an exception": "echo '*.pyc\n!keep.pyc' > .gitignore",
    "an exception for a folder, not for what is in it": "echo '*.pyc\n!dir' > .gitignore",
    "an exception below an ignored folder": "echo 'build/\n!build/keep' > .gitignore",
    "everything but a kind": "printf '*\n!*/\n!*.py\n!.gitignore\n' > .gitignore",
    "a deeper file decides": "echo '*.pyc' > .gitignore; echo '!*.pyc' > dir/.gitignore",
    "a deeper file adds": "echo 'x' > dir/.gitignore; echo '/y' > dir/sub/.gitignore",
    "two stars": "echo '**/inner\ndir/**/y' > .gitignore",
    "comments, blanks and bad lines": "printf '# c\n\n   \n!\n\\\\#hash\nbuild \n' > .gitignore",
    "line ends of DOS and a mark of order": "printf '\\357\\273\\277*.pyc\\r\\nbuild' > .gitignore",
    "character classes": "echo '[xy]\n?op' > .gitignore",
    "names that are not ASCII": "echo 'größe*' > .gitignore",
    "a link for an ignore file": "echo '*.pyc' > rules.txt; ln -s rules.txt .gitignore",
}

_FILES = (
    "top dir/top dir/inner dir/sub/inner dir/sub/y dir/x build/out build/keep dir/build/o a.pyc"
    " keep.pyc dir/b.pyc dir/m.py x.py größe.txt dir/größe #hash"
)


def kinds(before: dict[str, str], after: dict[str, str]) -> dict[str, str]:
    """Answer path → kind."""
    return {change.path: change.kind for change in hashes.differences(before, after)}


@pytest.mark.parametrize("name", IGNORES)
def test_what_git_ignores_is_ignored(bare_folder: Repo, name: str) -> None:
    """The files of a snapshot are those that git would add."""
    for path in _FILES.split(" "):
        bare_folder.sh(f"mkdir -p \"$(dirname '{path}')\"; echo '{path}' > '{path}'")
    bare_folder.sh(IGNORES[name])
    found = set(hashes.snapshot(bare_folder.root).files)
    bare_folder.sh("git init -q .")
    listed = bare_folder.sh("git ls-files -z --others --exclude-standard").split("\0")[:-1]
    assert found == set(listed)


def test_a_snapshot_holds_the_hash_of_every_file(tmp_path: Path) -> None:
    """Links by their target and not followed; no .git, no own folder, no pipe."""
    (tmp_path / "sub" / ".git").mkdir(parents=True)
    (tmp_path / ".counterpoint").mkdir()
    for name in ("f", "sub/g", "sub/.git/x", ".counterpoint/db", "sub/größe"):
        (tmp_path / name).write_text(name)
    (tmp_path / "link").symlink_to("/")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / os.fsdecode(b"caf\xe9")).write_text("bytes")
    found = hashes.snapshot(tmp_path)
    assert (found.method, found.commit, found.branch, found.warnings) == ("hash", "", "", ())
    contents = {"f": "f", "sub/g": "sub/g", "sub/größe": "sub/größe", "link": "/"}
    contents["caf\\xe9"] = "bytes"
    assert found.files == {
        name: hashlib.sha256(text.encode()).hexdigest() for name, text in contents.items()
    }


def test_files_are_added_changed_deleted_and_renamed(bare_folder: Repo) -> None:
    """A comparison without git names all four kinds."""
    bare_folder.sh("mkdir d; echo 1 > keep; echo 2 > edit; echo 3 > gone; echo 4 > d/old")
    start = bare_folder.evidence.snapshot(bare_folder.root)
    bare_folder.sh("echo 5 >> edit; rm gone; mv d/old moved; echo 6 > fresh")
    found = bare_folder.evidence.compare(bare_folder.root, start)
    assert [(one.path, one.kind, one.previous) for one in found.changes] == [
        ("edit", "modified", ""),
        ("fresh", "added", ""),
        ("gone", "deleted", ""),
        ("moved", "renamed", "d/old"),
    ]
    assert found.commits == ()


def test_a_repository_made_during_the_task_does_not_hide_it(bare_folder: Repo) -> None:
    """A start without git is compared without git."""
    bare_folder.sh("echo 1 > f")
    start = bare_folder.evidence.snapshot(bare_folder.root)
    bare_folder.sh("git init -q .; echo 2 > g; git add -A; git commit -qm all")
    found = bare_folder.evidence.compare(bare_folder.root, start)
    assert [(one.path, one.kind) for one in found.changes] == [("g", "added")]


def test_of_equal_files_the_one_of_the_same_name_was_moved() -> None:
    """The last part of the name decides before the order does; empty files pair with none."""
    before = {"a/x": "1", "b/y": "1", "empty": marks.EMPTY}
    after = {"c/y": "1", "d/z": "1", "void": marks.EMPTY}
    found = {one.path: (one.kind, one.previous) for one in hashes.differences(before, after)}
    assert found == {
        "c/y": ("renamed", "b/y"),
        "d/z": ("renamed", "a/x"),
        "empty": ("deleted", ""),
        "void": ("added", ""),
    }


@given(before=MARKS, after=MARKS)
def test_differences_lead_from_one_state_to_the_other(
    before: dict[str, str], after: dict[str, str]
) -> None:
    """Carrying out the changes on the first state gives the second."""
    state = dict(before)
    for change in hashes.differences(before, after):
        if change.kind == "deleted":
            del state[change.path]
        elif change.kind == "renamed":
            assert before[change.previous] == after[change.path]
            del state[change.previous]
    for change in hashes.differences(before, after):
        if change.kind != "deleted":
            state[change.path] = after[change.path]
    assert state == after


def test_nothing_changed_between_equal_states() -> None:
    """The same marks are no change."""
    assert kinds({"a": "1"}, {"a": "1"}) == {}


def test_a_large_file_is_compared_by_size_and_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not read, and that is said."""
    monkeypatch.setattr(marks, "LARGEST", 10)
    path = tmp_path / "large"
    path.write_text("x" * 11)
    first = hashes.snapshot(tmp_path)
    os.utime(path, ns=(1, 1))
    second = hashes.snapshot(tmp_path)
    assert "`large` is over 64 MB" in first.warnings[0]
    assert first.files != second.files


@pytest.mark.parametrize("size", [0, 1, 999_999, 1 << 20, (1 << 20) + 1, 3 << 20])
def test_a_file_of_any_size_is_hashed_whole(tmp_path: Path, size: int) -> None:
    """Also one that fills what is read at once to the last byte."""
    content = os.urandom(size)
    (tmp_path / "f").write_bytes(content)
    assert marks.mark(tmp_path, "f").digest == hashlib.sha256(content).hexdigest()


def test_a_file_that_cannot_be_read_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps a mark, so that it does not seem deleted."""
    (tmp_path / "closed").write_text("x")

    def refuse(path: str, size: int) -> str:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(marks, "_content", refuse)
    found = hashes.snapshot(tmp_path)
    assert found.warnings == ("`closed` cannot be read (Permission denied)",)
    assert set(found.files) == {"closed"}


def test_a_file_below_a_link_is_not_in_the_tree(tmp_path: Path) -> None:
    """Its mark is that of nothing, whatever lies behind the link."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "f").write_text("x")
    (tmp_path / "link").symlink_to("real")
    assert marks.mark(tmp_path, "link/f").digest == ""
    assert marks.mark(tmp_path, "real/f").digest != ""
    assert marks.mark(tmp_path, "real/none").digest == ""


@given(st.binary(min_size=1, max_size=8))
def test_every_name_is_shown_as_unicode(name: bytes) -> None:
    """Bytes that are no UTF-8 come out readable and encodable."""
    assert marks.shown(os.fsdecode(name)).encode()


@given(st.lists(st.sampled_from([b"\\", b"x", b"\\x", b"e9", b"5c", b"\xe9", b"\xc3\xa9", b"9"])))
def test_a_shown_name_leads_back_to_the_file(parts: list[bytes]) -> None:
    """Also one that looks like the sign of a byte; so no two names are shown alike."""
    name = os.fsdecode(b"".join(parts))
    assert marks.raw(marks.shown(name)) == name


def test_a_folder_that_cannot_be_listed_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest of the tree is still measured."""
    (tmp_path / "closed").mkdir()
    (tmp_path / "open").write_text("x")
    scandir = os.scandir

    def refuse(path: Path) -> object:
        if path.name == "closed":
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = hashes.snapshot(tmp_path)
    assert found.warnings == ("`closed/` cannot be listed (Permission denied)",)
    assert set(found.files) == {"open"}


def test_a_name_too_long_to_be_looked_up_is_remarked(tmp_path: Path) -> None:
    """A snapshot from another system may hold one."""
    assert "cannot be seen" in marks.mark(tmp_path, "x" * 300).remark


def test_a_folder_with_too_many_files_is_not_measured_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hashes, "MAX_FILES", 3)
    for number in range(4):
        (tmp_path / f"{number}.txt").write_text(str(number))
    start = hashes.snapshot(tmp_path)
    assert start.files == hashes.UNKNOWN
    assert "more than 3 files; run `git init`" in start.warnings[0]
    (tmp_path / "0.txt").unlink()
    compared = hashes.compare(tmp_path, start)
    assert (compared.changes, "too many files" in compared.warnings[0]) == ((), True)


def test_a_folder_that_takes_too_long_is_not_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("a")
    start = hashes.snapshot(tmp_path)
    monkeypatch.setattr(hashes, "MAX_SECONDS", -1.0)
    compared = hashes.compare(tmp_path, start)
    assert (compared.changes, "takes more than" in compared.warnings[0]) == ((), True)
