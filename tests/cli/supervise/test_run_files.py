"""Where a supervisor keeps what agents say, and that one supervises a spec at a time."""

from __future__ import annotations

import errno
import os
from io import BytesIO
from pathlib import Path

import pytest
from typing_extensions import Buffer

from counterpoint.cli.supervise import run_files
from counterpoint.cli.supervise.run_files import Log, folder_of, lock_spec, open_log
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import Conflict, Unavailable

NOW = Timestamp("2026-01-02T03:04:05.678Z")


def test_two_specs_never_share_a_folder(tmp_path: Path) -> None:
    specs = ("a b", "a-b", "A-b", "../../a-b", "a" * 400)
    folders = {folder_of(tmp_path, spec) for spec in specs}
    assert len(folders) == len(specs)
    assert {folder.parent for folder in folders} == {tmp_path / "supervised"}


def test_one_supervises_a_spec_at_a_time(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "harbour")
    with (
        lock_spec(folder, "harbour"),
        pytest.raises(Conflict, match=f"by process {os.getpid()}"),
        lock_spec(folder, "harbour"),
    ):
        pytest.fail("two supervise it")
    with lock_spec(folder, "harbour"):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "supervised").write_text("no folder")
    with pytest.raises(Unavailable, match="supervised"), lock_spec(folder_of(tmp_path, "x"), "x"):
        pytest.fail("it was held")
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "20260102030405-001.log").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Unavailable), open_log(folder, 1, NOW):
        pytest.fail("it was opened")
    assert not (tmp_path / "elsewhere").exists()


def test_a_log_has_all_that_was_said_up_to_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_files, "LOG_LIMIT", 10)
    with open_log(tmp_path, 7, NOW) as log:
        for chunk in (b"12345", b"67890abc", b"def"):
            log.write(chunk)
    assert log.path == tmp_path / "20260102030405-007.log"
    assert log.path.read_bytes() == b"1234567890\n[the rest is not kept]\n"
    assert log.path.stat().st_mode & 0o777 == 0o600


def test_the_latest_logs_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_files, "KEPT", 2)
    (tmp_path / "lock").touch()
    for number in (1, 2, 3):
        with open_log(tmp_path, number, NOW):
            pass
    found = sorted(path.name for path in tmp_path.iterdir())
    assert found == ["20260102030405-002.log", "20260102030405-003.log", "lock"]


def test_a_full_disk_ends_no_agent(tmp_path: Path) -> None:
    class Full(BytesIO):
        def write(self, _chunk: Buffer, /) -> int:
            raise OSError(errno.ENOSPC, "full")

    log = Log(path=tmp_path, file=Full())
    log.write(b"x")
    assert log.size == 1
