"""When a connection is gone, by its row and what the kernel shows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from counterpoint.core.model.presence import Presence, ProcessMark, ServerBeat
from counterpoint.core.rules.presence import absence_of
from counterpoint.kernel.clock import Timestamp, later

NOW = Timestamp("2026-11-01T12:00:00.000Z")
CLIENT, SERVER = ProcessMark(pid=1), ProcessMark(pid=2)
ROW = Presence(
    seat="ses_1",
    origin="here",
    process=CLIENT,
    server=ServerBeat(name="srv_1", process=SERVER, beat_at=later(NOW, -5)),
)


def gone(row: Presence, *others: Presence, client: bool | None = None, server: bool | None = None):
    """Answer for how many seconds rows say that a connection is gone."""
    ended = {CLIENT: client, SERVER: server}
    absence = absence_of((row, *others), NOW, 60, ended.get)
    return None if absence is None else absence.seconds


def test_without_a_row_nobody_can_tell():
    assert absence_of((), NOW, 60, lambda _process: True) is None


def test_what_its_server_saw_end_is_gone_since_then():
    assert gone(replace(ROW, ended_at=later(NOW, -7)), client=False) == 7
    assert gone(replace(ROW, ended_at=later(NOW, 9))) == 0


@pytest.mark.parametrize("server", [False, None])
def test_while_its_server_beats_it_is_there(server: bool | None):
    assert gone(ROW, client=True, server=server) is None


@pytest.mark.parametrize(("client", "seconds"), [(True, 5), (None, 5), (False, None)])
def test_without_its_server_its_process_decides(client: bool | None, seconds: int | None):
    assert gone(ROW, client=client, server=True) == seconds


def test_a_server_whose_last_beat_is_older_than_the_grace_is_none():
    silent = replace(ROW, server=replace(ROW.server, beat_at=later(NOW, -61)))
    assert gone(silent) == 61
    assert gone(silent, client=False) is None


def test_who_is_there_at_one_server_is_not_gone_from_another():
    ended = [replace(ROW, ended_at=later(NOW, -seconds)) for seconds in (9, 7)]
    assert gone(*ended) == gone(*reversed(ended)) == 7
    assert gone(*ended, ROW) is None
