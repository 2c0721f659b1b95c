"""Who is there: connections whose process has ended, and those that ended while they called."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from counterpoint.cli.server.serving import ConnectionApps
from counterpoint.core.model.filters import Note
from counterpoint.core.model.sessions import SessionFilter
from counterpoint.protocol.peers import PeerProcess
from counterpoint.protocol.sockets import Greeting
from counterpoint.protocol.surface import Caller


def greeting(folder: Path, secret: str = "", pid: int = 0, descriptor: int = -1) -> Greeting:
    """Make what a relay says first, from a process that is held."""
    peer = PeerProcess(pid=pid or os.getpid(), user=os.getuid(), descriptor=descriptor)
    return Greeting(flags={}, environ={}, folder=str(folder), version="0", peer=peer, secret=secret)


@pytest.mark.parametrize("is_late", [False, True])
def test_who_is_started_again_goes_on_before_the_end_of_its_connection_was_seen(
    app, ledger, is_late
):
    """What counts is that its process has ended, or is just about to: that is waited for."""
    hall = ConnectionApps(host=app)

    def enter(process, secret="a"):  # noqa: S107 -- of a test
        held = os.pidfd_open(process.pid)
        entered = hall.admit(greeting(ledger, secret, process.pid, held))
        return entered.call_for(Caller()).core

    with living() as killed, living() as following:
        began = enter(killed)
        began.journal.append(Note(kind="comment", body="one"))
        if is_late:
            app.host._open[began.caller.actor.session][0].has_ended = ends_at_second(killed)
        else:
            killed.kill()
            killed.wait()
        assert enter(following).caller.actor.session == began.caller.actor.session
        assert app.host.absence(began.caller.actor.session) is None
        following.kill()
        following.wait()
        assert app.host.absence(began.caller.actor.session) is not None


def test_who_is_started_again_in_its_first_call_is_the_same(app, ledger):
    """What was killed may still be written: were they two, the call that is repeated would do it twice."""
    hall = ConnectionApps(host=app)
    with living() as killed, living() as following:
        entered = hall.admit(greeting(ledger, "a", killed.pid, os.pidfd_open(killed.pid)))
        began = entered.call_for(Caller()).core
        entered.leave()
        killed.kill()
        killed.wait()
        again = hall.admit(greeting(ledger, "a", following.pid, os.pidfd_open(following.pid)))
        now = again.call_for(Caller()).core
        assert now.caller.actor.session == began.caller.actor.session
        assert now.caller.own_seat == began.caller.own_seat
        assert now.caller.capability == began.caller.capability
        before = len(now.sessions.list(SessionFilter(), None, 9))
        began.journal.append(Note(kind="comment", body="late"))
        now.journal.append(Note(kind="comment", body="repeated"))
        assert len(now.sessions.list(SessionFilter(), None, 9)) == before + 1


@contextmanager
def living():
    """Give a process that lives until it is killed."""
    with subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE
    ) as process:
        yield process
        process.kill()


def ends_at_second(process):
    """Answer what tells of a process that it lives, and has it end while somebody waits for that."""

    def has_ended(seconds):
        if seconds:
            process.kill()
            process.wait()
        return process.poll() is not None

    return has_ended


def test_a_connection_that_has_ended_is_seated_no_more(app, ledger):
    """A call that was under way goes on; nobody waits for it, and its session is not taken for one that is there."""
    context = ConnectionApps(host=app).admit(greeting(ledger))
    connection = context.leave.__self__
    with connection._opening:
        # A call that opens the ledger keeps this lock.
        context.leave()
    session = context.call_for(Caller()).core.caller.actor.session
    assert not app.host.is_here(session, 60)
