"""As what somebody acts at the command line: the people of docs/people.md, and agents that pose as such."""

from __future__ import annotations

import pytest

from counterpoint.core.model.access import Actor, Principal
from counterpoint.core.model.identity import Connection, Origin, Peer, Process
from counterpoint.core.rules.identity import connection_of, doubt_of, name_of, principal_of
from counterpoint.core.rules.trust.callers import authority, is_agent, may_be_agent, may_loosen_all
from counterpoint.kernel.clock import Timestamp

NOW = Timestamp("2026-01-02T03:04:05.000Z")
LOGIN = "user.slice/user-1000.slice/session-3.scope"
AGENT_AT = 100
"""When the agent of these stories started."""


def line(*programs: tuple[str, int], unit: str = "", top: int = 0) -> tuple[Process, ...]:
    """Answer who runs a command, the nearest first: names with their starts; `*` leads a terminal, `systemd` is 1."""
    parents = [*(started for _, started in programs[1:]), top]
    return tuple(
        Process(
            pid=started,
            parent=parent,
            uid=1000,
            session=started if name.endswith("*") else 0,
            has_terminal=name.endswith("*"),
            started=started,
            executable=f"/usr/bin/{name.rstrip('*')}",
            unit=unit,
        )
        for (name, started), parent in zip(programs, parents, strict=True)
    )


def shell(*above: tuple[str, int], unit: str = "", top: int = 0) -> Peer:
    """Answer who types into a shell of a terminal below some programs."""
    return Peer(line(("python3", 300), ("bash*", 299), *above, unit=unit, top=top), "boot")


def known(peer: Peer, name: str = "claude") -> Connection:
    """Answer what is kept of an agent that has connected."""
    process = next(one for one in peer.lineage if one.name == name)
    principal = Principal(strength="connection", id=name_of(process, peer))
    return connection_of(peer, principal, project="p", agent="", client="", now=NOW)


RELAY = line(
    ("python3", AGENT_AT + 1), ("claude", AGENT_AT), ("bash*", 90), ("konsole", 80), ("systemd", 1)
)
AGENT = known(Peer(RELAY, "boot"))
BELOW = Peer(line(("python3", 300), ("sh", 299), ("claude", AGENT_AT), ("systemd", 1)), "boot")


def acts(peer: Peer, agents: tuple[Connection, ...] = (AGENT,)) -> str:
    """Answer as what whoever runs a command acts."""
    principal = principal_of(peer, {one.id for one in agents})
    process = None
    if principal is not None:
        process = connection_of(peer, principal, project="p", agent="", client="", now=NOW)
    origin = Origin(boot=peer.boot, process=process, doubt=None if process else doubt_of(peer))
    here = [one for one in agents if one.boot == peer.boot]
    return authority(
        Actor(kind="human", name="ann", principal=principal),
        (),
        origin,
        lambda: may_be_agent(origin, here),
    )


PEOPLE = {
    "a terminal of the window that the agent runs in": shell(("konsole", 80), ("systemd", 1)),
    "a terminal that was open before the agent": shell(("xterm", 95), ("systemd", 1)),
    "the terminal of the editor that runs the agent": shell(("code", 70), ("systemd", 1)),
    "tmux from before the agent": shell(("tmux", 60), ("systemd", 1)),
    "a login over ssh or at the console": shell(("sshd", 250), ("systemd", 1), unit=LOGIN),
    "sudo in such a terminal": Peer(
        line(("python3", 300), ("sudo", 299), ("bash*", 298), ("konsole", 80), ("systemd", 1)),
        "boot",
    ),
    "another account by su": Peer(
        line(
            ("python3", 300),
            ("bash", 299),
            ("su", 298),
            ("bash*", 297),
            ("tmux", 60),
            ("systemd", 1),
        ),
        "boot",
    ),
    "a job of a runner that was there before": Peer(
        line(("python3", 300), ("bash", 299), ("runner", 50), ("systemd", 1)), "boot"
    ),
    "a timer of the system": Peer(
        line(("python3", 300), ("sh", 299), ("cron", 30), ("systemd", 1)), "boot"
    ),
    "a terminal after the machine was started again": shell(
        ("xterm", 250), ("systemd", 1)
    )._replace(boot="next"),
}
MAYBE = {
    "a terminal that was opened after the agent": shell(("xterm", 250), ("systemd", 1)),
    "tmux from after the agent": shell(("tmux", 250), ("systemd", 1)),
    "a unit of one's own systemd": Peer(line(("python3", 300), ("systemd", 20)), "boot"),
    "what an agent has left": Peer(line(("python3", 300), ("node", 250), ("systemd", 1)), "boot"),
    "an orphan": Peer(line(("python3", 300), ("systemd", 1)), "boot"),
    "a container of the same machine": shell()._replace(namespace="4026532"),
    "a line that is cut": shell(("xterm", 95), top=7),
    "a namespace of one's own, looked at from outside": Peer((), "boot", is_foreign=True),
    "where the kernel shows nothing": Peer((), "boot"),
    "the shell of the agent": BELOW,
}


@pytest.mark.parametrize("who", PEOPLE)
def test_a_person_is_one_wherever_no_agent_can_have_started_him(who: str) -> None:
    assert acts(PEOPLE[who]) == "person"


@pytest.mark.parametrize("who", MAYBE)
def test_who_may_be_an_agent_counts_as_one(who: str) -> None:
    """As soon as one is known in the same boot; before that nobody can be one of them."""
    assert acts(MAYBE[who]) == "agent"
    assert acts(MAYBE[who], ()) == "person"


def test_behind_what_is_mounted_over_the_processes_anybody_may_be_an_agent() -> None:
    """Whoever sees nothing of his own making sees no agent either."""
    assert acts(Peer((), "boot", is_covered=True), ()) == "agent"


def test_what_an_agent_starts_is_that_agent_before_its_connection_was_kept() -> None:
    """However it is known that it has connected; that one of another boot is known makes nobody one."""
    inner = Peer(
        line(("python3", 300), ("make", 299), ("claude", AGENT_AT), ("systemd", 1)), "boot"
    )
    principal = principal_of(inner, ())
    assert principal is not None
    own = connection_of(inner, principal, project="p", agent="", client="", now=NOW)
    origin = Origin(boot="boot", process=own)
    assert own.id != AGENT.id
    assert is_agent(origin, [AGENT])
    assert may_be_agent(origin, [AGENT])
    assert not is_agent(Origin(boot="boot"), [AGENT])
    assert not may_be_agent(Origin(boot="next"), [AGENT])


def test_what_a_server_starts_is_nobody_whatever_it_brings() -> None:
    """With the scope of a maintainer, and with the signature of a person too."""
    served = Origin(boot="boot", doubt="served")
    for kind in ("human", "agent"):
        actor = Actor(kind=kind, name="ann")
        assert authority(actor, {"maintain"}, served, lambda: False) == "nobody"
    signed = Actor(kind="human", name="ann", principal=Principal(strength="person", id="key"))
    assert authority(signed, (), served, lambda: True) == "nobody"
    assert authority(signed, (), Origin(boot="boot"), lambda: True) == "signed"


def test_who_connects_is_an_agent_and_the_program_is_itself() -> None:
    """Nobody is asked about them; a maintainer is one by his credential."""
    found = [
        authority(Actor(kind=kind, name="x"), scopes, Origin(), lambda: False)
        for kind, scopes in (("agent", ()), ("agent", ("maintain",)), ("system", ()))
    ]
    assert found == ["agent", "maintainer", "program"]


def test_a_maintainer_who_worked_takes_nothing_away_from_all_work_and_an_agent_never_does():
    """A person does, whatever ran in the same terminal."""
    roles = ("person", "signed", "program", "maintainer", "agent", "nobody")
    assert [may_loosen_all(role, has_worked=True) for role in roles] == [True] * 3 + [False] * 3
    assert [may_loosen_all(role, has_worked=False) for role in roles] == [True] * 4 + [False] * 2
