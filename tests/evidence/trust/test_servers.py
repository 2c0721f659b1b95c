"""Which process is a server of a ledger, whatever is done to its files."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from counterpoint.evidence.trust.servers import is_server, says_it_serves

HOLDS = "import sys; held = open(sys.argv[1]); print(); sys.stdin.read()"


@contextmanager
def started(*words: str) -> Iterator[int]:
    """Start a process that says a line and waits for the end of its input; answer its number."""
    process = subprocess.Popen(
        [sys.executable, "-c", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield process.pid
    finally:
        process.communicate()


@pytest.mark.skipif(sys.platform == "darwin", reason="there a server makes itself known")
def test_who_holds_the_lock_is_a_server_after_the_file_is_gone_too(tmp_path: Path) -> None:
    """The kernel goes on naming the file."""
    lock, database = tmp_path / "ledger.db-server.lock", str(tmp_path / "ledger.db")
    lock.touch()
    with started(HOLDS, str(lock)) as pid:
        assert is_server(pid, database, str(lock))
        lock.unlink()
        assert is_server(pid, database, str(lock))
        assert not is_server(os.getpid(), database, str(lock))
    assert not is_server(pid, database, str(lock))


def test_what_a_server_has_made_known_counts_where_the_kernel_shows_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that nobody can read names none."""
    monkeypatch.setattr(sys, "platform", "darwin")
    lock, known = str(tmp_path / "l-server.lock"), tmp_path / "l-server.json"
    assert not is_server(7, "l", lock)
    known.write_text('{"pid": 7}')
    assert is_server(7, "l", lock)
    assert not is_server(8, "l", lock)


@pytest.mark.parametrize(
    ("words", "serves"),
    [
        ("python -P -m counterpoint serve --db /a/l.db --ready-fd 3", True),
        ("/venv/bin/counterpoint up --port 0", True),
        ("/venv/bin/counterpoint serve --db=/a/l.db", True),
        ("counterpoint serve --db l.db", True),
        ("counterpoint serve --db /other/l.db", False),
        ("counterpoint mcp", False),
        ("node serve", False),
        ("", False),
    ],
)
def test_a_server_is_known_by_its_words(words: str, serves: bool) -> None:
    """For this ledger, or where they do not say for which."""
    assert says_it_serves(words.split(), "/a/l.db") == serves


@pytest.mark.skipif(sys.platform == "darwin", reason="there are no namespaces there")
def test_who_is_shown_no_files_of_a_server_takes_its_words(tmp_path: Path) -> None:
    """In namespaces of one's own the path of a ledger means nothing, and it is in none of the files that are seen."""
    alone = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this kernel lets nobody open a namespace")
    ask = "from counterpoint.evidence.trust.servers import is_server; import sys\n"
    ask += "print([is_server(int(pid), '/here/l.db', '/none') for pid in sys.argv[1:]])"
    said = "print(); import sys; sys.stdin.read()"
    words = ("counterpoint", "serve", "--db", "/there/l.db")
    with started(said, *words) as server, started(said) as other:
        asked = [sys.executable, "-c", ask, str(server), str(other)]
        found = [subprocess.check_output([*way, *asked], text=True) for way in ([], alone)]
    assert found == ["[False, False]\n", "[True, False]\n"]
