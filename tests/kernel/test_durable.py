"""Folders that are on the disk before what is kept in them."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from counterpoint.kernel.durable import file_fault, make_folder, sync_names

pytestmark = pytest.mark.durable


def test_a_folder_is_on_the_disk_with_all_that_were_made_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name is in the folder above; what was there already is left alone."""
    synced: list[int] = []

    def note(opened: int) -> None:
        synced.append(os.fstat(opened).st_ino)

    monkeypatch.setattr(os, "fsync", note)
    folder = tmp_path / "state" / "signer"
    make_folder(folder)
    assert sorted(synced) == sorted(one.stat().st_ino for one in (tmp_path, folder.parent))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    make_folder(folder)
    assert len(synced) == 2


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EIO])
def test_only_a_system_that_syncs_no_folders_is_not_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """A disk that does not answer is told of."""

    def refuse(_opened: int) -> None:
        raise OSError(number, "refused")

    monkeypatch.setattr(os, "fsync", refuse)
    if number == errno.EINVAL:
        sync_names(tmp_path)
    else:
        with pytest.raises(OSError, match="refused"):
            sync_names(tmp_path)


def test_a_file_system_that_is_read_only_is_not_the_fault_of_a_mode() -> None:
    """Each refusal of the system has the next step that helps."""
    hints = {
        number: file_fault(OSError(number, os.strerror(number)), "a.db").hint
        for number in (errno.EROFS, errno.EACCES, errno.ENOSPC)
    }
    assert "mounted read-only" in hints[errno.EROFS]
    assert "mode of the file" in hints[errno.EACCES]
    assert "Free some space" in hints[errno.ENOSPC]
