"""What every database does with connections: rows that no entry tells of."""

from __future__ import annotations

from dataclasses import replace

from counterpoint.core.model.presence import Presence, ProcessMark, ServerBeat
from counterpoint.kernel.clock import Timestamp

EARLY, LATE = Timestamp("2026-01-01T00:00:00.000Z"), Timestamp("2026-02-01T00:00:00.000Z")
MARK = ProcessMark(uid=1, pid=2, started=3, boot="b", namespace="n")
ROW = Presence(
    seat="ses_1",
    origin="o",
    process=MARK,
    server=ServerBeat(name="srv_1", process=MARK, beat_at=LATE),
)


def test_a_connection_is_open_until_its_end_is_written_and_again_after(store):
    """Rows of other sessions and projects stay as they are."""
    with store.writing("p") as writing:
        assert writing.presences(["ses_1", "ses_2", "ses_3"]) == []
        writing.seat(ROW)
        writing.seat(replace(ROW, seat="ses_2"))
        writing.unseat("ses_1", "srv_1", LATE)
    with store.reading("p") as view:
        known = {row.seat: row for row in view.presences(["ses_1", "ses_2", "ses_3"])}
        assert known == {"ses_1": replace(ROW, ended_at=LATE), "ses_2": replace(ROW, seat="ses_2")}
    with store.reading("q") as view:
        assert view.presences(["ses_1"]) == []
    with store.writing("p") as writing:
        writing.seat(replace(ROW, origin="other"))
        assert writing.presences(["ses_1"]) == [replace(ROW, origin="other")]


def test_a_beat_is_of_all_connections_of_a_server(store):
    """What ended long ago is forgotten, and whoever was at a server that did not beat since."""
    old = replace(ROW.server, name="srv_2", beat_at=EARLY)
    with store.writing("p") as writing:
        writing.seat(replace(ROW, server=replace(ROW.server, beat_at=EARLY)))
        writing.seat(replace(ROW, seat="ses_2", server=old))
        writing.seat(replace(ROW, seat="ses_3"))
        writing.unseat("ses_3", "srv_1", EARLY)
        writing.beat(ROW.server)
        writing.forget_presences(LATE)
        assert writing.presences(["ses_1", "ses_2", "ses_3"]) == [ROW]
