"""Servers whose files were taken away or written over under them: nobody would find them, and none other could start."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from counterpoint.app import open_app
from counterpoint.cli import doctor
from counterpoint.cli.server import serving
from counterpoint.cli.server.serving import end_server, serve_sockets
from counterpoint.kernel.errors import StoreBusy, Unavailable
from counterpoint.protocol import rendezvous as meeting_module
from counterpoint.protocol.rendezvous import find_rendezvous
from counterpoint.protocol.workers import Workers


@pytest.mark.parametrize("ending", ["sock", "json", "lock"])
def test_a_server_that_nobody_finds_any_more_leaves(app, ledger, monkeypatch, ending):
    """It would keep others from serving; who looks for it meanwhile is told of it, by the lock."""
    monkeypatch.setattr(serving, "GLANCE", 0.02)
    meeting = find_rendezvous(app.database)

    async def lose() -> None:
        async with serve_sockets(app, workers=Workers(1)) as sockets:
            assert meeting.is_held()
            # Where the path is too long for a socket it lies elsewhere.
            known = Path(json.loads(meeting.file("json").read_text())["socket"])
            (known if ending == "sock" else meeting.file(ending)).unlink()
            await asyncio.wait_for(sockets.over.wait(), 20)

    asyncio.run(lose())
    assert not meeting.is_held()
    assert end_server(app.database) is None


def test_a_server_whose_json_leads_elsewhere_leaves(app, ledger, monkeypatch):
    """As one that was written over in its place."""
    monkeypatch.setattr(serving, "GLANCE", 0.02)
    meeting = find_rendezvous(app.database)

    async def lose() -> None:
        async with serve_sockets(app, workers=Workers(1)) as sockets:
            meeting.file("json").write_text('{"pid":0,"socket":"/nowhere/x.sock","protocol":1}')
            await asyncio.wait_for(sockets.over.wait(), 20)

    asyncio.run(lose())


def test_the_end_of_a_server_that_cannot_be_found_is_waited_for(app, ledger, monkeypatch):
    """Its lock says that it is there; doctor too."""
    monkeypatch.setattr(meeting_module, "PATIENCE", 0.05)
    meeting = find_rendezvous(app.database)
    with meeting.turn("lock"):
        with pytest.raises(Unavailable, match="cannot be found"):
            end_server(app.database)
        found = [one for one in doctor._running(app) if one.name == "running"]
        assert [one.verdict for one in found] == ["warn"]
    assert end_server(app.database) is None


def test_there_are_never_two_servers_though_all_files_of_one_were_removed(app, ledger, monkeypatch):
    """The folder is locked too: another one waits until the first has seen that it is not found any more."""
    monkeypatch.setattr(meeting_module, "PATIENCE", 0.05)

    async def both() -> None:
        async with serve_sockets(app, workers=Workers(1)):
            for file in (ledger / ".counterpoint").glob("*-server*"):
                file.unlink()
            with pytest.raises(StoreBusy):
                async with serve_sockets(open_app(ledger, {}), workers=Workers(1)):
                    pass

    asyncio.run(both())
