"""What the tests of the command line share: a repository, a ledger with work, a way to call."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from builders import carry_trust, git
from counterpoint.app import App, open_app
from counterpoint.cli.main import run
from counterpoint.core.coordinator import Core
from fakes.harbour import agent_of, fill, where_it_is


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What one call of the command line came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The document on standard output."""
        return json.loads(self.out)


Call = Callable[..., Said]
Start = Callable[..., "subprocess.Popen[bytes]"]

PATIENCE = 20.0
"""Seconds that a test waits for a process before it fails."""


@pytest.fixture(scope="session")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository `harbour` with a plan in its ledger, one task held, one blocked; never changed."""
    folder = tmp_path_factory.mktemp("made") / "harbour"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "hull.txt").write_text("oak\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    fill(open_app(folder, {}))
    return folder


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to stand in, with an environment in which no client is found."""
    for name in list(os.environ):
        if name.startswith("COUNTERPOINT_"):
            monkeypatch.delenv(name)
    # A server leaves with its last client, so that none outlives its test.
    monkeypatch.setenv("COUNTERPOINT_IDLE_MINUTES", "0")
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("git", "sh"):
        (programs / name).symlink_to(shutil.which(name) or name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("USER", "ann")
    folder = tmp_path / "harbour"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def ledger(harbour: Path, place: Path) -> Path:
    """A copy of the repository `harbour`, to stand in."""
    shutil.copytree(harbour, place, dirs_exist_ok=True)
    carry_trust(harbour / ".counterpoint/ledger.db", place / ".counterpoint/ledger.db")
    return place


@pytest.fixture
def app(ledger: Path) -> Iterator[App]:
    """The app of the copy, to change and to look at what commands changed."""
    opened = open_app(ledger, where_it_is())
    yield opened
    opened.close()


@pytest.fixture
def agent(app: App) -> Core:
    """An agent at work in the copy."""
    return agent_of(app)


@pytest.fixture
def start(place: Path) -> Iterator[Start]:
    """Start the command line as a process of its own, ended with the test."""
    running: list[subprocess.Popen[bytes]] = []

    def start_(*words: str, **more: Any) -> subprocess.Popen[bytes]:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        command = [sys.executable, "-m", "counterpoint", *words]
        running.append(subprocess.Popen(command, **{"cwd": place, **pipes, **more}))
        return running[-1]

    yield start_
    for process in running:
        process.kill()
        process.wait(PATIENCE)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()


class Terminal(io.StringIO):
    """A stream that says that it is a terminal, and can act on what it hears."""

    def __init__(self) -> None:
        super().__init__()
        self.acts: dict[str, Callable[[], object]] = {}

    def on(self, word: str, act: Callable[[], object]) -> None:
        """Act once when a word is written."""
        self.acts[word] = act

    def write(self, text: str) -> int:
        written = super().write(text)
        for word in [word for word in self.acts if word in text]:
            self.acts.pop(word)()
        return written

    def isatty(self) -> bool:
        """Answer that it is one."""
        return True


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[], tuple[Terminal, Terminal]]:
    """Make standard output and standard error a terminal, from the call of this on."""

    def begin() -> tuple[Terminal, Terminal]:
        out, err = Terminal(), Terminal()
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.delenv("NO_COLOR", raising=False)
        return out, err

    return begin


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """Run one command in this process."""

    def call_(*words: str) -> Said:
        capsys.readouterr()
        code = run(words)
        said = capsys.readouterr()
        return Said(code=code, out=said.out, err=said.err)

    return call_
