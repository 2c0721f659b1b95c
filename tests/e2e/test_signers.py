"""Signers that are programs: writes do not wait for them, and their memory is their own."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set a signer whose state is that of somebody else, and give that."""
    there = tmp_path / "elsewhere"
    words = ["env", f"XDG_STATE_HOME={there}", sys.executable, "-m", "counterpoint", "signer"]
    monkeypatch.setenv("COUNTERPOINT_SIGNER", f"command:{shlex.join(words)}")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "here"))
    return there


Run = Callable[..., Any]


@pytest.fixture
def run(counterpoint: Run, repository: Path) -> Run:
    """Give the command line in the repository: what it says as JSON, or the refusal if it fails."""

    def start(*words: str, code: int = 0) -> Any:
        ran = counterpoint(*words, "--json", cwd=repository)
        assert ran.returncode == code, ran
        return json.loads(ran.stdout) if code == 0 else ran.stdout + ran.stderr

    return start


def work(connect: Run, repository: Path, run: Run) -> dict[str, Any]:
    """Have an agent write something and its server end; answer what is signed."""
    agent = connect(repository)
    agent.call("note", kind="finding", text="Knots")
    run("down")
    agent.close()
    return run("status")["ledger"]


@pytest.mark.long
def test_a_signer_of_another_state_keeps_key_and_memory_there(
    connect: Run, repository: Path, run: Run, elsewhere: Path, tmp_path: Path
) -> None:
    """The server has its ledger signed by it, and every look asks it; a rollback is refused by what it remembers."""
    ledger = work(connect, repository, run)
    assert ledger["signed"] == ledger["size"] > 0
    run("audit", "verify")
    assert not (tmp_path / "here" / "counterpoint" / "signer").exists()
    (key,) = elsewhere.rglob("ed25519")
    assert key.stat().st_mode & 0o777 == 0o600
    database = repository / ".counterpoint" / "ledger.db"
    shutil.copy(database, tmp_path / "old.db")
    assert work(connect, repository, run)["signed"] > ledger["signed"]
    for beside in database.parent.glob("ledger.db-*"):
        if beside.is_file() and beside.suffix in {".db-wal", ".db-shm"}:
            beside.unlink()
    shutil.copy(tmp_path / "old.db", database)
    assert "cut off" in json.dumps(run("status"))


def test_without_its_program_writes_go_on_and_wait_for_their_signature(
    connect: Run, repository: Path, run: Run, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The status says why; when it is back, all of it is signed."""
    working = os.environ["COUNTERPOINT_SIGNER"]
    monkeypatch.setenv("COUNTERPOINT_SIGNER", "command:/no/such/program --at all")
    ledger = work(connect, repository, run)
    assert (ledger["signed"], ledger["size"] > 0) == (0, True)
    assert "/no/such/program" in json.dumps(ledger)
    assert not elsewhere.exists()
    monkeypatch.setenv("COUNTERPOINT_SIGNER", working)
    ledger = work(connect, repository, run)
    assert ledger["signed"] == ledger["size"]


@pytest.mark.long
def test_machines_on_one_database_share_a_signer(
    counterpoint: Run, repository: Path, databases: Any, tmp_path: Path
) -> None:
    """With one of its own the second machine is told of the way, and nothing else keeps it from work; with that of the first both find all sound."""
    address = databases.empty()
    state = {name: str(tmp_path / name) for name in ("first", "second")}
    shared = f"env XDG_STATE_HOME={state['first']} {sys.executable} -m counterpoint signer"

    def at(machine: str, *words: str, signer: str = "") -> Any:
        told = {"COUNTERPOINT_DB": address, "COUNTERPOINT_PROJECT": "harbour"}
        told |= {"XDG_STATE_HOME": state[machine]}
        told |= {"COUNTERPOINT_SIGNER": f"command:{signer}"} if signer else {}
        return counterpoint(*words, cwd=repository, env={**os.environ, **told})

    assert at("first", "init", "--yes", "--client", "claude").returncode == 0
    assert at("second", "add", "Draw the login").returncode == 0
    alone = at("second", "audit", "verify")
    assert (alone.returncode, "COUNTERPOINT_SIGNER" in alone.stdout + alone.stderr) == (1, True)
    assert at("second", "add", "Draw the exit", signer=shared).returncode == 0
    assert at("first", "add", "Draw the lobby").returncode == 0
    for name, signer in (("second", shared), ("first", "")):
        looked = at(name, "audit", "verify", signer=signer)
        assert looked.returncode == 0, looked.stdout
        assert json.loads(at(name, "status", "--json", signer=signer).stdout)["ledger"]["size"] > 3
    databases.drop(address)
