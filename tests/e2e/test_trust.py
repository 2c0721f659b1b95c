"""Who did it and who may judge it, with the plain flags: every client has the same name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from builders import AgentProgram
from counterpoint.app import App
from counterpoint.cli.grouping import cli
from counterpoint.core.ledger.witnesses.cosignature import CosignerKey
from fakes.windows import LEFT, Agent, work

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

APPROVES = {"verdict": "approve", "reason": "it stands"}
IN_PROCESS = ["--in-process"]


@pytest.mark.both_databases
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
    listed = json.loads(worker.runs("log", "--json", "--limit", "4")["out"])["entries"]
    # The command may have had the key named that signs, which is nobody's act.
    entries = [entry for entry in listed if entry["action"] != "signer.named"][-3:]
    blocked, waits, resolved = (entry["actor"] for entry in entries)
    assert blocked["principal"] == resolved["principal"] != waits["principal"]
    shorts = [one["principal"]["id"][:9] for one in (blocked, waits, resolved)]
    whole, brief = (
        worker.runs("log", "--limit", "4", *words)["out"].splitlines() for words in (["--long"], [])
    )
    for short in shorts:
        assert any(f"connection {short}" in line for line in whole)
        assert any(short in line for line in brief)
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


def test_status_says_beside_the_command_that_only_a_key_can_judge(
    hire: Callable[[], Agent], phase: str, counterpoint: Callable[..., Any], repository: Path
) -> None:
    """What started the agent has ended: a terminal without a key is refused, and is told so before."""
    left = hire().hires(*LEFT)
    work(left)
    left.does("submit", id=phase, summary="All planted")
    ran = counterpoint("status", "--json", cwd=repository)
    (due,) = json.loads(ran.stdout)["waiting_for_you"]
    assert due["what"] == "a review by a person who signs"
    assert "only a key makes a judge somebody else" in " ".join(
        counterpoint("status", cwd=repository).stdout.split()
    )
    assert counterpoint("approve", phase, cwd=repository).returncode == 1


def test_status_advises_to_approve_what_another_window_did(
    worker: Agent, phase: str, counterpoint: Callable[..., Any], repository: Path
) -> None:
    """An agent whose launcher lives is somebody else."""
    worker.does("submit", id=phase, summary="All planted")
    ran = counterpoint("status", "--json", cwd=repository)
    (due,) = json.loads(ran.stdout)["waiting_for_you"]
    assert (due["what"], due["run"]) == ("a review", f"counterpoint approve {phase}")


def test_what_an_agent_starts_is_that_agent_also_if_it_writes_nothing_itself(
    hire: Callable[[], Agent], phase: str
) -> None:
    """It has connected: one of its children does not judge the work of another."""
    agent = hire()
    first = agent.hires()
    work(first)
    second = agent.hires()
    second.order(connect="alone", words=IN_PROCESS)
    for connection in ("main", "alone"):
        assert second.is_refused("review", connection, id=phase, **APPROVES) == "forbidden"
    assert hire().does("review", id=phase, **APPROVES)["item"]["status"] == "done"


@pytest.mark.parametrize("more", [["--mount-proc"], []])
def test_nobody_gets_another_name_in_a_namespace_of_his_own(
    worker: Agent, phase: str, app: App, more: list[str]
) -> None:
    """Neither by its server nor at the command line, where he is alone."""
    alone = [*ALONE[:-1], *more]
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


@pytest.mark.alike
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


@pytest.mark.alike
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
    app: App,
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
    with app.store.reading(app.project) as view:
        kept = [*map(bytes.decode, view.entries()), *(salted.body for _, salted in view.texts())]
    assert len(kept) > 2
    assert not any(secret in one for one in kept)


ALONE = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc")
"""Starts a process in namespaces of its own, where it sees nobody else."""


@pytest.fixture
def alone() -> list[str]:
    """Answer what starts a process where it sees nobody else, on a system that lets it."""
    if subprocess.run([*ALONE, "true"], check=False).returncode:
        pytest.skip("this kernel lets nobody open a namespace of processes")
    return [*ALONE]


@pytest.mark.alike
@pytest.mark.parametrize("words", [[], IN_PROCESS, ["--mode", "READONLY"]], ids=str)
def test_an_agent_makes_no_credential_for_itself(
    repository: Path, app: App, words: list[str]
) -> None:
    """From its handshake on, before it has written and before a server has heard of it; its shell changes no policy."""
    app.person().items.project()
    agent = AgentProgram(repository)
    try:
        # Nobody serves yet: a relay answers the handshake before it has found a server.
        agent.order(connect="main", words=words)
        decides = (("agent", "create", "second"), ("policy", "--reviews", "declared"))
        for ran in [agent.runs(*act) for act in decides]:
            assert ran["code"] == 1, ran
            assert "an agent has started this command" in ran["err"]
        assert "an agent has started this command" in agent.runs("status", "--long")["out"]
    finally:
        agent.close()
    assert app.person().tokens.list("agent") == []


# On PostgreSQL each agent serves itself: nothing is there that it came to, once it has ended.
@pytest.mark.parametrize("where", ["sqlite"], indirect=True)
def test_who_was_connected_is_an_agent_after_its_relay_has_ended(
    hire: Callable[[], Agent], repository: Path, counterpoint: Callable[..., Any]
) -> None:
    """As long as the server is there that it came to, also where it sees no process; to read leaves no trace."""
    agent, other = hire(), hire()
    agent.does("brief")
    other.does("brief")
    agent.order(disconnect="main")
    create = [sys.executable, "-m", "counterpoint", "agent", "create"]
    alone = [*ALONE] if not agent.order(run=[*ALONE, "true"])["code"] else []
    for ran in (agent.order(run=[*before, *create, "second"]) for before in ([], alone)):
        assert ran["code"] == 1, ran
        assert "cannot make a credential" in ran["err"]
    # Who was there before it is the person he was.
    assert counterpoint("agent", "create", "first", cwd=repository).returncode == 0


PEOPLE: dict[str, tuple[str, ...]] = {
    "agent create": ("make a credential", "second"),
    "agent renew": ("renew a credential", "ada"),
    "agent revoke": ("end a credential", "ada"),
    "audit epoch": ("open an epoch", "--reason", "x"),
    "audit redact": ("take texts away", "ID", "--reason", "x"),
    "key add": ("at a terminal, by a person",),
    "key recover": ("at a terminal, by a person", "--reason", "x"),
    "key revoke": ("there is no key 'x'", "x", "--reason", "x"),
    "plans prune": ("take texts away", "--older-than", "1", "--yes"),
    "policy": ("change what this project asks of reviews", "--reviews", "declared"),
    "trust": ("say which commands are run here", "--allow", "make"),
    "profile set": ("say what a role may do", "judge", "--deny", "verify"),
    "release": ("end the claim of another", "ID"),
    "token create": ("make a credential", "second"),
    "token renew": ("renew a credential", "bob"),
    "token revoke": ("end a credential", "bob"),
}
"""The commands that only people run, why an agent does not, and with what it tries; ID: of what another one holds."""
BY_PART = {
    *("approve", "reject", "waive", "reopen", "unblock", "import foundry", "import backlog"),
    *("import beads", "import counterpoint", "import github", "import linear", "import markdown"),
    *("import openspec", "import spec-kit", "import task-master", "import vibe-kanban"),
    *("plan", "add", "edit", "note", "start", "finish", "submit", "handoff", "check"),
    "project adopt",
}
"""Those that an agent may run as far as its tools do the same: not on its own work (test_judging), and where nothing changes."""
ANYBODY = {
    *(
        "demo",
        "init",
        "doctor",
        "version",
        "verify",
        "tools",
        "listings",
        "mcp",
        "serve",
        "up",
        "board",
    ),
    *(
        "down",
        "status",
        "list",
        "show",
        "next",
        "supervise",
        "find",
        "log",
        "top",
        "diff",
        "help",
        "completion",
        "agent list",
        "token list",
    ),
    *("token local", "prime", "export", "provider list", "provider status", "provider test"),
    *("provider login", "provider logout"),
    *("key list", "key export", "profile tools", "learning find", "learning judge", "vault add"),
    *("vault list", "vault on", "vault remove", "issue size", "workspace open", "phases advance"),
    *(
        "runs ingest",
        "event",
        "sessions list",
        "sessions sweep",
        "audit verify",
        "audit export",
        "audit prove",
        "audit cosign",
        "audit reads",
    ),
    *("service install", "service remove"),
    *("audit rebuild", "audit trailer", "backup", "restore", "storage move", "witness", "signer"),
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
    for words in (["start", claim["item"]], ["finish", claim["item"], "-m", "x"]):
        assert worker.runs(*words)["code"] == 1
    credential("ada")
    assert counterpoint("token", "create", "bob", cwd=repository).returncode == 0
    before = _acts(app)
    for name, (why, *words) in PEOPLE.items():
        given = [claim["item"] if word == "ID" else word for word in words]
        ran = worker.runs(*name.split(), *given)
        refusal = why if name.startswith("key") else f"an agent cannot {why}"
        assert (ran["code"], refusal in ran["err"]) == (1, True), (name, ran)
    key = CosignerKey(name="w1", public_key=bytes(32)).to_text()
    for why, *words in (
        ("say which witnesses must sign", "--witnesses", "1", "--witness", key),
        ("an agent cannot", "--reads", "on"),
        ("an agent cannot", "--signers", "2"),
    ):
        ran = worker.runs("policy", *words)
        assert (ran["code"], why in ran["err"]) == (1, True), ran
    assert _acts(app) == before


def _acts(app: App) -> list[str]:
    """Answer what was done, but that the signer was named: that comes with the first signature, in the background."""
    done = [one.action for one in app.person().audit.log(limit=200)]
    return [action for action in done if action != "signer.named"]


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
    hire: Callable[[], Agent],
    phase: str,
    alone: list[str],
    credential: Callable[..., dict[str, str]],
    where: str,
) -> None:
    """Where the server sees no processes, and nobody is attested without one."""
    # A person makes them before any agent is in a namespace of its own.
    ada, bob = credential("ada"), credential("bob")
    inside = hire().hires(*alone)
    inside.order(connect="ada", words=[], environ=ada)
    work(inside, "ada")
    assert inside.is_refused("review", id=phase, **APPROVES) == "forbidden"
    judge, connection = hire(), "main"
    if where == "postgresql":
        # There the agent serves itself and knows its process; nothing tells one from those of another namespace but a credential.
        assert judge.is_refused("review", id=phase, **APPROVES) == "forbidden"
        judge.order(connect="bob", words=[], environ=bob)
        connection = "bob"
    assert judge.does("review", connection, id=phase, **APPROVES)["item"]["status"] == "done"


# Out of such a namespace nobody comes to a PostgreSQL server that runs under another account.
@pytest.mark.parametrize("where", ["sqlite"], indirect=True)
def test_a_credential_hides_no_process(
    worker: Agent, phase: str, alone: list[str], credential: Callable[..., dict[str, str]]
) -> None:
    """Out of a namespace of its own nobody judges with one what a process did that is known without."""
    inside = worker.hires(*alone)
    inside.order(connect="ada", words=[], environ=credential("ada"))
    assert inside.is_refused("review", "ada", id=phase, **APPROVES) == "forbidden"
