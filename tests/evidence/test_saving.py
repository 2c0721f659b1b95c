"""Files put below a root, whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from counterpoint.evidence import paths
from counterpoint.evidence.paths import save
from counterpoint.kernel.errors import InvalidInput, PathOutside


def test_a_file_is_written_with_its_folders(tmp_path: Path) -> None:
    """And in place of the one before; nothing else is left behind."""
    save(tmp_path, "a/b/c.md", b"one")
    save(tmp_path, "a/b/c.md", b"two")
    assert (tmp_path / "a/b/c.md").read_bytes() == b"two"
    assert [path.name for path in (tmp_path / "a/b").iterdir()] == ["c.md"]


def test_a_file_is_taken_away(tmp_path: Path) -> None:
    """What is not there need not be; no folder is made for that."""
    save(tmp_path, "c.md", b"one")
    save(tmp_path, "c.md", None)
    save(tmp_path, "c.md", None)
    save(tmp_path, "a/b/c.md", None)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_outside_of_the_root(tmp_path: Path) -> None:
    """By name or through a link."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "out").symlink_to(tmp_path)
    for path in ("../x", "out/x", "/x"):
        with pytest.raises(PathOutside):
            save(root, path, b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["root"]


def test_a_link_that_is_put_in_the_way_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after the path was checked."""
    root = tmp_path / "root"
    root.mkdir()

    def contain(top: Path, path: str) -> str:
        (top / "sub").symlink_to(tmp_path)
        return path

    monkeypatch.setattr(paths, "contain", contain)
    with pytest.raises(InvalidInput):
        save(root, "sub/x", b"x")
    assert not (tmp_path / "x").exists()


def test_a_folder_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c.md").mkdir()
    with pytest.raises(InvalidInput):
        save(tmp_path, "c.md", b"x")
    with pytest.raises(InvalidInput):
        save(tmp_path, "c.md", None)
    (tmp_path / "plain").write_text("x")
    with pytest.raises(InvalidInput):
        save(tmp_path, "plain/x", b"x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.md", "plain"]
