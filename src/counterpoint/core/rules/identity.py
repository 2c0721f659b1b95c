"""Decide which principal stands behind a connection, by its processes.

Rule 1: the agent is the nearest ancestor of who connects that is not only there to start it: not a shell, a
package runner or the like, unless it is the shell of a terminal; where there is nobody else, the outermost of
these. Rule 2: if another ancestor is known as an agent, the outermost such is meant: what an agent starts from
its own shell is that agent. The shell of a terminal is none of them, nor an editor directly above it. Rule 3:
nobody is attested where the nearest ancestor is what takes up orphans, where the line of ancestors is cut, or
where who connects lives in another namespace of processes, or sees what may be its own making. Rule 4: an agent that becomes known only later is
still the one above what it had started (`is_below`). Rule 5: somewhere below what takes up orphans stands one that
anybody may have started who was there before it, and then left: those two may be one, whichever of them works
(`may_be_one`). Rule 6: nothing is told apart across namespaces of one machine. Rule 7: nobody is attested below a
server of the ledger: it does what its callers ask.

What a program calls itself is never proof. So its name counts only where nothing is gained by a lie: one that
pretends to be a starter is passed over, and then its own parent is the agent; one that pretends to take up orphans
is attested less; an editor that shows a terminal is passed over only directly above its shell.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from hashlib import sha256
from typing import Any, Final, cast

from counterpoint.core.model.access import Principal
from counterpoint.core.model.identity import Connection, Doubt, Peer, Process
from counterpoint.core.model.rows import REDACTED, Prose
from counterpoint.core.rules.access import digest_of
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.ids import spelled

SHELLS: Final = frozenset(["ash", "bash", "busybox", "dash", "fish", "ksh", "sh", "tcsh", "zsh"])
STARTERS: Final = SHELLS | frozenset(
    [
        *("bunx", "conda", "corepack", "direnv", "doas", "env", "hatch", "mamba", "mcp-proxy"),
        *("micromamba", "mise", "nice", "nohup", "nox", "npm", "npm-cli", "npx", "npx-cli", "pdm"),
        *("pipx", "pixi", "pnpm", "pnpx", "poetry", "rye", "setsid", "stdbuf", "sudo", "timeout"),
        *("tox", "uv", "uvx", "volta", "xargs", "yarn", "yarnpkg"),
    ]
)
"""What stands between an agent and what it starts: shells and runners, also those that are scripts."""
REAPERS: Final = frozenset(
    [
        *("bwrap", "catatonit", "conmon", "containerd-shim-runc-v2", "docker-init", "dumb-init"),
        *("init", "launchd", "openrc-init", "runit", "runsvdir", "s6-svscan", "systemd", "tini"),
        "tini-static",
    ]
)
"""What takes up orphans."""
EDITORS: Final = frozenset(
    [
        *("clion", "code", "code-insiders", "code-oss", "codium", "cursor", "datagrip", "electron"),
        *("emacs", "goland", "idea", "phpstorm", "pycharm", "rider", "rubymine", "rustrover"),
        *("vscodium", "webstorm", "windsurf", "zed", "zed-editor"),
    ]
)
"""What starts agents and has terminals for people too."""

_PART: Final = " helper"
"""How the processes of one application are called on macOS: `Code Helper (Plugin)`."""

_FIRST: Final = 1
_UNSEEN: Final = "http"
_PREFIX: Final = "cn_"
_LETTERS: Final = 16


def is_starter(process: Process) -> bool:
    """Return whether a process may be there only to start another."""
    return process.name in STARTERS or process.script in STARTERS


def is_terminal_shell(process: Process) -> bool:
    """Return whether a process is what a person types into: a shell that leads the session of a terminal."""
    leads = process.session == process.pid and process.has_terminal
    return leads and process.name in SHELLS


def is_editor(process: Process) -> bool:
    """Return whether a program has terminals for people beside the agents that it starts."""
    return process.name.casefold().partition(_PART)[0] in EDITORS


def is_reaper(process: Process) -> bool:
    """Return whether a process takes up orphans; the first one that can be seen always does."""
    return process.pid == _FIRST or process.name in REAPERS


def agent_of(lineage: tuple[Process, ...]) -> Process | None:
    """Return the process of the agent behind who connects; None if whoever had started it is gone."""
    for process in lineage[1:]:
        if not is_starter(process) or is_terminal_shell(process):
            # The first process of a container may well be the agent itself; one of which nothing is known is not.
            return None if not process.name or process.name in REAPERS else process
    # One without a parent came from outside of the container: nobody in here has started it.
    return lineage[-1] if lineage and not lineage[-1].parent else None


def doubt_of(peer: Peer) -> Doubt | None:
    """Return why nobody is attested; None if somebody is."""
    if peer.is_served:
        return "served"
    if peer.is_covered:
        return "covered"
    if peer.is_foreign:
        return "foreign"
    if not peer.lineage:
        return "unseen"
    # Above the first process of all there is nobody, whether it can be seen or not.
    if peer.lineage[-1].parent > _FIRST:
        return "cut"
    return "orphan" if agent_of(peer.lineage) is None else None


def connection_id(process: Process, boot: str) -> str:
    """Return the id of the principal that a process is: the same for each of its connections."""
    digest = sha256(f"{boot}\n{process.pid}\n{process.started}".encode()).digest()
    return _PREFIX + spelled(int.from_bytes(digest), _LETTERS)


def name_of(process: Process, peer: Peer) -> str:
    """Return the id of the principal that a process in the line of a peer is."""
    # Numbers are given again in each namespace.
    return connection_id(process, peer.boot + peer.namespace)


def candidates(peer: Peer) -> dict[str, Process]:
    """Return each ancestor that may be known as an agent, by its id, the nearest first.

    The shell of a terminal is none, nor the editor that shows it: what a person starts in it beside an agent
    is not that agent.
    """
    return {
        name_of(process, peer): process
        for process, is_shown in _above(peer.lineage)
        if not is_shown
    }


def principal_of(peer: Peer, agents: Collection[str]) -> Principal | None:
    """Return who stands behind who connects; None if nobody is attested.

    agents: which of the candidates are known as agents.
    """
    agent = agent_of(peer.lineage)
    doubt = doubt_of(peer)
    # Who was left by somebody may still have a known agent above him.
    if doubt not in {None, "orphan"}:
        return None
    outermost = next(
        (candidate for candidate in reversed(candidates(peer)) if candidate in agents), ""
    )
    if outermost:
        return Principal(strength="connection", id=outermost)
    if agent is None:
        return None
    return Principal(strength="connection", id=name_of(agent, peer))


def share_of(peer: Peer, agents: Collection[str], credential: str) -> str:
    """Return whose share of the threads the calls of who connects take, as far as it is known before a call.

    agents: which of the candidates are known as agents. credential: the secret it brought; empty without one.
    """
    if credential:
        return digest_of(credential)
    process = principal_of(peer, agents)
    # Those whom nothing attests are one: to be nobody must not bring more.
    return process.id if process else "unattested"


def connection_of(
    peer: Peer, principal: Principal, *, project: str, agent: str, client: str, now: Timestamp
) -> Connection:
    """Return what is kept of a principal that is an ancestor of who connects."""
    places = {name_of(ancestor, peer): at for at, ancestor in enumerate(peer.lineage)}
    index = places[principal.id]
    process, child = peer.lineage[index], _held(peer.lineage, index)
    ancestry: list[Json] = [
        {
            "pid": ancestor.pid,
            "started": ancestor.started,
            "executable": ancestor.executable,
            "terminal": is_shown,
        }
        for ancestor, is_shown in _above(peer.lineage[index:])
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
        namespace=peer.namespace,
        executable=process.executable,
        held_since=child.started if child else 0,
        unit=process.unit if child is None or child.unit == process.unit else "",
        ancestry=Prose(canonical.dump_any(ancestry)),
        opened_at=now,
    )


def agent_behind(peer: Peer, now: Timestamp) -> Connection | None:
    """Return the agent behind who connects, whatever it calls itself and brings; None if nobody is attested."""
    agent = agent_of(peer.lineage)
    if agent is None or doubt_of(peer) is not None:
        return None
    principal = Principal(strength="connection", id=name_of(agent, peer))
    return connection_of(peer, principal, project="", agent="", client="", now=now)


def unseen_caller(boot: str, *, project: str, now: Timestamp) -> Connection:
    """Return what is kept of whoever calls over HTTP from this machine: one for all of a boot, which may be anybody."""
    digest = sha256(f"{boot}\n{_UNSEEN}".encode()).digest()
    return Connection(
        project=project,
        id=_PREFIX + spelled(int.from_bytes(digest), _LETTERS),
        agent="",
        client="",
        uid=0,
        pid=0,
        started=0,
        boot=boot,
        namespace=_UNSEEN,
        executable="",
        held_since=0,
        unit="",
        ancestry=Prose(""),
        opened_at=now,
    )


def is_unseen(connection: Connection) -> bool:
    """Return whether a connection stands for callers whose process was not seen."""
    return connection.namespace == _UNSEEN


def refresh_connection(stored: Connection, seen: Connection) -> Connection:
    """Return what is known of a principal that was kept before and connects again.

    What the first process of all has taken up differs each time, and so is asked anew.
    """
    if stored.pid != _FIRST:
        return stored
    return replace(stored, held_since=seen.held_since, unit=seen.unit)


def is_below(connection: Connection, other: Connection) -> bool:
    """Return whether the process of a connection has that of another one above it.

    The shell of a terminal counts as little as in rule 2.
    """
    is_near = (connection.boot, connection.namespace) == (other.boot, other.namespace)
    if not is_near or connection.ancestry in {"", REDACTED}:
        return False
    above = cast("list[dict[str, Any]]", canonical.load(connection.ancestry))
    return any(
        (process["pid"], process["started"]) == (other.pid, other.started)
        for process in above
        if not process["terminal"]
    )


def may_be_one(connection: Connection, other: Connection) -> bool:
    """Return whether either may be what the other had started and left.

    Nobody starts what is older, or what is in a control group that he cannot go to. Of another boot nobody is left.
    """
    if connection.boot != other.boot:
        return False
    return may_be_left(connection, other) or may_be_left(other, connection)


def may_be_left(connection: Connection, by: Connection) -> bool:
    """Return whether a process may be what another one of the same boot had started and left."""
    if connection.namespace != by.namespace:
        return True
    # Who is root goes everywhere; nobody else goes where only root puts him.
    is_apart = bool(connection.unit and by.uid) and connection.unit != by.unit
    return bool(connection.held_since) and by.started <= connection.held_since and not is_apart


def _held(lineage: tuple[Process, ...], index: int) -> Process | None:
    """Return the one that what takes up orphans has in the line of a process; None without any."""
    # What is above the first process of all is what it has taken up: that is below it.
    start = max(0, index - 1) if lineage[index].pid == _FIRST else index
    for child, above in zip(lineage[start:], lineage[start + 1 :], strict=False):
        if is_reaper(above):
            return child
    return lineage[-1] if lineage[-1].parent == _FIRST else None


def _above(lineage: tuple[Process, ...]) -> list[tuple[Process, bool]]:
    """Return each ancestor, and whether it is the shell of a terminal or an editor that shows one."""
    ancestors: list[tuple[Process, bool]] = []
    is_shown = bool(lineage) and is_terminal_shell(lineage[0])
    for process in lineage[1:]:
        is_shown = is_terminal_shell(process) or (is_shown and is_editor(process))
        ancestors.append((process, is_shown))
    return ancestors
