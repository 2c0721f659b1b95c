"""Paths of callers stay below the root, whatever links stand in the way."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.evidence import paths
from counterpoint.kernel.errors import CounterpointError, InvalidInput, NotFound, PathOutside


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with links of every sort; beside it a place that must not be reached."""
    top = tmp_path / "tree"
    (top / "dir").mkdir(parents=True)
    (top / "dir" / "file").write_text("inside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("outside")
    (tmp_path / "tree-twin").mkdir()
    for name, target in {
        "inner": "dir",
        "absolute": str(top / "dir"),
        "out": "../outside",
        "out-absolute": str(tmp_path / "outside"),
        "out-file": "../outside/secret",
        "dangling-out": "../outside/not-yet",
        "dangling-in": "dir/not-yet",
        "twin": "../tree-twin",
        "self": "self",
        "ping": "pong",
        "pong": "ping/../../outside",
        "chain": "out/secret",
        "back": "../tree/dir",
    }.items():
        (top / name).symlink_to(target)
    return top


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("dir/file", "dir/file"),
        ("./dir//file", "dir/file"),
        (".", "."),
        ("dir/", "dir"),
        ("inner/file", "dir/file"),
        ("absolute/file", "dir/file"),
        ("back/file", "dir/file"),
        ("inner/not/yet", "dir/not/yet"),
        ("dangling-in", "dir/not-yet"),
        ("dir/file/below", "dir/file/below"),
        ("größe …", "größe …"),
        ("...", "..."),
    ],
)
def test_a_path_below_the_root_is_resolved(root: Path, path: str, wanted: str) -> None:
    """Links that stay inside are followed; what does not exist yet is fine."""
    assert paths.contain(root, path) == wanted


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../outside/secret",
        "dir/../../outside",
        "dir/../file",
        "/etc/passwd",
        "/",
        "out",
        "out/secret",
        "out/not-yet",
        "out-absolute/secret",
        "out-file",
        "dangling-out",
        "twin/x",
        "chain",
    ],
)
def test_a_path_that_leaves_the_root_is_refused(root: Path, path: str) -> None:
    """By dots, by name, by links of any length, to places that exist or do not."""
    with pytest.raises(PathOutside):
        paths.contain(root, path)
    with pytest.raises(PathOutside):
        paths.digest(root, path)


@pytest.mark.parametrize(
    "path", ["", "a\0b", "x" * 256, "ü" * 128, "a/" * 2100, "\ud800", "self", "ping", "pong/x"]
)
def test_a_path_that_is_none_is_invalid(root: Path, path: str) -> None:
    """Empty, with NUL, too long, not Unicode, or in a circle."""
    with pytest.raises(InvalidInput):
        paths.contain(root, path)


def test_an_absolute_path_below_the_root_is_accepted(root: Path) -> None:
    """Also by way of a link that leads to the root."""
    door = root.parent / "door"
    door.symlink_to(root)
    assert paths.contain(root, str(root / "dir" / "file")) == "dir/file"
    assert paths.contain(door, str(root / "inner" / "file")) == "dir/file"
    assert paths.contain(root, str(door / "dir")) == "dir"


@given(st.text(max_size=40))
def test_any_text_is_contained_or_refused(text: str) -> None:
    """No text makes it fail in another way, and every answer is below the root."""
    root = Path(__file__).parent
    try:
        found = paths.contain(root, text)
    except CounterpointError:
        return
    assert (root / found).is_relative_to(root)
    assert ".." not in Path(found).parts


def test_a_digest_is_that_of_the_content(root: Path) -> None:
    """Hash and size, through links inside."""
    wanted = (hashlib.sha256(b"inside").hexdigest(), 6)
    assert paths.digest(root, "dir/file") == wanted
    assert paths.digest(root, "inner/file") == wanted


def test_a_file_is_loaded_up_to_its_limit(root: Path) -> None:
    """As long as the limit is read whole, one byte longer is refused."""
    assert paths.load(root, "inner/file", 6) == b"inside"
    with pytest.raises(InvalidInput, match="more than 5 bytes"):
        paths.load(root, "dir/file", 5)
    with pytest.raises(PathOutside):
        paths.load(root, "out-file", 100)
    with pytest.raises(NotFound):
        paths.load(root, "nothing", 100)


def test_a_digest_of_no_plain_file_is_refused(root: Path) -> None:
    """Nothing there, a folder, a pipe that would make us wait."""
    os.mkfifo(root / "pipe")
    for path in ("nothing", "dir/file/below"):
        with pytest.raises(NotFound):
            paths.digest(root, path)
    for path in (".", "dir", "pipe"):
        with pytest.raises(InvalidInput):
            paths.digest(root, path)
    assert _still_open(root) == []


def _still_open(root: Path) -> list[str]:
    """Return what this process has open in a folder."""
    # Other tests' descriptors come and go meanwhile, so that their number tells nothing.
    found: list[str] = []
    for one in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            found.append(str(one.readlink()))
    return [name for name in found if name.startswith(str(root.resolve()))]


def test_a_link_put_in_the_way_after_the_check_is_not_followed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading goes down without links, so a swap in between wins nothing."""
    (root / "late").symlink_to("../outside")
    for path in ("late/secret", "out-file"):
        monkeypatch.setattr(paths, "contain", lambda _root, name: name)
        with pytest.raises((InvalidInput, NotFound)):
            paths.digest(root, path)


def test_a_root_that_is_no_folder_is_not_found(root: Path) -> None:
    """A missing one, a file, a circle of links."""
    for place in (root / "missing", root / "dir" / "file", root / "self"):
        with pytest.raises(NotFound):
            paths.contain(place, "x")
