"""Decide which principal stands behind a connection, by its processes.

Rule 1: the agent is the nearest ancestor of who connects that is not only there to start it: not a shell, a
package runner or the like, unless it is the shell of a terminal; where there is nobody else, the outermost of
these. Rule 2: if another ancestor is known as an agent, the outermost such is meant: what an agent starts from
its own shell is that agent. Rule 3: where the nearest ancestor is what takes up orphans, nobody is attested.
Rule 4: an agent that becomes known only later is still the one above what it had started (`is_below`). Rule 5:
who has no parent left but what takes up orphans may have been started by anybody who was there before
(`may_descend`).

What a process calls itself is never asked for: its program counts only where nothing is gained by a lie, for a
program that pretends to be a shell is passed over, and then its own parent is the agent.
"""

from __future__ import annotations

from collections.abc import Collection
from hashlib import sha256
from typing import Any, Final, cast

from counterpoint.core.model.access import Principal
from counterpoint.core.model.identity import Connection, Peer, Process
from counterpoint.core.model.rows import REDACTED, Prose
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.ids import spelled

STARTERS: Final = frozenset(
    [
        "ash",
        "bash",
        "busybox",
        "dash",
        "env",
        "fish",
        "ksh",
        "nice",
        "nohup",
        "sh",
        "setsid",
        "stdbuf",
        "sudo",
        "timeout",
        "uv",
        "uvx",
        "xargs",
        "zsh",
    ]
)
"""Programs that stand between an agent and what it starts. Runners that are scripts (npx, pipx) are seen as their
interpreter, and taken for the agent."""
REAPERS: Final = frozenset(
    [
        "catatonit",
        "conmon",
        "containerd-shim-runc-v2",
        "docker-init",
        "dumb-init",
        "init",
        "launchd",
        "runsvdir",
        "s6-svscan",
        "systemd",
        "tini",
    ]
)
"""Programs that take up orphans."""

_FIRST: Final = 1
_PREFIX: Final = "cn_"
_LETTERS: Final = 16


def agent_of(lineage: tuple[Process, ...]) -> Process | None:
    """Return the process of the agent behind who connects; None if nobody is attested."""
    for process in lineage[1:]:
        if process.name not in STARTERS or is_terminal_shell(process):
            return None if _is_reaper(process) else process
    # One without a parent came from outside of the container: nobody in here has started it.
    return lineage[-1] if lineage and not lineage[-1].parent else None


def is_terminal_shell(process: Process) -> bool:
    """Return whether a process is what a person types into: a shell that leads the session of a terminal."""
    leads = process.session == process.pid and process.has_terminal
    return leads and process.name in STARTERS


def connection_id(process: Process, boot: str) -> str:
    """Return the id of the principal that a process is: the same for each of its connections."""
    digest = sha256(f"{boot}\n{process.pid}\n{process.started}".encode()).digest()
    return _PREFIX + spelled(int.from_bytes(digest), _LETTERS)


def candidates(peer: Peer) -> dict[str, Process]:
    """Return each ancestor that may be known as an agent, by its id, the nearest first.

    The shell of a terminal is none: what a person starts in it beside an agent is not that agent.
    """
    return {
        connection_id(process, peer.boot): process
        for process in peer.lineage[1:]
        if not is_terminal_shell(process)
    }


def principal_of(peer: Peer, known: Collection[str]) -> Principal | None:
    """Return who stands behind who connects; None if nobody is attested.

    known: which of the candidates are known as agents.
    """
    outermost = next((one for one in reversed(candidates(peer)) if one in known), "")
    if outermost:
        return Principal(strength="connection", id=outermost)
    agent = agent_of(peer.lineage)
    if agent is None:
        return None
    return Principal(strength="connection", id=connection_id(agent, peer.boot))


def connection_of(
    peer: Peer, principal: Principal, *, project: str, agent: str, client: str, now: Timestamp
) -> Connection:
    """Return what is kept of a principal that is an ancestor of who connects."""
    places = {connection_id(one, peer.boot): at for at, one in enumerate(peer.lineage)}
    place = places[principal.id]
    process, above = peer.lineage[place], peer.lineage[place + 1 :]
    told: list[Json] = [
        {
            "pid": one.pid,
            "started": one.started,
            "executable": one.executable,
            "terminal": is_terminal_shell(one),
        }
        for one in above
    ]
    return Connection(
        project=project,
        id=principal.id,
        agent=agent,
        client=client,
        uid=process.uid,
        pid=process.pid,
        started=process.started,
        boot=peer.boot,
        executable=process.executable,
        is_orphan=bool(above) and _is_reaper(above[0]),
        ancestry=Prose(canonical.dump_any(told)),
        opened_at=now,
    )


def is_below(one: Connection, other: Connection) -> bool:
    """Return whether the process of a connection has that of another one above it.

    The shell of a terminal counts as little as in rule 2.
    """
    if one.boot != other.boot or one.ancestry in {"", REDACTED}:
        return False
    above = cast("list[dict[str, Any]]", canonical.load(one.ancestry))
    return any(
        (process["pid"], process["started"]) == (other.pid, other.started)
        for process in above
        if not process["terminal"]
    )


def may_descend(one: Connection, other: Connection) -> bool:
    """Return whether a connection may be that of a process which another one had started and left.

    Only an orphan may, and only if the other was there before it: nobody starts what is older.
    """
    return one.is_orphan and one.boot == other.boot and other.started <= one.started


def _is_reaper(process: Process) -> bool:
    # The first process of a container may well be the agent itself; the one that nothing is known of is not.
    return process.name in REAPERS or (process.pid == _FIRST and not process.executable)
