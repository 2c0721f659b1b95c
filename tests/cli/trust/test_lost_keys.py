"""A signer that lost its key, and what was signed with the key before: it stays sound over an epoch."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from counterpoint.app import Identity, open_app
from counterpoint.dialects.colibri.verbs.seals import Seals
from counterpoint.dialects.colibri.verbs.thoughts import Thoughts
from counterpoint.kernel.errors import SignerAway
from fakes.harbour import where_it_is

VERIFIER = Path(__file__).parents[3] / "docs" / "verifier" / "verify.py"


def seal(ledger: Path, session: str) -> None:
    """Think and seal, as an agent does in a session of its own."""
    app = open_app(ledger, where_it_is())
    try:
        core = app.core(Identity(kind="agent", name="ada", session=session))
        task = core.items.project().prefix + "-1"
        core.use(Thoughts).think("plan", f"Oil first, in {session}.", task=task)
        core.use(Seals).seal(session)
    finally:
        app.close()


def lose_the_key() -> None:
    """Take the signer's state away."""
    shutil.rmtree(Path(os.environ["XDG_STATE_HOME"]) / "counterpoint" / "signer")


def test_seals_of_both_keys_are_sound_over_an_epoch(
    call: Any, ledger: Path, tmp_path: Path
) -> None:
    """By `audit verify`, by an exported bundle, by the small verifier, and each seal by itself."""
    seal(ledger, "ses_before")
    lose_the_key()
    assert call("audit", "epoch", "--reason", "The disk of the signer died").code == 0
    seal(ledger, "ses_after")
    assert call("audit", "verify").code == 0
    app = open_app(ledger, where_it_is())
    for session in ("ses_before", "ses_after"):
        assert app.person().use(Seals).verify(session).faults == ()
    key = app.person().audit.key.to_text()
    app.person().signing.sign()
    assert list(app.person().use(Seals).export("ses_after"))
    with pytest.raises(SignerAway, match="has left"):
        list(app.person().use(Seals).export("ses_before"))
    app.close()
    bundle = tmp_path / "all.bundle"
    assert call("audit", "export", str(bundle)).code == 0
    assert call("verify", str(bundle), "--key", key).code == 0
    again = subprocess.run(
        [sys.executable, "-I", str(VERIFIER), str(bundle), key],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert again.stdout.startswith("Sound."), again.stdout + again.stderr


def test_nothing_is_sealed_with_a_key_that_the_ledger_does_not_name(
    ledger: Path, call: Any
) -> None:
    """It would count as forged for ever: an epoch names the key first."""
    seal(ledger, "ses_before")
    lose_the_key()
    assert call("audit", "prove", "--checkpoint").code == 0
    with pytest.raises(SignerAway, match="another than the one"):
        seal(ledger, "ses_between")
    assert call("audit", "epoch", "--reason", "The disk of the signer died").code == 0
    seal(ledger, "ses_between")
    assert call("audit", "verify").code == 0


def test_a_signer_whose_key_was_exchanged_meanwhile_takes_the_other_one(
    ledger: Path, call: Any
) -> None:
    """A server goes on with the key that is there now, not with one that it has read before."""
    app = open_app(ledger, where_it_is())
    before = app.person().audit.key
    lose_the_key()
    assert call("audit", "epoch", "--reason", "The disk of the signer died").code == 0
    assert app.person().signing.keys()[0] != before
    assert app.person().signing.sign() is not None
    app.close()
