"""Which processes serve an agent of a ledger, by what the kernel shows of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from counterpoint.cli.grouping import cli
from counterpoint.evidence import procfs
from counterpoint.evidence.trust import connected
from counterpoint.evidence.trust.connected import serving
from counterpoint.settings import masked

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="there the server is asked alone")
WAITS = "import sys; print(flush=True); sys.stdin.read()"


@pytest.mark.parametrize(
    ("words", "environ", "ledger"),
    [
        ("./counterpoint mcp", {}, ""),
        ("./counterpoint mcp --db a --surface x", {"COUNTERPOINT_DB": "b"}, "a"),
        ("-u -X utf8 -m counterpoint mcp --db=c", {}, "c"),
        ("./counterpoint mcp", {"COUNTERPOINT_DB": "b"}, "b"),
        ("./counterpoint --debug mcp", {}, ""),
        ("-m counterpoint --debug -- mcp --db c", {}, "c"),
        ("./counterpoint serve mcp", {}, None),
        ("./other counterpoint mcp", {}, None),
    ],
)
def test_who_serves_an_agent_is_known_by_how_it_was_started(
    tmp_path: Path, words: str, environ: dict[str, str], ledger: str | None
) -> None:
    """With the folder and the ledger that it was named, and only as long as it is there."""
    for name in ("counterpoint", "counterpoint.py", "other"):
        (tmp_path / name).write_text(WAITS)
    asked: list[tuple[str, str]] = []

    def is_of(folder: str, named: str) -> bool:
        asked.append((folder, named))
        return folder == str(tmp_path)

    with subprocess.Popen(
        [sys.executable, *words.split()],
        cwd=tmp_path,
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert (process.pid in serving(is_of)) == (ledger is not None)
        assert ((str(tmp_path), ledger) in asked) == (ledger is not None)
        assert process.pid not in serving(lambda _folder, _named: False)
        process.communicate()
    assert process.pid not in serving(is_of)


def test_no_option_before_a_command_takes_a_value() -> None:
    """So whatever begins with a stroke is passed over on the way to the command."""
    assert all(isinstance(one, click.Option) and one.is_flag for one in cli.params)


def test_who_runs_other_code_serves_nobody(tmp_path: Path) -> None:
    """As a program that has others started by the words that it was given."""
    words = [sys.executable, "-c", WAITS, sys.executable, "-m", "counterpoint", "mcp"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert process.pid not in serving(lambda _folder, _named: True)
        process.communicate()


def test_who_hides_its_ledger_may_be_of_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a namespace of users, where nobody above is looked into; what has ended is of none."""
    for name in ("7", "8"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "cmdline").write_text("counterpoint\0mcp\0")
    (tmp_path / "7" / "cwd").symlink_to(tmp_path)
    (tmp_path / "7" / "environ").write_text("A=1\0")
    root = os.open(tmp_path, os.O_PATH)
    monkeypatch.setattr(procfs, "_root", lambda: root)

    def denied(_folder: str, _named: str) -> bool:
        raise PermissionError

    assert [*serving(denied)] == [7]
    monkeypatch.setattr("os.getuid", lambda: -1)
    assert [*serving(denied)] == []
    os.close(root)


@pytest.mark.parametrize(
    ("place", "folder", "ledger", "is_there"),
    [
        ("/a/.counterpoint/ledger.db", "/a", "", True),
        ("/a/l.db", "/a", "l.db", True),
        ("/a/l.db", "/a/b", "l.db", False),
        ("/a/l.db", "/b", "/a/l.db", True),
        ("/a/l.db", "/a", "postgresql://ann@host/l", False),
        ("postgresql://ann@host/l", "/a", "", False),
        (masked("postgresql://ann:one@host/l"), "/a", "postgresql://ann:two@host/l", True),
    ],
)
def test_a_ledger_is_the_same_however_it_was_named(
    place: str, folder: str, ledger: str, is_there: bool
) -> None:
    """By a path from its folder or the root, by its folder alone, or by an address, whose password is not shown."""
    assert connected._is_at(place, folder, ledger) == is_there
