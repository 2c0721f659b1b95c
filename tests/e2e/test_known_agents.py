"""Whom the command line knows as an agent, by whatever it is connected and to whichever ledger."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builders import AgentProgram, copy_repository
from counterpoint.app import App, open_app
from fakes.callers import Caller, Server

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

DECIDES = (
    ("policy", "--reviews", "declared"),
    ("agent", "create", "second"),
    ("agent", "create", "third", "--maintain"),
)
"""What a person decides at the command line, and no agent."""


@pytest.mark.alike
@pytest.mark.parametrize(
    "is_open", [True, pytest.param(False, marks=pytest.mark.long)], ids=["open", "token"]
)
def test_beside_who_worked_over_http_nobody_decides_without_a_key(
    counterpoint: Callable[..., Any], repository: Path, app: App, is_open: bool
) -> None:
    """With a token and without one, also when the server has gone; each refusal says what a person does."""
    assert app.ports
    token = ""
    if not is_open:
        token = counterpoint("token", "create", "ci", cwd=repository).stdout.strip()
    server = Server(repository)
    try:
        caller = Caller(server, token)
        caller.does("plan", markdown="# Ship\n## Build\n- review: yes\n- [ ] Parse\n")
        phase = app.person().items.project().prefix + "-2"
        claim = caller.does("next", claim=True)["claim"]
        done = {"token": claim["token"], "outcome": "done", "summary": "It stands"}
        caller.does("finish", id=claim["item"], **done)
        assert caller.call("review", id=phase, verdict="approve", reason="fine")["isError"]
    finally:
        server.close()
    for act in (("approve", phase), *DECIDES):
        ran = counterpoint(*act, cwd=repository)
        assert (ran.returncode, "worked over HTTP" in ran.stderr) == (1, True), ran
        assert "counterpoint key add" in ran.stderr
    assert "worked over HTTP" in counterpoint("status", "--long", cwd=repository).stdout
    assert app.person().items.get(phase).status != "done"


@pytest.mark.parametrize("where", ["sqlite"], indirect=True)
def test_an_agent_of_any_ledger_is_one_in_all_and_whatever_stands_before_its_command(
    where: str, repository: Path, pristine_repository: Path, tmp_path: Path, app: App
) -> None:
    """In its own shell alone: a person of the other ledger is none for it."""
    del where
    assert app.ports
    other = copy_repository(pristine_repository, tmp_path / "other")
    far = open_app(other, os.environ)
    assert far.ports
    agent = AgentProgram(repository)
    try:
        # Nothing has been written, and no server met it: what stands in its words is all that tells.
        agent.order(connect="main", before=["--debug"], words=["--in-process"])
        for act in DECIDES:
            ran = agent.runs(*act)
            assert (ran["code"], "an agent has started this command" in ran["err"]) == (1, True), (
                ran
            )
            line = f"cd {other} && {sys.executable} -m counterpoint {' '.join(act)}"
            ran = agent.order(run=["sh", "-c", line])
            assert (ran["code"], "an agent has started this command" in ran["err"]) == (1, True), (
                ran
            )
        words = [sys.executable, "-m", "counterpoint", "agent", "create", "first"]
        subprocess.run(words, cwd=other, check=True, capture_output=True, timeout=60)
    finally:
        agent.close()
        made = [one.name for one in far.person().tokens.list("agent")]
        far.close()
    assert made == ["first"]
