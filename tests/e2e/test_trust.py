"""Who did it and who may judge it, with the plain flags: every client has the same name."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
import pytest

from builders import AGENT_PROCESS, AgentProgram
from counterpoint.app import App
from counterpoint.cli.main import cli

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

PLAN = "# Orchard\n## Planting\n- review: yes\n- [ ] Plant the walnut\n"
APPROVES = {"verdict": "approve", "reason": "it stands"}


LEFT = ("setsid", "-f", *AGENT_PROCESS)
"""Starts a process, one level below another, that nobody is left to have started."""


class Agent(AgentProgram):
    """An agent's process of its own; what it starts is its child."""

    def __init__(self, folder: Path) -> None:
        """Start it in a folder, and let it connect as any client does."""
        super().__init__(folder)
        self.order(connect="main", words=[])

    def does(self, tool: str, connection: str = "main", **arguments: Any) -> dict[str, Any]:
        """Call a tool that must succeed."""
        told = self.order(call=connection, tool=tool, arguments=arguments)
        assert "answer" in told, told
        return told["answer"]

    def is_refused(self, tool: str, connection: str = "main", **arguments: Any) -> str:
        """Call a tool that must be refused; answer the code."""
        told = self.order(call=connection, tool=tool, arguments=arguments)
        assert "refused" in told, told
        return told["refused"]["error"]

    def hires(self, *through: str) -> Agent:
        """Let it start another agent's process, and let that connect."""
        return Hired(self, *through)


class Hired(Agent):
    """An agent's process that another agent has started."""

    def __init__(self, by: Agent, *through: str) -> None:
        """Start it, behind some words, and let it connect."""
        self._by = by
        self._name = str(id(self))
        by.order(hire=self._name, through=through)
        self.order(connect="main", words=[])

    def order(self, **order: Any) -> dict[str, Any]:
        """Have it told what to do."""
        return self._by.order(tell=self._name, order=order)


@pytest.fixture
def hire(repository: Path) -> Iterator[Callable[[], Agent]]:
    """Give what starts an agent's process in the repository."""
    with ExitStack() as held:

        def start() -> Agent:
            agent = Agent(repository)
            held.callback(agent.close)
            return agent

        yield start


@pytest.fixture
def worker(hire: Callable[[], Agent]) -> Agent:
    """Give an agent that has done the only task of a phase that is to be reviewed."""
    agent = hire()
    work(agent)
    return agent


def work(agent: Agent, connection: str = "main") -> None:
    """Let an agent do the only task of a phase that is to be reviewed."""
    agent.does("plan", connection, markdown=PLAN)
    claim = agent.does("next", connection, claim=True)["claim"]
    done = {"id": claim["item"], "token": claim["token"], "outcome": "done"}
    agent.does("finish", connection, **done, summary="It stands")


@pytest.fixture
def phase(app: App) -> str:
    """Answer the id of the phase, once it is planned."""
    return f"{app.person().items.project().prefix}-2"


def test_who_did_the_only_task_of_a_phase_does_not_approve_it(
    worker: Agent, phase: str, app: App
) -> None:
    """Neither by its tool, nor by another connection from its shell, nor by the command line from there."""
    assert worker.is_refused("review", id=phase, **APPROVES) == "forbidden"
    worker.order(connect="second", words=["--agent", "somebody-else", "--agent-type", "judge"])
    assert worker.is_refused("review", "second", id=phase, **APPROVES) == "forbidden"
    ran = worker.runs("approve", phase, "--json")
    assert ran["code"] == 1
    assert "worked on" in ran["out"] + ran["err"]
    assert app.person().items.get(phase).status != "done"


def test_another_process_with_the_same_name_judges(
    worker: Agent, hire: Callable[[], Agent], phase: str, app: App
) -> None:
    """Two windows of one client are two; the ledger tells them apart."""
    judge = hire()
    assert judge.does("review", id=phase, **APPROVES)["item"]["status"] == "done"
    acts = json.loads(worker.runs("log", "--json")["out"])["entries"]
    found = {
        entry["action"]: entry["actor"]["principal"]
        for entry in acts
        if entry["actor"]["kind"] == "agent"
    }
    assert found["item.approved"]["strength"] == found["task.finished"]["strength"] == "connection"
    assert found["item.approved"]["id"] != found["task.finished"]["id"]
    assert {entry["actor"]["name"] for entry in acts if entry["actor"]["kind"] == "agent"} == {
        "claude-code"
    }
    assert app.person().audit.rebuild().differences == ()


def test_who_reads_text_sees_who_it_was(worker: Agent, hire: Callable[[], Agent]) -> None:
    """In `log` and in `show`: two windows of one name are two, and what a window's shell did is that window's."""
    other = hire()
    record = worker.does("note", kind="blocker", text="It rains")["record"]["id"]
    other.does("note", kind="decision", text="We wait")
    assert worker.runs("unblock", record)["code"] == 0
    entries = json.loads(worker.runs("log", "--json", "--limit", "3")["out"])["entries"]
    blocked, waits, resolved = (entry["actor"] for entry in entries[-3:])
    assert blocked["principal"] == resolved["principal"] != waits["principal"]
    lines = [line for line in worker.runs("log", "--limit", "3")["out"].splitlines() if "Z" in line]
    shorts = [one["principal"]["id"][:9] for one in (blocked, waits, resolved)]
    for short, line in zip(shorts, lines, strict=True):
        assert f"connection {short}" in line
    number = entries[-1]["sequence"]
    shown = other.does("show", id=f"#{number}")["by"]
    assert shown["principal"] == f"connection {shorts[0]}"


def test_nobody_is_offered_the_paused_session_of_another_window(
    worker: Agent, hire: Callable[[], Agent]
) -> None:
    """Though both have one name; the one that paused it is."""
    other = hire()
    worker.does("handoff", action="pause", summary="lunch")
    assert other.does("brief")["next_call"]["tool"] != "handoff"


def test_a_person_approves_from_a_terminal_of_their_own(
    worker: Agent, phase: str, counterpoint: Callable[..., Any], repository: Path, app: App
) -> None:
    """What was not started by the agent is not the agent."""
    del worker
    ran = counterpoint("approve", phase, cwd=repository)
    assert ran.returncode == 0, ran.stderr
    assert app.person().items.get(phase).status == "done"


def test_a_process_that_the_worker_left_behind_does_not_judge(worker: Agent, phase: str) -> None:
    """However many levels below what takes up orphans it connects."""
    left = worker.hires(*LEFT)
    assert left.is_refused("review", id=phase, **APPROVES) == "forbidden"


def test_nobody_judges_what_a_process_that_he_may_have_left_behind_did(
    hire: Callable[[], Agent], phase: str
) -> None:
    """An agent that has others do its work in that way judges none of it."""
    agent = hire()
    work(agent.hires(*LEFT))
    assert agent.is_refused("review", id=phase, **APPROVES) == "forbidden"


def test_what_an_agent_starts_is_that_agent_also_if_it_writes_nothing_itself(
    hire: Callable[[], Agent], phase: str
) -> None:
    """It has connected: one of its children does not judge the work of another."""
    agent = hire()
    first = agent.hires()
    work(first)
    second = agent.hires()
    assert second.is_refused("review", id=phase, **APPROVES) == "forbidden"
    assert hire().does("review", id=phase, **APPROVES)["item"]["status"] == "done"


@pytest.mark.parametrize("more", [["--mount-proc"], []])
def test_nobody_gets_another_name_in_a_namespace_of_his_own(
    worker: Agent, phase: str, app: App, more: list[str]
) -> None:
    """Neither by its server nor at the command line, where he is alone."""
    alone = ["unshare", "--user", "--map-root-user", "--pid", "--fork", *more]
    if worker.order(run=[*alone, "true"])["code"]:
        pytest.skip("this kernel lets nobody open a namespace of processes")
    ran = worker.order(run=[*alone, sys.executable, "-m", "counterpoint", "approve", phase])
    assert ran["code"] == 1, ran
    assert f"cannot judge {phase}" in ran["err"]
    other = worker.hires(*alone)
    assert other.is_refused("review", id=phase, **APPROVES) == "forbidden"
    assert app.person().items.get(phase).status != "done"


@pytest.fixture
def credential(counterpoint: Callable[..., Any], repository: Path) -> Callable[..., dict[str, str]]:
    """Answer what an agent is started with once a person has made it a credential."""

    def create(name: str, *words: str) -> dict[str, str]:
        ran = counterpoint("agent", "create", name, *words, cwd=repository)
        assert ran.returncode == 0, ran.stderr
        return {"COUNTERPOINT_CREDENTIAL": ran.stdout.strip()}

    return create


IN_PROCESS = ["--in-process"]


@pytest.mark.parametrize("words", [[], IN_PROCESS], ids=["relay", "in process"])
def test_agents_below_one_process_are_told_apart_by_credentials(
    hire: Callable[[], Agent],
    phase: str,
    app: App,
    repository: Path,
    credential: Callable[..., dict[str, str]],
    words: list[str],
) -> None:
    """Each judges what the other did, and nothing of its own; without a credential the launcher judges neither."""
    launcher = hire()
    for name in ("ada", "bob"):
        launcher.order(connect=name, words=words, environ=credential(name))
    work(launcher, "ada")
    for connection in ("ada", "main"):
        assert launcher.is_refused("review", connection, id=phase, **APPROVES) == "forbidden"
    assert launcher.runs("approve", phase)["code"] == 1
    assert launcher.does("review", "bob", id=phase, **APPROVES)["item"]["status"] == "done"
    entries = json.loads(launcher.runs("log", "--json")["out"])["entries"]
    found = {one["action"]: one["actor"] for one in entries if one["actor"]["kind"] == "agent"}
    done, approved = found["task.finished"], found["item.approved"]
    assert (done["name"], approved["name"]) == ("ada", "bob")
    assert done["principal"]["strength"] == approved["principal"]["strength"] == "credential"
    assert done["principal"]["id"] != approved["principal"]["id"]
    assert app.person().audit.rebuild().differences == ()


def test_the_command_line_takes_a_credential(
    worker: Agent, hire: Callable[[], Agent], phase: str, credential: Callable[..., dict[str, str]]
) -> None:
    """As the agent that it was made for; the worker is himself with one, too."""
    given = ["env", *(f"{name}={text}" for name, text in credential("bob").items())]
    command = [*given, sys.executable, "-m", "counterpoint", "approve", phase, "--json"]
    assert worker.order(run=command)["code"] == 1
    ran = hire().order(run=command)
    assert ran["code"] == 0, ran
    assert json.loads(ran["out"])["verdict"]["agent"] == "bob"


@pytest.mark.parametrize("words", [[], IN_PROCESS], ids=["relay", "in process"])
def test_a_credential_that_is_not_in_force_is_refused_loudly(
    hire: Callable[[], Agent],
    phase: str,
    counterpoint: Callable[..., Any],
    repository: Path,
    credential: Callable[..., dict[str, str]],
    words: list[str],
) -> None:
    """Wrong from the start, or revoked under way: nobody goes on without it unawares."""
    agent, given = hire(), credential("ada")
    agent.order(connect="ada", words=words, environ=given)
    agent.does("brief", "ada")
    ran = counterpoint("agent", "revoke", "ada", cwd=repository)
    assert ran.returncode == 0, ran.stderr
    wrong = {"COUNTERPOINT_CREDENTIAL": "cpt_" + "0" * 64}
    agent.order(connect="wrong", words=words, environ=wrong)
    for connection in ("ada", "wrong"):
        assert agent.is_refused("brief", connection) == "forbidden"
    for environ in (given, wrong):
        said = counterpoint("approve", phase, cwd=repository, env=dict(os.environ) | environ)
        assert said.returncode == 1
        assert "not in force" in said.stderr


def test_a_credential_is_kept_nowhere(
    hire: Callable[[], Agent],
    phase: str,
    repository: Path,
    credential: Callable[..., dict[str, str]],
) -> None:
    """Neither in the ledger, nor in a log, nor with the server that its bearer has started."""
    given = credential("ada")
    agent = hire()
    agent.order(connect="ada", words=[], environ=given)
    secret = given["COUNTERPOINT_CREDENTIAL"]
    agent.does("note", "ada", kind="finding", text=f"it is {secret}, and {secret[4:]}")
    found = [
        path
        for path in (repository / ".counterpoint").rglob("*")
        if path.is_file() and secret.encode() in path.read_bytes()
    ]
    assert found == []


def test_an_agent_makes_no_credential_for_itself(
    worker: Agent, hire: Callable[[], Agent], phase: str
) -> None:
    """Who has written makes none; who has only connected cannot bring what it made."""
    ran = worker.runs("agent", "create", "second")
    assert (ran["code"], "cannot make a credential" in ran["err"]) == (1, True)
    other = hire()
    made = other.runs("agent", "create", "third")
    assert made["code"] == 0, made
    given = {"COUNTERPOINT_CREDENTIAL": made["out"].strip()}
    other.order(connect="third", words=[], environ=given)
    assert other.is_refused("brief", "third") == "forbidden"


PEOPLE: dict[str, tuple[str, ...]] = {
    "agent create": ("second",),
    "agent revoke": ("ada",),
    "audit epoch": ("--reason", "x"),
    "audit redact": ("ID", "--reason", "x"),
    "key add": (),
    "key recover": ("--reason", "x"),
    "key revoke": ("x", "--reason", "x"),
    "plans prune": ("--older-than", "1", "--yes"),
    "policy": ("--reviews", "declared"),
    "profile set": ("judge", "--deny", "verify"),
    "release": ("ID",),
    "token create": ("second",),
    "token revoke": ("bob",),
}
"""The commands that only people run, and with what an agent tries them; ID: of what another one holds."""
BY_PART = {"approve", "reject", "waive", "reopen", "unblock"}
"""Those that an agent may run as far as its tools do the same: not on its own work (test_judging)."""
ANYBODY = {
    *("demo", "init", "doctor", "version", "verify", "tools", "listings", "mcp", "serve", "up"),
    *("down", "status", "list", "show", "next", "find", "log", "agent list", "token list"),
    *("key list", "key export", "profile tools", "learning find", "learning judge", "vault add"),
    *("vault list", "vault on", "vault remove", "issue size", "workspace open", "phases advance"),
    *("runs ingest", "sessions sweep", "audit verify", "audit export", "audit prove"),
    *("audit rebuild", "backup", "restore", "storage move", "witness", "signer"),
}
"""Those that decide nothing about work or trust, or do what whoever has the files can do without them."""


def test_what_only_people_do_is_refused_in_an_agents_shell(
    worker: Agent, hire: Callable[[], Agent], app: App, credential: Callable[..., dict[str, str]],
    counterpoint: Callable[..., Any], repository: Path,
) -> None:  # fmt: skip
    """Every command of the command line is one of three sorts; those of people change nothing there."""
    assert {*PEOPLE} | BY_PART | ANYBODY == {*_commands(cli, ())}
    other = hire()
    other.does("plan", markdown="# Held\n- [ ] Hold it\n")
    claim = other.does("next", claim=True)["claim"]
    credential("ada")
    assert counterpoint("token", "create", "bob", cwd=repository).returncode == 0
    before = app.person().overview.state().ledger_size
    for name, words in PEOPLE.items():
        given = [claim["item"] if word == "ID" else word for word in words]
        ran = worker.runs(*name.split(), *given)
        said = ran["out"] + ran["err"]
        assert ran["code"] == 1, (name, said)
        assert "agent" in said or "terminal" in said or "no key" in said, (name, said)
    assert app.person().overview.state().ledger_size == before


def _commands(command: click.Command, path: tuple[str, ...]) -> Iterator[str]:
    if not isinstance(command, click.Group):
        yield " ".join(path)
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from _commands(found, (*path, name))


def test_a_credential_tells_who_works_in_a_container(
    hire: Callable[[], Agent], phase: str, app: App, credential: Callable[..., dict[str, str]]
) -> None:
    """Where the server sees no processes, and nobody is attested without one."""
    alone = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
    agent = hire()
    if agent.order(run=[*alone, "true"])["code"]:
        pytest.skip("this kernel lets nobody open a namespace of processes")
    inside = agent.hires(*alone)
    inside.order(connect="ada", words=[], environ=credential("ada"))
    work(inside, "ada")
    assert inside.is_refused("review", id=phase, **APPROVES) == "forbidden"
    judge = hire()
    assert judge.does("review", id=phase, **APPROVES)["item"]["status"] == "done"


PROGRAM = f"{sys.executable} -P -m counterpoint"
DECIDES = {
    "approve": "approve {phase}",
    "make a credential": "agent create second --maintain",
    "end a credential": "agent revoke first",
    "ask for less": "policy --reviews declared",
    "take texts away": "audit redact {phase} --reason tidy",
    "open an epoch": "audit epoch --reason restored",
    "free a claim": "release {phase}",
}
"""What a person decides at the command line, and no agent."""


@pytest.fixture
def decided(app: App) -> Callable[[], list[str]]:
    """Answer what was decided in the ledger by whoever is no agent with its tools."""

    def found() -> list[str]:
        entries = app.person().audit.log(limit=200)
        made = {
            "item.approved",
            "token.created",
            "token.revoked",
            "policy.changed",
            "claim.released",
        }
        return [
            one.action for one in entries if one.action in made | {"text.redacted", "epoch.opened"}
        ]

    return found


def test_what_a_server_starts_decides_nothing(
    repository: Path, hire: Callable[[], Agent], phase: str, decided: Callable[[], list[str]]
) -> None:
    """The command of a check is nobody's, also when whoever started the server is gone."""
    first, worker, other = Agent(repository), hire(), hire()
    work(worker)
    other.does("brief")
    first.close()
    before = decided()
    commands = [f"{PROGRAM} {act.format(phase=phase)}" for act in DECIDES.values()]
    hidden = [f"setsid -w {commands[0]}", f"env -i PATH=/usr/bin:/bin {commands[0]}"]
    for line in [*commands, *hidden]:
        ran = other.does("verify", id=phase, command=["sh", "-c", f"! {line}"])
        assert ran["passed"], ran
    assert decided() == before


def test_who_may_be_what_an_agent_left_decides_nothing(
    worker: Agent, phase: str, decided: Callable[[], list[str]]
) -> None:
    """It may be any agent of this boot, and so makes no credential and loosens nothing."""
    left, before = worker.hires(*LEFT), decided()
    for act in DECIDES.values():
        ran = left.runs(*act.format(phase=phase).split())
        assert ran["code"] == 1, ran
        assert "nothing tells" in ran["err"]
    assert decided() == before


def test_whom_nobody_is_left_to_have_started_decides_nothing(
    worker: Agent, repository: Path, phase: str, decided: Callable[[], list[str]]
) -> None:
    """Nothing attests him, and he may be any agent of this boot."""
    before = decided()
    os.mkfifo(repository / "ended")
    for act in ("approve", "make a credential"):
        line = f"{PROGRAM} {DECIDES[act].format(phase=phase)} 2>said; echo $? >ended"
        ran = worker.order(run=["sh", "-c", f"setsid -f sh -c '{line}'; cat ended"])
        assert ran["out"].strip() == "1", ran
        assert "nothing tells" in (repository / "said").read_text()
    assert decided() == before
