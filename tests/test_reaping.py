"""Workers of the tests keep what these leave without a parent."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

REAPING = Path(__file__).with_name("reaping.py")
ORPHANS = """
import os, sys, time
reads, writes = os.pipe()
if not os.fork():
    before = os.getpid()
    if not os.fork():
        while os.getppid() == before:
            time.sleep(0.01)
        os.write(writes, os.readlink(f"/proc/{os.getppid()}/exe").encode())
    os._exit(0)
os.close(writes)
os.wait()
name = os.path.basename(os.read(reads, 200))
assert name == b"tini", name
sys.exit(7)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such parents")
def test_an_orphan_of_a_worker_stays_below_what_runs_the_worker():
    ran = subprocess.run(
        [sys.executable, str(REAPING), "-c", ORPHANS], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (7, "")
