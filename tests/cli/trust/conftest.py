"""A ledger on either database, and the command line in a terminal of its own."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builders import carry_trust
from counterpoint.app import open_app
from counterpoint.settings import masked
from fakes.harbour import fill
from fakes.stored import InFile, OnServer, Stored
from fakes.terminal import Open, Terminal


@pytest.fixture(scope="session")
def served(
    databases: Any, harbour: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path, str]:
    """The repository `harbour` with the same ledger on a server, its signer's state, and where it is."""
    place = tmp_path_factory.mktemp("served")
    folder, state = place / harbour.name, place / "state"
    shutil.copytree(harbour, folder, ignore=shutil.ignore_patterns(".counterpoint"))
    address = databases.empty()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(state))
        fill(open_app(folder, {"COUNTERPOINT_DB": address}))
    return folder, state, address


@pytest.fixture
def stored(
    request: pytest.FixtureRequest,
    where: str,
    harbour: Path,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Stored]:
    """The database of the copy, for whoever can write all of it."""
    if where == "sqlite":
        shutil.copytree(harbour, place, dirs_exist_ok=True)
        carry_trust(harbour / ".counterpoint/ledger.db", place / ".counterpoint/ledger.db")
        yield InFile(path=place / ".counterpoint" / "ledger.db")
        return
    databases = request.getfixturevalue("databases")
    folder, state, source = request.getfixturevalue("served")
    shutil.copytree(folder, place, dirs_exist_ok=True)
    shutil.copytree(state, os.environ["XDG_STATE_HOME"], dirs_exist_ok=True)
    address = databases.copied(source)
    carry_trust(masked(source), masked(address))
    monkeypatch.setenv("COUNTERPOINT_DB", address)
    yield OnServer(databases=databases, address=address)
    databases.drop(address)


@pytest.fixture
def ledger(place: Path, stored: Stored) -> Path:
    """A copy of the repository `harbour`, to stand in, with its ledger on the database of the test."""
    del stored
    return place


@pytest.fixture
def at(ledger: Path) -> Iterator[Open]:
    """Start the command line in a terminal of its own."""
    opened: list[Terminal] = []

    def open_(*words: str, **environ: str) -> Terminal:
        command = [sys.executable, "-m", "counterpoint", *words]
        opened.append(Terminal(command, ledger, dict(os.environ) | environ))
        return opened[-1]

    yield open_
    for terminal in opened:
        terminal.kill()
