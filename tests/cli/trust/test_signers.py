"""Acts that several people sign, each at a terminal of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from fakes.terminal import PASSPHRASE, Open, make_key, sign

VERIFIER = Path(__file__).parents[3] / "docs" / "verifier" / "verify.py"


def test_two_people_change_what_one_does_not(
    call: Any, at: Open, ledger: Path, tmp_path: Path
) -> None:
    """The first command proposes, status tells the next person what to type, and the same command then does it."""
    del ledger
    other = str(tmp_path / "cyd")
    make_key(at)
    terminal = at("key", "add", "--name", "cyd", XDG_CONFIG_HOME=other)
    terminal.expect("Passphrase for a fresh key:")
    terminal.type(PASSPHRASE)
    terminal.expect("The same again:")
    terminal.type(PASSPHRASE)
    assert terminal.end() == 0
    line = next(one for one in terminal.seen.splitlines() if one.startswith("ssh-ed25519 "))
    Path("cyd.pub").write_text(f"{line}\n")
    refused = at("policy", "--signers", "2")
    assert sign(refused) == 1
    assert "signatures of 2 people, where 1 have keys" in " ".join(refused.seen.split())
    assert sign(at("key", "add", "--name", "cyd", "--public", "cyd.pub")) == 0
    assert sign(at("policy", "--signers", "2")) == 0
    assert "Signers: 2 people sign policies, keys and epochs" in call("policy").out
    # Without a signature nothing is proposed.
    assert call("policy", "--reviews", "person").code == 1
    first = at("policy", "--reviews", "person")
    assert sign(first) == 0
    assert "1 of 2 people have signed: ann; cyd may. Nothing has changed yet." in " ".join(
        first.seen.split()
    )
    assert "The next person types: counterpoint policy --reviews person" in first.seen
    assert call("policy", "--json").json == {"reviews": "attested", "signers": 2}
    told = call("status", "--json").json
    (proposal,) = told["signers"]["proposals"]
    assert (proposal["signed"], proposal["missing"]) == (["ann"], ["cyd"])
    (due,) = [one for one in told["waiting_for_you"] if one["id"] == proposal["id"]]
    assert due["run"] == "counterpoint policy --reviews person"
    assert "signatures of people" in call("status").out
    again = at("policy", "--reviews", "person")
    again.expect("you have signed")
    assert again.end() == 1
    assert sign(at("policy", "--reviews", "person", XDG_CONFIG_HOME=other)) == 0
    assert call("policy", "--json").json["reviews"] == "person"
    assert call("status", "--json").json["signers"]["proposals"] == []
    assert sign(at("policy", "--signers", "1")) == 0
    (lower,) = call("status", "--json").json["signers"]["proposals"]
    assert sign(at("policy", "--withdraw", lower["id"])) == 0
    assert call("status", "--json").json["signers"] == {"required": 2, "proposals": []}
    found = call("audit", "verify")
    assert found.code == 0, found.out
    assert "signers   2 people sign policies, keys and epochs" in found.out
    assert call("audit", "export", "two.bundle").code == 0
    assert call("verify", "two.bundle", "--json").json["signers"] == 2
    ran = subprocess.run([sys.executable, "-I", str(VERIFIER), "two.bundle"], check=False)
    assert ran.returncode == 0
