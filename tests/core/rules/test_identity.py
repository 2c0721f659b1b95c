"""Which principal stands behind a connection, by the processes above it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from counterpoint.core.model.access import Principal
from counterpoint.core.model.identity import Connection, Peer, Process
from counterpoint.core.model.rows import REDACTED, Prose
from counterpoint.core.rules.identity import (
    agent_of,
    connection_id,
    connection_of,
    is_below,
    may_descend,
    principal_of,
)
from counterpoint.kernel import canonical
from counterpoint.kernel.clock import Timestamp

BOOT = "b00t"
NOW = Timestamp("2026-01-02T03:04:05.000Z")
RELAY = "python3.11"


def line(*programs: str) -> tuple[Process, ...]:
    """Answer a lineage, the nearest first; `sh*` is a shell that leads the session of a terminal, `gone` one that cannot be seen."""
    is_cut = programs[-1:] == ("gone",)
    programs = programs[:-1] if is_cut else programs
    many = len(programs)
    return tuple(
        Process(
            pid=many - place if name != "init?" else 1,
            parent=many - place - 1 + 99 * (is_cut and place == many - 1),
            uid=1000,
            session=many - place if name.endswith("*") else 0,
            has_terminal=name.endswith("*"),
            started=100 + many - place,
            executable="" if name == "init?" else f"/usr/bin/{name.rstrip('*')}",
        )
        for place, name in enumerate(programs)
    )


@pytest.mark.parametrize(
    ("programs", "agent"),
    [
        ((RELAY, "claude", "zsh*", "tmux", "systemd"), "claude"),
        ((RELAY, "sh", "uvx", "node", "bash*", "sshd", "systemd"), "node"),
        ((RELAY, "bash*", "tmux", "systemd"), "bash"),
        ((RELAY, "bash", "bash*", "systemd"), "bash"),
        ((RELAY, "codex"), "codex"),
        ((RELAY, "systemd"), None),
        ((RELAY, "sh", "launchd"), None),
        ((RELAY, "init?"), None),
        ((RELAY, "sh", "bash"), "bash"),
        ((RELAY,), RELAY),
        ((RELAY, "sh", "gone"), None),
        ((), None),
    ],
)
def test_the_agent_is_the_nearest_that_does_not_only_start_others(
    programs: tuple[str, ...], agent: str | None
) -> None:
    """Shells and runners are passed over, but for the shell of a terminal; orphans have none."""
    found = agent_of(line(*programs))
    assert (found.name if found else None) == agent


def test_one_process_is_one_principal_and_another_another() -> None:
    """Its number alone does not name it: the start and the boot belong to it."""
    one, two = line(RELAY, "claude")
    assert connection_id(one, BOOT) == connection_id(one, BOOT)
    assert len({connection_id(one, BOOT), connection_id(two, BOOT), connection_id(one, "x")}) == 3
    assert connection_id(one, BOOT).startswith("cn_")


def test_what_an_agent_starts_from_its_own_shell_is_that_agent() -> None:
    """However far below; of several agents above one another, the outermost."""
    peer = Peer(line(RELAY, "python3", "bash", "claude", "bash*", "tmux"), BOOT)
    ids = {process.name: connection_id(process, BOOT) for process in peer.lineage}
    assert principal_of(peer, ()) == Principal(strength="connection", id=ids["python3"])
    assert principal_of(peer, {ids["claude"]}) == Principal(strength="connection", id=ids["claude"])
    both = {ids["claude"], ids["tmux"]}
    assert principal_of(peer, both) == Principal(strength="connection", id=ids["tmux"])


def test_the_shell_of_a_terminal_is_no_agent_to_what_is_started_in_it() -> None:
    """Whoever once connected from it by hand does not make an agent of all that comes after."""
    peer = Peer(line(RELAY, "claude", "bash*"), BOOT)
    shell, agent = connection_id(peer.lineage[2], BOOT), connection_id(peer.lineage[1], BOOT)
    assert principal_of(peer, {shell}) == Principal(strength="connection", id=agent)


def test_who_has_no_ancestors_is_not_attested() -> None:
    """No principal is better than a wrong one."""
    assert principal_of(Peer((), BOOT), ()) is None
    assert principal_of(Peer(line(RELAY, "systemd"), BOOT), ()) is None


def kept(*programs: str, place: int = 1) -> Connection:
    """Answer what is kept of the ancestor at a place."""
    peer = Peer(line(*programs), BOOT)
    principal = Principal(strength="connection", id=connection_id(peer.lineage[place], BOOT))
    return connection_of(peer, principal, project="p", agent="ada", client="claude", now=NOW)


def test_what_is_kept_tells_the_process_and_those_above_it() -> None:
    """By number, start and program; whether it was an orphan."""
    found = kept(RELAY, "claude", "bash*", "systemd")
    assert (found.agent, found.client, found.opened_at) == ("ada", "claude", NOW)
    assert (found.pid, found.started, found.uid) == (3, 103, 1000)
    assert found.executable == "/usr/bin/claude"
    assert not found.is_orphan
    assert canonical.load(found.ancestry) == [
        {"pid": 2, "started": 102, "executable": "/usr/bin/bash", "terminal": True},
        {"pid": 1, "started": 101, "executable": "/usr/bin/systemd", "terminal": False},
    ]
    assert kept(RELAY, "claude", "systemd").is_orphan
    assert not kept(RELAY, "claude").is_orphan


def test_who_was_started_by_an_agent_that_became_known_later_is_below_it() -> None:
    """In whatever order they were seen; not below the shell of a terminal, nor by another boot."""
    programs = (RELAY, "python3", "bash", "claude", "bash*", "tmux")
    inner, agent = kept(*programs), kept(*programs, place=3)
    assert is_below(inner, agent)
    assert not is_below(agent, inner)
    assert not is_below(inner, replace(agent, boot="another"))
    assert not is_below(inner, replace(agent, started=1))
    assert not is_below(replace(inner, ancestry=Prose(REDACTED)), agent)
    assert not is_below(agent, kept(*programs, place=4))
    assert is_below(agent, kept(*programs, place=5))


def test_only_an_orphan_may_come_from_who_was_there_before() -> None:
    """Not from a younger process, nor from one of another boot; one that is held has its own parent."""
    orphan, held = kept(RELAY, "claude", "systemd"), kept(RELAY, "claude", "bash*", "systemd")
    older = replace(held, started=orphan.started - 1)
    assert may_descend(orphan, older)
    assert may_descend(orphan, replace(older, started=orphan.started))
    assert not may_descend(orphan, replace(older, started=orphan.started + 1))
    assert not may_descend(orphan, replace(older, boot="another"))
    assert not may_descend(held, older)
