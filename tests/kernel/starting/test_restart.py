"""What decides starts anew without what the environment loads; tests/e2e/test_loaders.py shows it from outside."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from counterpoint.kernel.starting.restart import restart_without_loaders

Start = tuple[str, list[str], dict[str, str]]


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[Start]:
    """Answer the images that would take this process's place; each ends the call, as it would."""
    starts: list[Start] = []

    def replace(file: str, words: list[str], environ: dict[str, str]) -> None:
        starts.append((file, words, environ))
        sys.exit()

    monkeypatch.setattr(os, "execve", replace)
    return starts


def interpreter(folder: Path, refused: str) -> str:
    """Make an interpreter that finds the program unless it starts with a word."""
    file = folder / "python"
    file.write_text(f'#!/bin/sh\nfor word; do [ "$word" = "{refused}" ] && exit 1; done; exit 0\n')
    file.chmod(0o755)
    return str(file)


@pytest.mark.parametrize(
    ("words", "loading"),
    [
        (["approve", "T-1"], {}),
        (["show", "T-1"], {"PYTHONPATH": "/x"}),
        ([], {"LD_PRELOAD": "/x.so"}),
        (["--json", "list"], {"LD_PRELOAD": "/x.so"}),
    ],
)
def test_what_decides_nothing_or_is_loaded_nothing_goes_on(
    starts: list[Start], words: list[str], loading: dict[str, str]
) -> None:
    """In the process as it is."""
    restart_without_loaders(words, {"HOME": "/home", **loading})
    assert starts == []


@pytest.mark.parametrize("name", ["PYTHONPATH", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "LOCPATH"])
def test_what_decides_is_started_isolated_and_without_the_variable(
    starts: list[Start], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """With the words of the command, whatever flags come first, and the rest of its environment."""
    python, words = interpreter(tmp_path, ""), ["--json", "approve", "T-1"]
    monkeypatch.setattr(sys, "executable", python)
    with pytest.raises(SystemExit):
        restart_without_loaders(words, {"HOME": "/home", name: "/x"})
    isolated = [python, "-I", "-m", "counterpoint", *words]
    assert starts == [(python, isolated, {"HOME": "/home"})]


def test_where_an_isolated_interpreter_finds_no_program_another_is_started(
    starts: list[Start], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that has the packages of its user, and neither variables nor the current folder."""
    python = interpreter(tmp_path, "-I")
    monkeypatch.setattr(sys, "executable", python)
    with pytest.raises(SystemExit):
        restart_without_loaders(["trust"], {"LD_PRELOAD": "/x.so"})
    assert starts == [(python, [python, "-P", "-E", "-m", "counterpoint", "trust"], {})]


def test_where_no_clean_interpreter_finds_the_program_the_command_says_so_and_goes_on(
    starts: list[Start], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names what can load code into it, and no value."""
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    restart_without_loaders(["trust"], {"PYTHONPATH": "/secret", "LD_AUDIT": "/x"})
    assert starts == []
    told = capsys.readouterr().err
    assert told.startswith("counterpoint: LD_AUDIT, PYTHONPATH can load code into this command")
    assert "/secret" not in told
