"""The units that start a server under an account of its own."""

from __future__ import annotations

import plistlib
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from configparser import RawConfigParser
from pathlib import Path

import pytest

from counterpoint.cli.server.serve import serve_command

PACKAGING = Path(__file__).parents[2] / "packaging"
SYSTEMD = PACKAGING / "systemd" / "counterpoint@.service"
LAUNCHD = PACKAGING / "launchd" / "org.counterpoint.NAME.plist"


def _systemd() -> RawConfigParser:
    unit = RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign] -- keys keep their capitals
    unit.read_string(SYSTEMD.read_text())
    return unit


def _commands() -> Iterator[tuple[list[str], dict[str, str]]]:
    service = _systemd()["Service"]
    environ = dict(one.split("=", 1) for one in service["Environment"].split())
    yield shlex.split(service["ExecStart"]), environ
    job = plistlib.loads(LAUNCHD.read_bytes())
    yield job["ProgramArguments"], job["EnvironmentVariables"]


def test_both_units_start_what_there_is() -> None:
    """The words are those of the command, and ledger and state lie in the account's own folder."""
    for (program, command, *words), environ in _commands():
        assert (program, command) == ("/usr/local/bin/counterpoint", "serve")
        with serve_command.make_context("serve", words) as context:
            assert context.params["at"]
            assert Path(context.params["db"]).is_relative_to(environ["HOME"])
            state = Path(environ.get("XDG_STATE_HOME", environ["HOME"]))
            assert state.is_relative_to(environ["HOME"])


def test_the_page_installs_the_units_by_their_names() -> None:
    page = (PACKAGING.parent / "docs" / "service.md").read_text()
    named = set(re.findall(r"packaging/[\w./@-]+", page))
    assert {SYSTEMD, LAUNCHD} == {PACKAGING.parent / one for one in named}


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not here")
def test_systemd_finds_the_unit_safe() -> None:
    """It knows every line, and what is left to the service is next to nothing."""
    ran = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", str(SYSTEMD)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "Unknown" not in ran.stderr
