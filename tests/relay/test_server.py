"""How a relay finds a server, or starts one, and what it says where it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from counterpoint.kernel.places import find_prefix
from counterpoint.relay import server
from counterpoint.relay.server import Refused


def test_the_last_words_of_a_log_are_its_last_line(tmp_path):
    """One that is missing or empty said nothing."""
    log = tmp_path / "log"
    assert server._last_words(str(log)) == "it said nothing"
    log.write_text("\n\n")
    assert server._last_words(str(log)) == "it said nothing"
    log.write_text("first\n" + "x" * 5000 + "\nlast words \n\n")
    assert server._last_words(str(log)) == "last words"


def test_a_server_that_does_not_start_is_refused(tmp_path, monkeypatch):
    """Its log is begun anew when it has grown too long."""
    log = Path(find_prefix(str(tmp_path / "x.db")) + ".log")
    log.write_text("x" * 2_000_000)
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(Refused, match="does not start: it said nothing"):
        server.open_server(str(tmp_path / "x.db"), b"{}\n")
    assert log.stat().st_size == 0
    monkeypatch.setattr("sys.executable", "/not/there")
    with pytest.raises(Refused, match="No such file"):
        server.open_server(str(tmp_path / "x.db"), b"{}\n")


def test_a_server_of_another_account_is_never_started(tmp_path):
    """Where none listens that is said, and who can start it; nothing is made."""
    with pytest.raises(Refused, match="no server listens") as refused:
        server.open_server(f"unix:{tmp_path}/x.sock", b"{}\n")
    assert "whoever runs it" in refused.value.hint
    (tmp_path / "y.sock").mkdir()
    with pytest.raises(Refused, match=r"no server listens|cannot be reached"):
        server.open_server(f"unix:{tmp_path}/y.sock", b"{}\n")
    assert [one.name for one in tmp_path.iterdir()] == ["y.sock"]
