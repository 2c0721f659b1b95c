"""Which principal stands behind a connection, by the processes above it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from counterpoint.core.model.access import Principal
from counterpoint.core.model.identity import Connection, Peer, Process
from counterpoint.core.model.rows import REDACTED, Prose
from counterpoint.core.rules.access import digest_of
from counterpoint.core.rules.identity import (
    agent_behind,
    agent_of,
    connection_id,
    connection_of,
    doubt_of,
    is_below,
    is_editor,
    is_reaper,
    is_starter,
    is_terminal_shell,
    may_be_one,
    name_of,
    principal_of,
    refresh_connection,
    share_of,
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
        ((), None),
    ],
)
def test_the_agent_is_the_nearest_that_does_not_only_start_others(
    programs: tuple[str, ...], agent: str | None
) -> None:
    """Shells and runners are passed over, but for the shell of a terminal; orphans have none."""
    found = agent_of(line(*programs))
    assert (found.name if found else None) == agent


def test_a_runner_that_is_a_script_is_passed_over() -> None:
    """As its interpreter alone it would be taken for the agent."""
    relay, runner, agent = line(RELAY, "node", "claude")
    assert agent_of((relay, runner, agent)) == runner
    assert agent_of((relay, replace(runner, script="npx"), agent)) == agent
    assert agent_of((relay, replace(runner, script="server"), agent)).script == "server"


@pytest.mark.parametrize(
    ("peer", "doubt"),
    [
        (Peer(line(RELAY, "claude", "bash*", "systemd"), BOOT), None),
        (Peer((), BOOT), "unseen"),
        (Peer((), BOOT, is_foreign=True), "foreign"),
        (Peer((), BOOT, is_covered=True), "covered"),
        (Peer(line(RELAY, "claude", "gone"), BOOT), "cut"),
        (Peer(line(RELAY, "claude", "bash*", "systemd")[:-1], BOOT), None),
        (Peer(line(RELAY, "sh", "systemd"), BOOT), "orphan"),
    ],
)
def test_it_is_said_why_nobody_is_attested(peer: Peer, doubt: str | None) -> None:
    """A line that is cut passes for none; above the first process nobody is missed."""
    assert doubt_of(peer) == doubt
    assert (principal_of(peer, ()) is None) == (doubt is not None)
    known = {name_of(process, peer) for process in peer.lineage}
    assert (principal_of(peer, known) is None) == (doubt in {"unseen", "foreign", "covered", "cut"})


def test_one_process_is_one_principal_and_another_another() -> None:
    """Its number alone does not name it: the start and the boot belong to it."""
    one, two = line(RELAY, "claude")
    assert connection_id(one, BOOT) == connection_id(one, BOOT)
    assert len({connection_id(one, BOOT), connection_id(two, BOOT), connection_id(one, "x")}) == 3
    assert connection_id(one, BOOT).startswith("cn_")


def test_who_connects_shows_the_agent_behind_him() -> None:
    """The nearest above it that is not only there to start it; nobody where nobody is attested."""
    peer = Peer(line(RELAY, "sh", "claude", "bash*"), BOOT)
    found = agent_behind(peer, NOW)
    assert found is not None
    assert found.id == connection_id(peer.lineage[2], BOOT)
    assert agent_behind(peer._replace(is_served=True), NOW) is None
    assert agent_behind(Peer((), BOOT), NOW) is None


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


@pytest.mark.parametrize("editor", ["zed", "Code Helper (Plugin)", "idea"])
def test_the_terminal_of_an_editor_is_not_the_editor(editor: str) -> None:
    """Though it starts agents too; but what has started the editor counts as ever."""
    peer = Peer(line(RELAY, "zsh*", editor, "claude", "bash*", "tmux", "systemd"), BOOT)
    ids = [name_of(process, peer) for process in peer.lineage]
    assert principal_of(peer, {ids[2]}) == Principal(strength="connection", id=ids[1])
    assert principal_of(peer, {ids[2], ids[3]}) == Principal(strength="connection", id=ids[3])
    shell, shown = kept(RELAY, "zsh*", editor, "tmux"), kept(RELAY, "zsh*", editor, "tmux", place=2)
    assert not is_below(shell, shown)
    agent = Peer(line(RELAY, editor, "tmux"), BOOT)
    beside = Peer(line(RELAY, "sh", editor, "tmux"), BOOT)
    known = name_of(agent.lineage[1], agent)
    assert principal_of(agent, ()) == Principal(strength="connection", id=known)
    found = principal_of(beside, {name_of(beside.lineage[2], beside)})
    assert found is not None
    assert found.id == name_of(beside.lineage[2], beside)


def test_who_is_attested_has_a_share_of_the_threads_and_all_others_have_one() -> None:
    """Whoever brings a credential has that one's, by its digest alone."""
    peer = Peer(line(RELAY, "claude", "bash*", "systemd"), BOOT)
    found = principal_of(peer, ())
    assert found is not None
    assert share_of(peer, (), "") == found.id
    assert share_of(Peer((), BOOT), (), "") == share_of(Peer((), "other"), (), "") == "unattested"
    assert share_of(peer, (), "cpt_x") == digest_of("cpt_x")


def test_one_number_in_two_namespaces_is_two() -> None:
    """Each namespace counts its processes from one."""
    peer = Peer(line(RELAY, "claude"), BOOT, "1")
    other = peer._replace(namespace="2")
    assert name_of(peer.lineage[1], peer) != name_of(other.lineage[1], other)


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
    assert found.held_since == 102
    assert canonical.load(found.ancestry) == [
        {"pid": 2, "started": 102, "executable": "/usr/bin/bash", "terminal": True},
        {"pid": 1, "started": 101, "executable": "/usr/bin/systemd", "terminal": False},
    ]
    assert kept(RELAY, "claude", "systemd").held_since == 102
    assert kept(RELAY, "claude", "python3", "systemd", "systemd").held_since == 103


def test_what_the_first_process_has_taken_up_is_asked_anew() -> None:
    """It may be an agent of a container, and what it holds was started by anybody in there."""
    known = kept(RELAY, "claude")
    assert (known.pid, known.held_since) == (1, 102)
    later = replace(known, held_since=200, agent="eve")
    assert refresh_connection(known, later) == replace(known, held_since=200)
    other = kept(RELAY, "claude", "bash*")
    assert refresh_connection(other, replace(other, held_since=200)) == other
    outside = Peer((replace(line(RELAY)[0], pid=30, parent=0),), BOOT)
    principal = principal_of(outside, ())
    assert principal is not None
    told = connection_of(outside, principal, project="p", agent="ada", client="", now=NOW)
    assert told.held_since == 0
    seen = Peer(line(RELAY, "claude", "bash*", "init")[:-1], BOOT)
    principal = principal_of(seen, ())
    assert principal is not None
    told = connection_of(seen, principal, project="p", agent="ada", client="", now=NOW)
    assert told.held_since == 102


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


def test_who_was_left_may_be_one_with_who_was_there_before() -> None:
    """However far below it connects, and whichever of them works; not with a younger one, nor of another boot."""
    left, held = kept(RELAY, "claude", "python3", "systemd"), kept(RELAY, "claude")
    older = replace(held, started=left.held_since, held_since=0)
    assert may_be_one(left, older)
    assert may_be_one(older, left)
    assert not may_be_one(left, replace(older, started=left.held_since + 1))
    assert not may_be_one(left, replace(older, boot="another"))
    assert not may_be_one(older, replace(older, started=1))


def test_who_cannot_have_gone_to_a_control_group_has_left_nobody_there() -> None:
    """A unit of the system, or another login: only root moves a process there."""
    left, older = kept(RELAY, "claude", "systemd"), replace(kept(RELAY, "claude"), held_since=0)
    assert may_be_one(left, older)
    unit = replace(left, unit="system.slice/agent.service")
    assert not may_be_one(unit, older)
    assert may_be_one(unit, replace(older, uid=0))
    assert may_be_one(unit, replace(older, unit="system.slice/agent.service"))
    assert not may_be_one(unit, replace(older, unit="user.slice/user-1.slice/session-2.scope"))


def test_the_control_group_is_that_of_the_agent_and_of_what_holds_it() -> None:
    """Where these differ it says nothing."""
    inner, outer, reaper = line(RELAY, "claude", "systemd")
    agent, held = replace(outer, unit="a"), replace(outer, pid=30, started=102, unit="b", parent=1)
    for lineage, unit in (((inner, agent, reaper), "a"), ((inner, agent, held, reaper), "")):
        peer = Peer(lineage, BOOT)
        principal = Principal(strength="connection", id=name_of(agent, peer))
        told = connection_of(peer, principal, project="p", agent="x", client="", now=NOW)
        assert told.unit == unit


def test_nobody_is_told_apart_across_namespaces() -> None:
    """Who opens one of his own sees nobody above him."""
    one = replace(kept(RELAY, "claude"), held_since=0)
    assert may_be_one(one, replace(one, namespace="2"))
    assert not may_be_one(one, replace(one, namespace="2", boot="another"))
    inner = kept(RELAY, "python3", "claude", "bash*")
    outer = kept(RELAY, "python3", "claude", "bash*", place=2)
    assert is_below(inner, outer)
    assert not is_below(inner, replace(outer, namespace="2"))


def process(
    program: str, pid: int = 7, script: str = "", session: int = 0, *, has_terminal: bool = False
) -> Process:
    """Answer a process of a program."""
    return Process(
        pid=pid,
        parent=1,
        uid=1,
        session=session,
        has_terminal=has_terminal,
        started=1,
        executable=f"/usr/bin/{program}",
        script=script,
    )


@pytest.mark.parametrize(
    ("program", "script", "expected"),
    [("bash", "", True), ("node", "npx", True), ("python3", "pipx", True), ("node", "app", False)],
)
def test_shells_and_runners_are_starters(program: str, script: str, expected: bool) -> None:
    assert is_starter(process(program, script=script)) == expected


def test_only_a_shell_that_leads_the_session_of_a_terminal_is_one_of_a_person() -> None:
    """Neither another program that does, nor a shell that does not."""
    assert is_terminal_shell(process("zsh", session=7, has_terminal=True))
    assert not is_terminal_shell(process("zsh", session=7))
    assert not is_terminal_shell(process("zsh", session=5, has_terminal=True))
    assert not is_terminal_shell(process("uv", session=7, has_terminal=True))


def test_the_processes_of_an_editor_are_known() -> None:
    assert is_editor(process("Code Helper (Plugin)"))
    assert is_editor(process("zed"))
    assert not is_editor(process("claude"))


def test_the_first_process_takes_up_orphans_whatever_it_is() -> None:
    """And those that are made for it."""
    assert is_reaper(process("sleep", pid=1))
    assert is_reaper(process("systemd"))
    assert not is_reaper(process("sleep"))
