"""The frames of a log are counted also while another program writes or mends its index."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from counterpoint.storage.sqlite.log import count_frames

MENDING = """
import fcntl, sys
index = open(sys.argv[1], "r+b")
for byte in (120, 122):
    fcntl.lockf(index, fcntl.LOCK_EX, 1, byte)
print("locked", flush=True)
sys.stdin.read()
"""
"""A program that has SQLite's locks for writing and for mending the index until its input ends."""
HEAD_CHANGES = 8
"""Where the first of both copies of the index's head counts its changes."""


@pytest.mark.durable
def test_frames_are_counted_after_another_program_has_mended_the_index(tmp_path: Path) -> None:
    place = tmp_path / "a.db"
    connection = apsw.Connection(str(place))
    connection.execute("PRAGMA journal_mode=WAL").fetchall()
    connection.execute("CREATE TABLE t (x)").fetchall()
    index = Path(f"{place}-shm")
    with subprocess.Popen(
        [sys.executable, "-I", "-c", MENDING, index], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"locked\n"
        with index.open("r+b") as file:
            file.seek(HEAD_CHANGES)
            count = file.read(1)[0]
            file.seek(HEAD_CHANGES)
            file.write(bytes([count ^ 1]))

        def let_go(_: int) -> bool:
            program.communicate()
            return True

        connection.set_busy_handler(let_go)
        assert count_frames(connection) == 2
        assert program.returncode == 0
    connection.close()
