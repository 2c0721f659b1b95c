"""What decides about work and trust comes from people, whatever a server or an agent leaves behind."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from builders import let_run
from counterpoint.app import App
from fakes.windows import LEFT, Agent, work

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

PROGRAM = f"{sys.executable} -P -m counterpoint"
DECIDES = {
    "approve": "approve {phase}",
    "make a credential": "agent create second --maintain",
    "renew a credential": "agent renew first",
    "end a credential": "agent revoke first",
    "ask for less": "policy --reviews declared",
    "take texts away": "audit redact {phase} --reason tidy",
    "open an epoch": "audit epoch --reason restored",
    "free a claim": "release {phase}",
}
"""What a person decides at the command line, and no agent."""

WHY_NO_PERSON = ("Counterpoint cannot tell", "an agent has started this command")


@pytest.fixture
def decided(app: App) -> Callable[[], list[str]]:
    """Answer what was decided in the ledger by whoever is no agent with its tools."""

    def found() -> list[str]:
        entries = app.person().audit.log(limit=200)
        made = {
            "item.approved",
            "token.created",
            "token.renewed",
            "token.revoked",
            "policy.changed",
            "claim.released",
        }
        return [
            one.action for one in entries if one.action in made | {"text.redacted", "epoch.opened"}
        ]

    return found


# With a database on a server each agent's `counterpoint mcp` is alone, and what it starts is that agent.
@pytest.mark.parametrize("where", ["sqlite"], indirect=True)
def test_what_a_server_starts_decides_nothing(
    repository: Path,
    hire: Callable[[], Agent],
    phase: str,
    decided: Callable[[], list[str]],
    tmp_path: Path,
) -> None:
    """The command of a check is nobody's, also when whoever started the server is gone."""
    # Where a sandbox hides the ledger nothing could be tried.
    let_run(repository, sandbox="off")
    first, worker, other = Agent(repository), hire(), hire()
    work(worker)
    other.does("brief")
    first.close()
    before = decided()
    commands = [f"{PROGRAM} {act.format(phase=phase)}" for act in DECIDES.values()]
    hidden = [f"setsid -w {commands[0]}", f"env -i PATH=/usr/bin:/bin {commands[0]}"]
    if not other.order(run=["unshare", "-rm", "true"])["code"]:
        # Its files are not to be seen from there, and the project lies elsewhere.
        moved = f"mount --bind {repository} {tmp_path} && cd {tmp_path} && {commands[0]}"
        hidden.append(f"unshare -rm sh -c {shlex.quote(moved)}")
    for line in [*commands, *hidden]:
        refused = f"{line} 2>&1 | grep 'for one of its callers'"
        ran = other.does("verify", id=phase, command=["sh", "-c", refused])
        assert ran["passed"], ran
    assert decided() == before


def test_who_may_be_what_an_agent_left_decides_nothing(
    worker: Agent, phase: str, decided: Callable[[], list[str]]
) -> None:
    left, before = worker.hires(*LEFT), decided()
    for act in DECIDES.values():
        ran = left.runs(*act.format(phase=phase).split())
        assert ran["code"] == 1, ran
        assert any(why in ran["err"] for why in WHY_NO_PERSON), ran
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
        assert "Counterpoint cannot tell" in (repository / "said").read_text()
    assert decided() == before
