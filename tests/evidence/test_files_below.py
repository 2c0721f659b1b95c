"""Files below a folder of a root."""

from __future__ import annotations

import pytest

from counterpoint.evidence.paths import below
from counterpoint.kernel.errors import InvalidInput, PathOutside


def test_files_are_listed_by_path_and_links_are_not(tmp_path):
    """Only plain files; without the folder there are none."""
    for path in ("docs/b.md", "docs/a/c.md", "other.md"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    (tmp_path / "docs/link.md").symlink_to(tmp_path / "other.md")
    (tmp_path / "docs/loop").symlink_to(tmp_path / "docs", target_is_directory=True)
    assert below(tmp_path, "docs", 10) == ["docs/b.md", "docs/a/c.md"]
    assert below(tmp_path, "none", 10) == []


def test_too_many_files_and_places_outside_are_refused(tmp_path):
    """Nothing is cut silently."""
    for number in range(3):
        (tmp_path / f"{number}").write_text("x")
    assert len(below(tmp_path, ".", 3)) == 3
    with pytest.raises(InvalidInput, match="more than 2"):
        below(tmp_path, ".", 2)
    with pytest.raises(PathOutside):
        below(tmp_path, "..", 2)
