"""Witnesses that must have signed, at the command line, with real witnesses."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from counterpoint.cli.trust import witness
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.evidence.witnesses.local import open_local
from counterpoint.kernel.clock import SystemClock

VERIFIER = Path(__file__).parents[3] / "docs" / "verifier" / "verify.py"


class Eyes:
    """Witnesses that listen in threads of this process."""

    def __init__(self, folder: Path, key: str, stack: ExitStack) -> None:
        self._folder, self._key, self._stack = folder, key, stack
        self.servers: list[Any] = []

    def open(self) -> str:
        """Start one; answer how the settings name it."""
        folder = self._folder / f"w{len(self.servers)}"
        logs = [VerifierKey.from_text(self._key)]
        local = open_local(folder, logs, SystemClock(), f"w{len(self.servers)}")
        server = self._stack.enter_context(witness._Server(("127.0.0.1", 0), local))
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self._stack.callback(thread.join)
        self._stack.callback(server.shutdown)
        self.servers.append(server)
        return f"{local.key.to_text()} http://127.0.0.1:{server.server_port}"


@pytest.fixture
def eyes(tmp_path: Path, call: Any, ledger: Path) -> Iterator[Eyes]:
    """Give what starts witnesses of the ledger."""
    del ledger
    with ExitStack() as stack:
        assert call("audit", "prove", "--checkpoint").code == 0
        key = call("audit", "verify", "--json").json["key"]
        yield Eyes(tmp_path / "eyes", key, stack)


def second_verifier(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the small verifier."""
    return subprocess.run(
        [sys.executable, "-I", str(VERIFIER), *words], capture_output=True, text=True, check=False
    )


@pytest.mark.both_databases
def test_below_a_quorum_nothing_verifies_and_nothing_is_exported(
    call: Any, eyes: Eyes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Two of two: told while one is away, with the command that asks it, and sound once it has signed."""
    here, away = eyes.open(), eyes.open()
    monkeypatch.setenv("COUNTERPOINT_WITNESSES", here)
    asked = call(
        "policy", "--witnesses", "2", "--witness", here.split()[0], "--witness", away.split()[0]
    )
    assert asked.code == 0, asked.err
    assert "Witnesses: 2 of 2 must sign: w0, w1" in asked.out
    assert "missing   w1: `counterpoint audit cosign`" in asked.out
    for words in (("audit", "verify"), ("audit", "verify", "--quick")):
        said = call(*words)
        assert said.code == 1
        assert "quorum_missing: too few witnesses have signed" in said.out
        assert "`counterpoint audit cosign`" in said.err
    bundle = tmp_path / "ledger.bundle"
    refused = call("audit", "export", str(bundle))
    assert (refused.code, bundle.exists()) == (1, False)
    assert "w1 has not" in refused.err
    assert call("audit", "export", "--tiles", str(tmp_path / "tiles")).code == 1
    assert call("audit", "cosign").code == 1
    assert "Witnesses: 2 of 2 must sign" in call("status").out
    assert call("status", "--json").json["quorum"]["missing"] == ["w1"]
    monkeypatch.setenv("COUNTERPOINT_WITNESSES", f"{here}, {away}")
    told = call("audit", "cosign", "--json")
    assert (told.code, told.json["signed"], told.json["met"]) == (0, ["w0", "w1"], True)
    # What they have signed is kept here: nobody has to name them who verifies.
    monkeypatch.delenv("COUNTERPOINT_WITNESSES")
    found = call("audit", "verify", "--json")
    assert (found.code, found.json["quorum"]["signed"]) == (0, ["w0", "w1"])
    assert call("status", "--json").json["quorum"]["met"]
    assert call("audit", "export", str(bundle)).code == 0
    told = call("verify", str(bundle), "--json")
    assert (told.code, told.json["quorum"]["required"]) == (0, 2)
    assert second_verifier(str(bundle)).stdout.startswith("Sound")
    # The bundle loses the line of one, as whoever wants to hide its absence would hand it over.
    text = bundle.read_bytes().decode()
    dash = "\\u2014" if "\\u2014 w1" in text else "—"
    start = text.index(f"{dash} w1 ")
    stripped = text[:start] + text[text.index("\\n", start) + 2 :]
    bundle.write_bytes(stripped.encode())
    said = call("verify", str(bundle))
    assert (said.code, "quorum_missing" in said.out) == (1, True)
    assert "counterpoint audit cosign" in said.err
    refused = second_verifier(str(bundle))
    assert (refused.returncode, "too few witnesses" in refused.stderr) == (1, True)


def test_less_is_told_for_ever(call: Any, eyes: Eyes, monkeypatch: pytest.MonkeyPatch) -> None:
    """By every verification and by the log; none at all is asked for again with 0."""
    monkeypatch.setenv("COUNTERPOINT_WITNESSES", f"{eyes.open()}, {eyes.open()}")
    assert call("policy", "--witnesses", "2").code == 0
    assert call("policy", "--witnesses", "1", "--reason", "w1 is gone").code == 0
    said = call("audit", "verify")
    assert said.code == 0, said.out
    assert "lowered   entry" in said.out
    assert "not signed by a person" in said.out
    assert call("policy", "--witnesses", "0", "--json").json["quorum"]["required"] == 0
    found = call("audit", "verify", "--json").json["quorum"]
    assert (found["required"], len(found["lowered"])) == (0, 2)
    assert call("policy").out == "Reviews: attested\n"
    last = call("log", "--action", "quorum.changed", "--json").json["entries"][-1]
    assert (last["facts"]["quorum"], last["facts"]["before"]) in {(2, 0), (0, 1)}


@pytest.mark.parametrize(
    "words",
    [
        ("--witnesses", "1"),
        ("--witness", "w1"),
        ("--witnesses", "1", "--witness", "w1"),
        ("--witnesses", "0", "--witness", "w1"),
        ("--witnesses", "1", "--reviews", "person"),
        ("--witnesses", "-1"),
        ("--witnesses", "33"),
    ],
)
def test_what_is_no_policy_is_refused_and_changes_nothing(
    call: Any, ledger: Path, words: tuple[str, ...]
) -> None:
    """More than are named, what is no key, and two acts at once."""
    assert call("policy", *words).code == 2 or call("policy", *words).code == 1
    assert call("policy").out == "Reviews: attested\n"
