"""Files put in the place of others: whole or not at all, and never through a link."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from counterpoint.evidence.replacing import replace_file
from counterpoint.kernel.errors import Unavailable


def test_a_file_takes_the_place_of_another_and_of_a_link(tmp_path: Path) -> None:
    """Where the link led stays as it was; the mode is the one that was asked for."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"theirs")
    file = tmp_path / "made" / "file"
    replace_file(file, b"one")
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    file.unlink()
    file.symlink_to(elsewhere)
    replace_file(file, b"two", mode=0o700)
    assert (file.read_bytes(), elsewhere.read_bytes()) == (b"two", b"theirs")
    assert (file.is_symlink(), stat.S_IMODE(file.stat().st_mode)) == (False, 0o700)
    assert [one.name for one in file.parent.iterdir()] == ["file"]


def test_what_cannot_be_put_there_leaves_nothing_behind(tmp_path: Path) -> None:
    """A folder is in the way; whoever asks is told what."""
    (tmp_path / "file" / "below").mkdir(parents=True)
    with pytest.raises(Unavailable, match="your key cannot be kept in"):
        replace_file(tmp_path / "file", b"one", what="your key")
    assert [one.name for one in tmp_path.iterdir()] == ["file"]
