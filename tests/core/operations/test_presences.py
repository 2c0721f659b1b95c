"""What a server writes of its connections, by what its process tells."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Note
from counterpoint.core.model.presence import Presence, ProcessMark, ServerBeat
from counterpoint.core.ports.host import OnlyHost
from counterpoint.kernel.clock import Timestamp
from fakes.studio import Studio

MARK = ProcessMark(pid=7)
LATE = Timestamp("2026-01-02T03:04:05.000Z")


@dataclass(slots=True, kw_only=True)
class Hall(OnlyHost):
    """A server that tells of its connections as a test says. back: those that are open again."""

    gone: list[str] = field(default_factory=list)
    back: set[str] = field(default_factory=set)
    beat: ServerBeat | None = None

    def departures(self, project: str) -> list[str]:
        """Answer who is gone."""
        del project
        return self.gone

    def departed_at(self, seat: str, now: Timestamp) -> Timestamp:
        """Answer the time of each end."""
        del seat, now
        return LATE

    def note_departure(self, project: str, seat: str) -> bool:
        """Answer whether it stays so."""
        del project
        return seat not in self.back

    def next_beat(self, now: Timestamp) -> ServerBeat | None:
        """Answer the beat that is due."""
        del now
        return self.beat

    def unwritten(self, project: str, seat: str, now: Timestamp) -> Presence | None:
        """Answer the row of who is there."""
        del project
        return Presence(seat=seat, origin="o", process=MARK, server=ServerBeat(name=self.server, process=MARK, beat_at=now))  # fmt: skip


@pytest.fixture
def hall(studio: Studio) -> Hall:
    """Give the server of all connections."""
    hall = Hall()
    studio.ports = replace(studio.ports, host=hall)
    return hall


def ends_of(studio: Studio, *cores: Core) -> list[str]:
    """Answer when the connections ended that rows tell of."""
    with studio.view() as view:
        rows = view.presences([core.caller.actor.session for core in cores])
    return [row.ended_at for row in rows]


def test_who_is_gone_is_written_and_who_came_again_meanwhile_is_there(
    studio: Studio, hall: Hall
) -> None:
    """With a beat, and where none is due."""
    ada = studio.core("ada")
    ada.journal.append(Note(kind="comment", body="x"))
    seat = ada.caller.actor.session
    ada.presences.renew(seat)
    assert ends_of(studio, ada) == [""]
    hall.gone = [seat]
    ada.presences.tend()
    assert ends_of(studio, ada) == [LATE]
    hall.back = {seat}
    hall.beat = ServerBeat(name=hall.server, process=MARK, beat_at=LATE)
    ada.presences.tend()
    assert ends_of(studio, ada) == [""]


def test_a_process_that_knows_of_no_other_writes_nothing(studio: Studio) -> None:
    """Nobody is there, nobody has left, and nobody can tell."""
    before = studio.image()
    studio.core("ada").presences.tend()
    assert studio.image() == before
    host = OnlyHost()
    assert host.note_departure("demo", "ses_1")
    assert host.has_ended(MARK) is None
