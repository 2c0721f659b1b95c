"""Processes that others can tell from those that are gone."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from counterpoint.evidence import host as host_module
from counterpoint.evidence.host import ProcessHost, ServedConnection
from counterpoint.evidence.processes import mark_of
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
    one, other = ServedConnection(), ServedConnection()
    assert here.take_seat("ses_1", one)
    assert here.take_seat("ses_1", other)
    assert not here.take_seat("ses_1", ServedConnection(), alone=True)
    assert (here.is_here("ses_1", 60), here.absence("ses_1")) == (True, None)
    here.depart(one)
    assert here.is_here("ses_1", 60)
    here.depart(other)
    assert (here.is_here("ses_1", 60), here.absence("ses_1")) == (False, 15.0)
    assert here.take_seat("ses_1", ServedConnection(), alone=True)
    assert here.absence("ses_1") is None
    assert (here.is_here("ses_2", 60), here.absence("ses_2")) == (False, None)


def test_of_those_that_are_gone_the_latest_are_remembered(
    here: ProcessHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a server that runs for years does not grow; of the others nobody can tell, and the lease decides."""
    monkeypatch.setattr(host_module, "MOST", 2)
    for seat in ("ses_1", "ses_2", "ses_3"):
        presence = ServedConnection()
        here.take_seat(seat, presence)
        here.depart(presence)
    known = [here.absence(seat) is not None for seat in ("ses_1", "ses_2", "ses_3")]
    assert known == [False, True, True]


def test_of_many_that_come_with_one_secret_at_once_one_is_seated(here: ProcessHost) -> None:
    """To look whether somebody is there and to take the place is one step."""
    start = threading.Barrier(8)

    def come(_: int) -> bool:
        start.wait()
        return here.take_seat("ses_1", ServedConnection(), alone=True)

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(come, range(8))) == 1


def test_of_a_process_it_is_known_that_it_ended_where_the_kernel_shows_it(
    here: ProcessHost,
) -> None:
    """Only of this boot, namespace and user; also while nobody has waited for its end."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        mark = mark_of(process.pid)
        assert here.has_ended(mark) is False
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert here.has_ended(mark) is True
    assert here.has_ended(mark) is True
    for other in (
        replace(mark, boot="another"),
        replace(mark, namespace="another"),
        replace(mark, uid=mark.uid + 1),
        replace(mark, pid=0),
    ):
        assert here.has_ended(other) is None


def test_a_row_is_due_once_and_its_end_when_the_connection_is_gone(here: ProcessHost) -> None:
    """A beat is due while a row says that a connection is open; an end that comes with the server's own is none."""
    one, other = ServedConnection(origin="here"), ServedConnection()
    here.take_seat("ses_1", one)
    here.take_seat("ses_2", other)
    assert here.next_beat(NOW) is None
    for seat in ("ses_1", "ses_2"):
        row = here.unwritten("demo", seat, NOW)
        assert row is not None
        here.note_written("demo", row)
        assert here.unwritten("demo", seat, NOW) is None
    assert here.next_beat(NOW) is not None
    assert here.next_beat(NOW) is None
    here.depart(one)
    assert here.departures("demo") == ["ses_1"]
    assert here.note_departure("demo", "ses_1")
    here.stop_noting()
    here.depart(other)
    assert here.departures("demo") == []
