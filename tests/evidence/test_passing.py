"""Folders that pass away: where they lie, and what is said where there is none."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from counterpoint.evidence.passing import passing_folder
from counterpoint.kernel.errors import StoreFull


class Usage(NamedTuple):
    """The room of a disk."""

    free: int


def test_a_passing_folder_is_found_where_temporary_files_have_no_room(tmp_path, monkeypatch):
    """In the user's state, if the one for temporary files cannot be written or is full; it goes with the block."""
    state = Path(os.environ["XDG_STATE_HOME"])
    with passing_folder("x-", 10) as folder:
        (folder / "index").write_text("index")
    assert not folder.exists()
    monkeypatch.setattr("tempfile.tempdir", "/dev/null/nowhere")
    with passing_folder("x-", 10) as folder:
        assert folder.is_relative_to(state)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def full_but_for_state(path: Path) -> Usage:
        return Usage(free=10**9 if path.is_relative_to(state) else 0)

    monkeypatch.setattr(shutil, "disk_usage", full_but_for_state)
    with passing_folder("x-", 10) as folder:
        assert folder.is_relative_to(state)
    assert list(tmp_path.iterdir()) == []


def test_no_room_anywhere_is_told(monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: Usage(free=0))
    with pytest.raises(StoreFull, match="temporary files"), passing_folder("x-", 10):
        pass
