"""Processes that others can tell from those that are gone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from counterpoint.evidence.host import ProcessHost
from counterpoint.kernel.clock import SystemClock, Timestamp, later
from counterpoint.kernel.errors import StoreReadOnly
from counterpoint.kernel.ids import RandomMint

NOW = SystemClock().now()
PROGRAM = """
import sys
from pathlib import Path
from counterpoint.evidence.host import ProcessHost
from counterpoint.kernel.clock import SystemClock
from counterpoint.kernel.ids import RandomMint
print(ProcessHost(Path(sys.argv[1]), SystemClock(), RandomMint()).name, flush=True)
sys.stdin.read()
"""


def host(folder: Path) -> ProcessHost:
    """Answer a process as it is seen in a folder."""
    return ProcessHost(folder / "running", SystemClock(), RandomMint())


@pytest.fixture
def here(tmp_path: Path) -> Iterator[ProcessHost]:
    """Answer this process."""
    made = host(tmp_path)
    yield made
    made.close()


def test_a_process_that_was_killed_is_gone(here: ProcessHost, tmp_path: Path) -> None:
    """As long as it lives it is not; what it left is removed."""
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "running")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as other:
        assert other.stdout is not None
        name = other.stdout.readline().strip()
        assert not here.is_gone(name, NOW)
        other.kill()
        other.wait(20)
    assert here.is_gone(name, NOW)
    assert here.is_gone(name, NOW)
    assert [file.stem for file in (tmp_path / "running").iterdir()] == [here.name]


def test_a_process_that_ended_well_is_gone_too(here: ProcessHost, tmp_path: Path) -> None:
    """It takes its file with it; this process itself is never gone."""
    other = host(tmp_path)
    assert not here.is_gone(other.name, NOW)
    other.close()
    other.close()
    assert here.is_gone(other.name, NOW)
    assert not here.is_gone(here.name, NOW)


def test_one_on_another_machine_is_gone_after_an_hour(here: ProcessHost) -> None:
    """Its lock cannot be seen from here."""
    now = SystemClock().now()  # not NOW: a long run of tests may be under way since then
    assert not here.is_gone("00000000-x", Timestamp(later(now, -3_000)))
    assert here.is_gone("00000000-x", Timestamp(later(now, -4_000)))


def test_a_lock_that_cannot_be_looked_at_is_taken_for_held(
    here: ProcessHost, tmp_path: Path
) -> None:
    """A folder stands in its place."""
    name = here.name[:-1] + "_"
    (tmp_path / "running" / f"{name}.lock").mkdir()
    assert not here.is_gone(name, NOW)


def test_the_room_on_the_disk_is_told(here: ProcessHost, tmp_path: Path) -> None:
    """Where there is a folder; else nobody knows."""
    assert here.free_bytes() > 0
    assert host(tmp_path / "nowhere").free_bytes() == -1


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    """A file stands in its place."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreReadOnly):
        _ = host(tmp_path / "file").name
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_a_server_knows_which_connections_have_ended(tmp_path: Path) -> None:
    """And for how long; of one that it never saw, or that is there again, it knows nothing."""
    times = iter([10.0, 25.0, 30.0])
    here = ProcessHost(tmp_path / "running", SystemClock(), RandomMint(), lambda: next(times))
    here.arrive("ses_1")
    here.arrive("ses_1")
    assert (here.is_here("ses_1"), here.absence("ses_1")) == (True, None)
    here.depart("ses_1")
    assert here.is_here("ses_1")
    here.depart("ses_1")
    assert (here.is_here("ses_1"), here.absence("ses_1")) == (False, 15.0)
    here.arrive("ses_1")
    assert here.absence("ses_1") is None
    assert (here.is_here("ses_2"), here.absence("ses_2")) == (False, None)
