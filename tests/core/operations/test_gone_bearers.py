"""Taking over from the bearer of a credential, who has no process of his own."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from counterpoint.core.coordinator import Core
from counterpoint.core.model.access import Actor, Principal
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Note
from counterpoint.core.model.identity import Connection
from counterpoint.core.model.rows import JsonText
from counterpoint.core.operations.recording.context import Caller
from counterpoint.core.ports.host import OnlyHost
from counterpoint.kernel.errors import AlreadyClaimed
from fakes.studio import ROOT, Studio


@dataclass(slots=True, kw_only=True)
class Kernel(OnlyHost):
    """A server that saw nobody, and is told which processes have ended how long ago."""

    ended: dict[str, float] = field(default_factory=dict)

    def absence(self, seat: str, behind: Collection[Connection] = ()) -> float | None:
        """Answer how long all processes behind a connection have been gone."""
        del seat
        past = [self.ended.get(one.id) for one in behind]
        return None if not past or None in past else min(past)


def process(name: str) -> Connection:
    """Answer the process of an agent."""
    return Connection(
        project="demo",
        id=name,
        agent="raw",
        client="test",
        uid=1000,
        pid=10,
        started=10,
        boot="boot",
        namespace="1",
        executable="raw",
        held_since=0,
        unit="",
        ancestry=JsonText("[]"),
        opened_at="2026-01-01T00:00:00.000Z",
    )


def test_who_brought_a_credential_is_gone_when_all_processes_are_that_he_wrote_through(
    studio: Studio,
) -> None:
    """As after a crash of the server, that alone saw who was connected: a credential has no process."""
    kernel = Kernel()
    studio.ports = replace(studio.ports, host=kernel)
    session = studio.mint.mint("ses")
    attested = Principal(strength="credential", id="agt_1")
    actor = Actor(kind="agent", name="raw", session=session, principal=attested)
    caller = Caller(actor=actor, root=ROOT, capability="secret")
    first, again = (
        Core(studio.ports, replace(caller, connection=process(name))) for name in ("cn_1", "cn_9")
    )
    item = first.plans.create(Draft(kind="task", title="A")).root.id
    first.claims.start(item)
    again.journal.append(Note(kind="comment", body="started again"))
    other = replace(actor, session="ses_2", principal=Principal(strength="connection", id="cn_2"))
    second = Core(studio.ports, Caller(actor=other, root=ROOT, capability="another"))
    for ended in ({}, {"cn_1": 999.0}, {"cn_1": 999.0, "cn_9": 1.0}):
        kernel.ended = ended
        studio.refuses(AlreadyClaimed, lambda: second.claims.start(item))
    kernel.ended["cn_9"] = 999.0
    assert second.claims.start(item).claim.token == 2
    assert studio.last().facts["why"] == "gone"
