"""Keys in the keyring of the system, tried with a backend of its library over a real file: none of a system is here."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from counterpoint.evidence.trust.opening import own_signer
from counterpoint.evidence.trust.signer import FileSigner
from counterpoint.kernel.clock import SystemClock
from counterpoint.kernel.errors import SignerAway
from counterpoint.kernel.extras import install_hint

LEDGER = "led_one"
KEYRING = pytest.importorskip("keyring", reason="the extra `keyring` is not installed")


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give the file of the keyring that is set up."""
    from fakes.kept_keyring import FILE, KeptKeyring

    file = tmp_path / "keyring"
    file.touch(0o600)
    monkeypatch.setenv(FILE, str(file))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    before = KEYRING.get_keyring()
    KEYRING.set_keyring(KeptKeyring())
    yield file
    KEYRING.set_keyring(before)


def opened() -> FileSigner:
    """Answer the signer as another process would open it."""
    return own_signer("keyring", "/one", SystemClock())


def test_the_key_lies_in_the_keyring_and_no_file(kept: Path, tmp_path: Path) -> None:
    """It is the same for whoever opens it next; of the ledger only heads lie in files."""
    assert opened().known_key(LEDGER) is None
    key = opened().public_key(LEDGER)
    assert opened().known_key(LEDGER) == opened().public_key(LEDGER) == key
    assert "PRIVATE KEY" in kept.read_text()
    files = [file for file in (tmp_path / "state").rglob("*") if file.is_file()]
    assert not [file for file in files if b"PRIVATE" in file.read_bytes()]
    assert opened().public_key("led_two") != key


def test_a_key_that_lay_in_a_file_before_is_not_that_of_the_keyring(kept: Path) -> None:
    """Its file stays where it is, and neither half of it is taken for the other key."""
    del kept
    old = own_signer("file", "/one", SystemClock()).public_key(LEDGER)
    assert opened().known_key(LEDGER) is None
    key = opened().public_key(LEDGER)
    assert opened().known_key(LEDGER) == key != old


def test_a_keyring_that_is_locked_or_keeps_nothing_is_a_signer_that_is_away(kept: Path) -> None:
    """So what is written waits for its signature, and nothing is signed by a key that is lost."""
    from keyring.backends.null import Keyring

    kept.unlink()
    with pytest.raises(SignerAway, match="KeyringLocked"):
        opened().public_key(LEDGER)
    KEYRING.set_keyring(Keyring())
    with pytest.raises(SignerAway, match="keeps nothing"):
        opened().public_key(LEDGER)


def test_without_the_library_it_is_told_what_to_install(tmp_path: Path) -> None:
    """And nothing of it is loaded where it is not set."""
    code = (
        "import sys; sys.modules['keyring'] = None\n"
        "from counterpoint.evidence.trust.opening import own_signer\n"
        "from counterpoint.kernel.clock import SystemClock\n"
        "from counterpoint.kernel.errors import SignerAway\n"
        "print(len(own_signer('file', '/one', SystemClock()).public_key('led_one')))\n"
        "try: own_signer('keyring', '/one', SystemClock()).public_key('led_two')\n"
        "except SignerAway as fault: print(fault.hint)\n"
    )
    environ = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines() == ["32", install_hint("keyring")]
