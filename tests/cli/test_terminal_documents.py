"""Documents on a terminal: what would steer it is shown by its number, and files and pipes get it exactly."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TITLE = "\x1b]0;owned\x07\x1b]52;c;ZXZpbA==\x07\x1b[2J\u202ework \x9b31m"
COMMANDS = (
    ("export",),
    ("export", "--format", "json"),
    ("export", "--format", "beads"),
    ("export", "--format", "github"),
    ("audit", "export"),
    ("audit", "prove", "--checkpoint"),
    ("prime",),
    ("list",),
    ("show", "tree-2"),
    ("log", "--long"),
    ("find", "work"),
    ("status", "--long"),
)
STEERING = {*map(chr, range(32)), *map(chr, range(127, 160)), "\u202e"} - {"\n", "\r", "\t"}


def run_on_terminal(tree: Path, *words: str) -> str:
    """Run a command whose output is a terminal; return all that the terminal got."""
    ours, theirs = os.openpty()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "counterpoint", *words],
            cwd=tree,
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"NO_COLOR": "1", "PAGER": "", "TERM": "xterm"},
        )
    finally:
        os.close(theirs)
    pieces = list[bytes]()
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        try:
            while piece := terminal.read(65_536):
                pieces.append(piece)
        except OSError:
            # So a terminal ends on Linux once nobody has its other side.
            pass
    assert process.wait(60) in {0, 1}
    return b"".join(pieces).decode()


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a project with an item whose title and description would steer a terminal."""
    tree = tmp_path_factory.mktemp("documents") / "tree"
    tree.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    for words in (
        ("init", "--yes"),
        ("add", "Work"),
        ("add", "Other work", "--description", TITLE),
        ("note", f"work {TITLE}", "--kind", "finding"),
    ):
        command = [sys.executable, "-m", "counterpoint", *words]
        subprocess.run(command, cwd=tree, check=True, capture_output=True, timeout=60)
    return tree


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_document_steers_no_terminal(tree: Path, words: tuple[str, ...]) -> None:
    """Neither its title, nor its clipboard, nor the direction of its lines."""
    text = run_on_terminal(tree, *words)
    assert text
    assert STEERING.isdisjoint(text), text


def test_a_pipe_gets_a_document_as_it_is(tree: Path) -> None:
    command = [sys.executable, "-m", "counterpoint", "export"]
    piped = subprocess.run(command, cwd=tree, capture_output=True, check=True, timeout=60).stdout
    subprocess.run([*command, "--output", "work.md"], cwd=tree, check=True, capture_output=True, timeout=60)  # fmt: skip
    assert piped == (tree / "work.md").read_bytes()
    assert "\x1b]52;c" in piped.decode()
    assert "\\u{1b}]52;c" in run_on_terminal(tree, "export")
